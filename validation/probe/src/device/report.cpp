#include "report.h"

#include <cstdio>
#include <ctime>
#include <map>

#include "../sha256.h"
#include "cache_policy.h"

namespace probe {

Options &Report::declare(Options &options) {
    return options.option("node", "unnamed", "name of the node model the records belong to")
        .option("suite", "probe", "name of the suite the records belong to")
        .option("role", "validation", "calibration or validation")
        .option("revision", "unknown", "git revision of the probe")
        .option("source", "c3sim probe", "who measured, where")
        .option("gpus", "0", "number of GPUs, 0: all")
        .option("samples", "10", "samples of each scene")
        .option("warm-up", "2", "runs before the first sample")
        .option("pause-ms", "0", "before each sample")
        .flag("warm", "leave caches as the previous sample left them");
}

Settings settings_of(const Options &options) {
    Settings settings;
    settings.samples = static_cast<int>(options.integer("samples"));
    settings.warm_up = static_cast<int>(options.integer("warm-up"));
    settings.pause_ms = options.number("pause-ms");
    settings.cold = !options.on("warm");
    if (settings.samples < 1) throw UsageError("--samples 0: at least 1");
    return settings;
}

void progress(const std::string &text) { std::fprintf(stderr, "%s\n", text.c_str()); }

Report::Report(const Options &options, std::string command)
    : node_(options.text("node")), suite_(options.text("suite")), role_(options.text("role")),
      revision_(options.text("revision")), source_(options.text("source")), command_(std::move(command)) {
    if (role_ != "calibration" && role_ != "validation")
        throw UsageError("--role " + role_ + ": calibration or validation");
}

Json set_of(const std::vector<double> &times_us, const std::vector<std::string> &why) {
    Json disturbed = Json::array();
    std::string last;
    for (std::size_t i = 0; i < why.size(); ++i)
        if (!why[i].empty()) disturbed.push(static_cast<std::int64_t>(i)), last = why[i];
    auto json = Json::object().set("times_us", times_us).set("disturbed", disturbed);
    if (!last.empty()) json.set("why", last);
    return json;
}

static Json set_of(const Scene &scene, const std::string &task) {
    std::vector<double> times;
    std::vector<std::string> why;
    for (const auto &sample : scene.samples) {
        double value = sample.wall_us;
        for (std::size_t j = 0; j < scene.order.size(); ++j)
            if (scene.order[j].name == task) value = sample.task_us[j];
        times.push_back(value);
        why.push_back(sample.why);
    }
    return set_of(times, why);
}

static Setting setting_of(const Bench &bench) {
    return {bench.node().describe(), bench.node().runtime_version(), bench.before(), bench.after()};
}

void Report::write(Bench &bench, const std::string &name, const Scene *together,
                   const std::vector<const Scene *> &alone, Json host, Json observed) {
    auto measured = Json::object(), sets = Json::object(), isolated = Json::object(), tasks = Json::object();
    if (together) {
        measured.set("wall_us", median_us(*together, ""));
        sets.set("wall", set_of(*together, ""));
        for (const auto &each : together->order) {
            tasks.set(each.name, Json::object().set("time_us", median_us(*together, each.name)));
            sets.set("tasks." + each.name, set_of(*together, each.name));
        }
        measured.set("tasks", tasks);
    }
    for (const auto *scene : alone) {
        const auto &task = scene->order.front().name;
        if (scene->order.front().task->tasks(task).size() > 1) {  // tasks at the same time, none of them alone
            measured.set("wall_us", median_us(*scene, ""));
            sets.set("wall", set_of(*scene, ""));
            continue;
        }
        isolated.set(task, median_us(*scene, task));
        sets.set("isolated." + task, set_of(*scene, task));
    }
    measured.set("isolated", isolated);
    const auto &order = together ? together->order : alone.front()->order;
    write(setting_of(bench), name, order, {host, measured, sets, observed, bench.settings().samples});
}

void Report::write_observed(Bench &bench, const std::string &name, const Scene &scene, Json host, Json observed) {
    write(setting_of(bench), name, scene.order, {host, Json::object(), Json::object(), observed, bench.settings().samples});
}

void Report::write(const Setting &setting, const std::string &name, const std::vector<NamedTask> &order,
                   Findings findings) {
    auto tasks = Json::object(), streams = Json::object(), versions = Json::object();
    std::map<std::string, std::string> libraries;
    bool named_streams = false;
    Json names = Json::array();
    std::string before, last;
    for (const auto &each : order) {
        auto stream = each.task->streams();
        before = last;
        for (auto &[name, task] : each.task->tasks(each.name)) {
            if (!stream.is_null()) {
                task.set("stream", name);
                streams.set(name, stream);
                named_streams = true;
            }
            if (findings.serial && !before.empty()) task.set("after", Json::array().push(before));
            tasks.set(name, task);
            names.push(name);
            last = name;
        }
        for (const auto &[library, version] : each.task->libraries()) libraries[library] = version;
    }
    auto workload = Json::object().set("schema", 1).set("name", name).set("tasks", tasks);
    if (named_streams) workload.set("streams", streams);
    auto host = findings.host.is_null() ? Json::object() : findings.host;
    if (order.size() > 1) host.set("order", names);
    if (lines_set_aside()) host.set("set_aside", true);
    workload.set("host", host);
    std::string software = setting.runtime;
    for (const auto &[library, version] : libraries) {
        software += ", " + library + " " + version;
        versions.set(library, version);
    }
    Json readings_before = Json::array(), readings_after = Json::array();
    for (const auto &each : setting.before) readings_before.push(each.json());
    for (const auto &each : setting.after) readings_after.push(each.json());
    auto machine = setting.machine;
    machine.set("libraries", versions).set("before", readings_before).set("after", readings_after);
    const auto conditions = Json::array().push(node_).push(workload).push("as_written").push(software);
    char date[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    auto record = Json::object()
                      .set("schema", 1)
                      .set("id", sha256_hex(conditions.canonical()).substr(0, 16))
                      .set("suite", suite_)
                      .set("node", node_)
                      .set("workload", workload)
                      .set("strategy", "as_written")
                      .set("measured", findings.measured)
                      .set("samples", findings.samples)
                      .set("source", source_)
                      .set("software", software)
                      .set("role", role_)
                      .set("date", date)
                      .set("revision", revision_)
                      .set("command", command_)
                      .set("machine", machine)
                      .set("sets", findings.sets);
    if (!findings.observed.is_null()) record.set("observed", findings.observed);
    std::printf("%s\n", record.dump().c_str());
    std::fflush(stdout);
}

}  // namespace probe
