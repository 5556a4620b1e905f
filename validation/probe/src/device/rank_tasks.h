// Tasks of one rank of a crew that need the others: copies to and from peers, and collectives. Every rank makes them in
// the same order. Peers' memory is mapped by IPC handles of their processes.
#pragma once
#include <memory>

#include "../crew.h"
#include "collective_task.h"
#include "task.h"

namespace probe {

class Window {  // memory of this rank that every rank can address
public:
    Window(Crew &crew, std::size_t bytes);
    const Buffer &own() const { return own_; }
    char *of(int rank) const { return at_[rank]; }
    void unmap();  // before any rank frees its own

private:
    Crew &crew_;
    Buffer own_;
    std::vector<char *> at_;
};

struct PeerCopySpec {
    std::int64_t bytes = 0;
    bool pull = false;  // from the next rank's memory instead of to it
    bool high_priority = false;
};

class PeerCopyTask : public Task {  // every rank copies to or from the next one, by the runtime's call
public:
    PeerCopyTask(Crew &crew, Node &node, PeerCopySpec spec);
    void prepare() override;
    void submit() override;
    void verify() override;
    void detach() override;
    Json workload() const override;
    Json streams() const override { return stream_json(spec_.high_priority, {}); }

private:
    Crew &crew_;
    PeerCopySpec spec_;
    Window source_, destination_;
};

struct RankCollectiveSpec {
    std::string op;
    std::int64_t size = 0;
    std::string backend;        // the vendor's library or dma
    int channels = 0;           // library: 0 its choice
    bool pull = false;          // dma: who copies
    bool out_of_place = false;  // a rank's own shard is copied as well
    bool high_priority = false;
};

std::unique_ptr<Task> make_rank_collective(Crew &crew, Node &node, const RankCollectiveSpec &spec);

}  // namespace probe
