// A loop that one rank runs on its own GPU. No other rank is asked, unless by a barrier.
//
//   release  barrier
//   per_rank no       the host submits as far ahead as the queues hold; an event behind all tasks of an iteration releases
//                     those of the next
//   per_rank yes      the host waits for its GPU and for the other hosts, submits everything behind an event, then lets
//                     that event happen
//   host     no       the host waits for its GPU, then submits one task after another
//   host     yes      the same, and it waits for the other hosts before it submits
#pragma once
#include <memory>
#include <vector>

#include "../crew.h"
#include "gate.h"
#include "rank_clock.h"
#include "report.h"

namespace probe {

struct LoopSettings {
    int iterations = 20;  // all
    int warm_up = 2;      // the first ones, whose times are not given
    bool barrier = false, by_host = false;
    bool serial = false;  // each task waits for the one before it
};

class RankLoop {
public:
    RankLoop(Crew &crew, Node &node);
    ~RankLoop();
    RankLoop(const RankLoop &) = delete;
    RankLoop &operator=(const RankLoop &) = delete;
    Turns run(const std::vector<NamedTask> &order, const LoopSettings &settings);
    const RankClock &clock() const { return clock_; }

private:
    struct Marks;
    gpuEvent_t event();
    void submit(const std::vector<NamedTask> &order, DeviceTimes *times, Marks &marks, bool serial);
    Turn turn_of(const Marks &marks, const std::vector<DeviceTimes> &times, std::size_t first) const;

    Crew &crew_;
    Lane main_;
    RankClock clock_;
    Gate gate_;
    std::vector<gpuEvent_t> events_;  // reused by every loop
    std::size_t used_ = 0;
};

}  // namespace probe
