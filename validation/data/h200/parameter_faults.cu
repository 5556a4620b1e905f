// What it costs a kernel that its parameters lie in managed memory which the host has touched since the launch before.
// The kernel does nothing else: each workgroup reads its 256 bytes and writes them back with the time of it. One line per
// launch: case, workgroups, launch number, us between events around it, us in the kernel until the last workgroup had
// its parameters, us by the host. Memory is new for each case, so the first launches show pages that have seldom moved
// and the last ones whether the driver has stopped moving them. One GPU.
// Build: nvcc -O3 -arch=sm_90 parameter_faults.cu
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

struct Parameters {
    long long start, there;
    char rest[240];
};

__device__ long long global_timer() {
    long long time;
    asm volatile("mov.u64 %0,%%globaltimer;" : "=l"(time));
    return time;
}

__global__ void __launch_bounds__(256) read_parameters(Parameters *all) {
    const long long start = global_timer();
    Parameters &mine = all[blockIdx.x];
    const char first = *(volatile char *)&mine.rest[0];
    if (threadIdx.x == 0) {
        mine.there = global_timer() + (first == 127);  // depends on what was read
        mine.start = start;
    }
}

double now() {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void check(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

enum Memory { BY_GPU, PINNED, MANAGED };

void measure(const char *name, Memory memory, bool writes, int pause_us, int workgroups, int launches) {
    Parameters *all, *copy = new Parameters[workgroups];
    const size_t bytes = workgroups * sizeof(Parameters);
    cudaStream_t stream;
    cudaEvent_t before, after;
    check(memory == MANAGED  ? cudaMallocManaged(&all, bytes)
          : memory == PINNED ? cudaMallocHost(&all, bytes)
                             : cudaMalloc(&all, bytes),
          "allocation");
    check(cudaStreamCreate(&stream), "stream");
    check(cudaEventCreate(&before), "event");
    check(cudaEventCreate(&after), "event");
    if (memory == BY_GPU) check(cudaMemset(all, 0, bytes), "memset");
    else memset(all, 0, bytes);
    for (int launch = 0; launch < launches; launch++) {
        const double host = now();
        check(cudaEventRecord(before, stream), "record");
        read_parameters<<<workgroups, 256, 0, stream>>>(all);
        check(cudaEventRecord(after, stream), "record");
        check(cudaStreamSynchronize(stream), "kernel");
        const double waited = now() - host;
        float ms;
        check(cudaEventElapsedTime(&ms, before, after), "elapsed");
        // the host touches them all, as one that reads times from them does
        if (memory == BY_GPU) check(cudaMemcpy(copy, all, bytes, cudaMemcpyDeviceToHost), "copy");
        else memcpy(copy, all, bytes);
        long long first = copy[0].start, last = 0;
        for (int i = 0; i < workgroups; i++)
            first = std::min(first, copy[i].start), last = std::max(last, copy[i].there);
        if (writes && memory != BY_GPU)
            for (int i = 0; i < workgroups; i++) all[i].rest[1] = (char)launch;
        printf("%s,%d,%d,%.2f,%.2f,%.2f\n", name, workgroups, launch, ms * 1e3, (last - first) / 1e3, waited);
        if (pause_us) std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
    }
    check(memory == PINNED ? cudaFreeHost(all) : cudaFree(all), "free");
    cudaEventDestroy(before), cudaEventDestroy(after), cudaStreamDestroy(stream);
    delete[] copy;
}

int main() {
    check(cudaSetDevice(0), "device");
    printf("case,workgroups,launch,event_us,in_kernel_us,host_us\n");
    measure("warm_up", BY_GPU, false, 0, 132, 20);
    for (int run = 0; run < 5; run++)
        for (int workgroups : {1, 4, 8, 16, 32, 64, 132}) {
            measure("gpu", BY_GPU, false, 0, workgroups, 20);
            measure("pinned", PINNED, false, 0, workgroups, 20);
            measure("managed_read", MANAGED, false, 0, workgroups, 60);
            measure("managed_written", MANAGED, true, 0, workgroups, 60);
            measure("managed_read_each_ms", MANAGED, false, 1000, workgroups, 60);
            measure("managed_read_each_10_ms", MANAGED, false, 10000, workgroups, 20);
        }
}
