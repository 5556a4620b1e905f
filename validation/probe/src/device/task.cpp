#include "task.h"

#include <cstring>

namespace probe {

Json stream_json(bool high_priority, Partition part) {
    if (!high_priority && !part.units) return Json();
    auto json = Json::object();
    if (high_priority) json.set("priority", 1);
    if (part.units)
        json.set("compute_units", std::to_string(part.first) + "-" + std::to_string(part.first + part.units - 1));
    return json;
}

float from_bf16(std::uint16_t bits) {
    const std::uint32_t word = static_cast<std::uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
}

Pattern parse_data(const std::string &text) {
    if (text == "random") return Pattern::random;
    if (text == "pattern") return Pattern::fraction;
    if (text == "zero") return Pattern::zero;
    throw std::invalid_argument("--data " + text + ": random, pattern or zero");
}

std::string name_of_data(Pattern pattern) {
    return pattern == Pattern::zero ? "zero" : pattern == Pattern::random ? "random" : "pattern";
}

__host__ __device__ static std::uint32_t word_of(Pattern pattern, std::uint64_t index, std::uint32_t seed) {
    union {
        float value;
        std::uint32_t bits;
    } number;
    number.bits = 0;
    if (pattern == Pattern::random) return static_cast<std::uint32_t>(random_bf16(index, seed)) << 16;
    if (pattern == Pattern::whole) number.value = whole_number(index, seed);
    if (pattern == Pattern::fraction) number.value = fraction(index, seed);
    return number.bits;
}

float value_of(Pattern pattern, std::uint64_t index, std::uint32_t seed) {
    return from_bf16(static_cast<std::uint16_t>(word_of(pattern, index, seed) >> 16));
}

__global__ void fill_kernel(std::uint16_t *out, std::size_t elements, std::uint32_t seed, Pattern pattern) {
    const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < elements; i += step) {
        out[i] = static_cast<std::uint16_t>(word_of(pattern, i, seed) >> 16);  // exact: all patterns fit bf16
    }
}

void fill_bf16(const Buffer &buffer, std::uint32_t seed, Pattern pattern) {
    GPU(gpuSetDevice(std::max(buffer.gpu(), 0)));
    fill_kernel<<<1024, 256>>>(buffer.data<std::uint16_t>(), buffer.bytes() / 2, seed, pattern);
    GPU(gpuGetLastError());
    GPU(gpuDeviceSynchronize());
}

void fill_shard(char *begin, std::size_t bytes, std::uint32_t seed) {
    fill_kernel<<<256, 256>>>(reinterpret_cast<std::uint16_t *>(begin), bytes / 2, seed, Pattern::whole);
    GPU(gpuGetLastError());
}

void poison(const Buffer &buffer) {
    GPU(gpuSetDevice(std::max(buffer.gpu(), 0)));
    GPU(gpuMemsetAsync(buffer.data(), 0xff, buffer.bytes(), nullptr));
}

}  // namespace probe
