#include "crew.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

namespace probe {
namespace {

constexpr const char *rank_variable = "PROBE_RANK", *memory_variable = "PROBE_CREW";
constexpr std::size_t head_bytes = 4096, slot_bytes = 16u << 20;
constexpr auto grace = std::chrono::seconds(2);  // between the signal that asks and the one that cannot be refused

std::runtime_error failure(const std::string &what) {
    return std::runtime_error(what + ": " + std::strerror(errno));
}

}  // namespace

std::int64_t monotonic_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Crew::Shared {
    std::int32_t ranks = 0;
    std::int64_t began_ns = 0;
    std::atomic<std::uint32_t> arrived{0}, turn{0};  // of the barrier
    std::atomic<std::uint32_t> failing{0}, failed{0};  // a message is being written; it is there
    std::int32_t code = 0;
    char message[1024] = {};

    void fail(int why, const std::string &text) {
        if (failing.exchange(1)) return;
        code = why;
        std::strncpy(message, text.c_str(), sizeof message - 1);
        failed = 1;
    }
    static Shared *map(int file, int ranks) {
        void *memory = mmap(nullptr, head_bytes + ranks * slot_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (memory == MAP_FAILED) throw failure("the shared memory of the ranks");
        return static_cast<Shared *>(memory);
    }
};

bool Crew::is_rank() { return std::getenv(rank_variable) && std::getenv(memory_variable); }

Crew &Crew::join() {
    static Crew crew;
    return crew;
}

Crew::Crew() : rank_(std::atoi(std::getenv(rank_variable))) {
    const int file = std::atoi(std::getenv(memory_variable));
    auto *head = Shared::map(file, 0);
    const int ranks = head->ranks;
    munmap(head, head_bytes);
    shared_ = Shared::map(file, ranks);
    static_assert(sizeof(Shared) <= head_bytes);
    static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
}

void Crew::fail(int code, const std::string &message) {
    auto &crew = join();
    crew.shared_->fail(code, "rank " + std::to_string(crew.rank_) + ": " + message);
}

int Crew::rank() const { return rank_; }
int Crew::ranks() const { return shared_->ranks; }
std::int64_t Crew::began_ns() const { return shared_->began_ns; }
char *Crew::slot(int rank) const { return reinterpret_cast<char *>(shared_) + head_bytes + rank * slot_bytes; }

void Crew::barrier() {
    const std::uint32_t turn = shared_->turn;
    if (shared_->arrived.fetch_add(1) + 1 == static_cast<std::uint32_t>(shared_->ranks)) {
        shared_->arrived = 0;
        shared_->turn = turn + 1;
        return;
    }
    for (int looks = 0; shared_->turn == turn; ++looks) {
        if (shared_->failing) throw Abandoned("another rank has failed");
        if (looks > 20000) sched_yield();  // about 100 us: whoever is late is late by more
    }
}

std::vector<std::string> Crew::gather(const std::string &mine) {
    const std::size_t length = mine.size();
    if (length + sizeof length > slot_bytes) throw std::length_error("a rank tells more than its slot holds");
    std::memcpy(slot(rank_), &length, sizeof length);
    std::memcpy(slot(rank_) + sizeof length, mine.data(), length);
    barrier();
    std::vector<std::string> all;
    for (int rank = 0; rank < ranks(); ++rank) {
        std::size_t bytes = 0;
        std::memcpy(&bytes, slot(rank), sizeof bytes);
        all.emplace_back(slot(rank) + sizeof bytes, bytes);
    }
    barrier();
    return all;
}

// -- the program that starts them ----------------------------------------------------------------------------------

namespace {

[[noreturn]] void become_rank(int rank, int file, pid_t parent, const std::vector<std::string> &words,
                              const std::function<void(int)> &prepare) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) std::_Exit(1);  // it ended before the line above
    setenv(rank_variable, std::to_string(rank).c_str(), 1);
    setenv(memory_variable, std::to_string(file).c_str(), 1);
    prepare(rank);
    std::vector<char *> arguments;
    for (const auto &word : words) arguments.push_back(const_cast<char *>(word.c_str()));
    arguments.push_back(nullptr);
    execv("/proc/self/exe", arguments.data());
    std::_Exit(127);
}

std::string words_of(int rank, int status) {
    const auto name = "rank " + std::to_string(rank);
    if (WIFSIGNALED(status))
        return name + " ended by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
    return name + " ended with exit code " + std::to_string(WEXITSTATUS(status));
}

void signal_all(const std::vector<pid_t> &processes, int number) {
    for (const auto process : processes)
        if (process > 0) kill(process, number);
}

}  // namespace

CrewEnd run_crew(int ranks, const std::vector<std::string> &words, const std::function<void(int rank)> &prepare) {
    const int file = memfd_create("probe-crew", 0);
    if (file < 0 || ftruncate(file, static_cast<off_t>(head_bytes + ranks * slot_bytes)))
        throw failure("the shared memory of the ranks");
    auto *shared = new (Crew::Shared::map(file, ranks)) Crew::Shared;
    shared->ranks = ranks;
    shared->began_ns = monotonic_ns();
    const pid_t self = getpid();
    std::vector<pid_t> processes;
    for (int rank = 0; rank < ranks; ++rank) {
        const pid_t process = fork();
        if (process == 0) become_rank(rank, file, self, words, prepare);
        if (process < 0) {
            shared->fail(1, std::string("rank ") + std::to_string(rank) + " could not be started: " + std::strerror(errno));
            break;
        }
        processes.push_back(process);
    }
    auto kill_at = std::chrono::steady_clock::time_point::max();
    for (std::size_t running = processes.size(); running > 0;) {
        if (shared->failing && kill_at == std::chrono::steady_clock::time_point::max()) {
            kill_at = std::chrono::steady_clock::now() + grace;
            signal_all(processes, SIGTERM);
        }
        if (std::chrono::steady_clock::now() > kill_at) signal_all(processes, SIGKILL);
        int status = 0;
        const pid_t ended = waitpid(-1, &status, WNOHANG);
        if (ended <= 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            continue;
        }
        const auto found = std::find(processes.begin(), processes.end(), ended);
        if (found == processes.end()) continue;
        *found = 0;
        --running;
        if (status) shared->fail(WIFEXITED(status) ? WEXITSTATUS(status) : 1, words_of(static_cast<int>(found - processes.begin()), status));
    }
    CrewEnd end{shared->failing ? std::max(1, static_cast<int>(shared->code)) : 0, shared->message};
    munmap(shared, head_bytes + ranks * slot_bytes);
    close(file);
    return end;
}

}  // namespace probe
