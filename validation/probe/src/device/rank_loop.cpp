#include "rank_loop.h"

#include <algorithm>

namespace probe {

struct RankLoop::Marks {
    struct Lane {
        gpuEvent_t begin, end;
    };
    std::int64_t launch_ns = 0;
    gpuEvent_t release = nullptr;
    std::vector<std::vector<Lane>> tasks;
    std::vector<bool> noted;  // the kernel itself says when it began
};

RankLoop::RankLoop(Crew &crew, Node &node) : crew_(crew), main_(node.stream(0)), clock_(node) {}

RankLoop::~RankLoop() {
    for (auto each : events_) (void)gpuEventDestroy(each);
}

gpuEvent_t RankLoop::event() {
    if (used_ == events_.size()) {
        gpuEvent_t made;
        GPU(gpuEventCreate(&made));
        events_.push_back(made);
    }
    return events_[used_++];
}

void RankLoop::submit(const std::vector<NamedTask> &order, DeviceTimes *times, Marks &marks, bool serial) {
    marks.launch_ns = monotonic_ns();
    GPU(gpuEventRecord(marks.release, main_.stream));
    for (std::size_t i = 0; i < order.size(); ++i) {
        auto &task = *order[i].task;
        const auto &lanes = task.lanes();
        for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
            GPU(gpuStreamWaitEvent(lanes[lane].stream, marks.release, 0));
            if (serial && i)
                for (const auto &before : marks.tasks[i - 1]) GPU(gpuStreamWaitEvent(lanes[lane].stream, before.end, 0));
            GPU(gpuEventRecord(marks.tasks[i][lane].begin, lanes[lane].stream));
        }
        marks.noted[i] = task.note_times(times + i);
        task.submit();
        for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
            GPU(gpuEventRecord(marks.tasks[i][lane].end, lanes[lane].stream));
            GPU(gpuStreamWaitEvent(main_.stream, marks.tasks[i][lane].end, 0));
        }
    }
}

Turn RankLoop::turn_of(const Marks &marks, const std::vector<DeviceTimes> &times, std::size_t first) const {
    const auto since = crew_.began_ns();
    Turn turn;
    turn.launch_us = static_cast<double>(marks.launch_ns - since) / 1e3;
    turn.release_us = clock_.host_us(marks.release, since);
    for (std::size_t i = 0; i < marks.tasks.size(); ++i) {
        double begin = 0, end = 0;
        for (const auto &lane : marks.tasks[i]) {
            const double began = clock_.host_us(lane.begin, since), ended = clock_.host_us(lane.end, since);
            const bool is_first = &lane == &marks.tasks[i].front();
            begin = is_first ? began : std::min(begin, began);
            end = is_first ? ended : std::max(end, ended);
        }
        if (marks.noted[i]) begin = clock_.host_us(static_cast<std::uint64_t>(times[first + i].first_begin), since);
        turn.begin_us.push_back(begin);
        turn.end_us.push_back(end);
    }
    return turn;
}

Turns RankLoop::run(const std::vector<NamedTask> &order, const LoopSettings &settings) {
    const std::size_t turns = settings.iterations;
    std::vector<DeviceTimes> times(turns * order.size(), {~0ull, 0});
    Buffer noted(0, times.size() * sizeof(DeviceTimes));
    GPU(gpuMemcpy(noted.data(), times.data(), noted.bytes(), gpuMemcpyDefault));
    used_ = 0;
    std::vector<Marks> marks(turns);
    for (auto &each : marks) {  // events are created here, not between launches
        each.release = event();
        each.noted.resize(order.size());
        for (const auto &named : order) {
            each.tasks.emplace_back();
            for (std::size_t i = 0; i < named.task->lanes().size(); ++i) {
                const auto begin = event(), end = event();
                each.tasks.back().push_back({begin, end});
            }
        }
    }
    clock_.begin();
    crew_.barrier();
    for (std::size_t i = 0; i < turns; ++i) {
        const bool gated = settings.barrier && !settings.by_host;
        if (settings.barrier || settings.by_host) GPU(gpuStreamSynchronize(main_.stream));  // it waits for all others
        if (settings.barrier) crew_.barrier();
        if (gated) gate_.close(), gate_.hold(main_.stream);
        submit(order, noted.data<DeviceTimes>() + i * order.size(), marks[i], settings.serial);
        if (gated) gate_.open();
    }
    GPU(gpuDeviceSynchronize());
    clock_.end();
    GPU(gpuMemcpy(times.data(), noted.data(), noted.bytes(), gpuMemcpyDefault));
    Turns result;
    for (std::size_t i = settings.warm_up; i < turns; ++i) result.push_back(turn_of(marks[i], times, i * order.size()));
    crew_.barrier();
    return result;
}

}  // namespace probe
