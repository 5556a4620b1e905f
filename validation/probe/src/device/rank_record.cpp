#include "rank_record.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "../statistics.h"

namespace probe {
namespace {

double rounded(double us) { return std::round(us * 100) / 100; }

double kept_median(const std::vector<double> &times, const std::vector<std::string> &why) {
    std::vector<double> kept;
    for (std::size_t i = 0; i < times.size(); ++i)
        if (why[i].empty()) kept.push_back(times[i]);
    return median(kept.empty() ? times : kept);
}

std::vector<double> first_releases(const LoopRun &run) {  // of each iteration
    std::vector<double> firsts;
    for (std::size_t i = 0; i < run.why.size(); ++i) {
        firsts.push_back(run.ranks[0][i].release_us);
        for (const auto &turns : run.ranks) firsts.back() = std::min(firsts.back(), turns[i].release_us);
    }
    return firsts;
}

// A time of each iteration, from the first release of any rank on.
template <class Time>
Json since(const std::vector<double> &firsts, const Turns &turns, Time time) {
    std::vector<double> numbers;
    for (std::size_t i = 0; i < turns.size(); ++i) numbers.push_back(rounded(time(turns[i]) - firsts[i]));
    return numbers;
}

// Between the releases of two iterations of one loop.
double period_us(const Turns &turns, int loops) {
    const std::size_t counted = turns.size() / loops;
    std::vector<double> periods;
    for (std::size_t i = 1; i < turns.size(); ++i)
        if (i % counted) periods.push_back(turns[i].release_us - turns[i - 1].release_us);
    return periods.empty() ? -1 : median(periods);
}

Json rank_json(const LoopRecord &record, std::size_t rank, const Identity &gpu) {
    const auto &run = record.shown();
    const auto firsts = first_releases(run);
    const auto &turns = run.ranks[rank];
    auto tasks = Json::object();
    for (std::size_t task = 0; task < run.order.size(); ++task) {
        const auto &name = run.order[task].name;
        auto json = Json::object().set("time_us", rounded(kept_median(task_times_us({turns}, task), run.why)));
        for (const auto *alone : record.alone)
            if (alone->order[0].name == name)
                json.set("isolated_us", rounded(kept_median(task_times_us({alone->ranks[rank]}, 0), alone->why)));
        json.set("start_us", since(firsts, turns, [&](const Turn &turn) { return turn.begin_us[task]; }));
        json.set("end_us", since(firsts, turns, [&](const Turn &turn) { return turn.end_us[task]; }));
        tasks.set(name, json);
    }
    auto json = Json::object().set("pci", gpu.pci).set("wall_us", rounded(kept_median(walls_us({turns}), run.why)));
    const double period = period_us(turns, record.loops);
    if (period >= 0) json.set("period_us", rounded(period));
    json.set("tasks", tasks);
    json.set("launch_us", since(firsts, turns, [](const Turn &turn) { return turn.launch_us; }));
    return json.set("release_us", since(firsts, turns, [](const Turn &turn) { return turn.release_us; }));
}

Json host_of(const LoopRecord &record) {
    const auto &settings = record.settings;
    auto host = Json::object().set("release", settings.by_host ? "host" : "per_rank");
    host.set("loop", Json::object().set("iterations", settings.iterations).set("barrier", settings.barrier));
    if (settings.by_host) host.set("launch", "eager");
    if (record.engines && !settings.by_host) host.set("prelaunched", true);
    return host;
}

}  // namespace

double median_us(const LoopRun &run, std::size_t task) { return kept_median(task_times_us(run.ranks, task), run.why); }

Findings findings_of(const LoopRecord &record, const std::vector<Identity> &gpus) {
    const auto &run = record.shown();
    Findings findings;
    findings.samples = static_cast<int>(run.why.size());
    findings.host = host_of(record);
    findings.serial = record.settings.serial && record.together;
    if (record.together) {
        const auto walls = walls_us(run.ranks);
        findings.measured.set("wall_us", kept_median(walls, run.why));
        findings.sets.set("wall", set_of(walls, run.why));
        auto tasks = Json::object();
        for (std::size_t task = 0; task < run.order.size(); ++task) {
            const auto &name = run.order[task].name;
            tasks.set(name, Json::object().set("time_us", median_us(run, task)));
            findings.sets.set("tasks." + name, set_of(task_times_us(run.ranks, task), run.why));
        }
        findings.measured.set("tasks", tasks);
    }
    auto isolated = Json::object(), starts = Json::object(), power = Json::object();
    for (const auto *alone : record.alone) {
        const auto &name = alone->order[0].name;
        isolated.set(name, median_us(*alone, 0));
        findings.sets.set("isolated." + name, set_of(task_times_us(alone->ranks, 0), alone->why));
        starts.set(name, alone->order[0].task->note_times(nullptr) ? "first workgroup" : "event before it in its stream");
        if (!alone->power.is_null()) power.set(name, alone->power);
    }
    findings.measured.set("isolated", isolated);
    if (record.together && !run.power.is_null()) power.set("together", run.power);
    auto ranks = Json::array();
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) ranks.push(rank_json(record, rank, gpus[rank]));
    findings.observed = Json::object()
                            .set("processes", static_cast<std::int64_t>(run.ranks.size()))
                            .set("loops", record.loops)
                            .set("warm_up", record.settings.warm_up)
                            .set("wall_across_ranks_us", rounded(kept_median(walls_across_us(run.ranks), run.why)))
                            .set("starts", starts)
                            .set("ranks", ranks);
    if (!run.power.is_null()) findings.observed.set("power", power);
    return findings;
}

std::string progress_of(const LoopRecord &record) {
    const auto &run = record.shown();
    std::string line;
    char text[120];
    for (std::size_t task = 0; task < run.order.size(); ++task) {
        std::snprintf(text, sizeof text, "%s%s %.1f", task ? ", " : "", run.order[task].name.c_str(), median_us(run, task));
        line += text;
        for (const auto *alone : record.alone)
            if (record.together && alone->order[0].name == run.order[task].name) {
                std::snprintf(text, sizeof text, " (alone %.1f)", median_us(*alone, 0));
                line += text;
            }
    }
    return line + " us";
}

}  // namespace probe
