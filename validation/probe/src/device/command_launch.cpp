#include <chrono>
#include <functional>

#include "../statistics.h"
#include "command_support.h"
#include "copy_task.h"
#include "gate.h"
#include "stream_task.h"

namespace probe {

using Clock = std::chrono::steady_clock;

static double us_since(Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

__global__ void answer(volatile std::uint32_t *word, std::uint32_t value) { *word = value; }

static std::vector<double> repeat(int samples, const std::function<double()> &once) {
    for (int i = 0; i < 10; ++i) once();
    std::vector<double> times;
    for (int i = 0; i < samples; ++i) times.push_back(once());
    return times;
}

static Json summary(const std::vector<double> &times) {
    return Json::object()
        .set("median_us", median(times))
        .set("p10_us", quantile(times, 0.1))
        .set("p90_us", quantile(times, 0.9))
        .set("samples", static_cast<std::int64_t>(times.size()));
}

int run_launch(const std::vector<std::string> &arguments, const std::string &line) {
    Options options;
    options.option("burst", "20", "submissions in a row, for the host's time per submission");
    if (parse(options, arguments, "launch")) return 0;
    Report report(options, line);
    Node node(static_cast<int>(options.integer("gpus")));
    if (node.gpus() > 1) node.enable_peer_access();
    Bench bench(node, settings_of(options));
    const int samples = static_cast<int>(options.integer("samples")) * 10, burst = static_cast<int>(options.integer("burst"));
    const auto stream = node.stream(0).stream, other = node.stream(0).stream;
    Buffer word(-1, 4096), small(0, 1 << 20), target(node.gpus() > 1 ? 1 : 0, 1 << 20);
    auto *seen = word.data<volatile std::uint32_t>();
    std::uint32_t turn = 0;
    auto observed = Json::object();
    auto settle = [&] { GPU(gpuDeviceSynchronize()); };
    auto add = [&](const char *what, const std::function<double()> &once) {
        GPU(gpuSetDevice(0));
        observed.set(what, summary(repeat(samples, once)));
    };
    add("kernel_submission", [&] {  // host thread busy per launch
        const auto start = Clock::now();
        for (int i = 0; i < burst; ++i) answer<<<1, 1, 0, stream>>>(seen, 0);
        const double time = us_since(start) / burst;
        settle();
        return time;
    });
    add("copy_submission", [&] {
        const auto start = Clock::now();
        for (int i = 0; i < burst; ++i) copy_async("default", target.at(0), target.gpu(), small.at(0), 0, 4096, stream);
        const double time = us_since(start) / burst;
        settle();
        return time;
    });
    add("kernel_to_host_store", [&] {  // from before the launch until the host sees what the kernel stored
        const auto start = Clock::now();
        answer<<<1, 1, 0, stream>>>(seen, ++turn);
        while (*seen != turn) {
        }
        const double time = us_since(start);
        settle();
        return time;
    });
    add("kernel_to_synchronised", [&] {
        const auto start = Clock::now();
        answer<<<1, 1, 0, stream>>>(seen, 0);
        GPU(gpuStreamSynchronize(stream));
        return us_since(start);
    });
    add("copy_to_synchronised", [&] {
        const auto start = Clock::now();
        copy_async("default", target.at(0), target.gpu(), small.at(0), 0, 4096, stream);
        GPU(gpuStreamSynchronize(stream));
        return us_since(start);
    });
    Gate gate;
    add("signal_to_kernel_store", [&] {  // from the host's store that opens a gate to the store of the kernel behind it
        gate.close();
        gate.hold(stream);
        answer<<<1, 1, 0, stream>>>(seen, ++turn);
        const auto wait = Clock::now();
        while (us_since(wait) < 30) {
        }
        const auto start = Clock::now();
        gate.open();
        while (*seen != turn) {
        }
        const double time = us_since(start);
        settle();
        return time;
    });
    gpuEvent_t begin, end, between;
    GPU(gpuEventCreate(&begin));
    GPU(gpuEventCreate(&end));
    GPU(gpuEventCreate(&between));
    auto gated = [&](const std::function<void()> &body) {  // between two events on the device, all submitted beforehand
        gate.close();
        gate.hold(stream);
        GPU(gpuEventRecord(begin, stream));
        body();
        GPU(gpuEventRecord(end, stream));
        gate.open();
        GPU(gpuEventSynchronize(end));
        settle();
        float ms = 0;
        GPU(gpuEventElapsedTime(&ms, begin, end));
        return ms * 1e3;
    };
    add("two_events", [&] { return gated([] {}); });
    add("one_kernel_between_events", [&] { return gated([&] { answer<<<1, 1, 0, stream>>>(seen, 0); }); });
    add("two_kernels_between_events", [&] {
        return gated([&] { answer<<<1, 1, 0, stream>>>(seen, 0), answer<<<1, 1, 0, stream>>>(seen, 0); });
    });
    add("one_copy_between_events", [&] {
        return gated([&] { copy_async("default", target.at(0), target.gpu(), small.at(0), 0, 4096, stream); });
    });
    add("two_copies_between_events", [&] {
        return gated([&] {
            copy_async("default", target.at(0), target.gpu(), small.at(0), 0, 4096, stream);
            copy_async("default", target.at(8192), target.gpu(), small.at(0), 0, 4096, stream);
        });
    });
    add("kernel_to_kernel_of_another_stream", [&] {  // through an event, and back
        return gated([&] {
            answer<<<1, 1, 0, stream>>>(seen, 0);
            GPU(gpuEventRecord(between, stream));
            GPU(gpuStreamWaitEvent(other, between, 0));
            answer<<<1, 1, 0, other>>>(seen, 0);
            GPU(gpuEventRecord(between, other));
            GPU(gpuStreamWaitEvent(stream, between, 0));
        });
    });
    StreamSpec spec;
    spec.bytes = 4096, spec.workgroups = 1;
    StreamTask tiny(node, spec, false);
    Scene scene{{{"stream", &tiny}}, {}};
    bench.run({&scene});
    report.write(bench, "latencies", nullptr, {&scene}, Json(), observed);
    progress("latencies: " + observed.dump());
    return 0;
}

}  // namespace probe
