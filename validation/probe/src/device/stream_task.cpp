#include "stream_task.h"

#include <algorithm>

namespace probe {

constexpr int stream_threads = 1024;
constexpr int unroll = 4;  // 16-byte loads each thread has in flight: 64 KiB per workgroup

int whole_unit(const Node &node) {
    const auto &gpu = node.properties(0);
#if defined(__CUDACC__)
    return static_cast<int>(gpu.sharedMemPerBlockOptin);
#else
    return static_cast<int>(gpu.sharedMemPerBlock);
#endif
}

__device__ inline float4 burn(float4 v, int rounds) {  // 8 floating point operations per round
    for (int i = 0; i < rounds; ++i) {
        v.x = v.x * 0.999f + 0.5f;
        v.y = v.y * 0.999f + 0.5f;
        v.z = v.z * 0.999f + 0.5f;
        v.w = v.w * 0.999f + 0.5f;
    }
    return v;
}

__device__ inline void note_begin(DeviceTimes *times) {
    if (times && threadIdx.x == 0) atomicMin(&times->first_begin, device_clock_ns());
}
__device__ inline void note_end(DeviceTimes *times) {
    if (times && threadIdx.x == 0) atomicMax(&times->last_end, device_clock_ns());
}

// A thread reads the same addresses in every pass; plain loads go past the first-level cache, so that L2 serves them.
template <bool reads_a, bool reads_b, bool writes, Loads loads = Loads::plain, Stores stores = Stores::plain>
__global__ void __launch_bounds__(stream_threads) stream_kernel(const float4 *a, const float4 *b, float4 *c, std::size_t count, int passes, int rounds, DeviceTimes *times) {
    note_begin(times);
    extern __shared__ char claimed[];  // only to claim the compute unit
    (void)claimed;
    const std::size_t step = static_cast<std::size_t>(gridDim.x) * stream_threads;
    float4 sum = {0, 0, 0, 0};
    for (int pass = 0; pass < passes; ++pass) {
        std::size_t i = blockIdx.x * static_cast<std::size_t>(stream_threads) + threadIdx.x;
        for (; i + (unroll - 1) * step < count; i += unroll * step) {
            float4 x[unroll], y[unroll];
#pragma unroll
            for (int j = 0; j < unroll; ++j) {
                if (reads_a) x[j] = load_as<loads>(a + i + j * step);
                if (reads_b) y[j] = load_as<loads>(b + i + j * step);
            }
#pragma unroll
            for (int j = 0; j < unroll; ++j) {
                float4 v = reads_a ? x[j] : float4{1, 2, 3, 4};
                if (reads_b) v.x += 3 * y[j].x, v.y += 3 * y[j].y, v.z += 3 * y[j].z, v.w += 3 * y[j].w;
                if (rounds) v = burn(v, rounds);
                if (writes) store_as<stores>(c + i + j * step, v);
                if (!writes) sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
            }
        }
        for (; i < count; i += step) {
            float4 v = reads_a ? load_as<loads>(a + i) : float4{1, 2, 3, 4};
            if (reads_b) {
                const float4 y = load_as<loads>(b + i);
                v.x += 3 * y.x, v.y += 3 * y.y, v.z += 3 * y.z, v.w += 3 * y.w;
            }
            if (rounds) v = burn(v, rounds);
            if (writes) store_as<stores>(c + i, v);
            if (!writes) sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
        }
        if (!writes) asm volatile("" ::: "memory");  // the next pass loads again
    }
    if (!writes && sum.x + sum.y + sum.z + sum.w == 1e30f) c[0] = sum;  // never, but the compiler cannot know
    note_end(times);
}

StreamTask::StreamTask(Node &node, StreamSpec spec, bool all_gpus) : node_(node), spec_(spec) {
    if (spec.bytes % 16) throw std::invalid_argument("stream: --bytes must be a multiple of 16");
    grid_ = spec.workgroups ? spec.workgroups : node.compute_units();
    const bool a = spec.pattern != "write", b = spec.pattern == "triad", c = spec.pattern != "read";
    for (int gpu = 0; gpu < (all_gpus ? node.gpus() : 1); ++gpu) {
        lanes_.push_back(node.stream(gpu, spec.high_priority));
        a_.push_back(a ? std::make_unique<Buffer>(gpu, spec.bytes) : nullptr);
        b_.push_back(b ? std::make_unique<Buffer>(gpu, spec.bytes) : nullptr);
        c_.push_back(std::make_unique<Buffer>(gpu, c ? spec.bytes : 16));
        for (auto *buffer : {a_.back().get(), b_.back().get()})
            if (buffer) fill_bf16(*buffer, 1, Pattern::whole);
        if (spec.policy.keep) keep_in_cache(lanes_.back(), (a ? *a_.back() : *c_.back()).data(), spec.bytes);
    }
}

// The kernel of a pattern with a cache policy: calls launch(kernel) of those compiled below.
template <Loads loads, class Launch>
static void with_stores(const StreamSpec &spec, Launch launch) {
    if (spec.pattern == "read") return launch(stream_kernel<true, false, false, loads>);
    const bool copies = spec.pattern == "copy";
    auto pick = [&](auto copy, auto write) { copies ? launch(copy) : launch(write); };
    switch (spec.policy.stores) {
        case Stores::plain: return pick(stream_kernel<true, false, true, loads>, stream_kernel<false, false, true>);
        case Stores::cs:
            return pick(stream_kernel<true, false, true, loads, Stores::cs>,
                        stream_kernel<false, false, true, Loads::plain, Stores::cs>);
        case Stores::evict_first:
            return pick(stream_kernel<true, false, true, loads, Stores::evict_first>,
                        stream_kernel<false, false, true, Loads::plain, Stores::evict_first>);
        case Stores::evict_last:
            return pick(stream_kernel<true, false, true, loads, Stores::evict_last>,
                        stream_kernel<false, false, true, Loads::plain, Stores::evict_last>);
        case Stores::wt:
            return pick(stream_kernel<true, false, true, loads, Stores::wt>,
                        stream_kernel<false, false, true, Loads::plain, Stores::wt>);
        case Stores::uncached:
            return pick(stream_kernel<true, false, true, loads, Stores::uncached>,
                        stream_kernel<false, false, true, Loads::plain, Stores::uncached>);
    }
}

template <class Launch>
static void with_policy(const StreamSpec &spec, Launch launch) {
    switch (spec.policy.loads) {
        case Loads::plain: return with_stores<Loads::plain>(spec, launch);
        case Loads::nc: return with_stores<Loads::nc>(spec, launch);
        case Loads::no_allocate: return with_stores<Loads::no_allocate>(spec, launch);
        case Loads::cs: return with_stores<Loads::cs>(spec, launch);
        case Loads::evict_first: return with_stores<Loads::evict_first>(spec, launch);
        case Loads::evict_last: return with_stores<Loads::evict_last>(spec, launch);
        case Loads::uncached: return with_stores<Loads::uncached>(spec, launch);
    }
}

void StreamTask::prepare() {
    for (const auto &each : c_) poison(*each);
}

void StreamTask::submit() {
    const int shared = spec_.workgroups ? whole_unit(node_) : 0;
    const int rounds = spec_.flops_per_byte * 16 / 8;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        GPU(gpuSetDevice(lanes_[i].gpu));
        auto launch = [&](auto kernel) {
            if (shared)
                GPU(gpuFuncSetAttribute(reinterpret_cast<const void *>(kernel),
                                        gpuFuncAttributeMaxDynamicSharedMemorySize, shared));
            kernel<<<grid_, stream_threads, shared, lanes_[i].stream>>>(
                a_[i] ? a_[i]->data<float4>() : nullptr, b_[i] ? b_[i]->data<float4>() : nullptr,
                c_[i]->data<float4>(), spec_.bytes / 16, spec_.passes, rounds, times_);
            GPU(gpuGetLastError());
        };
        if (spec_.pattern == "triad")
            launch(stream_kernel<true, true, true>);
        else
            with_policy(spec_, launch);
    }
    times_ = nullptr;
}

bool StreamTask::note_times(DeviceTimes *times) {
    times_ = times;
    return true;
}

void StreamTask::verify() {
    if (spec_.flops_per_byte || spec_.pattern == "read" || spec_.pattern == "triad") return;
    const float written[4] = {1, 2, 3, 4};
    for (const auto &each : c_) {
        if (spec_.pattern == "copy")
            verify_bf16(*each, each->bytes(), "stream copy", [](std::size_t i) { return whole_number(i, 1); });
        else  // float32 words: the upper half of each is the number in bf16
            verify_bf16(*each, each->bytes(), "stream write",
                        [&](std::size_t i) { return i % 2 ? written[i / 2 % 4] : 0.0f; });
    }
}

Json StreamTask::workload() const {
    auto json = Json::object().set("kind", "stream").set("pattern", spec_.pattern).set("bytes", spec_.bytes);
    if (spec_.workgroups) json.set("workgroups", spec_.workgroups);
    if (spec_.passes > 1) json.set("passes", spec_.passes);
    if (kept_) json.set("inputs", "warm");
    if (spec_.policy.named()) json.set("cache", policy_json(spec_.policy));
    if (spec_.flops_per_byte) json.set("flops_per_byte", spec_.flops_per_byte);
    return json;
}

__global__ void hold_kernel(std::uint64_t time_ns, DeviceTimes *times) {
    extern __shared__ char claimed[];
    (void)claimed;
    note_begin(times);
    const auto start = device_clock_ns();
    while (device_clock_ns() - start < time_ns) {
    }
    note_end(times);
}

HoldTask::HoldTask(Node &node, int workgroups, double time_us, bool high_priority)
    : workgroups_(workgroups), time_us_(time_us), shared_(whole_unit(node)), high_priority_(high_priority) {
    for (int gpu = 0; gpu < node.gpus(); ++gpu) lanes_.push_back(node.stream(gpu, high_priority));
}

void HoldTask::submit() {
    for (const auto &lane : lanes_) {
        GPU(gpuSetDevice(lane.gpu));
        GPU(gpuFuncSetAttribute(reinterpret_cast<const void *>(hold_kernel), gpuFuncAttributeMaxDynamicSharedMemorySize,
                                shared_));
        hold_kernel<<<workgroups_, wave_size, shared_, lane.stream>>>(static_cast<std::uint64_t>(time_us_ * 1e3), times_);
        GPU(gpuGetLastError());
    }
    times_ = nullptr;
}

bool HoldTask::note_times(DeviceTimes *times) {
    times_ = times;
    return true;
}

Json HoldTask::workload() const {
    return Json::object().set("kind", "hold").set("workgroups", workgroups_).set("waves", 1).set("time", std::to_string(static_cast<long>(time_us_)) + " us");
}

}  // namespace probe
