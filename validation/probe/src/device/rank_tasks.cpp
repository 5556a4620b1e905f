#include "rank_tasks.h"

#include <cstring>
#include <map>

#include "copy_task.h"
#include "nccl.h"

namespace probe {

// -- memory that other processes map

constexpr std::size_t grain = 2u << 20;  // an allocation of whole pages of the GPU is shared with no other

Window::Window(Crew &crew, std::size_t bytes) : crew_(crew), own_(0, (bytes + grain - 1) / grain * grain) {
    gpuIpcMemHandle_t handle;
    GPU(gpuIpcGetMemHandle(&handle, own_.data()));
    const auto handles = crew.gather({reinterpret_cast<const char *>(&handle), sizeof handle});
    for (int rank = 0; rank < crew.ranks(); ++rank) {
        void *mapped = own_.data();
        if (rank != crew.rank()) {
            std::memcpy(&handle, handles[rank].data(), sizeof handle);
            GPU(gpuIpcOpenMemHandle(&mapped, handle, gpuIpcMemLazyEnablePeerAccess));
        }
        at_.push_back(static_cast<char *>(mapped));
    }
}

void Window::unmap() {
    for (int rank = 0; rank < crew_.ranks(); ++rank)
        if (rank != crew_.rank() && at_[rank]) GPU(gpuIpcCloseMemHandle(at_[rank]));
    at_.assign(at_.size(), nullptr);
}

// -- copies to and from the next rank

PeerCopyTask::PeerCopyTask(Crew &crew, Node &node, PeerCopySpec spec)
    : crew_(crew), spec_(spec), source_(crew, spec.bytes), destination_(crew, spec.bytes) {
    if (crew.ranks() < 2) throw NoDevice("a copy to a peer needs 2 GPUs");
    fill_bf16(source_.own(), 1 + crew.rank(), Pattern::whole);
    lanes_.push_back(node.stream(0, spec.high_priority));
}

void PeerCopyTask::prepare() { poison(destination_.own()); }

void PeerCopyTask::submit() {
    const int next = (crew_.rank() + 1) % crew_.ranks();
    const char *from = spec_.pull ? source_.of(next) : source_.of(crew_.rank());
    char *to = spec_.pull ? destination_.of(crew_.rank()) : destination_.of(next);
    GPU(gpuMemcpyAsync(to, from, spec_.bytes, gpuMemcpyDefault, lanes_[0].stream));
}

void PeerCopyTask::verify() {
    const int from = (crew_.rank() + (spec_.pull ? 1 : crew_.ranks() - 1)) % crew_.ranks();
    verify_bf16(destination_.own(), spec_.bytes / 2 * 2, "copy", [&](std::size_t i) { return whole_number(i, 1 + from); });
}

void PeerCopyTask::detach() { source_.unmap(), destination_.unmap(); }

Json PeerCopyTask::workload() const {
    auto json = Json::object().set("kind", "copy").set("bytes", spec_.bytes);
    json.set("source", spec_.pull ? "peer" : "gpu").set("destination", spec_.pull ? "gpu" : "peer");
    return json.set("executor", "dma").set("mapping", "ipc").set("gpus", "all");
}

// -- collectives

namespace {

class RankCollective : public Task {
public:
    Json workload() const override {
        auto json = Json::object().set("kind", "collective").set("op", spec_.op).set("size", spec_.size);
        json.set("backend", spec_.backend);
        if (spec_.channels) json.set("channels", spec_.channels);
        return json;
    }
    Json streams() const override { return stream_json(spec_.high_priority, {}); }
    void prepare() override {
        poison(out());
        if (in_place()) fill_shard(out().at(crew_.rank() * shard_), shard_, 1 + crew_.rank());
    }
    void verify() override {
        verify_collective(spec_.op, out(), shard_, crew_.rank(), crew_.ranks());
    }

protected:
    RankCollective(Crew &crew, const RankCollectiveSpec &spec)
        : crew_(crew), spec_(spec), shard_(spec.size / crew.ranks()) {
        check_collective(spec.op, spec.size, crew.ranks());
    }
    virtual const Buffer &out() const = 0;
    bool in_place() const { return spec_.op == "all_gather" && !spec_.out_of_place; }
    std::size_t in_bytes() const { return spec_.op == "all_gather" ? shard_ : spec_.size; }  // in_place: not used
    Crew &crew_;
    RankCollectiveSpec spec_;
    std::size_t shard_;
};

class LibraryRank : public RankCollective {
public:
    LibraryRank(Crew &crew, Node &node, const RankCollectiveSpec &spec)
        : RankCollective(crew, spec), library_(NcclLibrary::open()), comm_(communicator(crew, library_, spec.channels)),
          in_(0, in_bytes()), out_(0, spec.op == "reduce_scatter" ? shard_ : spec.size) {
        fill_collective(in_, crew.rank());
        lanes_.push_back(node.stream(0, spec.high_priority));
    }
    void submit() override {
        const auto stream = lanes_[0].stream;
        const void *in = in_place() ? out_.at(crew_.rank() * shard_) : in_.at(0);
        if (spec_.op == "all_gather") {
            library_.all_gather(in, out_.data(), shard_ / 2, comm_, stream);
        } else if (spec_.op == "reduce_scatter") {
            library_.reduce_scatter(in, out_.data(), shard_ / 2, comm_, stream);
        } else if (spec_.op == "all_reduce") {
            library_.all_reduce(in, out_.data(), spec_.size / 2, comm_, stream);
        } else {
            NcclLibrary::Group group(library_);
            for (int peer = 0; peer < crew_.ranks(); ++peer) {
                if (peer == crew_.rank() && !spec_.out_of_place) continue;
                library_.send(in_.at(peer * shard_), shard_, peer, comm_, stream);
                library_.receive(out_.at(peer * shard_), shard_, peer, comm_, stream);
            }
        }
    }
    std::vector<std::pair<std::string, std::string>> libraries() const override {
        return {{NcclLibrary::name(), library_.version()}};
    }

private:
    static void *communicator(Crew &crew, NcclLibrary &library, int channels) {  // kept for the next task
        static std::map<int, void *> kept;
        auto &each = kept[channels];
        if (!each) {
            const auto ids = crew.gather(crew.rank() == 0 ? library.unique_id() : "");
            each = library.join(ids[0], crew.ranks(), crew.rank(), channels);
        }
        return each;
    }
    const Buffer &out() const override { return out_; }
    NcclLibrary &library_;
    void *comm_;
    Buffer in_, out_;
};

class EngineRank : public RankCollective {  // a stream for each peer, and one for the own shard where it is copied
public:
    EngineRank(Crew &crew, Node &node, const RankCollectiveSpec &spec)
        : RankCollective(crew, spec), in_(crew, in_bytes()), out_(crew, spec.size) {
        if (spec.op != "all_gather" && spec.op != "all_to_all")
            throw std::invalid_argument("dma_" + spec.op + ": engines copy and do not reduce; all_gather or all_to_all");
        fill_collective(in_.own(), crew.rank());
        for (int i = spec.out_of_place ? 0 : 1; i < crew.ranks(); ++i) lanes_.push_back(node.stream(0, spec.high_priority));
    }
    void submit() override {
        const int own = crew_.rank();
        std::size_t lane = 0;
        for (int offset = spec_.out_of_place ? 0 : 1; offset < crew_.ranks(); ++offset) {
            const int peer = (own + offset) % crew_.ranks();
            const int from = spec_.pull ? peer : own, to = spec_.pull ? own : peer;
            const char *source = in_place()                   ? out_.of(from) + from * shard_
                                 : spec_.op == "all_gather" ? in_.of(from)
                                                            : in_.of(from) + to * shard_;
            GPU(gpuMemcpyAsync(out_.of(to) + from * shard_, source, shard_, gpuMemcpyDefault, lanes_[lane++].stream));
        }
    }
    void detach() override { in_.unmap(), out_.unmap(); }
    Json workload() const override {
        auto json = RankCollective::workload();
        if (spec_.pull) json.set("direction", "pull");
        return json.set("mapping", "ipc");
    }

private:
    const Buffer &out() const override { return out_.own(); }
    Window in_, out_;
};

}  // namespace

std::unique_ptr<Task> make_rank_collective(Crew &crew, Node &node, const RankCollectiveSpec &spec) {
    if (spec.backend == "dma") return std::make_unique<EngineRank>(crew, node, spec);
    return std::make_unique<LibraryRank>(crew, node, spec);
}

}  // namespace probe
