// Sums of bf16 numbers, exact for small whole numbers.
#pragma once
#include "gpu.h"

namespace probe {

__device__ inline std::uint32_t add_bf16x2(std::uint32_t a, std::uint32_t b) {
    const float low = __uint_as_float(a << 16) + __uint_as_float(b << 16);
    const float high = __uint_as_float(a & 0xffff0000u) + __uint_as_float(b & 0xffff0000u);
    return __float_as_uint(low) >> 16 | (__float_as_uint(high) & 0xffff0000u);
}

__device__ inline uint4 add_bf16x8(uint4 a, uint4 b) {
    return {add_bf16x2(a.x, b.x), add_bf16x2(a.y, b.y), add_bf16x2(a.z, b.z), add_bf16x2(a.w, b.w)};
}

}  // namespace probe
