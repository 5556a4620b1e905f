// What the host-only part of `probe ranks` promises: processes that start, wait for each other, fail and end, and the
// times of loops. The processes are this program again, with a word of what they are to do instead of a GPU.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "crew.h"
#include "loop.h"

using namespace probe;

namespace {

using Times = std::vector<double>;

// ---- what a rank does

// The loop of a fake GPU: iteration i is released at 100 i + 10 rank and its only task takes 5 + rank.
Turns fake_loop(int rank, int iterations) {
    Turns turns;
    for (int i = 0; i < iterations; ++i) {
        const double release = 100.0 * i + 10 * rank;
        turns.push_back({release - 1, release, {release + 1}, {release + 5 + rank}});
    }
    return turns;
}

void gather_and_wait(Crew &crew) {
    const auto told = crew.gather(std::string(static_cast<std::size_t>(crew.rank()), 'x'));
    for (int rank = 0; rank < crew.ranks(); ++rank)
        if (told.at(rank).size() != static_cast<std::size_t>(rank)) throw std::logic_error("gathered in another order");
    for (int turn = 0; turn < 500; ++turn) crew.barrier();
    for (int turn = 0; turn < 20; ++turn)  // nobody is a turn ahead
        for (const auto &each : crew.gather(std::to_string(turn)))
            if (each != std::to_string(turn)) throw std::logic_error("ranks are in different turns");
}

void measure_a_fake_loop(Crew &crew) {
    std::vector<Turns> ranks;
    for (const auto &bytes : crew.gather(packed(fake_loop(crew.rank(), 3)))) ranks.push_back(unpacked(bytes, 1));
    if (task_times_us(ranks, 0) != Times{7, 7, 7}) throw std::logic_error("the slowest of three ranks takes 5 + 2");
}

int act(const std::string &what) {
    auto &crew = Crew::join();
    try {
        if (what == "gather") gather_and_wait(crew);
        if (what == "loop") measure_a_fake_loop(crew);
        if (what == "crash" && crew.rank() == 1) std::raise(SIGSEGV);
        if (what == "fail" && crew.rank() == 2) throw std::runtime_error("no library here");
        if (what == "leave" && crew.rank() == 0) return 7;
        if (what == "deaf") {
            std::signal(SIGTERM, SIG_IGN);
            if (crew.rank() == 0) throw std::runtime_error("nobody listens");
            std::this_thread::sleep_for(std::chrono::minutes(1));
        }
        if (what == "sleep") std::this_thread::sleep_for(std::chrono::minutes(1));
        crew.barrier();
    } catch (const std::exception &error) {  // Abandoned, too: the first failure is kept
        Crew::fail(3, error.what());
        return 3;
    }
    return 0;
}

// ---- the crew

CrewEnd end_of(const char *what, int ranks = 3) {
    return run_crew(ranks, {"ranks_test", what}, [](int) {});
}

void ranks_gather_and_wait_for_each_other() {
    const auto end = end_of("gather");
    CHECK_EQUAL(end.message, "");
    CHECK_EQUAL(end.code, 0);
    CHECK_EQUAL(end_of("gather", 1).code, 0);
    CHECK_EQUAL(end_of("loop").message, "");
}

bool no_child_is_left() { return waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

void a_rank_that_fails_ends_the_others() {
    const auto crashed = end_of("crash");
    CHECK_EQUAL(crashed.code, 1);
    CHECK_EQUAL(crashed.message, "rank 1 ended by signal 11 (Segmentation fault)");
    CHECK(no_child_is_left());

    const auto failed = end_of("fail");
    CHECK_EQUAL(failed.code, 3);
    CHECK_EQUAL(failed.message, "rank 2: no library here");

    const auto left = end_of("leave");
    CHECK_EQUAL(left.code, 7);
    CHECK_EQUAL(left.message, "rank 0 ended with exit code 7");
    CHECK(no_child_is_left());
}

void a_rank_that_does_not_listen_is_ended_too() {
    const auto end = end_of("deaf");
    CHECK_EQUAL(end.message, "rank 0: nobody listens");
    CHECK(no_child_is_left());
}

void no_rank_outlives_the_program_that_started_it() {
    int ends[2];
    CHECK_EQUAL(pipe(ends), 0);
    const pid_t starter = fork();
    if (starter == 0) {
        end_of("sleep");
        std::_Exit(0);
    }
    close(ends[1]);  // the starter and its ranks still hold theirs
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill(starter, SIGKILL);
    waitpid(starter, nullptr, 0);
    alarm(20);  // ends the test if a rank lives on
    char none = 0;
    CHECK_EQUAL(static_cast<int>(read(ends[0], &none, 1)), 0);  // the end of the pipe: nobody holds it any more
    alarm(0);
    close(ends[0]);
}

// ---- times of loops

void the_slowest_rank_counts() {
    // Two ranks, one iteration, two tasks. Rank 0 is released at 0 and its tasks end at 10 and 30; rank 1 at 5, 20 and 25.
    const std::vector<Turns> ranks{{{0, 0, {1, 2}, {10, 30}}}, {{4, 5, {6, 7}, {20, 25}}}};
    CHECK_EQUAL(task_times_us(ranks, 0), (Times{15}));  // 20 - 5 of rank 1, against 10
    CHECK_EQUAL(task_times_us(ranks, 1), (Times{30}));  // 30 - 0 of rank 0, against 20
    CHECK_EQUAL(walls_us(ranks), (Times{30}));
    CHECK_EQUAL(walls_across_us(ranks), (Times{30}));  // from 0 to 30
    // A rank that comes 40 later waits for nobody: its own time is short, the time across ranks is not.
    const std::vector<Turns> apart{{{0, 0, {1}, {10}}}, {{40, 40, {41}, {52}}}};
    CHECK_EQUAL(walls_us(apart), (Times{12}));
    CHECK_EQUAL(walls_across_us(apart), (Times{52}));
}

void turns_survive_the_way_to_another_process() {
    const Turns turns{{1, 2, {3, 4}, {5, 6}}, {7, 8, {9, 10}, {11, 12.5}}};
    const auto again = unpacked(packed(turns), 2);
    CHECK_EQUAL(again.size(), turns.size());
    CHECK_EQUAL(again[1].launch_us, 7.0);
    CHECK_EQUAL(again[1].begin_us, (Times{9, 10}));
    CHECK_EQUAL(again[1].end_us, (Times{11, 12.5}));
    CHECK_EQUAL(error_of<std::invalid_argument>([&] { unpacked(packed(turns), 3); }),
                "iterations of another number of tasks");
}

void the_quickest_answer_tells_the_time() {
    // Answers after 900, 400 and 500 ns: the second is the quickest, read half way, give or take 200 ns.
    const auto instant = instant_of({{1000, 50100, 1900}, {2000, 51200, 2400}, {3000, 52300, 3500}});
    CHECK_EQUAL(instant.device_ns, std::int64_t{51200});
    CHECK_EQUAL(instant.host_ns, std::int64_t{2200});
    CHECK_EQUAL(instant.uncertain_ns, 200.0);
}

void clocks_go_on_evenly_between_two_instants() {
    // The device counts 1010 while the host counts 1000: half of the way on one is half on the other.
    const Instant before{5000000, 200, 0}, after{5001010, 1200, 0};
    CHECK_EQUAL(host_ns(before, after, 5000000), std::int64_t{200});
    CHECK_EQUAL(host_ns(before, after, 5000505), std::int64_t{700});
    CHECK_EQUAL(host_ns(before, after, 5002020), std::int64_t{2200});
    CHECK_EQUAL(host_ns(before, before, 5000007), std::int64_t{207});  // the same instant twice: at the host's rate
}

}  // namespace

int main(int count, char **words) {
    if (Crew::is_rank()) return count > 1 ? act(words[1]) : 2;
    ranks_gather_and_wait_for_each_other();
    a_rank_that_fails_ends_the_others();
    a_rank_that_does_not_listen_is_ended_too();
    no_rank_outlives_the_program_that_started_it();
    the_slowest_rank_counts();
    turns_survive_the_way_to_another_process();
    the_quickest_answer_tells_the_time();
    clocks_go_on_evenly_between_two_instants();
    return verdict();
}
