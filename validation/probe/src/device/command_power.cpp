#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <thread>

#include "../energy.h"
#include "collective_task.h"
#include "command_support.h"
#include "loads.h"

namespace probe {

constexpr double turn_s = 0.02;  // iterations are submitted in turns that last about this long
constexpr int most_in_turn = 2000;
constexpr std::size_t turns_ahead = 2;  // submitted before the oldest has ended: the GPUs never wait for the host

// Nothing runs on the GPUs; the host waits.
class IdleTask : public Task {
public:
    explicit IdleTask(double seconds) : seconds_(seconds) {}
    void submit() override {}
    Json workload() const override {
        return Json::object().set("kind", "host").set("time", std::to_string(std::lround(seconds_ * 1e3)) + " ms");
    }

private:
    double seconds_;
};

static std::unique_ptr<Task> task_of(Node &node, const std::string &text, std::int64_t scale, double seconds) {
    if (text == "idle") return std::make_unique<IdleTask>(seconds);
    CollectiveSpec spec;
    const bool engines = text.rfind("dma_all_", 0) == 0;
    spec.op = engines ? text.substr(4) : text;
    spec.backend = engines ? "dma" : vendor_collective_library();
    spec.size = scale << 20;
    if (spec.op == "all_gather" || spec.op == "all_to_all" || spec.op == "all_reduce" || spec.op == "reduce_scatter")
        return make_collective(node, spec);
    return load_of(node, text, scale);
}

struct Stretch {  // of the meter's time, in which so many iterations ended
    double from = 0, to = 0;
    std::int64_t iterations = 0;
};

// Turns of iterations, each of which leaves an event on every stream of the task.
class TimedTurns {
public:
    explicit TimedTurns(Task &task) : task_(task) {}
    ~TimedTurns() {
        for (const auto &turn : ahead_) drop(turn);
    }
    void submit(int iterations) {
        for (int i = 0; i < iterations; ++i) task_.submit();
        std::vector<gpuEvent_t> ends;
        for (const auto &lane : task_.lanes()) {
            GPU(gpuSetDevice(lane.gpu));
            gpuEvent_t end;
            GPU(gpuEventCreate(&end));
            GPU(gpuEventRecord(end, lane.stream));
            ends.push_back(end);
        }
        ahead_.push_back(std::move(ends));
    }
    std::size_t ahead() const { return ahead_.size(); }
    void wait() {  // for the oldest
        for (const auto each : ahead_.front()) GPU(gpuEventSynchronize(each));
        drop(ahead_.front());
        ahead_.pop_front();
    }

private:
    static void drop(const std::vector<gpuEvent_t> &ends) {
        for (const auto each : ends) (void)gpuEventDestroy(each);
    }
    Task &task_;
    std::deque<std::vector<gpuEvent_t>> ahead_;
};

static int iterations_in_turn(Task &task, int warm_up) {
    TimedTurns turns(task);
    turns.submit(std::max(warm_up, 1));
    turns.wait();
    const auto start = std::chrono::steady_clock::now();
    constexpr int tried = 5;
    turns.submit(tried);
    turns.wait();
    const double time = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / tried;
    return std::clamp(static_cast<int>(turn_s / time), 1, most_in_turn);
}

static Stretch keep_busy(Task &task, const EnergyMeter &meter, int in_turn, double settle, double seconds) {
    Stretch stretch;
    TimedTurns turns(task);
    std::int64_t ended = 0, before = 0;
    for (bool settled = false;;) {
        while (turns.ahead() < turns_ahead) turns.submit(in_turn);
        turns.wait();
        ended += in_turn;
        const double now = meter.now();
        if (!settled && now >= settle) {
            settled = true;
            stretch.from = now, before = ended;
        } else if (settled && now - stretch.from >= seconds) {
            stretch.to = now, stretch.iterations = ended - before;
            break;
        }
    }
    while (turns.ahead()) turns.wait();
    return stretch;
}

static Stretch leave_alone(const EnergyMeter &meter, double settle, double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(settle));
    Stretch stretch;
    stretch.from = meter.now();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    stretch.to = meter.now();
    return stretch;
}

static Json json_of(const Watched &gpu, const Stretch &stretch) {
    auto json = Json::object().set("power_w", gpu.power_w).set("from", gpu.counted ? "energy counter" : "power sensor");
    json.set("counter_steps", static_cast<std::int64_t>(gpu.marks));
    if (stretch.iterations)
        json.set("energy_per_iteration_j", gpu.power_w * (stretch.to - stretch.from) / static_cast<double>(stretch.iterations));
    if (gpu.sensor_w >= 0) json.set("sensor_power_w", gpu.sensor_w);
    if (gpu.core_clock_mhz >= 0) json.set("core_clock_mhz", gpu.core_clock_mhz);
    if (gpu.memory_clock_mhz >= 0) json.set("memory_clock_mhz", gpu.memory_clock_mhz);
    if (gpu.temperature_c >= 0) json.set("temperature_c", gpu.temperature_c);
    return json.set("limited_by_power", gpu.power_limited).set("limited_by_heat", gpu.heat_limited);
}

static void measure(Bench &bench, Report &report, const std::string &text, const Options &options) {
    auto &node = bench.node();
    const double seconds = options.number("seconds"), settle = options.number("settle");
    const auto task = task_of(node, text, options.integer("scale"), seconds);
    const bool idle = task->lanes().empty();
    task->prepare();
    for (int gpu = 0; gpu < node.gpus(); ++gpu) {
        GPU(gpuSetDevice(gpu));
        GPU(gpuDeviceSynchronize());
    }
    const int in_turn = idle ? 0 : iterations_in_turn(*task, bench.settings().warm_up);
    bench.read_before();
    EnergyMeter meter(node.gpus(), [&](std::size_t gpu) { return node.energy_j(static_cast<int>(gpu)); },
                      [&] { return node.read(); });
    const auto stretch = idle ? leave_alone(meter, settle, seconds) : keep_busy(*task, meter, in_turn, settle, seconds);
    meter.stop();
    bench.read_after();
    task->verify();
    Json gpus = Json::array();
    double power = 0;
    for (int gpu = 0; gpu < node.gpus(); ++gpu) {
        const auto seen = meter.watched(gpu, stretch.from, stretch.to);
        if (seen.power_w < 0)
            throw MissingLibrary("neither energy nor power of GPU " + std::to_string(gpu) +
                                 " can be read: needs NVML (libnvidia-ml.so.1) or ROCm SMI (librocm_smi64.so)");
        gpus.push(json_of(seen, stretch));
        power += seen.power_w / node.gpus();
    }
    auto energy = Json::object().set("load", text).set("seconds", stretch.to - stretch.from);
    energy.set("iterations", stretch.iterations);
    if (stretch.iterations)
        energy.set("iteration_us", (stretch.to - stretch.from) * 1e6 / static_cast<double>(stretch.iterations));
    energy.set("gpus", gpus);
    const bool engines = text.rfind("dma_", 0) == 0;
    const Scene scene{{{"load", task.get()}}, {}};
    report.write_observed(bench, text + ", over and over", scene,
                          engines ? Json::object().set("prelaunched", true) : Json(), Json::object().set("energy", energy));
    char numbers[120];
    std::snprintf(numbers, sizeof numbers, ": %.1f W per GPU, %lld iterations in %.3f s", power,
                  static_cast<long long>(stretch.iterations), stretch.to - stretch.from);
    progress(text + numbers);
}

int run_power(const std::vector<std::string> &arguments, const std::string &line) {
    Options options;
    options.option("load", "", "loads, with commas: idle; memory, read, write, cache, alu, hold, dma_*, gemm, own_gemm, with :N "
                               "workgroups, engines or extent; all_gather, all_to_all, reduce_scatter, all_reduce, "
                               "dma_all_gather, dma_all_to_all")
        .option("seconds", "2", "in which energy and iterations are counted")
        .option("settle", "0.6", "seconds of the load before that")
        .option("scale", "1024", "MiB that a memory load moves each way, and size of a collective; the others in proportion");
    if (parse(options, arguments, "power")) return 0;
    if (options.number("seconds") < 0.2) throw UsageError("--seconds " + options.text("seconds") + ": at least 0.2");
    Report report(options, line);
    Node node(static_cast<int>(options.integer("gpus")));
    if (node.gpus() > 1) node.enable_peer_access();
    auto settings = settings_of(options);
    settings.samples = 1;
    Bench bench(node, settings);
    for (const auto &text : options.texts("load")) measure(bench, report, text, options);
    return 0;
}

}  // namespace probe
