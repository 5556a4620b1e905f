#include <memory>

#include "command_support.h"
#include "gemm_task.h"
#include "stream_task.h"

namespace probe {

// Rows of [compute unit, start, end] per workgroup, in microseconds from the first start.
static Json rows_of(const std::vector<Placement> &placements) {
    std::uint64_t first = ~0ull;
    for (const auto &each : placements) first = std::min(first, each.start_ns);
    Json rows = Json::array();
    for (const auto &each : placements)
        rows.push(Json::array()
                      .push(each.unit)
                      .push(static_cast<std::int64_t>(each.start_ns - first) / 10 / 100.0)
                      .push(static_cast<std::int64_t>(each.end_ns - first) / 10 / 100.0));
    return rows;
}

int run_dispatch(const std::vector<std::string> &arguments, const std::string &line) {
    Options options;
    options.option("shape", "4096x4096x4096", "of the probe's own matrix kernel; several with commas")
        .flag("persistent", "one workgroup per compute unit instead of one per tile")
        .option("hold", "0", "compute units that other workgroups occupy; several with commas")
        .option("hold-us", "2000", "how long they are occupied");
    if (parse(options, arguments, "dispatch")) return 0;
    Report report(options, line);
    Node node(static_cast<int>(options.integer("gpus")));
    Bench bench(node, settings_of(options));
    for (const auto &shape : options.texts("shape"))
        for (const auto held : options.integers("hold")) {
            const auto extents = parse_shape(shape, 3);
            GemmSpec spec;
            spec.m = extents[0], spec.n = extents[1], spec.k = extents[2];
            spec.library = "probe";
            spec.persistent = options.on("persistent");
            GemmTask gemm(node, spec, true);
            auto hold = held ? std::make_unique<HoldTask>(node, static_cast<int>(held), options.number("hold-us")) : nullptr;
            Scene alone{{{"gemm", &gemm}}, {}}, together;
            if (hold) together.order = {{"hold", hold.get()}, {"gemm", &gemm}};
            bench.run(hold ? std::vector<Scene *>{&alone, &together} : std::vector<Scene *>{&alone});
            auto observed = Json::object()
                                .set("columns", Json::array().push("compute unit").push("start_us").push("end_us"))
                                .set("workgroups", rows_of(gemm.placements()));
            auto name = "placement of " + shape;
            if (hold) name += " beside " + std::to_string(held) + " held units";
            report.write(bench, name, hold ? &together : nullptr, {&alone}, Json(), observed);
            progress(name);
        }
    return 0;
}

}  // namespace probe
