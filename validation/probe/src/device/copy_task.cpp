#include "copy_task.h"

#include "copy_loop.h"

namespace probe {

constexpr int copy_threads = 512;

__global__ void __launch_bounds__(copy_threads) copy_kernel(uint4 *to, const uint4 *from, std::size_t count) {
    const std::size_t step = static_cast<std::size_t>(gridDim.x) * copy_threads;
    copy_strided(to, from, count, blockIdx.x * static_cast<std::size_t>(copy_threads) + threadIdx.x, step);
}

void launch_copy_kernel(char *to, const char *from, std::size_t bytes, int workgroups, gpuStream_t stream) {
    copy_kernel<<<workgroups, copy_threads, 0, stream>>>(reinterpret_cast<uint4 *>(to),
                                                    reinterpret_cast<const uint4 *>(from), bytes / 16);
    GPU(gpuGetLastError());
}

void copy_async(const std::string &call, char *to, int to_gpu, const char *from, int from_gpu, std::size_t bytes,
                gpuStream_t stream) {
    if (call == "peer" && to_gpu >= 0 && from_gpu >= 0)
        GPU(gpuMemcpyPeerAsync(to, to_gpu, from, from_gpu, bytes, stream));
    else
        GPU(gpuMemcpyAsync(to, from, bytes, gpuMemcpyDefault, stream));
}

void copy_batch(Batch &batch, gpuStream_t stream, bool overlap) {
#if defined(__CUDACC__) && CUDART_VERSION >= 13000
    cudaMemcpyAttributes attributes = {};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    if (overlap) attributes.flags = cudaMemcpyFlagPreferOverlapWithCompute;
    std::size_t index = 0;
    GPU(cudaMemcpyBatchAsync(const_cast<const void **>(batch.to.data()), batch.from.data(), batch.bytes.data(),
                             batch.bytes.size(), &attributes, &index, 1, stream));
#else
    (void)batch, (void)stream, (void)overlap;
    throw MissingLibrary("this runtime has no batched copies");
#endif
}

static int place_of(const std::string &where, int gpu, int gpus) {
    if (where == "host") return -1;
    return where == "peer" ? (gpu + 1) % gpus : gpu;
}

CopyTask::CopyTask(Node &node, CopySpec spec) : spec_(spec) {
    if (spec.executor == "kernel" && spec.bytes % 16)
        throw std::invalid_argument("copy: a kernel's --bytes must be a multiple of 16");
    if (spec.streams > 1 && (spec.engines > 1 || spec.count % spec.streams))
        throw std::invalid_argument("copy: --streams takes whole copies, the same number in each: not with --engines, and " +
                                    std::to_string(spec.count) + " over " + std::to_string(spec.streams));
    grid_ = spec.workgroups ? spec.workgroups : node.compute_units();
    for (int gpu = 0; gpu < (spec.all_gpus ? node.gpus() : 1); ++gpu) {
        const int from = place_of(spec.source, gpu, node.gpus()), to = place_of(spec.destination, gpu, node.gpus());
        const bool between = from >= 0 && to >= 0;
        const int carrier = between ? (spec.direction == "pull" ? to : from) : gpu;
        sources_.push_back(std::make_unique<Buffer>(from, spec.bytes * spec.count, spec.mapping, node.gpus()));
        destinations_.push_back(std::make_unique<Buffer>(to, spec.bytes * spec.count, spec.mapping, node.gpus()));
        fill_bf16(*sources_.back(), 1 + gpu, Pattern::whole);
        const std::size_t first = lanes_.size();
        for (int i = 0; i < spec.engines * spec.streams; ++i) lanes_.push_back(node.stream(carrier, spec.high_priority));
        for (int i = 0; i < spec.count; ++i)  // a stream's copies in a row
            for (int part = 0; part < spec.engines; ++part) {
                const std::size_t begin = spec.bytes * part / spec.engines / 16 * 16;
                const std::size_t end = part + 1 == spec.engines ? spec.bytes : spec.bytes * (part + 1) / spec.engines / 16 * 16;
                const std::size_t offset = spec.bytes * i + begin;
                moves_.push_back({sources_.back()->at(offset), destinations_.back()->at(offset), from, to, end - begin,
                                  first + i / (spec.count / spec.streams) + part});
            }
    }
}

void CopyTask::prepare() {
    for (const auto &each : destinations_) poison(*each);
}

void CopyTask::submit() {
    if (spec_.batch) return submit_batches();
    for (const auto &move : moves_) {
        const auto &lane = lanes_[move.lane];
        GPU(gpuSetDevice(lane.gpu));
        if (spec_.executor == "kernel")
            launch_copy_kernel(move.to, move.from, move.bytes, grid_, lane.stream);
        else
            copy_async(spec_.call, move.to, move.to_gpu, move.from, move.from_gpu, move.bytes, lane.stream);
    }
}

void CopyTask::submit_batches() {
    std::vector<Batch> batches(lanes_.size());
    for (const auto &move : moves_) {
        auto &batch = batches[move.lane];
        batch.to.push_back(move.to), batch.from.push_back(move.from), batch.bytes.push_back(move.bytes);
    }
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        GPU(gpuSetDevice(lanes_[lane].gpu));
        copy_batch(batches[lane], lanes_[lane].stream, spec_.overlap);
    }
}

void CopyTask::verify() {
    for (std::size_t i = 0; i < destinations_.size(); ++i)
        verify_bf16(*destinations_[i], destinations_[i]->bytes() / 2 * 2, "copy",
                    [&](std::size_t element) { return whole_number(element, 1 + static_cast<std::uint32_t>(i)); });
}

Json CopyTask::workload() const { return with_repeat(spec_.count); }

std::vector<std::pair<std::string, Json>> CopyTask::tasks(const std::string &name) const {
    if (spec_.streams == 1) return {{name, workload()}};
    std::vector<std::pair<std::string, Json>> each;
    for (int i = 0; i < spec_.streams; ++i)
        each.emplace_back(name + std::to_string(i), with_repeat(spec_.count / spec_.streams));
    return each;
}

Json CopyTask::with_repeat(int count) const {
    auto json = Json::object()
                    .set("kind", "copy")
                    .set("bytes", spec_.bytes)
                    .set("source", spec_.source)
                    .set("destination", spec_.destination)
                    .set("executor", spec_.executor);
    if (spec_.source != "host" && spec_.destination != "host" && spec_.source != spec_.destination &&
        spec_.direction != "push")
        json.set("direction", spec_.direction);
    if (spec_.executor == "kernel" && spec_.workgroups) json.set("workgroups", spec_.workgroups);
    if (spec_.engines > 1) json.set("engines", spec_.engines);
    if (count > 1) json.set("repeat", count);
    if (spec_.mapping == Mapping::peer) json.set("mapping", "peer");
    if (spec_.all_gpus) json.set("gpus", "all");
    return json;
}

}  // namespace probe
