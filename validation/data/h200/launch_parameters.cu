// The copy kernel of one_thread.cu with its parameters in memory, as TransferBench has them: in managed memory, which the host
// reads after each launch, and in pinned memory of the host. Wrote figures of copy-kernels.jsonl. Two GPUs.
// Build: nvcc -O3 -arch=sm_90 launch_parameters.cu
#include <algorithm>
#include <chrono>
#include <cstdio>

struct Parameters {
    float4 *source, *destination;
    size_t count;
    long long start, end;
    char pad[216];
};

__device__ long long global_timer() {
    long long time;
    asm volatile("mov.u64 %0,%%globaltimer;" : "=l"(time));
    return time;
}

__global__ void __launch_bounds__(256) copy(Parameters *all) {
    const long long start = global_timer();
    Parameters &p = all[blockIdx.x];
    float4 *s = p.source, *d = p.destination, v[4];
    const size_t n = p.count;
    for (size_t i = blockIdx.x * 1024 + threadIdx.x / 32 * 128 + threadIdx.x % 32; i < n; i += gridDim.x * 1024) {
#pragma unroll
        for (int u = 0; u < 4; u++) v[u] = s[i + u * 32];
#pragma unroll
        for (int u = 0; u < 4; u++) d[i + u * 32] = v[u];
    }
    __syncthreads();
    if (!threadIdx.x) p.start = start, p.end = global_timer();
}

double now() {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main() {
    const size_t bytes = 64 << 20;
    float4 *a, *b, *peer;
    Parameters *all[2];
    cudaStream_t s;
    cudaEvent_t e, f;
    cudaSetDevice(1), cudaMalloc(&peer, bytes);
    cudaSetDevice(0), cudaDeviceEnablePeerAccess(1, 0);
    cudaMalloc(&a, bytes), cudaMalloc(&b, bytes), cudaStreamCreate(&s);
    cudaMallocManaged(all, 1 << 16), cudaMallocHost(all + 1, 1 << 16);
    cudaEventCreate(&e), cudaEventCreate(&f);
    for (int pinned = 0; pinned < 2; pinned++)
        for (int to = 0; to < 2; to++)
            for (int n : {1, 2, 3, 4, 8, 12, 16, 24, 32, 64, 132}) {
                Parameters *p = all[pinned];
                for (int i = 0; i < n; i++) p[i].source = a, p[i].destination = to ? peer : b, p[i].count = bytes / 16;
                double event = 0, timer = 0, host = 0;
                for (int r = -3; r < 10; r++) {
                    double h = now();
                    cudaEventRecord(e, s);
                    copy<<<n, 256, 0, s>>>(p);
                    cudaEventRecord(f, s), cudaStreamSynchronize(s);
                    h = now() - h;
                    float ms;
                    cudaEventElapsedTime(&ms, e, f);
                    long long first = p->start, last = 0;
                    for (int i = 0; i < n; i++) first = std::min(first, p[i].start), last = std::max(last, p[i].end);
                    if (r >= 0) event += ms * 100, timer += (last - first) / 1e4, host += h / 10;
                }
                printf("%s to %d n %d event %.1f globaltimer %.1f host %.1f\n", pinned ? "pinned" : "managed", to, n, event, timer, host);
            }
}
