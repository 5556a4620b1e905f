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

__global__ void fill_kernel(std::uint16_t *out, std::size_t elements, std::uint32_t seed, bool whole) {
    const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < elements; i += step) {
        const float value = whole ? whole_number(i, seed) : fraction(i, seed);
        out[i] = static_cast<std::uint16_t>(__float_as_uint(value) >> 16);  // exact: both patterns fit bf16
    }
}

void fill_bf16(const Buffer &buffer, std::uint32_t seed, Pattern pattern) {
    GPU(gpuSetDevice(std::max(buffer.gpu(), 0)));
    fill_kernel<<<1024, 256>>>(buffer.data<std::uint16_t>(), buffer.bytes() / 2, seed, pattern == Pattern::whole);
    GPU(gpuGetLastError());
    GPU(gpuDeviceSynchronize());
}

void fill_shard(char *begin, std::size_t bytes, std::uint32_t seed) {
    fill_kernel<<<256, 256>>>(reinterpret_cast<std::uint16_t *>(begin), bytes / 2, seed, true);
    GPU(gpuGetLastError());
}

void poison(const Buffer &buffer) {
    GPU(gpuSetDevice(std::max(buffer.gpu(), 0)));
    GPU(gpuMemsetAsync(buffer.data(), 0xff, buffer.bytes(), nullptr));
}

}  // namespace probe
