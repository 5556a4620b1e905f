#include "bench.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "../statistics.h"

namespace probe {

constexpr std::size_t scratch_bytes = 512u << 20;  // twice the largest memory-side cache (256 MiB, MI300X)

__global__ void read_all(const float4 *data, std::size_t count, float *sink) {
    float4 sum = {0, 0, 0, 0};
    const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count; i += step) {
        const float4 v = data[i];
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
    }
    if (sum.x + sum.y + sum.z + sum.w == 1e30f) *sink = sum.x;  // never: the contents are zero
}

Bench::Bench(Node &node, Settings settings) : node_(node), settings_(settings), events_(node.gpus()) {
    for (int gpu = 0; gpu < node.gpus(); ++gpu) {
        idle_.push_back(node.stream(gpu));
        scratch_.push_back(std::make_unique<Buffer>(gpu, scratch_bytes));
        GPU(gpuMemsetAsync(scratch_.back()->data(), 0, scratch_bytes, nullptr));
    }
}

Bench::~Bench() {
    for (auto &list : events_)
        for (auto each : list) (void)gpuEventDestroy(each);
}

gpuEvent_t Bench::event(int gpu, std::size_t index) {
    GPU(gpuSetDevice(gpu));
    while (events_[gpu].size() <= index) {
        gpuEvent_t made;
        GPU(gpuEventCreate(&made));
        events_[gpu].push_back(made);
    }
    return events_[gpu][index];
}

void Bench::flush() {  // reading, not writing: dirty lines would have to be written back during the measurement
    for (int gpu = 0; gpu < node_.gpus(); ++gpu) {
        GPU(gpuSetDevice(gpu));
        read_all<<<1024, 256>>>(scratch_[gpu]->data<float4>(), scratch_bytes / sizeof(float4), scratch_[gpu]->data<float>());
        GPU(gpuGetLastError());
    }
}

void Bench::synchronize() {
    for (int gpu = 0; gpu < node_.gpus(); ++gpu) {
        GPU(gpuSetDevice(gpu));
        GPU(gpuDeviceSynchronize());
    }
}

std::string Bench::disturbance() const {
    for (const auto &each : node_.read())
        if (each.limited_by == "thermal" || each.limited_by == "other") return "clock held down: " + each.limited_by;
    return "";
}

Sample Bench::sample(const Scene &scene) {
    for (const auto &each : scene.order) each.task->prepare();
    synchronize();
    if (settings_.cold) flush();
    synchronize();
    if (settings_.pause_ms > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(settings_.pause_ms));
    auto result = settings_.eager ? eager(scene) : gated(scene);
    result.wall_us = *std::max_element(result.task_us.begin(), result.task_us.end());
    result.why = disturbance();
    return result;
}

Sample Bench::eager(const Scene &scene) {
    using clock = std::chrono::steady_clock;
    Sample result;
    const auto start = clock::now();
    for (const auto &each : scene.order) each.task->submit();
    for (const auto &each : scene.order) {
        for (const auto &lane : each.task->lanes()) {
            GPU(gpuSetDevice(lane.gpu));
            GPU(gpuStreamSynchronize(lane.stream));
        }
        result.task_us.push_back(std::chrono::duration<double, std::micro>(clock::now() - start).count());
    }
    return result;
}

Sample Bench::gated(const Scene &scene) {
    struct Mark {
        Lane lane;
        gpuEvent_t begin, end;
        std::size_t task;
    };
    std::vector<Mark> marks;
    std::vector<std::size_t> used(node_.gpus(), 0);
    Gate gate;
    std::vector<gpuEvent_t> markers;
    for (const auto &lane : idle_) {
        markers.push_back(event(lane.gpu, used[lane.gpu]++));
        gate.hold(lane.stream);
        GPU(gpuEventRecord(markers.back(), lane.stream));
    }
    // The launch order: on each GPU a task begins only after the first stream of the one before it has begun.
    std::vector<gpuEvent_t> before(node_.gpus(), nullptr);
    for (std::size_t i = 0; i < scene.order.size(); ++i) {
        auto begun = before;
        for (const auto &lane : scene.order[i].task->lanes()) {
            const auto begin = event(lane.gpu, used[lane.gpu]), end = event(lane.gpu, used[lane.gpu] + 1);
            used[lane.gpu] += 2;
            GPU(gpuSetDevice(lane.gpu));
            gate.hold(lane.stream);
            if (before[lane.gpu]) GPU(gpuStreamWaitEvent(lane.stream, before[lane.gpu], 0));
            GPU(gpuEventRecord(begin, lane.stream));
            if (begun[lane.gpu] == before[lane.gpu]) begun[lane.gpu] = begin;
            marks.push_back({lane, begin, end, i});
        }
        before = begun;
    }
    for (const auto &each : scene.order) each.task->submit();
    for (const auto &mark : marks) {
        GPU(gpuSetDevice(mark.lane.gpu));
        GPU(gpuEventRecord(mark.end, mark.lane.stream));
    }
    gate.open();
    for (const auto &mark : marks) GPU(gpuEventSynchronize(mark.end));
    for (const auto marker : markers) GPU(gpuEventSynchronize(marker));

    // A stream that only copies waits for its engine even with its first event, so the release is the earliest of all
    // events behind a gate, an idle stream's among them.
    std::vector<double> release(node_.gpus(), 0);
    auto since = [&](int gpu, gpuEvent_t mark) {
        float ms = 0;
        GPU(gpuSetDevice(gpu));
        GPU(gpuEventElapsedTime(&ms, markers[gpu], mark));
        return ms * 1e3;
    };
    for (const auto &mark : marks)
        release[mark.lane.gpu] = std::min(release[mark.lane.gpu], since(mark.lane.gpu, mark.begin));
    Sample result;
    result.task_us.assign(scene.order.size(), 0);
    for (const auto &mark : marks) {
        result.lane_us.push_back(since(mark.lane.gpu, mark.end) - release[mark.lane.gpu]);
        result.task_us[mark.task] = std::max(result.task_us[mark.task], result.lane_us.back());
    }
    std::sort(result.lane_us.begin(), result.lane_us.end());
    return result;
}

void Bench::verify(const Scene &scene) {
    synchronize();
    for (const auto &each : scene.order) each.task->verify();
}

void Bench::run(std::vector<Scene *> scenes) {
    for (auto *scene : scenes) {
        scene->samples.clear();
        for (int i = 0; i < settings_.warm_up; ++i) {
            for (const auto &each : scene->order) each.task->prepare();
            synchronize();
            for (const auto &each : scene->order) each.task->submit();
            synchronize();
        }
    }
    before_ = node_.read();
    for (int i = 0; i < settings_.samples; ++i)
        for (auto *scene : scenes) {
            scene->samples.push_back(sample(*scene));
            if (i == 0 || i == settings_.samples - 1) verify(*scene);
        }
    after_ = node_.read();
    for (auto *scene : scenes) {
        std::vector<double> walls;
        for (const auto &each : scene->samples) walls.push_back(each.wall_us);
        const auto far = outliers(walls);
        for (std::size_t i = 0; i < far.size(); ++i)
            if (far[i] && scene->samples[i].why.empty()) scene->samples[i].why = "far from the median";
    }
}

std::vector<double> stream_ends_us(const Scene &scene) {
    std::vector<double> ends;
    for (std::size_t lane = 0; lane < scene.samples.front().lane_us.size(); ++lane) {
        std::vector<double> of_samples;
        for (const auto &sample : scene.samples) of_samples.push_back(sample.lane_us[lane]);
        ends.push_back(median(of_samples));
    }
    return ends;
}

double median_us(const Scene &scene, const std::string &task) {
    std::vector<double> kept, all;
    for (const auto &sample : scene.samples) {
        double value = sample.wall_us;
        for (std::size_t i = 0; i < scene.order.size(); ++i)
            if (scene.order[i].name == task) value = sample.task_us[i];
        all.push_back(value);
        if (sample.why.empty()) kept.push_back(value);
    }
    return median(kept.empty() ? all : kept);
}

}  // namespace probe
