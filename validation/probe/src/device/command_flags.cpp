#include "../statistics.h"
#include "command_support.h"
#include "stores_task.h"

namespace probe {

struct Side {  // of a workgroup: what it stores at the peer, and the two flags
    float4 *data;
    std::uint32_t *told;
    const std::uint32_t *heard;
};

// Two GPUs answer each other: each waits for the other's flag, stores `count` words of 16 bytes, waits until they are there,
// and stores its own flag. Each workgroup has a flag and a part of the data of its own.
__global__ void answering_kernel(Side side, std::size_t count, int rounds, bool begins, std::uint64_t *took_ns) {
    float4 *data = side.data + blockIdx.x * count;
    std::uint32_t *told = side.told + blockIdx.x * 32;
    const std::uint32_t *heard = side.heard + blockIdx.x * 32;
    const auto start = device_clock_ns();
    for (int round = 1; round <= rounds; ++round) {
        if (threadIdx.x == 0 && !(begins && round == 1)) wait_for_flag(heard, round - (begins ? 1 : 0));
        __syncthreads();
        for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) data[i] = float4{1, 2, 3, 4};
        gather_stores();
        if (threadIdx.x == 0) {
            wait_for_stores();
            store_flag(told, round);
        }
    }
    if (begins && threadIdx.x == 0) {
        wait_for_flag(heard, rounds);
        took_ns[blockIdx.x] = device_clock_ns() - start;
    }
}

static double round_trip_us(const std::vector<Lane> &lanes, std::size_t bytes, int workgroups, int rounds) {
    std::vector<std::unique_ptr<Buffer>> data, flags;
    for (int gpu = 0; gpu < 2; ++gpu) {
        data.push_back(std::make_unique<Buffer>(gpu, bytes * workgroups));
        flags.push_back(std::make_unique<Buffer>(gpu, workgroups * 128));
        GPU(gpuMemsetAsync(flags.back()->data(), 0, flags.back()->bytes(), lanes[gpu].stream));
        GPU(gpuStreamSynchronize(lanes[gpu].stream));
    }
    Buffer took(-1, workgroups * sizeof(std::uint64_t));
    for (int gpu = 1; gpu >= 0; --gpu) {
        GPU(gpuSetDevice(gpu));
        answering_kernel<<<workgroups, 1024, 0, lanes[gpu].stream>>>(
            {data[1 - gpu]->data<float4>(), flags[1 - gpu]->data<std::uint32_t>(), flags[gpu]->data<std::uint32_t>()},
            bytes / 16, rounds, gpu == 0, took.data<std::uint64_t>());
        GPU(gpuGetLastError());
    }
    for (int gpu = 0; gpu < 2; ++gpu) {
        GPU(gpuSetDevice(gpu));
        GPU(gpuStreamSynchronize(lanes[gpu].stream));
    }
    std::vector<double> each;
    for (int i = 0; i < workgroups; ++i) each.push_back(static_cast<double>(took.data<std::uint64_t>()[i]) / 1e3 / rounds);
    return median(each);
}

int run_flags(const std::vector<std::string> &arguments, const std::string &line) {
    Options options;
    options.option("bytes", "16B,16KiB,64KiB,256KiB", "that a workgroup stores before its flag; several with commas")
        .option("workgroups", "1,16,64", "that do the same at a time; several with commas")
        .option("rounds", "200", "answers of each");
    if (parse(options, arguments, "flags")) return 0;
    Report report(options, line);
    Node node(2);
    node.enable_peer_access();
    Bench bench(node, settings_of(options));
    const std::vector<Lane> lanes = {node.stream(0), node.stream(1)};
    const int samples = static_cast<int>(options.integer("samples")), rounds = static_cast<int>(options.integer("rounds"));
    bench.read_before();
    auto rows = Json::array();
    for (const auto bytes : options.sizes("bytes"))
        for (const auto workgroups : options.integers("workgroups")) {
            std::vector<double> times;
            for (int i = 0; i < samples + 1; ++i) {
                const double time = round_trip_us(lanes, bytes, static_cast<int>(workgroups), rounds);
                if (i) times.push_back(time);
            }
            rows.push(Json::object().set("bytes", bytes).set("workgroups", workgroups).set("round_trip_us", median(times)));
            progress("flags: " + text_of(bytes) + " by " + std::to_string(workgroups) + ": " + std::to_string(median(times)) +
                     " us there and back");
        }
    bench.read_after();
    StoresSpec spec;
    spec.release = true, spec.bytes = spec.tile;
    StoresTask task(node, spec);  // what the record says was run
    Scene scene{{{"stores", &task}}, {}};
    report.write_observed(bench, "flags between two GPUs", scene, Json(), Json::object().set("flags", rows));
    return 0;
}

}  // namespace probe
