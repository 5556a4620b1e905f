// A gate that holds streams back until all of them are filled: each waits, on the GPU, for a word of host memory.
#pragma once
#include "gpu.h"

namespace probe {

class Gate {
public:
    Gate();
    ~Gate();
    Gate(const Gate &) = delete;
    Gate &operator=(const Gate &) = delete;

    void close();
    void hold(gpuStream_t stream);  // what is submitted to the stream from now on waits
    void open();

private:
    volatile std::uint32_t *word_ = nullptr;
};

}  // namespace probe
