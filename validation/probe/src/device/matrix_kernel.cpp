#include "matrix_kernel.h"

#if defined(__CUDACC__)
#include <mma.h>
#endif

namespace probe {

constexpr int pitch = tile_k + 8;  // elements of a row in shared memory: padded against bank conflicts
using half8 = uint4;               // eight bf16

// A fragment is 16 x 16 outputs of one wave. Waves of a workgroup share the tile as rows x columns of fragments.
#if defined(__CUDACC__)
constexpr int waves_m = 4, waves_n = 2;
using Accumulator = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;
struct OperandA {
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __nv_bfloat16, nvcuda::wmma::row_major> data;
    __device__ void load(const std::uint16_t *from) {
        nvcuda::wmma::load_matrix_sync(data, reinterpret_cast<const __nv_bfloat16 *>(from), pitch);
    }
};
struct OperandB {
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __nv_bfloat16, nvcuda::wmma::col_major> data;
    __device__ void load(const std::uint16_t *from) {
        nvcuda::wmma::load_matrix_sync(data, reinterpret_cast<const __nv_bfloat16 *>(from), pitch);
    }
};
__device__ inline void clear(Accumulator &sum) { nvcuda::wmma::fill_fragment(sum, 0.0f); }
__device__ inline void multiply(Accumulator &sum, const OperandA &a, const OperandB &b) {
    nvcuda::wmma::mma_sync(sum, a.data, b.data, sum);
}
__device__ inline void store(float *to, int leading, const Accumulator &sum) {
    nvcuda::wmma::store_matrix_sync(to, sum, leading, nvcuda::wmma::mem_row_major);
}
#else
constexpr int waves_m = 2, waves_n = 2;
// v_mfma_f32_16x16x16_bf16: lane l holds row (or column) l % 16 and k = 4 (l / 16) .. + 3 of an operand, and
// rows 4 (l / 16) .. + 3 of column l % 16 of the result (AMD matrix instruction calculator, CDNA3).
using short4v = __attribute__((__vector_size__(4 * sizeof(short)))) short;
using float4v = __attribute__((__vector_size__(4 * sizeof(float)))) float;
struct Accumulator {
    float4v data;
};
struct Operand {
    short4v data;
    __device__ void load(const std::uint16_t *from) {
        const int lane = threadIdx.x % wave_size;
        data = *reinterpret_cast<const short4v *>(from + lane % 16 * pitch + lane / 16 * 4);
    }
};
using OperandA = Operand;
using OperandB = Operand;
__device__ inline void clear(Accumulator &sum) { sum.data = float4v{0, 0, 0, 0}; }
__device__ inline void multiply(Accumulator &sum, const OperandA &a, const OperandB &b) {
    sum.data = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a.data, b.data, sum.data, 0, 0, 0);
}
__device__ inline void store(float *to, int leading, const Accumulator &sum) {
    const int lane = threadIdx.x % wave_size;
    for (int i = 0; i < 4; ++i) to[(lane / 16 * 4 + i) * leading + lane % 16] = sum.data[i];
}
#endif

constexpr int rows_per_wave = tile_m / waves_m / 16, columns_per_wave = tile_n / waves_n / 16;
constexpr int loads = tile_m * tile_k / 8 / matrix_threads;  // 16-byte loads per thread, operand and step
static_assert(tile_m == tile_n && waves_m * waves_n * wave_size == matrix_threads);

struct Tiles {
    std::uint16_t a[2][tile_m * pitch], b[2][tile_n * pitch];
};
constexpr int shared_bytes =
    sizeof(Tiles) > waves_m * waves_n * 256 * sizeof(float) ? sizeof(Tiles) : waves_m * waves_n * 256 * sizeof(float);

__device__ inline void fetch(half8 *registers, const std::uint16_t *matrix, std::int64_t rows, std::int64_t k,
                             std::int64_t first_row, std::int64_t first_k) {
#pragma unroll
    for (int i = 0; i < loads; ++i) {
        const int index = threadIdx.x + i * matrix_threads, row = index / (tile_k / 8), column = index % (tile_k / 8) * 8;
        const bool inside = first_row + row < rows;
        registers[i] = inside ? *reinterpret_cast<const half8 *>(matrix + (first_row + row) * k + first_k + column)
                              : half8{0, 0, 0, 0};
    }
}

__device__ inline void put(std::uint16_t *tile, const half8 *registers) {
#pragma unroll
    for (int i = 0; i < loads; ++i) {
        const int index = threadIdx.x + i * matrix_threads, row = index / (tile_k / 8), column = index % (tile_k / 8) * 8;
        *reinterpret_cast<half8 *>(tile + row * pitch + column) = registers[i];
    }
}

__device__ void one_tile(const std::uint16_t *a, const std::uint16_t *b, std::uint16_t *c, std::int64_t m, std::int64_t n,
                         std::int64_t k, std::int64_t row0, std::int64_t column0, Tiles &tiles, float *scratch) {
    const int wave = threadIdx.x / wave_size, lane = threadIdx.x % wave_size;
    const int wave_row = wave / waves_n * (tile_m / waves_m), wave_column = wave % waves_n * (tile_n / waves_n);
    Accumulator sums[rows_per_wave][columns_per_wave];
    for (auto &row : sums)
        for (auto &each : row) clear(each);

    half8 next_a[loads], next_b[loads];
    fetch(next_a, a, m, k, row0, 0);
    fetch(next_b, b, n, k, column0, 0);
    put(tiles.a[0], next_a);
    put(tiles.b[0], next_b);
    __syncthreads();
    for (std::int64_t step = 0; step < k / tile_k; ++step) {
        const int now = step & 1;
        const bool more = step + 1 < k / tile_k;
        if (more) {
            fetch(next_a, a, m, k, row0, (step + 1) * tile_k);
            fetch(next_b, b, n, k, column0, (step + 1) * tile_k);
        }
#pragma unroll
        for (int kk = 0; kk < tile_k; kk += 16) {
            OperandA left[rows_per_wave];
            OperandB right[columns_per_wave];
#pragma unroll
            for (int i = 0; i < rows_per_wave; ++i) left[i].load(tiles.a[now] + (wave_row + i * 16) * pitch + kk);
#pragma unroll
            for (int j = 0; j < columns_per_wave; ++j)
                right[j].load(tiles.b[now] + (wave_column + j * 16) * pitch + kk);
#pragma unroll
            for (int i = 0; i < rows_per_wave; ++i)
#pragma unroll
                for (int j = 0; j < columns_per_wave; ++j) multiply(sums[i][j], left[i], right[j]);
        }
        if (more) {
            put(tiles.a[1 - now], next_a);
            put(tiles.b[1 - now], next_b);
        }
        __syncthreads();
    }
    float *mine = scratch + wave * 256;  // fragments leave through shared memory, rounded to bf16
    for (int i = 0; i < rows_per_wave; ++i)
        for (int j = 0; j < columns_per_wave; ++j) {
            store(mine, 16, sums[i][j]);
#if defined(__CUDACC__)
            __syncwarp();
#else
            __syncthreads();  // every wave goes through these loops alike
#endif
            for (int index = lane; index < 256; index += wave_size) {
                const std::int64_t row = row0 + wave_row + i * 16 + index / 16;
                const std::int64_t column = column0 + wave_column + j * 16 + index % 16;
                const std::uint32_t bits = __float_as_uint(mine[index]);
                const std::uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
                if (row < m && column < n) c[row * n + column] = static_cast<std::uint16_t>(rounded >> 16);
            }
#if defined(__CUDACC__)
            __syncwarp();
#else
            __syncthreads();  // every wave goes through these loops alike
#endif
        }
    __syncthreads();
}

__global__ void __launch_bounds__(matrix_threads) matrix_kernel(const std::uint16_t *a, const std::uint16_t *b, std::uint16_t *c, std::int64_t m,
                                                                std::int64_t n, std::int64_t k, Placement *log) {
    extern __shared__ uint4 memory[];
    auto &tiles = *reinterpret_cast<Tiles *>(memory);
    const auto start = log ? device_clock_ns() : 0;
    const std::int64_t down = (m + tile_m - 1) / tile_m, across = (n + tile_n - 1) / tile_n;
    constexpr int group = 8;  // rows of tiles that are walked together, column by column
    for (std::int64_t tile = blockIdx.x; tile < down * across; tile += gridDim.x) {
        const std::int64_t band = tile / (group * across), inside = tile % (group * across);
        const std::int64_t rows = down - band * group < group ? down - band * group : group;
        one_tile(a, b, c, m, n, k, (band * group + inside % rows) * tile_m, inside / rows * tile_n, tiles,
                 reinterpret_cast<float *>(memory));
    }
    if (log && threadIdx.x == 0) log[blockIdx.x] = {compute_unit_id(), start, device_clock_ns()};
}

void launch_matrix_kernel(const Buffer &a, const Buffer &b, const Buffer &c, std::int64_t m, std::int64_t n,
                          std::int64_t k, int grid, Placement *log, gpuStream_t stream) {
    GPU(gpuFuncSetAttribute(reinterpret_cast<const void *>(matrix_kernel), gpuFuncAttributeMaxDynamicSharedMemorySize,
                            shared_bytes));
    matrix_kernel<<<grid, matrix_threads, shared_bytes, stream>>>(a.data<std::uint16_t>(), b.data<std::uint16_t>(),
                                                                  c.data<std::uint16_t>(), m, n, k, log);
    GPU(gpuGetLastError());
}

}  // namespace probe
