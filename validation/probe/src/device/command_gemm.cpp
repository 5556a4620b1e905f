#include <memory>

#include "command_support.h"
#include "gemm_task.h"
#include "stream_task.h"

namespace probe {

static std::string name_of(const GemmSpec &spec) {
    auto name = spec.library + " " + std::to_string(spec.m) + "x" + std::to_string(spec.n) + "x" + std::to_string(spec.k);
    if (spec.persistent) name += ", persistent";
    if (spec.units) name += ", " + std::to_string(spec.units) + " units";
    return name;
}

int run_gemm(const std::vector<std::string> &arguments, const std::string &line) {
    Options options;
    options.option("shape", "", "MxNxK; several with commas")
        .option("library", "vendor", "vendor, probe (own kernel); several with commas")
        .option("units", "0", "compute units the library plans for, or the own persistent grid; 0: all")
        .flag("persistent", "own kernel: a grid of --units workgroups instead of one per tile")
        .option("hold", "0", "compute units that other workgroups occupy; several with commas")
        .option("hold-us", "20000", "how long they are occupied")
        .option("partition", "0", "compute units its stream may use (CU mask or partition); 0: all");
    if (parse(options, arguments, "gemm")) return 0;
    Report report(options, line);
    Node node(static_cast<int>(options.integer("gpus")));
    Bench bench(node, settings_of(options));
    for (auto library : options.texts("library"))
        for (const auto &shape : options.texts("shape"))
            for (const auto units : options.integers("units"))
                for (const auto part : options.integers("partition")) {
                    const auto extents = parse_shape(shape, 3);
                    GemmSpec spec;
                    spec.m = extents[0], spec.n = extents[1], spec.k = extents[2];
                    spec.library = library == "vendor" ? vendor_gemm_library() : library;
                    spec.units = static_cast<int>(units);
                    spec.persistent = options.on("persistent");
                    spec.part.units = static_cast<int>(part);
                    if (spec.library != "probe" && spec.library != vendor_gemm_library())
                        throw UsageError("--library " + library + ": vendor or probe");
                    GemmTask gemm(node, spec);
                    std::vector<std::unique_ptr<HoldTask>> holds;
                    std::vector<Scene> scenes{{{{"gemm", &gemm}}, {}}};
                    for (const auto held : options.integers("hold")) {
                        if (!held) continue;
                        holds.push_back(std::make_unique<HoldTask>(node, static_cast<int>(held), options.number("hold-us")));
                        scenes.push_back({{{"hold", holds.back().get()}, {"gemm", &gemm}}, {}});
                    }
                    std::vector<Scene *> all;
                    for (auto &each : scenes) all.push_back(&each);
                    bench.run(all);
                    auto name = name_of(spec);
                    if (part) name += ", partition of " + std::to_string(part);
                    report.write(bench, name, nullptr, {&scenes[0]});
                    progress(name + ": " + std::to_string(median_us(scenes[0], "gemm")) + " us");
                    for (std::size_t i = 1; i < scenes.size(); ++i) {
                        const auto workload = holds[i - 1]->workload();
                        report.write(bench, name + ", units held", &scenes[i], {&scenes[0]});
                        progress(name + " beside hold " + workload.dump() + ": " +
                                 std::to_string(median_us(scenes[i], "gemm")) + " us");
                    }
                }
    return 0;
}

}  // namespace probe
