#include "stores_task.h"

#include "stream_task.h"

namespace probe {

constexpr int most_peers = 16, store_threads = 1024;

struct Destinations {
    float4 *data[most_peers];
    std::uint32_t *flags[most_peers];
};

// Tile t goes to peer t mod peers. Each thread stores 16 bytes at a time.
__global__ void __launch_bounds__(store_threads)
    stores_kernel(Destinations to, std::size_t tiles, std::size_t tile, int peers, int in_flight, bool release,
                  std::uint32_t turn) {
    extern __shared__ char claimed[];  // only to claim the compute unit
    (void)claimed;
    const float4 value = {1, 2, 3, 4};
    int waiting = 0;
    for (std::size_t t = blockIdx.x; t < tiles; t += gridDim.x) {
        const int peer = static_cast<int>(t % peers);
        float4 *begin = to.data[peer] + t / peers * tile;
        for (std::size_t i = threadIdx.x; i < tile; i += store_threads) {
            begin[i] = value;
            if (in_flight && ++waiting == in_flight) wait_for_stores(), waiting = 0;
        }
        if (!release) continue;
        gather_stores();
        if (threadIdx.x == 0) {
            wait_for_stores();
            store_flag(to.flags[peer] + t / peers, turn);
        }
    }
}

StoresTask::StoresTask(Node &node, StoresSpec spec) : node_(node), spec_(spec), peers_(node.gpus() - 1) {
    if (peers_ < 1 || peers_ > most_peers) throw std::invalid_argument("stores: need 2 to 17 GPUs");
    if (spec.tile % (16 * store_threads)) throw std::invalid_argument("stores: a tile must be a multiple of 16 KiB");
    const std::int64_t whole = spec.tile * peers_;
    spec_.bytes = (spec.bytes + whole - 1) / whole * whole;
    for (int gpu = 0; gpu < node.gpus(); ++gpu) {
        lanes_.push_back(node.stream(gpu));
        out_.push_back(std::make_unique<Buffer>(gpu, spec_.bytes));
        flags_.push_back(std::make_unique<Buffer>(gpu, spec_.bytes / spec_.tile * sizeof(std::uint32_t)));
        GPU(gpuMemsetAsync(flags_.back()->data(), 0, flags_.back()->bytes(), lanes_.back().stream));
        GPU(gpuStreamSynchronize(lanes_.back().stream));
    }
}

void StoresTask::prepare() {
    for (const auto &each : out_) poison(*each);
}

void StoresTask::submit() {
    const int shared = whole_unit(node_);
    const std::size_t part = spec_.bytes / peers_, each = part / spec_.tile;  // of one peer: bytes, tiles
    for (int round = 0; round < spec_.rounds; ++round) {
        ++turn_;
        for (const auto &lane : lanes_) {
            GPU(gpuSetDevice(lane.gpu));
            GPU(gpuFuncSetAttribute(reinterpret_cast<const void *>(stores_kernel),
                                    gpuFuncAttributeMaxDynamicSharedMemorySize, shared));
            Destinations to = {};
            for (int offset = 1; offset <= peers_; ++offset) {
                const int peer = (lane.gpu + offset) % node_.gpus();
                to.data[offset - 1] = reinterpret_cast<float4 *>(out_[peer]->at((offset - 1) * part));
                to.flags[offset - 1] = flags_[peer]->data<std::uint32_t>() + (offset - 1) * each;
            }
            stores_kernel<<<spec_.workgroups, store_threads, shared, lane.stream>>>(
                to, each * peers_, spec_.tile / 16, peers_, spec_.in_flight, spec_.release, turn_);
            GPU(gpuGetLastError());
        }
    }
}

void StoresTask::verify() {  // float32 words: the upper half of each is the number in bf16
    const float stored[4] = {1, 2, 3, 4};
    for (std::size_t gpu = 0; gpu < out_.size(); ++gpu) {
        verify_bf16(*out_[gpu], out_[gpu]->bytes(), "stores",
                    [&](std::size_t i) { return i % 2 ? stored[i / 2 % 4] : 0.0f; });
        if (!spec_.release) continue;
        std::vector<std::uint32_t> seen(flags_[gpu]->bytes() / sizeof(std::uint32_t));
        GPU(gpuMemcpy(seen.data(), flags_[gpu]->data(), flags_[gpu]->bytes(), gpuMemcpyDefault));
        for (const auto flag : seen)
            if (flag != turn_) throw WrongResult("stores: a flag of GPU " + std::to_string(gpu) + " was not set");
    }
}

Json StoresTask::workload() const {
    auto json = Json::object().set("kind", "stores").set("bytes", spec_.bytes).set("workgroups", spec_.workgroups);
    if (spec_.in_flight) json.set("in_flight", spec_.in_flight);
    if (spec_.release) json.set("publish", "flag").set("tile", spec_.tile);
    if (spec_.rounds > 1) json.set("repeat", spec_.rounds);
    return json;
}

}  // namespace probe
