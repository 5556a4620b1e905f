// Every GPU is driven by a process of its own, as frameworks do: it launches for itself, in loops.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "../energy.h"
#include "command_support.h"
#include "rank_loads.h"
#include "rank_record.h"

namespace probe {
namespace {

struct Asked {  // what one record is about
    RankLoad first, second;
    bool pair = false;
};

// -- the processes

struct Count {
    int gpus = 0;
    char why[256] = {};
};

// Counted by a process of its own: the one that starts the ranks must not have called the runtime.
int count_gpus(int wanted) {
    int ends[2];
    if (pipe(ends)) throw std::runtime_error(std::string("a pipe: ") + std::strerror(errno));
    Count count;
    const pid_t child = fork();
    if (child == 0) {
        try {
            count.gpus = Node(wanted).gpus();
        } catch (const std::exception &error) {
            std::strncpy(count.why, error.what(), sizeof count.why - 1);
        }
        const auto written = write(ends[1], &count, sizeof count);
        std::_Exit(written == sizeof count ? 0 : 1);
    }
    close(ends[1]);
    const auto length = child > 0 ? read(ends[0], &count, sizeof count) : 0;
    close(ends[0]);
    if (child > 0) waitpid(child, nullptr, 0);
    if (length != sizeof count) throw std::runtime_error("GPUs could not be counted: their runtime ended the process");
    if (!count.gpus) throw NoDevice(count.why);
    return count.gpus;
}

// A rank drives one GPU. It sees all of them, or that one only.
void give_gpu(int rank, bool own_only) {
    if (!own_only) {
        setenv(first_gpu_variable, std::to_string(rank).c_str(), 1);
        return;
    }
    const char *variable = std::strcmp(GPU_BACKEND, "cuda") ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES";
    std::vector<std::string> seen;
    if (const char *given = std::getenv(variable)) {
        std::stringstream list(given);
        for (std::string each; std::getline(list, each, ',');) seen.push_back(each);
    }
    const auto mine = rank < static_cast<int>(seen.size()) ? seen[rank] : std::to_string(rank);
    setenv(variable, mine.c_str(), 1);
}

// -- options

// A list of one word or the other: whether each is the `second`.
std::vector<bool> choices(const Options &options, const std::string &name, const std::string &first,
                          const std::string &second) {
    std::vector<bool> chosen;
    for (const auto &each : options.texts(name)) {
        if (each != first && each != second) throw UsageError("--" + name + " " + each + ": " + first + " or " + second);
        chosen.push_back(each == second);
    }
    return chosen;
}

std::vector<bool> reversed_or_not(const Options &options) { return choices(options, "orders", "given", "reversed"); }

std::vector<LoopSettings> loops_of(const Options &options) {
    std::vector<LoopSettings> loops;
    for (const bool by_host : choices(options, "release", "per_rank", "host"))
        for (const bool barrier : choices(options, "barrier", "no", "yes"))
            loops.push_back({static_cast<int>(options.integer("iterations")), static_cast<int>(options.integer("warm-up")),
                             barrier, by_host, options.on("serial")});
    return loops;
}

std::vector<Asked> asked_of(const Options &options) {
    std::vector<Asked> all;
    for (const auto &first : options.texts("first"))
        for (const auto &second : options.texts("second")) {
            Asked asked{parse_rank_load(first), {}, second != "none"};
            if (asked.pair) asked.second = parse_rank_load(second);
            all.push_back(asked);
        }
    return all;
}

void check(const Options &options) {
    loops_of(options), reversed_or_not(options), parse_data(options.text("data"));
    choices(options, "visible", "all", "own");
    const auto priority = options.text("priority");
    if (priority != "none" && priority != "first" && priority != "second")
        throw UsageError("--priority " + priority + ": none, first or second");
    if (options.integer("samples") < 1) throw UsageError("--samples 0: at least 1");
    if (options.integer("iterations") <= options.integer("warm-up"))
        throw UsageError("--iterations " + options.text("iterations") + ": more than --warm-up");
}

// -- one rank

template <class Value>
std::vector<Value> gather_values(Crew &crew, const Value &mine) {
    std::vector<Value> values;
    for (const auto &bytes : crew.gather({reinterpret_cast<const char *>(&mine), sizeof mine})) {
        Value value;
        std::memcpy(&value, bytes.data(), sizeof value);
        values.push_back(value);
    }
    return values;
}

class Ranks {
public:
    Ranks(Crew &crew, const Options &options, const std::string &line)
        : crew_(crew), options_(options), report_(options, line), node_(1), loop_(crew, node_),
          gpus_(gather_values(crew, node_.identity(0))) {
        std::vector<std::string> places;
        for (const auto &each : gpus_) places.push_back(each.pci);
        if (crew.rank() == 0) machine_ = std::make_unique<Machine>(places);
    }
    void measure(const Asked &asked);

private:
    void verify(const std::vector<NamedTask> &order);
    void loop(LoopRun &run, const LoopSettings &settings);
    Json power_during(const std::function<void()> &work) const;
    void write(const Asked &asked, const LoopRecord &record);
    std::vector<Reading> read() const { return machine_ ? machine_->read() : std::vector<Reading>(); }
    int samples() const { return static_cast<int>(options_.integer("samples")); }

    Crew &crew_;
    const Options &options_;
    Report report_;
    Node node_;
    RankLoop loop_;
    std::vector<Identity> gpus_;
    std::unique_ptr<Machine> machine_;  // of all GPUs, on rank 0
    std::vector<Reading> before_, after_;
    double uncertain_us_ = 0;
};

void Ranks::verify(const std::vector<NamedTask> &order) {
    for (const auto &each : order) each.task->prepare();
    GPU(gpuDeviceSynchronize());
    crew_.barrier();
    loop_.run(order, {1, 0, false, false, false});
    for (const auto &each : order) each.task->verify();
    crew_.barrier();
}

// Power and clocks of every GPU while `work` runs, on rank 0 with --meter; else null.
Json Ranks::power_during(const std::function<void()> &work) const {
    if (!machine_ || !options_.on("meter")) {
        work();
        return Json();
    }
    EnergyMeter meter(gpus_.size(), [&](std::size_t gpu) { return machine_->energy_j(gpu); }, [&] { return machine_->read(); });
    const double from = meter.now();
    work();
    const double to = meter.now();
    meter.stop();
    auto gpus = Json::array();
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
        const auto seen = meter.watched(gpu, from, to);
        auto json = Json::object().set("seconds", to - from);
        if (seen.power_w >= 0) json.set("power_w", seen.power_w).set("from", seen.counted ? "energy counter" : "power sensor");
        if (seen.core_clock_mhz >= 0) json.set("core_clock_mhz", seen.core_clock_mhz);
        gpus.push(json.set("limited_by_power", seen.power_limited).set("limited_by_heat", seen.heat_limited));
    }
    return gpus;
}

void Ranks::loop(LoopRun &run, const LoopSettings &settings) {
    const double pause = options_.number("pause-ms");
    if (pause > 0) usleep(static_cast<useconds_t>(pause * 1e3));
    Turns mine;
    run.power = power_during([&] { mine = loop_.run(run.order, settings); });
    const auto all = crew_.gather(packed(mine));
    run.ranks.resize(all.size());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        const auto turns = unpacked(all[rank], run.order.size());
        run.ranks[rank].insert(run.ranks[rank].end(), turns.begin(), turns.end());
    }
    std::string why;
    for (const auto &each : read())
        if (each.limited_by == "thermal" || each.limited_by == "other") why = "clock held down: " + each.limited_by;
    run.why.resize(run.ranks[0].size(), why);
    for (const auto uncertain : gather_values(crew_, loop_.clock().uncertain_us()))
        uncertain_us_ = std::max(uncertain_us_, uncertain);
}

void Ranks::measure(const Asked &asked) {
    const auto priority = options_.text("priority");
    const RankOptions how{parse_data(options_.text("data")), options_.on("out-of-place")};
    const auto first = make_rank_load(crew_, node_, asked.first, how, priority == "first");
    const auto second = asked.pair ? make_rank_load(crew_, node_, asked.second, how, priority == "second") : nullptr;
    const bool alike = asked.pair && asked.first.task() == asked.second.task();
    const NamedTask a{asked.first.task(), first.get()}, b{asked.second.task() + (alike ? "_second" : ""), second.get()};
    std::vector<std::vector<NamedTask>> orders;
    if (asked.pair)
        for (const bool reversed : reversed_or_not(options_))
            orders.push_back(reversed ? std::vector<NamedTask>{b, a} : std::vector<NamedTask>{a, b});
    const std::vector<NamedTask> all = asked.pair ? std::vector<NamedTask>{a, b} : std::vector<NamedTask>{a};
    for (const auto &each : all) each.task->keep_operands();
    verify(all);
    for (const auto &settings : loops_of(options_)) {
        std::vector<LoopRun> alone, together;
        for (const auto &each : all) alone.push_back({{each}, {}, {}, {}});
        for (const auto &order : orders) together.push_back({order, {}, {}, {}});
        uncertain_us_ = 0;
        before_ = read();
        for (int sample = 0; sample < samples(); ++sample)  // in turns, so that all see the same drift
            for (auto *runs : {&alone, &together})
                for (auto &run : *runs) loop(run, settings);
        after_ = read();
        if (crew_.rank()) continue;
        LoopRecord record{{}, nullptr, settings, samples(), asked.first.uses_engines() || (asked.pair && asked.second.uses_engines())};
        for (const auto &run : alone) record.alone.push_back(&run);
        if (together.empty()) write(asked, record);
        for (const auto &run : together) record.together = &run, write(asked, record);
    }
    verify(all);
    for (const auto &each : all) each.task->detach();
    crew_.barrier();  // nobody frees what another has mapped
}

void Ranks::write(const Asked &asked, const LoopRecord &record) {
    auto findings = findings_of(record, gpus_);
    findings.observed.set("data", options_.text("data")).set("visible", options_.text("visible")).set("out_of_place", options_.on("out-of-place"));
    findings.observed.set("clock", Json::object().set("step_ns", loop_.clock().step_ns()).set("uncertain_us", uncertain_us_));
    auto name = asked.first.text + (asked.pair ? " beside " + asked.second.text : "");
    if (options_.text("priority") != "none") name += ", priority " + options_.text("priority");
    if (options_.text("data") != "random") name += ", data " + options_.text("data");
    if (options_.on("out-of-place")) name += ", out of place";
    name += record.settings.barrier ? ", loop with barrier" : ", loop";
    if (record.settings.by_host) name += ", released by the host";
    if (record.settings.serial) name += ", one after the other";
    const Setting setting{describe_machine(gpus_, node_), node_.runtime_version(), before_, after_};
    report_.write(setting, name, record.shown().order, findings);
    progress(name + ": " + progress_of(record));
}

}  // namespace

int run_ranks(const std::vector<std::string> &arguments, const std::string &line) {
    Options options;
    options.option("first", "", std::string("loads, with commas: ") + rank_loads_help)
        .option("second", "none", "loads that run beside each of the first, or none")
        .option("orders", "given", "which is launched first: given (the first), reversed; both with a comma")
        .option("priority", "none", "whose stream has a higher priority: none, first, second")
        .option("release", "per_rank", "per_rank: an event of each GPU, host: nothing, the host submits when its GPU is idle; "
                                       "both with a comma")
        .option("barrier", "no,yes", "whether the ranks' hosts wait for each other before each iteration; both with a comma")
        .option("iterations", "20", "of a loop, --warm-up among them, which do not count; there are --samples loops")
        .option("data", "random", "of GEMM operands: random, pattern (steps of 1/128), zero")
        .option("visible", "all", "GPUs that each process sees: all, own")
        .flag("meter", "power and clocks of every GPU during each loop; needs loops of a second or so")
        .flag("serial", "each waits for the one launched before it: nothing runs beside it")
        .flag("out-of-place", "a rank's own shard of a collective is copied as well");
    if (parse(options, arguments, "ranks")) return 0;
    check(options);
    const auto all = asked_of(options);
    if (!Crew::is_rank()) {
        const int gpus = count_gpus(static_cast<int>(options.integer("gpus")));
        std::vector<std::string> words{"probe", "ranks"};
        words.insert(words.end(), arguments.begin(), arguments.end());
        const bool own_only = options.text("visible") == "own";
        const auto end = run_crew(gpus, words, [&](int rank) { give_gpu(rank, own_only); });
        if (end.code) progress("probe: " + end.message);
        return end.code;
    }
    Ranks ranks(Crew::join(), options, line);
    for (const auto &asked : all) ranks.measure(asked);
    return 0;
}

}  // namespace probe
