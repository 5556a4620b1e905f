// What one host thread pays for NCCL calls, and copy kernels of few workgroups. Wrote the figures of nccl-calls.jsonl and,
// with parameters by value, of copy-kernels.jsonl. Two GPUs; build: nvcc -O3 -arch=sm_90 one_thread.cu -lnccl
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

__device__ long long global_timer() {
    long long time;
    asm volatile("mov.u64 %0,%%globaltimer;" : "=l"(time));
    return time;
}

// Four loads of 16 bytes in flight per thread, 16 KiB per workgroup of 256. o: start and end by clock64, then by the global timer.
__global__ void __launch_bounds__(256) copy(float4 *s, float4 *d, size_t n, long long *o) {
    long long c = clock64(), g = global_timer();
    float4 v[4];
    for (size_t i = blockIdx.x * 1024 + threadIdx.x / 32 * 128 + threadIdx.x % 32; i < n; i += gridDim.x * 1024) {
#pragma unroll
        for (int u = 0; u < 4; u++) v[u] = s[i + u * 32];
#pragma unroll
        for (int u = 0; u < 4; u++) d[i + u * 32] = v[u];
    }
    __syncthreads();
    if (!threadIdx.x) {
        o += blockIdx.x * 4;
        o[0] = c, o[1] = clock64(), o[2] = g, o[3] = global_timer();
    }
}

double now() {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main() {
    const size_t bytes = 64 << 20;
    long long *o;
    float4 *a[2], *b[2];
    cudaStream_t s[2];
    cudaEvent_t e, f;
    cudaMallocHost(&o, 1 << 16);
    for (int g = 0; g < 2; g++) {
        cudaSetDevice(g), cudaDeviceEnablePeerAccess(1 - g, 0);
        cudaMalloc(a + g, bytes), cudaMalloc(b + g, bytes), cudaStreamCreate(s + g);
    }
    cudaSetDevice(0), cudaEventCreate(&e), cudaEventCreate(&f);
    for (int to = 0; to < 2; to++)
        for (int n : {1, 2, 3, 4, 8, 12, 16, 24, 32, 64, 132}) {
            double event = 0, clock = 0, timer = 0, host = 0;
            for (int r = -3; r < 10; r++) {
                double h = now();
                cudaEventRecord(e, s[0]);
                copy<<<n, 256, 0, s[0]>>>(a[0], b[to], bytes / 16, o);
                cudaEventRecord(f, s[0]), cudaStreamSynchronize(s[0]);
                h = now() - h;
                float ms;
                cudaEventElapsedTime(&ms, e, f);
                long long x[4];
                for (int j = 0; j < 4; j++) {
                    x[j] = o[j];
                    for (int i = 0; i < n; i++) x[j] = j % 2 ? std::max(x[j], o[i * 4 + j]) : std::min(x[j], o[i * 4 + j]);
                }
                if (r >= 0) event += ms * 100, clock += (x[1] - x[0]) / 19800., timer += (x[3] - x[2]) / 1e4, host += h / 10;
            }
            printf("to %d n %d event %.1f clock64 %.1f globaltimer %.1f host %.1f\n", to, n, event, clock, timer, host);
        }
    ncclComm_t k[2];
    ncclCommInitAll(k, 2, 0);
    for (int pass = 0; pass < 3; pass++)
        for (int op = 0; op < 4; op++)  // all-gather, reduce-scatter, all-reduce, all-to-all
            for (size_t size = 1024; size <= bytes; size *= 4) {
                const size_t n = size / 2;
                const auto call = [&] {
                    ncclGroupStart();
                    for (int g = 0; g < 2; g++) {
                        if (op == 0) ncclAllGather(a[g], b[g], n / 2, ncclBfloat16, k[g], s[g]);
                        if (op == 1) ncclReduceScatter(a[g], b[g], n / 2, ncclBfloat16, ncclSum, k[g], s[g]);
                        if (op == 2) ncclAllReduce(a[g], b[g], n, ncclBfloat16, ncclSum, k[g], s[g]);
                        if (op == 3) ncclAlltoAll(a[g], b[g], n / 2, ncclBfloat16, k[g], s[g]);
                    }
                    ncclGroupEnd();
                };
                const auto wait = [&] { cudaStreamSynchronize(s[0]), cudaStreamSynchronize(s[1]); };
                call(), wait();
                const double start = now();
                for (int i = 0; i < 20; i++) call();
                const double submitted = now();
                wait();
                printf("%d %d %zu submit %.2f total %.2f\n", pass, op, size, (submitted - start) / 20, (now() - start) / 20);
            }
}
