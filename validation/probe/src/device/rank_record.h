// The record of a loop that every rank ran: medians over iterations of the slowest rank, and what each rank saw.
#pragma once
#include <string>
#include <vector>

#include "rank_loop.h"
#include "report.h"

namespace probe {

struct LoopRun {  // the loops of one set of tasks, on every rank, one loop behind the other
    std::vector<NamedTask> order;
    std::vector<Turns> ranks;
    // Of each iteration; not empty: disturbed. Far from the median is no disturbance here: who comes first may differ from
    // one iteration to the next.
    std::vector<std::string> why;
    Json power;                    // of each GPU during the last loop; null where it was not watched
};
double median_us(const LoopRun &run, std::size_t task);

struct LoopRecord {
    std::vector<const LoopRun *> alone;  // one for each task
    const LoopRun *together = nullptr;   // or none
    LoopSettings settings;
    int loops = 1;
    bool engines = false;  // the runtime is asked to copy
    const LoopRun &shown() const { return together ? *together : *alone.front(); }
};
Findings findings_of(const LoopRecord &record, const std::vector<Identity> &gpus);  // `observed` can be added to
std::string progress_of(const LoopRecord &record);                                  // one line

}  // namespace probe
