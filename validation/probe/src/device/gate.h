// A gate that holds streams back until all of them are filled: each waits, on the GPU, for a word of host memory.
#pragma once
#include "gpu.h"

namespace probe {

class Gate {
public:
    explicit Gate(int positions);  // one word per position in the launch order
    ~Gate();
    Gate(const Gate &) = delete;
    Gate &operator=(const Gate &) = delete;

    void close();
    void hold(gpuStream_t stream, int position);  // what is submitted to the stream from now on waits
    void open(double gap_us);  // position 0 first, each of the others gap_us later; returns at once after the last

private:
    volatile std::uint32_t *words_ = nullptr;
    int positions_;
};

}  // namespace probe
