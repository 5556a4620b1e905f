#include "command_support.h"
#include "stream_task.h"

namespace probe {

int run_stream(const std::vector<std::string> &arguments, const std::string &line) {
    Options options;
    options.option("pattern", "copy", "read, write, copy, triad; several with commas")
        .option("bytes", "", "of one array; several with commas, or 1MiB..1GiB by doubling")
        .option("workgroups", "0", "each on a compute unit of its own; 0: one per compute unit")
        .option("passes", "1", "over the arrays, within one kernel")
        .option("flops-per-byte", "0", "vector operations per byte read")
        .option("policy", "plain", "LOADS or LOADS/STORES: plain, nc, no_allocate, cs, evict_first, evict_last, uncached, keep; "
                                   "stores wt too");
    if (parse(options, arguments, "stream")) return 0;
    Report report(options, line);
    Node node(static_cast<int>(options.integer("gpus")));
    Bench bench(node, settings_of(options));
    for (const auto &pattern : options.texts("pattern"))
        for (const auto bytes : options.sizes("bytes"))
            for (const auto workgroups : options.integers("workgroups"))
                for (const auto passes : options.integers("passes"))
                    for (const auto flops : options.integers("flops-per-byte"))
                      for (const auto &policy : options.texts("policy")) {
                        StreamSpec spec;
                        spec.policy = parse_policy(policy);
                        spec.pattern = pattern;
                        spec.bytes = bytes;
                        spec.workgroups = static_cast<int>(workgroups);
                        spec.passes = static_cast<int>(passes);
                        spec.flops_per_byte = static_cast<int>(flops);
                        if (pattern != "read" && pattern != "write" && pattern != "copy" && pattern != "triad")
                            throw UsageError("--pattern " + pattern + ": read, write, copy or triad");
                        if (pattern == "triad" && spec.policy.named()) throw UsageError("--policy: a triad has none");
                        StreamTask task(node, spec);
                        std::string name = pattern + " " + text_of(bytes);
                        if (workgroups) name += ", " + std::to_string(workgroups) + " workgroups";
                        if (passes > 1) name += ", " + std::to_string(passes) + " passes";
                        if (flops) name += ", " + std::to_string(flops) + " flop/B";
                        auto observed = Json();
                        if (spec.policy.named()) name += ", " + policy, observed = Json::object().set("policy", policy);
                        measure_alone(bench, report, name, "stream", task, Json(), observed);
                    }
    return 0;
}

}  // namespace probe
