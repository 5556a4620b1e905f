// A kernel whose workgroups store into the memory of the other GPUs, tile by tile, and may publish each tile.
#pragma once
#include <memory>

#include "task.h"

namespace probe {

struct StoresSpec {
    std::int64_t bytes = 0;       // that each GPU stores in all, dealt tile by tile to its peers
    int workgroups = 1;           // each on a compute unit of its own
    std::int64_t tile = 64 << 10; // that a workgroup stores at a stretch
    int in_flight = 0;            // stores of a thread before it waits for them; 0: it never waits
    bool release = false;         // behind each tile: a system-wide fence, then a flag stored at the peer
    int rounds = 1;               // the same kernel that many times, back to back
};

class StoresTask : public Task {  // on every GPU
public:
    StoresTask(Node &node, StoresSpec spec);
    void prepare() override;
    void submit() override;
    void verify() override;
    Json workload() const override;

private:
    Node &node_;
    StoresSpec spec_;
    int peers_;
    std::uint32_t turn_ = 0;
    std::vector<std::unique_ptr<Buffer>> out_, flags_;  // on each GPU: a part, and flags, for each peer in turn
};

// Every store the thread has made has arrived, wherever it went, before what it does next.
__device__ inline void wait_for_stores() { __threadfence_system(); }

// The same for all that the workgroup has stored, for one thread that calls wait_for_stores() next.
__device__ inline void gather_stores() {
#if !defined(__CUDACC__)
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");  // a barrier of this GPU does not wait for stores
#endif
    __syncthreads();
}

__device__ inline void store_flag(std::uint32_t *flag, std::uint32_t value) {
#if defined(__CUDACC__)
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
#else
    __hip_atomic_store(flag, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
#endif
}

__device__ inline std::uint32_t load_flag(const std::uint32_t *flag) {
    std::uint32_t value;
#if defined(__CUDACC__)
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
#else
    value = __hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
#endif
    return value;
}

// Turns grow, and wrap after four thousand million.
__device__ inline void wait_for_flag(const std::uint32_t *flag, std::uint32_t turn) {
    while (static_cast<std::int32_t>(load_flag(flag) - turn) < 0) {
    }
}

}  // namespace probe
