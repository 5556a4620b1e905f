// The inner loop of kernels that copy: eight 16-byte loads of each thread are in flight before the first store.
#pragma once
#include "gpu.h"

namespace probe {

__device__ inline void copy_strided(uint4 *to, const uint4 *from, std::size_t count, std::size_t first, std::size_t step) {
    constexpr int unroll = 8;
    std::size_t i = first;
    for (; i + (unroll - 1) * step < count; i += unroll * step) {
        uint4 x[unroll];
#pragma unroll
        for (int j = 0; j < unroll; ++j) x[j] = from[i + j * step];
#pragma unroll
        for (int j = 0; j < unroll; ++j) to[i + j * step] = x[j];
    }
    for (; i < count; i += step) to[i] = from[i];
}

}  // namespace probe
