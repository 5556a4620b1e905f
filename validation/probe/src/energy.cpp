#include "energy.h"

#include <chrono>

#include "statistics.h"

namespace probe {

constexpr int readings_apart = 50;  // looks at the counters between two readings of clocks
constexpr auto look_apart = std::chrono::milliseconds(2);

static double clock_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static std::vector<Mark> inside(const std::vector<Mark> &marks, double from, double to) {
    std::vector<Mark> found;
    for (std::size_t i = 1; i < marks.size(); ++i)  // the first was no step of the counter
        if (marks[i].seconds >= from && marks[i].seconds <= to) found.push_back(marks[i]);
    return found;
}

double power_between(const std::vector<Mark> &marks, double from, double to) {
    const auto found = inside(marks, from, to);
    if (found.size() < 2) return -1;
    return (found.back().joules - found.front().joules) / (found.back().seconds - found.front().seconds);
}

EnergyMeter::EnergyMeter(std::size_t gpus, Energy energy, Read read)
    : energy_(std::move(energy)), read_(std::move(read)), marks_(gpus), began_(clock_s()), thread_([this] { watch(); }) {}

EnergyMeter::~EnergyMeter() { stop(); }

double EnergyMeter::now() const { return clock_s() - began_; }

void EnergyMeter::stop() {
    stopped_ = true;
    if (thread_.joinable()) thread_.join();
}

void EnergyMeter::watch() {
    for (int look = 0; !stopped_; ++look) {
        for (std::size_t gpu = 0; gpu < marks_.size(); ++gpu) {
            const double joules = energy_(gpu);
            auto &marks = marks_[gpu];
            if (joules >= 0 && (marks.empty() || marks.back().joules != joules)) marks.push_back({now(), joules});
        }
        if (look % readings_apart == 0) readings_.push_back({now(), read_()});
        std::this_thread::sleep_for(look_apart);
    }
}

static double middle(const std::vector<double> &values) { return values.empty() ? -1 : median(values); }

Watched EnergyMeter::watched(std::size_t gpu, double from, double to) const {
    Watched result;
    std::vector<double> powers, core, memory, temperature;
    std::size_t seen = 0, by_power = 0, by_heat = 0;
    for (const auto &each : readings_) {
        if (each.seconds < from || each.seconds > to || gpu >= each.readings.size()) continue;
        const auto &reading = each.readings[gpu];
        if (reading.power_w >= 0) powers.push_back(reading.power_w);
        if (reading.core_clock_mhz >= 0) core.push_back(reading.core_clock_mhz);
        if (reading.memory_clock_mhz >= 0) memory.push_back(reading.memory_clock_mhz);
        if (reading.temperature_c >= 0) temperature.push_back(reading.temperature_c);
        ++seen, by_power += reading.limited_by == "power", by_heat += reading.limited_by == "thermal";
    }
    if (!powers.empty()) {
        result.sensor_w = 0;
        for (const double each : powers) result.sensor_w += each / static_cast<double>(powers.size());
    }
    if (seen) {
        result.power_limited = static_cast<double>(by_power) / static_cast<double>(seen);
        result.heat_limited = static_cast<double>(by_heat) / static_cast<double>(seen);
    }
    result.core_clock_mhz = middle(core), result.memory_clock_mhz = middle(memory), result.temperature_c = middle(temperature);
    result.marks = inside(marks_[gpu], from, to).size();
    result.power_w = power_between(marks_[gpu], from, to);
    result.counted = result.power_w >= 0;
    if (!result.counted) result.power_w = result.sensor_w;
    return result;
}

}  // namespace probe
