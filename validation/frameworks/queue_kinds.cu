// What else stands in a hardware queue: streams of high priority, copies by engines, events that are waited for. Four cases, each
// with one low stream a of two kernels of 100 us (a1, a2) launched first, and b behind it; one JSON line each: when a1, a2 and b
// began [us from the release], median of 9 turns. CUDA_DEVICE_MAX_CONNECTIONS is read by the driver at start.
//   nvcc -O2 -arch=sm_90 -o queue_kinds queue_kinds.cu && CUDA_DEVICE_MAX_CONNECTIONS=1 ./queue_kinds
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); std::exit(1); } } while (0)

__device__ unsigned long long now() { unsigned long long t; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); return t; }
__global__ void spin(unsigned long long ns, unsigned long long *times) {
    unsigned long long begin = now();
    while (now() - begin < ns) {}
    times[0] = begin, times[1] = now();
}
__global__ void wait_for(volatile int *word, unsigned long long *time) { while (*word == 0) {} *time = now(); }
__global__ void stamp(unsigned long long *time) { *time = now(); }

int main() {
    const char *connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    int *word; unsigned long long *times; char *host, *device;
    CHECK(cudaHostAlloc(&word, sizeof(int), cudaHostAllocMapped));
    CHECK(cudaMalloc(&times, 64 * sizeof(*times)));
    const size_t size = 1 << 20;
    CHECK(cudaHostAlloc(&host, size, cudaHostAllocDefault));
    CHECK(cudaMalloc(&device, size));
    int low, high;
    CHECK(cudaDeviceGetStreamPriorityRange(&low, &high));
    for (std::string kind : {"kernel", "high", "copy", "waiting"}) {
        std::vector<std::vector<double>> turns;
        for (int turn = 0; turn < 11; ++turn) {
            cudaStream_t control, a, b, c;
            cudaEvent_t gate, first;
            CHECK(cudaStreamCreateWithFlags(&control, cudaStreamNonBlocking));
            CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
            CHECK(cudaStreamCreateWithPriority(&b, cudaStreamNonBlocking, kind == "high" ? high : low));
            CHECK(cudaStreamCreateWithFlags(&c, cudaStreamNonBlocking));
            CHECK(cudaEventCreateWithFlags(&gate, cudaEventDisableTiming));
            CHECK(cudaEventCreateWithFlags(&first, cudaEventDisableTiming));
            *word = 0;
            wait_for<<<1, 1, 0, control>>>(word, times + 20);
            CHECK(cudaEventRecord(gate, control));
            for (auto &each : {a, b, c}) CHECK(cudaStreamWaitEvent(each, gate, 0));
            spin<<<1, 32, 0, a>>>(100000, times);
            if (kind == "waiting") {  // b waits for a1 by an event; c, independent, stands behind b's wait
                CHECK(cudaEventRecord(first, a));
                CHECK(cudaStreamWaitEvent(b, first, 0));
                spin<<<1, 32, 0, b>>>(100000, times + 2);
                spin<<<1, 32, 0, c>>>(1000, times + 4);
            } else {
                spin<<<1, 32, 0, a>>>(100000, times + 2);
                if (kind == "copy") CHECK(cudaMemcpyAsync(device, host, size, cudaMemcpyHostToDevice, b));
                else spin<<<1, 32, 0, b>>>(1000, times + 4);
                if (kind == "copy") stamp<<<1, 1, 0, b>>>(times + 4);
            }
            CHECK(cudaGetLastError());
            *static_cast<volatile int *>(word) = 1;
            CHECK(cudaDeviceSynchronize());
            unsigned long long seen[24];
            CHECK(cudaMemcpy(seen, times, sizeof(seen), cudaMemcpyDeviceToHost));
            std::vector<double> found;
            for (int i : {4, 0, 2}) found.push_back(double(seen[i] - seen[20]) / 1e3);
            if (turn >= 2) turns.push_back(found);
            for (auto &each : {control, a, b, c}) CHECK(cudaStreamDestroy(each));
            CHECK(cudaEventDestroy(gate)); CHECK(cudaEventDestroy(first));
        }
        std::sort(turns.begin(), turns.end());
        const auto &middle = turns[turns.size() / 2];
        std::printf("{\"connections\": \"%s\", \"kind\": \"%s\", \"behind_us\": %.1f, \"a1_us\": %.1f, \"second_us\": %.1f}\n",
                    connections ? connections : "", kind.c_str(), middle[0], middle[1], middle[2]);
    }
    return 0;
}
