// Every GPU is driven by a process of its own, as frameworks do: it launches for itself, in loops.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "../statistics.h"
#include "command_support.h"
#include "rank_loads.h"
#include "rank_loop.h"

namespace probe {
namespace {

struct Asked {  // what one record is about
    RankLoad first, second;
    bool pair = false;
};

struct Run {  // one scene's loops, on every rank
    std::vector<NamedTask> order;
    std::vector<Turns> ranks;
    std::vector<std::string> why;  // of each iteration; not empty: disturbed
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

// The GPU of a rank is the only one that it sees.
void show_one_gpu(int rank) {
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
                             barrier, by_host});
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

double rounded(double us) { return std::round(us * 100) / 100; }

class Ranks {
public:
    Ranks(Crew &crew, const Options &options, const std::string &line)
        : crew_(crew), options_(options), report_(options, line), node_(1), loop_(crew, node_),
          identities_(gather_values(crew, node_.identity(0))) {
        std::vector<std::string> places;
        for (const auto &each : identities_) places.push_back(each.pci);
        if (crew.rank() == 0) machine_ = std::make_unique<Machine>(places);
    }
    void measure(const Asked &asked);

private:
    void verify(const std::vector<NamedTask> &order);
    void loop(Run &run, const LoopSettings &settings);
    void write(const Asked &asked, const LoopSettings &settings, const std::vector<const Run *> &alone, const Run *together);
    Json of_rank(int rank, const std::vector<const Run *> &alone, const Run &shown) const;
    std::vector<Reading> read() const { return machine_ ? machine_->read() : std::vector<Reading>(); }
    int samples() const { return static_cast<int>(options_.integer("samples")); }

    Crew &crew_;
    const Options &options_;
    Report report_;
    Node node_;
    RankLoop loop_;
    std::vector<Identity> identities_;
    std::unique_ptr<Machine> machine_;  // of all GPUs, on rank 0
    std::vector<Reading> before_, after_;
    double uncertain_us_ = 0;
};

void Ranks::verify(const std::vector<NamedTask> &order) {
    for (const auto &each : order) each.task->prepare();
    GPU(gpuDeviceSynchronize());
    crew_.barrier();
    loop_.run(order, {1, 0, false, false});
    for (const auto &each : order) each.task->verify();
    crew_.barrier();
}

void Ranks::loop(Run &run, const LoopSettings &settings) {
    const double pause = options_.number("pause-ms");
    if (pause > 0) usleep(static_cast<useconds_t>(pause * 1e3));
    const auto mine = loop_.run(run.order, settings);
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

void mark_outliers(Run &run) {
    const auto far = outliers(walls_us(run.ranks));
    for (std::size_t i = 0; i < far.size(); ++i)
        if (far[i] && run.why[i].empty()) run.why[i] = "far from the median";
}

double kept_median(const std::vector<double> &times, const std::vector<std::string> &why) {
    std::vector<double> kept;
    for (std::size_t i = 0; i < times.size(); ++i)
        if (why[i].empty()) kept.push_back(times[i]);
    return median(kept.empty() ? times : kept);
}

double median_us(const Run &run, std::size_t task) { return kept_median(task_times_us(run.ranks, task), run.why); }

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
        std::vector<Run> alone, together;
        for (const auto &each : all) alone.push_back({{each}, {}, {}});
        for (const auto &order : orders) together.push_back({order, {}, {}});
        uncertain_us_ = 0;
        before_ = read();
        for (int sample = 0; sample < samples(); ++sample)  // in turns, so that all see the same drift
            for (auto *runs : {&alone, &together})
                for (auto &run : *runs) loop(run, settings);
        after_ = read();
        if (crew_.rank() == 0) {
            std::vector<const Run *> isolated;
            for (auto &run : alone) mark_outliers(run), isolated.push_back(&run);
            for (auto &run : together) mark_outliers(run), write(asked, settings, isolated, &run);
            if (together.empty()) write(asked, settings, isolated, nullptr);
        }
    }
    verify(all);
    for (const auto &each : all) each.task->detach();
    crew_.barrier();  // nobody frees what another has mapped
}

// -- the record, by rank 0

Json numbers_of(const Turns &turns, const std::vector<double> &firsts, double (*time)(const Turn &, std::size_t),
                std::size_t task = 0) {
    std::vector<double> numbers;
    for (std::size_t i = 0; i < turns.size(); ++i) numbers.push_back(rounded(time(turns[i], task) - firsts[i]));
    return numbers;
}

Json Ranks::of_rank(int rank, const std::vector<const Run *> &alone, const Run &shown) const {
    std::vector<double> firsts;  // the first release of each iteration
    for (std::size_t i = 0; i < shown.why.size(); ++i) {
        double first = shown.ranks[0][i].release_us;
        for (const auto &turns : shown.ranks) first = std::min(first, turns[i].release_us);
        firsts.push_back(first);
    }
    const auto &turns = shown.ranks[rank];
    const std::vector<Turns> only{turns};
    auto tasks = Json::object();
    for (std::size_t task = 0; task < shown.order.size(); ++task) {
        const auto &name = shown.order[task].name;
        auto json = Json::object().set("time_us", rounded(kept_median(task_times_us(only, task), shown.why)));
        for (const auto *run : alone)
            if (run->order[0].name == name)
                json.set("isolated_us", rounded(kept_median(task_times_us({run->ranks[rank]}, 0), run->why)));
        json.set("start_us", numbers_of(turns, firsts, [](const Turn &turn, std::size_t i) { return turn.begin_us[i]; }, task));
        json.set("end_us", numbers_of(turns, firsts, [](const Turn &turn, std::size_t i) { return turn.end_us[i]; }, task));
        tasks.set(name, json);
    }
    const std::size_t counted = turns.size() / samples();  // of one loop; several follow each other
    std::vector<double> periods;
    for (std::size_t i = 1; i < turns.size(); ++i)
        if (i % counted) periods.push_back(turns[i].release_us - turns[i - 1].release_us);
    auto json = Json::object().set("pci", identities_[rank].pci).set("wall_us", rounded(kept_median(walls_us(only), shown.why)));
    if (!periods.empty()) json.set("period_us", rounded(median(periods)));
    json.set("tasks", tasks);
    json.set("launch_us", numbers_of(turns, firsts, [](const Turn &turn, std::size_t) { return turn.launch_us; }));
    return json.set("release_us", numbers_of(turns, firsts, [](const Turn &turn, std::size_t) { return turn.release_us; }));
}

void Ranks::write(const Asked &asked, const LoopSettings &settings, const std::vector<const Run *> &alone, const Run *together) {
    const Run &shown = together ? *together : *alone.front();
    Findings findings;
    findings.samples = static_cast<int>(shown.why.size());
    findings.host = Json::object()
                        .set("release", settings.by_host ? "host" : "per_rank")
                        .set("loop", Json::object().set("iterations", settings.iterations).set("barrier", settings.barrier));
    if (settings.by_host) findings.host.set("launch", "eager");
    const bool engines = asked.first.uses_engines() || (asked.pair && asked.second.uses_engines());
    if (engines && !settings.by_host) findings.host.set("prelaunched", true);
    if (together) {
        const auto walls = walls_us(together->ranks);
        findings.measured.set("wall_us", kept_median(walls, together->why));
        findings.sets.set("wall", set_of(walls, together->why));
        auto tasks = Json::object();
        for (std::size_t i = 0; i < together->order.size(); ++i) {
            const auto &name = together->order[i].name;
            tasks.set(name, Json::object().set("time_us", median_us(*together, i)));
            findings.sets.set("tasks." + name, set_of(task_times_us(together->ranks, i), together->why));
        }
        findings.measured.set("tasks", tasks);
    }
    auto isolated = Json::object();
    for (const auto *run : alone) {
        isolated.set(run->order[0].name, median_us(*run, 0));
        findings.sets.set("isolated." + run->order[0].name, set_of(task_times_us(run->ranks, 0), run->why));
    }
    findings.measured.set("isolated", isolated);
    auto ranks = Json::array();
    for (int rank = 0; rank < crew_.ranks(); ++rank) ranks.push(of_rank(rank, alone, shown));
    auto starts = Json::object();
    for (const auto &each : shown.order) {
        const bool noted = each.task->note_times(nullptr);
        starts.set(each.name, noted ? "first workgroup" : "event before it in its stream");
    }
    auto clock = Json::object().set("step_ns", loop_.clock().step_ns()).set("uncertain_us", rounded(uncertain_us_));
    findings.observed = Json::object()
                            .set("processes", crew_.ranks())
                            .set("data", options_.text("data"))
                            .set("out_of_place", options_.on("out-of-place"))
                            .set("loops", samples())
                            .set("warm_up", options_.integer("warm-up"))
                            .set("wall_across_ranks_us", rounded(kept_median(walls_across_us(shown.ranks), shown.why)))
                            .set("starts", starts)
                            .set("clock", clock)
                            .set("ranks", ranks);
    auto name = asked.first.text + (asked.pair ? " beside " + asked.second.text : "");
    if (options_.text("priority") != "none") name += ", priority " + options_.text("priority");
    if (options_.text("data") != "random") name += ", data " + options_.text("data");
    if (options_.on("out-of-place")) name += ", out of place";
    name += std::string(", loop") + (settings.barrier ? " with barrier" : "") + (settings.by_host ? ", by the host" : "");
    const Setting setting{describe_machine(identities_, node_), node_.runtime_version(), before_, after_};
    report_.write(setting, name, shown.order, findings);
    std::string said = name;
    for (std::size_t i = 0; i < shown.order.size(); ++i) {
        said += (i ? ", " : ": ") + shown.order[i].name + " " + std::to_string(median_us(shown, i));
        for (const auto *run : alone)
            if (together && run->order[0].name == shown.order[i].name)
                said += " (alone " + std::to_string(median_us(*run, 0)) + ")";
    }
    progress(said + " us");
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
        .flag("out-of-place", "a rank's own shard of a collective is copied as well");
    if (parse(options, arguments, "ranks")) return 0;
    check(options);
    const auto all = asked_of(options);
    if (!Crew::is_rank()) {
        const int gpus = count_gpus(static_cast<int>(options.integer("gpus")));
        std::vector<std::string> words{"probe", "ranks"};
        words.insert(words.end(), arguments.begin(), arguments.end());
        const auto end = run_crew(gpus, words, show_one_gpu);
        if (end.code) progress("probe: " + end.message);
        return end.code;
    }
    Ranks ranks(Crew::join(), options, line);
    for (const auto &asked : all) ranks.measure(asked);
    return 0;
}

}  // namespace probe
