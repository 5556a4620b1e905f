// Energy counters, watched while something runs. They count on in steps, so power is taken between two steps.
#pragma once
#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "machine.h"

namespace probe {

struct Mark {  // a moment, and a counter's value when it was first seen
    double seconds, joules;
};

// Power [W] between the first and the last mark inside [from, to]; negative with fewer than two of them.
double power_between(const std::vector<Mark> &marks, double from, double to);

struct Watched {  // readings of one GPU inside a stretch of time; negative: not readable
    double power_w = -1;         // from its energy counter, else the mean of what its sensor said
    bool counted = false;        // from its counter
    std::size_t marks = 0;       // how often the counter went on
    double sensor_w = -1;        // mean
    double core_clock_mhz = -1, memory_clock_mhz = -1, temperature_c = -1;  // medians
    double power_limited = 0, heat_limited = 0;  // shares of the readings at which that held the clock down
};

// Reads counters every two milliseconds, and clocks fifty times less often, in a thread of its own until it ends.
class EnergyMeter {
public:
    using Energy = std::function<double(std::size_t gpu)>;  // joules, negative: not readable
    using Read = std::function<std::vector<Reading>()>;
    EnergyMeter(std::size_t gpus, Energy energy, Read read);
    ~EnergyMeter();
    EnergyMeter(const EnergyMeter &) = delete;
    EnergyMeter &operator=(const EnergyMeter &) = delete;
    double now() const;  // seconds since it began
    void stop();
    Watched watched(std::size_t gpu, double from, double to) const;  // after stop()

private:
    struct At {
        double seconds;
        std::vector<Reading> readings;
    };
    void watch();
    Energy energy_;
    Read read_;
    std::vector<std::vector<Mark>> marks_;
    std::vector<At> readings_;
    std::atomic<bool> stopped_{false};
    double began_;
    std::thread thread_;
};

}  // namespace probe
