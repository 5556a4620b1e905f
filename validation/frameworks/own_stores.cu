// Stores, releases and flags of kernels on one GPU: into its own memory, and into the host's.
//
//     nvcc -O3 -arch=sm_90 -o own_stores own_stores.cu && ./own_stores      CSV
//
// stores: workgroups of 1024 threads store BYTES each, 16 B a lane, in tiles; "released": behind each
// tile a fence of system scope and a flag. GB/s of all, the best of SAMPLES.
// flags: two workgroups answer each other's flags, with a fence before each; us of one way, best.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                              \
  do {                                                                           \
    cudaError_t e = (call);                                                      \
    if (e != cudaSuccess) {                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
      exit(1);                                                                   \
    }                                                                            \
  } while (0)

constexpr long BYTES = 32L << 20;
constexpr int SAMPLES = 7, TURNS = 2000, MOST = 32;

__device__ void tell(unsigned *flag, unsigned value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

__device__ unsigned heard(const unsigned *flag) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

__global__ void __launch_bounds__(1024) own_stores(uint4 *to, unsigned *flags, long tile, bool released) {
  uint4 *mine = to + blockIdx.x * (BYTES / 16);
  for (long at = 0; at < BYTES / 16; at += tile / 16) {
    for (long i = threadIdx.x; i < tile / 16; i += 1024) mine[at + i] = make_uint4(i, at, 1, 2);
    if (!released) continue;
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) tell(flags + blockIdx.x * 32, at + 1);
  }
}

// Workgroups 0 and 1 take turns; each runs on an SM of its own (1024 threads, 200 KiB of LDS).
__global__ void __launch_bounds__(1024) own_flags(unsigned *flags) {
  extern __shared__ char held[];
  held[threadIdx.x] = 0;
  for (unsigned turn = 1; turn <= TURNS; turn++) {
    if (blockIdx.x == 1 && threadIdx.x == 0)
      while (heard(flags) < turn) {}
    __syncthreads();
    __threadfence_system();
    if (threadIdx.x == 0) tell(flags + 32 * blockIdx.x, turn);
    if (blockIdx.x == 0 && threadIdx.x == 0)
      while (heard(flags + 32) < turn) {}
    __syncthreads();
  }
}

template <typename Launch>
double seconds(Launch launch) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  float best = 1e30f;
  for (int i = 0; i <= SAMPLES; i++) {
    CHECK(cudaEventRecord(begin));
    launch();
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    if (i > 0) best = std::min(best, ms);
  }
  return best * 1e-3;
}

int main() {
  CHECK(cudaFuncSetAttribute(own_flags, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
  printf("what,memory,workgroups,tile,value,unit\n");
  for (const char *memory : {"own", "host"}) {
    bool host = memory[0] == 'h';
    uint4 *to;
    unsigned *flags;
    if (host) CHECK(cudaMallocHost(&to, MOST * BYTES));
    else CHECK(cudaMalloc(&to, MOST * BYTES));
    if (host) CHECK(cudaMallocHost(&flags, 128 * MOST));
    else CHECK(cudaMalloc(&flags, 128 * MOST));
    CHECK(cudaMemset(flags, 0, 128 * MOST));
    for (int groups : {1, 2, 4, 8, 32})
      for (long tile : {4L << 10, 16L << 10, 64L << 10, 256L << 10, 1L << 20})
        for (bool released : {false, true}) {
          if (!released && tile != (64L << 10)) continue;
          double s = seconds([&] { own_stores<<<groups, 1024>>>(to, flags, tile, released); });
          printf("%s,%s,%d,%ld,%.3f,GB/s\n", released ? "released" : "stores", memory, groups, tile, groups * BYTES / s / 1e9);
        }
    double s = seconds([&] {
      CHECK(cudaMemsetAsync(flags, 0, 128 * MOST));
      own_flags<<<2, 1024, 200 << 10>>>(flags);
    });
    printf("flags,%s,2,0,%.4f,us\n", memory, s / TURNS / 2 * 1e6);
    CHECK(cudaDeviceSynchronize());
    CHECK(host ? cudaFreeHost(to) : cudaFree(to));
    CHECK(host ? cudaFreeHost(flags) : cudaFree(flags));
  }
}
