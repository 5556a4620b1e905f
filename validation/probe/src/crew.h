// A crew: processes of this program, one for each GPU, started before any call of a GPU runtime. They share a piece of
// memory for barriers and for what they tell each other. One that fails ends all, and none outlives the program that
// started them. Host only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace probe {

std::int64_t monotonic_ns();  // one clock for all processes of this machine

struct Abandoned : std::runtime_error {  // another rank has failed
    using std::runtime_error::runtime_error;
};

class Crew {  // as a rank sees it
public:
    static bool is_rank();  // whether this process was started by run_crew()
    static Crew &join();    // the crew that this process belongs to
    static void fail(int code, const std::string &message);  // the first failure is what run_crew() returns

    int rank() const;
    int ranks() const;
    std::int64_t began_ns() const;  // monotonic_ns() when the crew was started
    void barrier();                 // returns when every rank is here; throws Abandoned
    std::vector<std::string> gather(const std::string &mine);  // what each rank gave, in the order of ranks

    struct Shared;  // the memory

private:
    Crew();
    char *slot(int rank) const;
    Shared *shared_;
    int rank_;
};

struct CrewEnd {
    int code = 0;         // 0, or the exit code of the first rank that failed (1: ended by a signal)
    std::string message;  // one line; empty when all went well
};

// Starts this program `ranks` times with the same words; `prepare` runs in each new process before the program does.
CrewEnd run_crew(int ranks, const std::vector<std::string> &words, const std::function<void(int rank)> &prepare);

}  // namespace probe
