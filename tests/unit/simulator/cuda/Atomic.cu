// Atomic operations of every type and scope: each thread leaves its mark, and the host knows the sum of them.
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Integers: out[0..] of 32 bits, large[0..] of 64 bits; old values tell that each step saw a different state.
extern "C" __global__ void integers(unsigned *out, unsigned long long *large, unsigned *tickets) {
  unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  tickets[t] = atomicAdd(&out[0], 1u);
  atomicSub(&out[1], t);
  atomicMin(&out[2], t ^ 21);
  atomicMax(&out[3], t ^ 21);
  atomicMin((int *)&out[4], (int)(t * 5) - 100);
  atomicMax((int *)&out[5], (int)(t * 5) - 1000);
  atomicAnd(&out[6], ~(1u << (t & 15)));
  atomicOr(&out[7], 1u << (t & 31));
  atomicXor(&out[8], t * 0x9e3779b9u);
  atomicInc(&out[9], 6u);
  atomicDec(&out[10], 10u);
  atomicAdd((int *)&out[11], -3);
  atomicAdd(&large[0], 1ull << 33);
  atomicMin(&large[1], 1000000000000ull - t);
  atomicMax((long long *)&large[2], (long long)t - 1000);
  atomicAnd(&large[3], ~(1ull << (t & 63)));
  atomicOr(&large[4], 1ull << (t & 63));
  atomicXor(&large[5], (unsigned long long)t << 20);
  // A number no atomic knows: the product, by compare and swap.
  unsigned seen = out[12], before;
  do {
    before = seen;
    seen = atomicCAS(&out[12], before, before * 3);
  } while (seen != before);
  unsigned long long wideSeen = large[6], wideBefore;
  do {
    wideBefore = wideSeen;
    wideSeen = atomicCAS(&large[6], wideBefore, wideBefore * 5 + 1);
  } while (wideSeen != wideBefore);
  unsigned short *half = (unsigned short *)&out[13] + (t & 1);
  unsigned short shortSeen = *(volatile unsigned short *)half, shortBefore;
  do {
    shortBefore = shortSeen;
    shortSeen = atomicCAS(half, shortBefore, (unsigned short)(shortBefore + 3));
  } while (shortSeen != shortBefore);
  if (atomicExch(&out[14], 0u))
    atomicAdd(&out[15], 1u);
}

// Floats of every kind; all numbers are small integers, so that the order of additions does not show.
extern "C" __global__ void floats(float *f, double *d, __half *h, __half2 *h2, __nv_bfloat16 *b, __nv_bfloat162 *b2) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(f, (float)(t % 7));
  atomicAdd(d, (double)(t % 5) * 0.25);
  atomicAdd(h, __float2half((float)(t % 3)));
  atomicAdd(h2, __floats2half2_rn(t % 2, t % 4));
  atomicAdd(b, __float2bfloat16((float)(t % 2)));
  atomicAdd(b2, __floats2bfloat162_rn(t % 2, 1 - t % 2));
  // The largest float by compare and swap on its bits
  int *bits = (int *)(f + 1), seen = *(volatile int *)bits;
  float mine = (t * 37 % 101) - 50.5f;
  while (__int_as_float(seen) < mine) {
    int before = seen;
    seen = atomicCAS(bits, before, __float_as_int(mine));
    if (seen == before)
      break;
  }
}

// Scopes, in global and in shared memory
extern "C" __global__ void scopes(unsigned *out, double *sum) {
  __shared__ unsigned counter, largest;
  __shared__ float total;
  if (threadIdx.x == 0) {
    counter = largest = 0;
    total = 0;
  }
  __syncthreads();
  atomicAdd_block(&counter, 1u);
  atomicMax_block(&largest, threadIdx.x * 3);
  atomicAdd(&total, 0.5f);
  atomicAdd_system(&out[0], 2u);
  atomicOr_system(&out[1], 1u << (threadIdx.x & 7));
  atomicAdd_block(&out[2 + blockIdx.x], threadIdx.x);
  atomicAdd_system(sum, 1.0);
  __syncthreads();
  if (threadIdx.x == 0)
    out[10 + blockIdx.x] = counter * 10000 + largest + (unsigned)total;
}

// The library's atomics: a message passed from block to block with each memory order, and operations of its own
template <class T> __device__ cuda::atomic_ref<T, cuda::thread_scope_device> device(T &value) {
  return cuda::atomic_ref<T, cuda::thread_scope_device>(value);
}
extern "C" __global__ void messages(int *data, int *flags, int *out, int n) {
  int block = blockIdx.x, blocks = gridDim.x;
  if (threadIdx.x)
    return;
  if (block == 0) {
    for (int i = 0; i < n; ++i)
      data[i] = i * i;
    device(flags[0]).store(1, cuda::memory_order_release);
    return;
  }
  while (device(flags[block - 1]).load(cuda::memory_order_acquire) == 0)
    ;
  int sum = 0;
  for (int i = 0; i < n; ++i)
    sum += data[(block - 1) * n + i];
  for (int i = 0; i < n && block + 1 < blocks; ++i)
    data[block * n + i] = sum + i;
  if (block % 2)
    device(flags[block]).fetch_add(1, cuda::memory_order_acq_rel);
  else
    device(flags[block]).exchange(1, cuda::memory_order_seq_cst);
  out[block] = sum;
}
extern "C" __global__ void library(int *out, float *f, unsigned *once) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  device(out[0]).fetch_add(t, cuda::memory_order_relaxed);
  device(out[1]).fetch_sub(1, cuda::memory_order_acquire);
  device(out[2]).fetch_max(t * 7 % 50, cuda::memory_order_release);
  device(out[3]).fetch_min(t * 7 % 50, cuda::memory_order_seq_cst);
  device(out[4]).fetch_xor(t, cuda::memory_order_acq_rel);
  device(out[5])++;
  device(f[0]).fetch_add(0.5f, cuda::memory_order_relaxed);
  cuda::atomic_ref<unsigned, cuda::thread_scope_system> first(*once);
  unsigned expected = 0;
  if (first.compare_exchange_strong(expected, t + 1, cuda::memory_order_acq_rel, cuda::memory_order_relaxed))
    device(out[6]).fetch_add(1);
  int seen = device(out[7]).load(cuda::memory_order_relaxed);
  while (!device(out[7]).compare_exchange_weak(seen, seen * 3 + 1))
    ;
  __shared__ cuda::atomic<int, cuda::thread_scope_block> arrivals;
  if (threadIdx.x == 0)
    new (&arrivals) cuda::atomic<int, cuda::thread_scope_block>(0);
  __syncthreads();
  arrivals.fetch_add(1, cuda::memory_order_release);
  if (threadIdx.x == 0) {
    while (arrivals.load(cuda::memory_order_acquire) != (int)blockDim.x)
      ;
    device(out[8]).fetch_add(arrivals);
  }
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
}
