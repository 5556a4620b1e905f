// One thing that is measured: it knows its streams, how to submit itself, how to check its result, and what it is
// called in a workload.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "node.h"

namespace probe {

// The stream of a task as a workload file writes it, or null where it is an ordinary one.
Json stream_json(bool high_priority, Partition part);

struct DeviceTimes {  // nanoseconds of device_clock_ns()
    unsigned long long first_begin, last_end;
};

class Task {
public:
    virtual ~Task() = default;
    const std::vector<Lane> &lanes() const { return lanes_; }
    virtual void prepare() {}        // before each sample: poison outputs that verify() reads, reset counters
    virtual void submit() = 0;       // asynchronous, on the task's lanes
    virtual void verify() {}         // after a sample; throws WrongResult
    void keep_operands() { kept_ = true; }  // nothing flushes caches between its runs
    virtual void detach() {}         // unmaps what belongs to other processes, before those free it
    // The next submit() also notes, on the GPU's clock, when its first workgroup began and its last one ended; false where
    // it cannot.
    virtual bool note_times(DeviceTimes *) { return false; }
    virtual Json workload() const = 0;  // the task as a workload file writes it
    // The same as named tasks: one, unless its streams are independent of each other.
    virtual std::vector<std::pair<std::string, Json>> tasks(const std::string &name) const { return {{name, workload()}}; }
    virtual Json streams() const { return Json(); }  // {"priority": ..., "compute_units": ...} of its stream, or null
    virtual std::vector<std::pair<std::string, std::string>> libraries() const { return {}; }  // name, version

protected:
    bool kept_ = false;
    std::vector<Lane> lanes_;
};

// Numbers that host and device compute alike, so that a result is checked without copying its inputs.
__host__ __device__ inline std::uint32_t scramble(std::uint64_t index, std::uint32_t seed) {
    std::uint64_t x = index * 0x9E3779B97F4A7C15ull + seed * 0xBF58476D1CE4E5B9ull;
    x ^= x >> 31;
    x *= 0x94D049BB133111EBull;
    return static_cast<std::uint32_t>(x >> 32);
}
// Small whole numbers, whose sums over a few ranks are exact in bf16.
__host__ __device__ inline float whole_number(std::uint64_t index, std::uint32_t seed) {
    return static_cast<float>(scramble(index, seed) & 7);
}
// Evenly spread over [-1, 1) in steps of 1/128: what a GEMM is fed, because its power depends on how many bits change.
__host__ __device__ inline float fraction(std::uint64_t index, std::uint32_t seed) {
    return (static_cast<int>(scramble(index, seed) & 255) - 128) / 128.0f;
}

// Bits of a bf16 spread evenly over (-1, 1), sign and every bit of the mantissa drawn.
__host__ __device__ inline std::uint16_t random_bf16(std::uint64_t index, std::uint32_t seed) {
    const std::uint32_t draw = scramble(index, seed);
    std::uint32_t octave = 0;  // halves as often with every step down, as in an even spread
    for (std::uint32_t rest = draw >> 8; octave < 23 && !(rest & 1); rest >>= 1) ++octave;
    return static_cast<std::uint16_t>((draw & 0x80) << 8 | (126 - octave) << 7 | (draw & 0x7f));
}

float from_bf16(std::uint16_t bits);

// whole: small whole numbers, whose sums are exact; fraction, random: as above; zero: no bit ever changes
enum class Pattern { whole, fraction, random, zero };
Pattern parse_data(const std::string &text);  // random, pattern (fraction) or zero
std::string name_of_data(Pattern pattern);
float value_of(Pattern pattern, std::uint64_t index, std::uint32_t seed);  // what fill_bf16 writes there
void fill_bf16(const Buffer &buffer, std::uint32_t seed, Pattern pattern);
void fill_shard(char *begin, std::size_t bytes, std::uint32_t seed);  // whole numbers, from element 0; asynchronous
void poison(const Buffer &buffer);  // every byte 0xff, a NaN in bf16

// Compares spans of the buffer, spread over it and at both ends, with expected(element).
template <class Expected>
void verify_bf16(const Buffer &buffer, std::size_t bytes, const std::string &what, Expected expected,
                 std::size_t begin = 0) {
    const std::size_t elements = bytes / 2, span = std::min<std::size_t>(elements, 512), spans = 61;
    std::vector<std::uint16_t> seen(span);
    GPU(gpuSetDevice(std::max(buffer.gpu(), 0)));
    for (std::size_t i = 0; i < spans; ++i) {
        const std::size_t first = (elements - span) * i / (spans - 1);
        GPU(gpuMemcpy(seen.data(), buffer.at(begin + first * 2), span * 2, gpuMemcpyDefault));
        for (std::size_t j = 0; j < span; ++j) {
            const float value = from_bf16(seen[j]), right = expected(first + j);
            if (value == right) continue;
            throw WrongResult(what + ": element " + std::to_string(begin / 2 + first + j) + " on GPU " +
                              std::to_string(buffer.gpu()) + " is " + std::to_string(value) + ", must be " +
                              std::to_string(right));
        }
    }
}

}  // namespace probe
