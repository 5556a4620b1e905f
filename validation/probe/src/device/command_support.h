// What the subcommands share: declaring common options, --help, and one scene per task.
#pragma once
#include <cstdio>

#include "commands.h"
#include "report.h"

namespace probe {

// True when --help was asked for and shown.
inline bool parse(Options &options, const std::vector<std::string> &arguments, const char *name) {
    Report::declare(options);
    for (const auto &each : arguments)
        if (each == "--help" || each == "-h") {
            std::printf("usage: probe %s [OPTIONS]\n\n%s", name, options.help().c_str());
            return true;
        }
    options.parse(arguments);
    return false;
}

inline std::string text_of(std::int64_t bytes) {  // 64 MiB, 100 KiB, 1000 B
    const char *units[] = {"B", "KiB", "MiB", "GiB"};
    int unit = 0;
    while (unit < 3 && bytes % 1024 == 0) bytes /= 1024, ++unit;
    return std::to_string(bytes) + " " + units[unit];
}

// How work is released: gated (submitted beforehand, behind a wait of each stream) or eager (submitted at the release).
inline std::vector<bool> eager_or_not(const Options &options) {
    std::vector<bool> eager;
    for (const auto &each : options.texts("release")) {
        if (each != "gated" && each != "eager") throw UsageError("--release " + each + ": gated or eager");
        eager.push_back(each == "eager");
    }
    return eager;
}

// How copies are submitted: one call each, or one call of the runtime for all of a stream.
inline std::vector<bool> batch_or_not(const Options &options) {
    std::vector<bool> batch;
    for (const auto &each : options.texts("submission")) {
        if (each != "one_by_one" && each != "batch") throw UsageError("--submission " + each + ": one_by_one or batch");
        batch.push_back(each == "batch");
    }
    return batch;
}

// What a workload says of the host for copies by engines. One thread submits for all GPUs.
inline Json host_of_copies(bool eager, bool batch, bool all_gpus) {
    auto host = Json::object();
    if (eager) host.set("launch", "eager");
    if (eager && all_gpus) host.set("threads", "single");
    if (!eager) host.set("prelaunched", true);
    if (batch) host.set("submission", "batch");
    return host;
}

// Measures one task alone and writes its record.
inline void measure_alone(Bench &bench, Report &report, const std::string &name, const std::string &task_name,
                          Task &task, Json host = Json(), Json observed = Json()) {
    Scene scene{{{task_name, &task}}, {}};
    bench.run({&scene});
    if (!observed.is_null() && !bench.settings().eager && task.lanes().size() > 1)
        observed.set("stream_ends_us", stream_ends_us(scene));
    report.write(bench, name, nullptr, {&scene}, host, observed);
    progress(name + (bench.settings().eager ? ", eager: " : ": ") + std::to_string(median_us(scene, task_name)) + " us");
}

}  // namespace probe
