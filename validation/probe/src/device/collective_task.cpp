#include "collective_task.h"

#include <algorithm>

#include "add_bf16.h"
#include "copy_loop.h"
#include "copy_task.h"
#include "nccl.h"

namespace probe {

std::string vendor_collective_library() { return NcclLibrary::name(); }

void check_collective(const std::string &op, std::int64_t size, int ranks) {
    if (op != "all_gather" && op != "reduce_scatter" && op != "all_to_all" && op != "all_reduce")
        throw std::invalid_argument("--op " + op + ": all_gather, all_to_all, reduce_scatter or all_reduce");
    if (ranks < 2) throw std::invalid_argument("a collective needs at least 2 GPUs");
    if (size % (16 * ranks))
        throw std::invalid_argument("--size " + std::to_string(size) + ": must be a multiple of 16 bytes per GPU");
}

void fill_collective(const Buffer &in, int rank) { fill_bf16(in, 1 + rank, Pattern::whole); }

void verify_collective(const std::string &op, const Buffer &out, std::size_t shard, int rank, int ranks) {
    const std::size_t elements = shard / 2;
    auto sum = [&](std::size_t element) {
        float total = 0;
        for (int each = 0; each < ranks; ++each) total += whole_number(element, 1 + each);
        return total;
    };
    if (op == "all_gather")
        verify_bf16(out, shard * ranks, op, [&](std::size_t i) {
            return whole_number(i % elements, 1 + static_cast<std::uint32_t>(i / elements));
        });
    else if (op == "reduce_scatter")
        verify_bf16(out, shard, op, [&](std::size_t i) { return sum(rank * elements + i); });
    else if (op == "all_reduce")
        verify_bf16(out, shard * ranks, op, sum);
    else
        for (int from = 0; from < ranks; ++from) {
            if (from == rank) continue;
            verify_bf16(out, shard, op, [&](std::size_t i) { return whole_number(rank * elements + i, 1 + from); },
                        from * shard);
        }
}

CollectiveTask::CollectiveTask(Node &node, CollectiveSpec spec)
    : node_(node), spec_(spec), ranks_(node.gpus()), shard_(spec.size / node.gpus()) {
    check_collective(spec.op, spec.size, ranks_);
    const bool gathers = spec.op == "all_gather", scatters = spec.op == "reduce_scatter";
    for (int gpu = 0; gpu < ranks_; ++gpu) {
        if (!gathers) {
            in_.push_back(std::make_unique<Buffer>(gpu, spec.size, spec.mapping, ranks_));
            fill_collective(*in_.back(), gpu);
        }
        out_.push_back(std::make_unique<Buffer>(gpu, scatters ? shard_ : spec.size, spec.mapping, ranks_));
    }
}

void CollectiveTask::prepare() {
    for (const auto &each : out_) poison(*each);
    if (spec_.op != "all_gather") return;
    for (int gpu = 0; gpu < ranks_; ++gpu) {
        GPU(gpuSetDevice(gpu));
        fill_shard(out_[gpu]->at(gpu * shard_), shard_, 1 + gpu);
    }
}

void CollectiveTask::verify() {
    for (int gpu = 0; gpu < ranks_; ++gpu) verify_collective(spec_.op, *out_[gpu], shard_, gpu, ranks_);
}

Json CollectiveTask::workload() const {
    auto json = Json::object()
                    .set("kind", "collective")
                    .set("op", spec_.op)
                    .set("size", spec_.size)
                    .set("backend", spec_.backend);
    if (spec_.channels) json.set("channels", spec_.channels);
    if (!spec_.algorithm.empty()) json.set("algorithm", spec_.algorithm);
    if (spec_.backend == "dma" && spec_.direction != "push") json.set("direction", spec_.direction);
    if (spec_.backend == "dma" && spec_.engines > 1) json.set("engines", spec_.engines);
    if (spec_.backend == "dma" && spec_.mapping == Mapping::peer) json.set("mapping", "peer");
    return json;
}

Json CollectiveTask::streams() const { return stream_json(spec_.high_priority, spec_.part); }

// -- the vendor's library ------------------------------------------------------------------------------------------

class LibraryCollective : public CollectiveTask {
public:
    LibraryCollective(Node &node, const CollectiveSpec &spec)
        : CollectiveTask(node, spec), library_(NcclLibrary::open()), comms_(library_.communicators(ranks_, spec.channels)) {
        for (int gpu = 0; gpu < ranks_; ++gpu) lanes_.push_back(node.stream(gpu, spec.high_priority, spec.part));
    }
    void submit() override {
        NcclLibrary::Group group(library_);
        for (int gpu = 0; gpu < ranks_; ++gpu) {
            GPU(gpuSetDevice(gpu));
            auto *comm = comms_[gpu];
            const auto stream = lanes_[gpu].stream;
            if (spec_.op == "all_gather")
                library_.all_gather(out_[gpu]->at(gpu * shard_), out_[gpu]->data(), shard_ / 2, comm, stream);
            else if (spec_.op == "reduce_scatter")
                library_.reduce_scatter(in_[gpu]->data(), out_[gpu]->data(), shard_ / 2, comm, stream);
            else if (spec_.op == "all_reduce")
                library_.all_reduce(in_[gpu]->data(), out_[gpu]->data(), spec_.size / 2, comm, stream);
            else
                for (int peer = 0; peer < ranks_; ++peer) {
                    if (peer == gpu) continue;
                    library_.send(in_[gpu]->at(peer * shard_), shard_, peer, comm, stream);
                    library_.receive(out_[gpu]->at(peer * shard_), shard_, peer, comm, stream);
                }
        }
    }
    std::vector<std::pair<std::string, std::string>> libraries() const override {
        return {{NcclLibrary::name(), library_.version()}};
    }

private:
    NcclLibrary &library_;
    std::vector<void *> comms_;
};

// -- DMA engines ---------------------------------------------------------------------------------------------------

class EngineCollective : public CollectiveTask {
public:
    EngineCollective(Node &node, const CollectiveSpec &spec) : CollectiveTask(node, spec) {
        if (spec.op != "all_gather" && spec.op != "all_to_all")
            throw std::invalid_argument("--backend dma: engines copy and do not reduce; all_gather or all_to_all");
        if (spec.batch && spec.engines > 1)
            throw std::invalid_argument("--submission batch: all copies of a GPU are in one stream, not with --engines");
        const int streams = spec.batch ? 1 : (ranks_ - 1) * spec.engines;
        for (int gpu = 0; gpu < ranks_; ++gpu)
            for (int i = 0; i < streams; ++i) lanes_.push_back(node.stream(gpu, spec.high_priority));
    }
    void submit() override {
        std::size_t lane = 0;
        for (int gpu = 0; gpu < ranks_; ++gpu) {
            GPU(gpuSetDevice(gpu));
            Batch batch;
            for (int offset = 1; offset < ranks_; ++offset) {
                const int peer = (gpu + offset) % ranks_;
                const bool push = spec_.direction == "push";
                const int from = push ? gpu : peer, to = push ? peer : gpu;
                const char *source = spec_.op == "all_gather" ? out_[from]->at(from * shard_) : in_[from]->at(to * shard_);
                char *destination = out_[to]->at(from * shard_);
                if (spec_.batch) {
                    batch.to.push_back(destination), batch.from.push_back(source), batch.bytes.push_back(shard_);
                    continue;
                }
                for (int i = 0; i < spec_.engines; ++i, ++lane) {
                    const std::size_t begin = shard_ * i / spec_.engines / 16 * 16;
                    const std::size_t end = i + 1 == spec_.engines ? shard_ : shard_ * (i + 1) / spec_.engines / 16 * 16;
                    copy_async(spec_.call, destination + begin, to, source + begin, from, end - begin,
                               lanes_[lane].stream);
                }
            }
            if (spec_.batch) copy_batch(batch, lanes_[gpu].stream);
        }
    }
};

// -- own kernels ---------------------------------------------------------------------------------------------------

constexpr int max_ranks = 16, threads = 512;

struct Pointers {
    uint4 *at[max_ranks];
};

// Workgroups are dealt to the peers in turn; each stores its share of what that peer gets.
__global__ void __launch_bounds__(threads) push_kernel(Pointers from, Pointers to, std::size_t count, int peers) {
    const int peer = blockIdx.x % peers;
    const std::size_t part = blockIdx.x / peers, parts = (gridDim.x - peer + peers - 1) / peers;
    copy_strided(to.at[peer], from.at[peer], count, part * threads + threadIdx.x, parts * threads);
}

// Reads one shard from every rank, adds, and stores the sum at every destination (one, or every rank's).
__global__ void __launch_bounds__(threads) reduce_kernel(Pointers from, Pointers to, std::size_t count, int ranks, int destinations) {
    const std::size_t step = static_cast<std::size_t>(gridDim.x) * threads;
    constexpr int unroll = 4;
    for (std::size_t i = blockIdx.x * static_cast<std::size_t>(threads) + threadIdx.x; i < count; i += unroll * step) {
        uint4 sum[unroll];
#pragma unroll
        for (int j = 0; j < unroll; ++j)
            if (i + j * step < count) sum[j] = from.at[0][i + j * step];
        for (int rank = 1; rank < ranks; ++rank) {
            uint4 x[unroll];
#pragma unroll
            for (int j = 0; j < unroll; ++j)
                if (i + j * step < count) x[j] = from.at[rank][i + j * step];
#pragma unroll
            for (int j = 0; j < unroll; ++j) {
                if (i + j * step >= count) continue;
                sum[j] = add_bf16x8(sum[j], x[j]);
            }
        }
        for (int rank = 0; rank < destinations; ++rank)
#pragma unroll
            for (int j = 0; j < unroll; ++j)
                if (i + j * step < count) to.at[rank][i + j * step] = sum[j];
    }
}

class KernelCollective : public CollectiveTask {
public:
    KernelCollective(Node &node, const CollectiveSpec &spec) : CollectiveTask(node, spec) {
        if (ranks_ > max_ranks) throw std::invalid_argument("--backend probe: at most 16 GPUs");
        grid_ = spec.channels ? spec.channels : node.compute_units();
        if (grid_ < ranks_ - 1) throw std::invalid_argument("--channels: at least one per peer");
        for (int gpu = 0; gpu < ranks_; ++gpu) lanes_.push_back(node.stream(gpu, spec.high_priority, spec.part));
    }
    void submit() override {
        for (int gpu = 0; gpu < ranks_; ++gpu) {
            GPU(gpuSetDevice(gpu));
            Pointers from = {}, to = {};
            const bool reduces = spec_.op == "reduce_scatter" || spec_.op == "all_reduce";
            for (int i = 0; i < (reduces ? ranks_ : ranks_ - 1); ++i) {
                const int peer = (gpu + i + (reduces ? 0 : 1)) % ranks_;  // each starts with another peer
                if (reduces) {
                    from.at[i] = word(*in_[peer], gpu * shard_);
                    to.at[i] = spec_.op == "all_reduce" ? word(*out_[peer], gpu * shard_) : word(*out_[gpu], 0);
                } else {
                    from.at[i] = spec_.op == "all_gather" ? word(*out_[gpu], gpu * shard_) : word(*in_[gpu], peer * shard_);
                    to.at[i] = word(*out_[peer], gpu * shard_);
                }
            }
            const auto stream = lanes_[gpu].stream;
            if (reduces)
                reduce_kernel<<<grid_, threads, 0, stream>>>(from, to, shard_ / 16, ranks_,
                                                            spec_.op == "all_reduce" ? ranks_ : 1);
            else
                push_kernel<<<grid_, threads, 0, stream>>>(from, to, shard_ / 16, ranks_ - 1);
            GPU(gpuGetLastError());
        }
    }

private:
    static uint4 *word(const Buffer &buffer, std::size_t byte) { return reinterpret_cast<uint4 *>(buffer.at(byte)); }
    int grid_;
};

std::unique_ptr<CollectiveTask> make_collective(Node &node, const CollectiveSpec &spec) {
    if (spec.backend == "dma") return std::make_unique<EngineCollective>(node, spec);
    if (!spec.algorithm.empty()) return make_shots(node, spec);
    if (spec.backend == "probe") return std::make_unique<KernelCollective>(node, spec);
    if (spec.backend == NcclLibrary::name()) return std::make_unique<LibraryCollective>(node, spec);
    throw std::invalid_argument("--backend " + spec.backend + ": " + NcclLibrary::name() + ", dma or probe");
}

}  // namespace probe
