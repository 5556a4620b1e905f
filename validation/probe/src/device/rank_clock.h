// The clock of one GPU against the host's, so that times of different GPUs can be compared.
#pragma once
#include "../loop.h"
#include "node.h"

namespace probe {

struct ClockWords;  // host memory that the GPU sees

class RankClock {
public:
    explicit RankClock(Node &node);
    ~RankClock();
    RankClock(const RankClock &) = delete;
    RankClock &operator=(const RankClock &) = delete;

    void begin();  // the GPU is idle: a moment on both clocks, and an event from which others are counted
    void end();    // again, behind what was measured
    double host_us(gpuEvent_t event, std::int64_t since_ns) const;          // on the host's clock, after `since_ns`
    double host_us(std::uint64_t device_ns, std::int64_t since_ns) const;   // of device_clock_ns()
    double uncertain_us() const;  // half of the quickest answer's way, the larger of both moments
    double step_ns() const { return step_ns_; }  // of the GPU's clock

private:
    Instant take(gpuEvent_t first, gpuEvent_t last, std::int64_t &first_ns);
    Lane lane_;
    ClockWords *words_ = nullptr;
    gpuEvent_t first_ = nullptr, behind_ = nullptr, other_ = nullptr;
    std::int64_t first_ns_ = 0;  // of the event `first_`, on the GPU's clock
    double step_ns_ = 0;
    Instant before_, after_;
};

}  // namespace probe
