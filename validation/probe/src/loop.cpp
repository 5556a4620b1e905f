#include "loop.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace probe {
namespace {

double apart_us(double end, double begin) { return std::round((end - begin) * 1e3) / 1e3; }  // no clock here is finer

double last_end(const Turn &turn) { return *std::max_element(turn.end_us.begin(), turn.end_us.end()); }

template <class Time>
std::vector<double> slowest(const std::vector<Turns> &ranks, Time time) {
    std::vector<double> times(ranks.front().size(), 0);
    for (const auto &turns : ranks)
        for (std::size_t i = 0; i < times.size(); ++i) times[i] = std::max(times[i], time(turns.at(i)));
    return times;
}

}  // namespace

std::string packed(const Turns &turns) {
    std::vector<double> numbers;
    for (const auto &turn : turns) {
        numbers.push_back(turn.launch_us);
        numbers.push_back(turn.release_us);
        numbers.insert(numbers.end(), turn.begin_us.begin(), turn.begin_us.end());
        numbers.insert(numbers.end(), turn.end_us.begin(), turn.end_us.end());
    }
    return {reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(double)};
}

Turns unpacked(const std::string &bytes, std::size_t tasks) {
    std::vector<double> numbers(bytes.size() / sizeof(double));
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(double));
    const std::size_t each = 2 + 2 * tasks;
    if (numbers.size() % each) throw std::invalid_argument("iterations of another number of tasks");
    Turns turns;
    for (auto at = numbers.begin(); at != numbers.end(); at += static_cast<std::ptrdiff_t>(each)) {
        const auto middle = at + 2 + static_cast<std::ptrdiff_t>(tasks), end = at + static_cast<std::ptrdiff_t>(each);
        turns.push_back({at[0], at[1], {at + 2, middle}, {middle, end}});
    }
    return turns;
}

std::vector<double> task_times_us(const std::vector<Turns> &ranks, std::size_t task) {
    return slowest(ranks, [&](const Turn &turn) { return apart_us(turn.end_us.at(task), turn.release_us); });
}

std::vector<double> walls_us(const std::vector<Turns> &ranks) {
    return slowest(ranks, [](const Turn &turn) { return apart_us(last_end(turn), turn.release_us); });
}

std::vector<double> walls_across_us(const std::vector<Turns> &ranks) {
    std::vector<double> walls;
    for (std::size_t i = 0; i < ranks.front().size(); ++i) {
        double first = ranks.front()[i].release_us, last = last_end(ranks.front()[i]);
        for (const auto &turns : ranks) {
            first = std::min(first, turns.at(i).release_us);
            last = std::max(last, last_end(turns.at(i)));
        }
        walls.push_back(apart_us(last, first));
    }
    return walls;
}

Instant instant_of(const std::vector<Exchange> &exchanges) {
    if (exchanges.empty()) throw std::invalid_argument("an instant of no exchanges");
    const auto &best = *std::min_element(exchanges.begin(), exchanges.end(), [](const auto &a, const auto &b) {
        return a.answered_ns - a.asked_ns < b.answered_ns - b.asked_ns;
    });
    const auto taken = best.answered_ns - best.asked_ns;
    return {best.device_ns, best.asked_ns + taken / 2, static_cast<double>(taken) / 2};
}

std::int64_t host_ns(const Instant &before, const Instant &after, std::int64_t device_ns) {
    const auto device = after.device_ns - before.device_ns, host = after.host_ns - before.host_ns;
    const double rate = device > 0 ? static_cast<double>(host) / static_cast<double>(device) : 1;
    return before.host_ns + std::llround(static_cast<double>(device_ns - before.device_ns) * rate);
}

}  // namespace probe
