// A loop that one rank runs on its own GPU. In each iteration all tasks wait for the release, which is an event of the
// GPU behind the end of all tasks of the iteration before. No other rank is asked, unless by a barrier.
#pragma once
#include <memory>
#include <vector>

#include "../crew.h"
#include "rank_clock.h"
#include "report.h"

namespace probe {

struct LoopSettings {
    int iterations = 20, warm_up = 2;
    // Before each iteration the host waits for its GPU, then for the other ranks' hosts, then submits. Without it the host
    // submits as far ahead as the queues hold.
    bool barrier = false;
};

class RankLoop {
public:
    RankLoop(Crew &crew, Node &node);
    ~RankLoop();
    RankLoop(const RankLoop &) = delete;
    RankLoop &operator=(const RankLoop &) = delete;
    Turns run(const std::vector<NamedTask> &order, const LoopSettings &settings);  // without the warm-up
    const RankClock &clock() const { return clock_; }

private:
    struct Marks;
    gpuEvent_t event();
    void submit(const std::vector<NamedTask> &order, DeviceTimes *times, Marks &marks);
    Turn turn_of(const Marks &marks, const std::vector<DeviceTimes> &times, std::size_t first) const;

    Crew &crew_;
    Lane main_;
    RankClock clock_;
    std::vector<gpuEvent_t> events_;  // reused by every loop
    std::size_t used_ = 0;
};

}  // namespace probe
