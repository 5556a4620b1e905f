// Iterations of a loop that every rank runs for itself: their times on one clock, and what is said of them. Host only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace probe {

struct Turn {  // one iteration of one rank; times in us on the clock of the host
    double launch_us = 0;   // the host began to submit it
    double release_us = 0;  // its tasks could begin: all of the iteration before had ended
    std::vector<double> begin_us, end_us;  // of each task, in the launch order
};
using Turns = std::vector<Turn>;  // of one rank

std::string packed(const Turns &turns);
Turns unpacked(const std::string &bytes, std::size_t tasks);

// Of each iteration, by the slowest rank: from the rank's own release to the end of the task, or of its last task.
std::vector<double> task_times_us(const std::vector<Turns> &ranks, std::size_t task);
std::vector<double> walls_us(const std::vector<Turns> &ranks);
// Of each iteration: from the first release of any rank to the last end of any.
std::vector<double> walls_across_us(const std::vector<Turns> &ranks);

// -- a GPU's clock against the host's

struct Exchange {  // the host asked, the GPU read its clock, the host had the answer
    std::int64_t asked_ns, device_ns, answered_ns;
};
struct Instant {  // the same moment on both clocks, give or take `uncertain_ns`
    std::int64_t device_ns = 0, host_ns = 0;
    double uncertain_ns = 0;
};
Instant instant_of(const std::vector<Exchange> &exchanges);  // of the quickest answer

// Between two instants, and beyond them, the clocks go on evenly.
std::int64_t host_ns(const Instant &before, const Instant &after, std::int64_t device_ns);

}  // namespace probe
