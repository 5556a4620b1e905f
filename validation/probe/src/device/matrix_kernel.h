// The probe's own matrix kernel: macro-tiles of 128 x 128, K in steps of 32 through shared memory, one workgroup per tile
// or a persistent grid. It is no match for a tuned library, but its tiles, their order and their places are known.
#pragma once
#include "gemm_task.h"
#include "gpu.h"

namespace probe {

constexpr int tile_m = 128, tile_n = 128, tile_k = 32, matrix_threads = 256;

void launch_matrix_kernel(const Buffer &a, const Buffer &b, const Buffer &c, std::int64_t m, std::int64_t n,
                          std::int64_t k, int grid, Placement *log, gpuStream_t stream);

}  // namespace probe
