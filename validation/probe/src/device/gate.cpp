#include "gate.h"

#include <atomic>

namespace probe {

Gate::Gate() {
    void *memory = nullptr;
#if defined(__CUDACC__)
    GPU(gpuHostMalloc(&memory, sizeof(std::uint32_t), gpuHostMallocPortable | gpuHostMallocMapped));
#else
    // hipStreamWaitValue32 asks for memory of this kind, eight bytes of it; the host sees it as well.
    GPU(hipExtMallocWithFlags(&memory, sizeof(std::uint64_t), hipMallocSignalMemory));
#endif
    word_ = static_cast<volatile std::uint32_t *>(memory);
    close();
}

Gate::~Gate() {
    open();  // whatever still waits may end
#if defined(__CUDACC__)
    (void)cudaFreeHost(const_cast<std::uint32_t *>(word_));
#else
    (void)hipFree(const_cast<std::uint32_t *>(word_));
#endif
}

void Gate::close() {
    *word_ = 0;
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

void Gate::hold(gpuStream_t stream) {
    auto *word = const_cast<std::uint32_t *>(word_);
#if defined(__CUDACC__)
    using Wait = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
    static auto wait = driver_call<Wait>("cuStreamWaitValue32_v2");
    check_driver(wait(stream, reinterpret_cast<CUdeviceptr>(word), 1, CU_STREAM_WAIT_VALUE_GEQ), "cuStreamWaitValue32");
#else
    GPU(hipStreamWaitValue32(stream, word, 1, hipStreamWaitValueGte, 0xffffffff));
#endif
}

void Gate::open() {
    *word_ = 1;
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace probe
