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

// Measures one task alone and writes its record.
inline void measure_alone(Bench &bench, Report &report, const std::string &name, const std::string &task_name,
                          Task &task, Json host = Json(), Json observed = Json()) {
    Scene scene{{{task_name, &task}}, {}};
    bench.run({&scene});
    report.write(bench, name, nullptr, {&scene}, host, observed);
    progress(name + ": " + std::to_string(median_us(scene, task_name)) + " us");
}

}  // namespace probe
