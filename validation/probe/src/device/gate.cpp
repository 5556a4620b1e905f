#include "gate.h"

#include <atomic>
#include <chrono>

namespace probe {

// One word per cache line, so that the polls for one do not delay another.
constexpr int stride = 64 / sizeof(std::uint32_t);

Gate::Gate(int positions) : positions_(positions) {
    void *memory = nullptr;
    GPU(gpuHostMalloc(&memory, positions * stride * sizeof(std::uint32_t), gpuHostMallocPortable | gpuHostMallocMapped));
    words_ = static_cast<volatile std::uint32_t *>(memory);
    close();
}

Gate::~Gate() {
    open(0);  // whatever still waits may end
#if defined(__CUDACC__)
    (void)cudaFreeHost(const_cast<std::uint32_t *>(words_));
#else
    (void)hipHostFree(const_cast<std::uint32_t *>(words_));
#endif
}

void Gate::close() {
    for (int position = 0; position < positions_; ++position) words_[position * stride] = 0;
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

void Gate::hold(gpuStream_t stream, int position) {
    auto *word = const_cast<std::uint32_t *>(words_ + position * stride);
#if defined(__CUDACC__)
    using Wait = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
    static auto wait = driver_call<Wait>("cuStreamWaitValue32_v2");
    check_driver(wait(stream, reinterpret_cast<CUdeviceptr>(word), 1, CU_STREAM_WAIT_VALUE_GEQ), "cuStreamWaitValue32");
#else
    GPU(hipStreamWaitValue32(stream, word, 1, hipStreamWaitValueGte, 0xffffffff));
#endif
}

void Gate::open(double gap_us) {
    using clock = std::chrono::steady_clock;
    auto next = clock::now();
    for (int position = 0; position < positions_; ++position) {
        while (clock::now() < next) {
        }
        words_[position * stride] = 1;
        std::atomic_thread_fence(std::memory_order_seq_cst);
        next += std::chrono::nanoseconds(static_cast<long>(gap_us * 1e3));
    }
}

}  // namespace probe
