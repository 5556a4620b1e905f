// Streams that share hardware queues: chains of short kernels on several streams, launched chain after chain (depth) or kernel
// by kernel over all streams (breadth). One JSON line per case: from the release of all streams to the end of the last kernel,
// and when each kernel began and ended [us], in the median turn. CUDA_DEVICE_MAX_CONNECTIONS is read by the driver at start.
//   nvcc -O2 -arch=sm_90 -o queues queues.cu && CUDA_DEVICE_MAX_CONNECTIONS=8 ./queues
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); std::exit(1); } } while (0)

__device__ unsigned long long now() { unsigned long long t; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); return t; }

// Holds one block for *ns*; writes its start and its end.
__global__ void spin(unsigned long long ns, unsigned long long *times) {
    unsigned long long begin = now();
    while (now() - begin < ns) {}
    times[0] = begin, times[1] = now();
}

__global__ void wait_for(volatile int *word, unsigned long long *time) {
    while (*word == 0) {}
    *time = now();
}

int main() {
    const char *connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    int *word;
    CHECK(cudaHostAlloc(&word, sizeof(int), cudaHostAllocMapped));
    for (int streams : {2, 4, 8, 9, 16, 32, 33, 64})
        for (int length : {1, 4})
            for (int ns : {20000, 100000})
                for (bool depth : {true, false}) {
                    std::vector<cudaStream_t> all(streams);
                    for (auto &each : all) CHECK(cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking));
                    unsigned long long *times, *released;
                    const int count = streams * length;
                    CHECK(cudaMalloc(&times, sizeof(*times) * (2 * count + 1)));
                    std::vector<unsigned long long> seen(2 * count + 1);
                    released = times + 2 * count;
                    cudaEvent_t gate;
                    CHECK(cudaEventCreateWithFlags(&gate, cudaEventDisableTiming));
                    cudaStream_t control;
                    CHECK(cudaStreamCreateWithFlags(&control, cudaStreamNonBlocking));
                    std::vector<std::vector<double>> turns;
                    for (int turn = 0; turn < 7; ++turn) {
                        *word = 0;
                        wait_for<<<1, 1, 0, control>>>(word, released);
                        CHECK(cudaEventRecord(gate, control));
                        for (auto &each : all) CHECK(cudaStreamWaitEvent(each, gate, 0));
                        for (int i = 0; i < count; ++i) {
                            const int s = depth ? i / length : i % streams, k = depth ? i % length : i / streams;
                            spin<<<1, 32, 0, all[s]>>>(ns, times + 2 * (s * length + k));
                        }
                        CHECK(cudaGetLastError());
                        *static_cast<volatile int *>(word) = 1;
                        CHECK(cudaDeviceSynchronize());
                        CHECK(cudaMemcpy(seen.data(), times, sizeof(seen[0]) * seen.size(), cudaMemcpyDeviceToHost));
                        std::vector<double> found;
                        double last = 0;
                        for (int i = 0; i < 2 * count; ++i) {
                            found.push_back(double(seen[i] - seen[2 * count]) / 1e3);
                            last = std::max(last, found.back());
                        }
                        found.insert(found.begin(), last);
                        if (turn >= 2) turns.push_back(found);
                    }
                    std::sort(turns.begin(), turns.end());
                    const auto &middle = turns[turns.size() / 2];
                    std::printf("{\"gpu\": \"%s\", \"connections\": \"%s\", \"streams\": %d, \"length\": %d, \"kernel_us\": %d, \"order\": \"%s\", "
                                "\"us\": %.2f, \"least_us\": %.2f, \"most_us\": %.2f, \"starts_us\": [",
                                properties.name, connections ? connections : "", streams, length, ns / 1000, depth ? "depth" : "breadth", middle[0],
                                turns.front()[0], turns.back()[0]);
                    for (int i = 0; i < count; ++i) std::printf("%s%.1f", i ? ", " : "", middle[1 + 2 * i]);
                    std::printf("]}\n");
                    for (auto &each : all) CHECK(cudaStreamDestroy(each));
                    CHECK(cudaStreamDestroy(control));
                    CHECK(cudaEventDestroy(gate));
                    CHECK(cudaFree(times));
                }
    return 0;
}
