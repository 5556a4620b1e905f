// What a kernel's loads and stores tell the caches: operators of single instructions, and a window of lines to keep.
#pragma once
#include <string>

#include "node.h"

namespace probe {

enum class Loads { plain, nc, no_allocate, cs, evict_first, evict_last, uncached };
enum class Stores { plain, cs, evict_first, evict_last, wt, uncached };

struct CachePolicy {
    Loads loads = Loads::plain;
    Stores stores = Stores::plain;
    bool keep = false;  // a window of the last cache is set aside for what is read
    bool named() const { return loads != Loads::plain || stores != Stores::plain || keep; }
};

// "evict_first", "evict_first/wt" (loads/stores), "keep"; throws UsageError.
CachePolicy parse_policy(const std::string &text);
// As a workload file writes it: what each level does with the lines; and the names above, for the record.
Json policy_json(const CachePolicy &policy);
// Lines of [data, data + bytes) that kernels of this stream touch stay, up to what may be set aside. NVIDIA only.
void keep_in_cache(const Lane &lane, void *data, std::size_t bytes);
// Whether this process has set lines aside: they stay so for whatever it runs.
bool lines_set_aside();

#if defined(__CUDACC__) || defined(__HIPCC__) || defined(__HIP__)

// PTX ISA, "cache operators" and "createpolicy"; CDNA3 ISA, section 9.1 (bits nt, sc0, sc1 by scope).
template <Loads how>
__device__ inline float4 load_as(const float4 *from) {
#if defined(__CUDACC__)
    float4 v;
    if constexpr (how == Loads::nc)
        v = __ldg(from);
    else if constexpr (how == Loads::cs)
        v = __ldcs(from);
    else if constexpr (how == Loads::no_allocate)
        asm volatile("ld.global.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from));
    else if constexpr (how == Loads::uncached)
        asm volatile("ld.volatile.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from));
    else if constexpr (how == Loads::evict_first)
        asm volatile("{ .reg .b64 p; createpolicy.fractional.L2::evict_first.b64 p, 1.0;\n"
                     "ld.global.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], p; }"
                     : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from));
    else if constexpr (how == Loads::evict_last)
        asm volatile("{ .reg .b64 p; createpolicy.fractional.L2::evict_last.b64 p, 1.0;\n"
                     "ld.global.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], p; }"
                     : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from));
    else
        v = __ldcg(from);
    return v;
#else
    using float4v = __attribute__((__vector_size__(4 * sizeof(float)))) float;
    if constexpr (how == Loads::nc || how == Loads::evict_last) {
        return *from;
    } else if constexpr (how == Loads::no_allocate || how == Loads::uncached) {
        constexpr int scope = how == Loads::uncached ? __HIP_MEMORY_SCOPE_SYSTEM : __HIP_MEMORY_SCOPE_AGENT;
        const auto *words = reinterpret_cast<const unsigned long long *>(from);
        const unsigned long long two[2] = {__hip_atomic_load(words, __ATOMIC_RELAXED, scope),
                                           __hip_atomic_load(words + 1, __ATOMIC_RELAXED, scope)};
        float4 v;
        __builtin_memcpy(&v, two, sizeof v);
        return v;
    } else {
        const auto v = __builtin_nontemporal_load(reinterpret_cast<const float4v *>(from));
        return {v[0], v[1], v[2], v[3]};
    }
#endif
}

template <Stores how>
__device__ inline void store_as(float4 *to, float4 v) {
#if defined(__CUDACC__)
    if constexpr (how == Stores::cs)
        __stcs(to, v);
    else if constexpr (how == Stores::wt)
        __stwt(to, v);
    else if constexpr (how == Stores::uncached)
        asm volatile("st.volatile.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w));
    else if constexpr (how == Stores::evict_first)
        asm volatile("{ .reg .b64 p; createpolicy.fractional.L2::evict_first.b64 p, 1.0;\n"
                     "st.global.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, p; }"
                     ::"l"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w));
    else if constexpr (how == Stores::evict_last)
        asm volatile("{ .reg .b64 p; createpolicy.fractional.L2::evict_last.b64 p, 1.0;\n"
                     "st.global.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, p; }"
                     ::"l"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w));
    else
        *to = v;
#else
    using float4v = __attribute__((__vector_size__(4 * sizeof(float)))) float;
    if constexpr (how == Stores::cs || how == Stores::evict_first) {
        __builtin_nontemporal_store(float4v{v.x, v.y, v.z, v.w}, reinterpret_cast<float4v *>(to));
    } else if constexpr (how == Stores::wt || how == Stores::uncached) {  // sc0 sc1: through to memory
        unsigned long long two[2];
        __builtin_memcpy(two, &v, sizeof v);
        auto *words = reinterpret_cast<unsigned long long *>(to);
        __hip_atomic_store(words, two[0], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
        __hip_atomic_store(words + 1, two[1], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    } else {
        *to = v;
    }
#endif
}

#endif

}  // namespace probe
