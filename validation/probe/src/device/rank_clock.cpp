#include "rank_clock.h"

#include <algorithm>

#include "../crew.h"

namespace probe {

constexpr int rounds = 24, steps = 64;
constexpr std::int64_t patience_ns = 10'000'000'000;

struct ClockWords {
    volatile std::uint32_t asked, answered;
    std::uint64_t first_ns, last_ns, step_ns;
    std::uint64_t seen_ns[rounds];
};

__global__ void answer_kernel(ClockWords *words) {
    words->first_ns = device_clock_ns();
    std::uint64_t step = ~0ull, before = device_clock_ns();
    for (int i = 0; i < steps; ++i) {
        std::uint64_t now = device_clock_ns();
        while (now == before) now = device_clock_ns();
        step = now - before < step ? now - before : step;
        before = now;
    }
    words->step_ns = step;
    for (std::uint32_t round = 0; round < rounds; ++round) {
        while (words->asked <= round) {
        }
        words->seen_ns[round] = device_clock_ns();
        __threadfence_system();
        words->answered = round + 1;
    }
    words->last_ns = device_clock_ns();
}

RankClock::RankClock(Node &node) : lane_(node.stream(0)) {
    void *memory = nullptr;
    GPU(gpuHostMalloc(&memory, sizeof(ClockWords), gpuHostMallocPortable | gpuHostMallocMapped));
    words_ = static_cast<ClockWords *>(memory);
    for (auto *event : {&first_, &behind_, &other_}) GPU(gpuEventCreate(event));
}

RankClock::~RankClock() {
    for (auto event : {first_, behind_, other_}) (void)gpuEventDestroy(event);
#if defined(__CUDACC__)
    (void)cudaFreeHost(words_);
#else
    (void)hipHostFree(words_);
#endif
}

Instant RankClock::take(gpuEvent_t first, gpuEvent_t last, std::int64_t &first_ns) {
    words_->asked = words_->answered = 0;
    std::vector<std::int64_t> asked, answered;
    GPU(gpuEventRecord(first, lane_.stream));
    answer_kernel<<<1, 1, 0, lane_.stream>>>(words_);
    GPU(gpuGetLastError());
    GPU(gpuEventRecord(last, lane_.stream));
    for (std::uint32_t round = 0; round < rounds; ++round) {
        asked.push_back(monotonic_ns());
        words_->asked = round + 1;
        while (words_->answered <= round)
            if (monotonic_ns() - asked.back() > patience_ns) throw GpuError("the GPU does not answer when it is asked for its clock");
        answered.push_back(monotonic_ns());
    }
    GPU(gpuEventSynchronize(last));
    std::vector<Exchange> exchanges;
    for (std::uint32_t round = 1; round < rounds; ++round)  // the first one waited for the launch
        exchanges.push_back({asked[round], static_cast<std::int64_t>(words_->seen_ns[round]), answered[round]});
    float ms = 0;
    GPU(gpuEventElapsedTime(&ms, first, last));
    // The kernel lies between the events; what is left over is halved.
    const auto kernel = static_cast<std::int64_t>(words_->last_ns - words_->first_ns);
    const auto between = static_cast<std::int64_t>(static_cast<double>(ms) * 1e6);
    first_ns = static_cast<std::int64_t>(words_->first_ns) - (between - kernel) / 2;
    step_ns_ = static_cast<double>(words_->step_ns);
    return instant_of(exchanges);
}

void RankClock::begin() {
    GPU(gpuDeviceSynchronize());
    before_ = take(first_, behind_, first_ns_);
}

void RankClock::end() {
    std::int64_t ignored = 0;
    after_ = take(other_, behind_, ignored);
}

double RankClock::host_us(std::uint64_t device_ns, std::int64_t since_ns) const {
    return static_cast<double>(host_ns(before_, after_, static_cast<std::int64_t>(device_ns)) - since_ns) / 1e3;
}

double RankClock::host_us(gpuEvent_t event, std::int64_t since_ns) const {
    float ms = 0;
    GPU(gpuEventElapsedTime(&ms, first_, event));
    return host_us(static_cast<std::uint64_t>(first_ns_ + static_cast<std::int64_t>(static_cast<double>(ms) * 1e6)), since_ns);
}

double RankClock::uncertain_us() const { return std::max(before_.uncertain_ns, after_.uncertain_ns) / 1e3; }

}  // namespace probe
