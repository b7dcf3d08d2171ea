// Barriers of libcu++ and of the primitives: arrivals and waits, dropping out, completion functions, warps with roles.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda_awbarrier_primitives.h>

// Barriers start with init(), not with their constructor.
#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

// Every round all threads write a word and read the one of the thread `step` further on.
extern "C" __global__ void exchange(unsigned *out, unsigned rounds) {
  __shared__ unsigned words[2][256];
  __shared__ Barrier barrier;
  unsigned i = threadIdx.x, n = blockDim.x, value = i;
  if (i == 0)
    init(&barrier, n);
  __syncthreads();
  for (unsigned round = 0; round < rounds; ++round) {
    words[round & 1][i] = value * 3 + round;
    Barrier::arrival_token token = barrier.arrive();
    value ^= round; // something of its own between arrival and wait
    barrier.wait(cuda::std::move(token));
    value += words[round & 1][(i + 7 * round + 1) % n];
  }
  out[blockIdx.x * n + i] = value;
}

// In every round an eighth of the threads leaves for good; those who stay add up what all present brought.
extern "C" __global__ void dropOut(unsigned *out) {
  __shared__ unsigned sums[8];
  __shared__ Barrier barrier;
  unsigned i = threadIdx.x, n = blockDim.x, eighth = n / 8;
  if (i < 8)
    sums[i] = 0;
  if (i == 0)
    init(&barrier, n);
  __syncthreads();
  unsigned total = 0;
  for (unsigned round = 0; round < 8; ++round) {
    atomicAdd(&sums[round], i + 1);
    if (i < (round + 1) * eighth) {
      barrier.arrive_and_drop();
      break;
    }
    barrier.arrive_and_wait();
    total += sums[round];
  }
  out[i] = total;
}

// The completion function doubles what the round collected, before anyone goes on.
struct Doubles {
  unsigned *sum, *results;
  __device__ void operator()() noexcept {
    results[results[0] + 1] = *sum * 2;
    ++results[0];
    *sum = 0;
  }
};
extern "C" __global__ void completion(unsigned *out, unsigned rounds) {
  using WithCompletion = cuda::barrier<cuda::thread_scope_block, Doubles>;
  __shared__ unsigned sum, results[17];
  __shared__ cuda::std::aligned_storage_t<sizeof(WithCompletion), alignof(WithCompletion)> storage;
  auto *barrier = reinterpret_cast<WithCompletion *>(&storage);
  unsigned i = threadIdx.x, seen = 0;
  if (i == 0) {
    sum = 0;
    for (unsigned &result : results)
      result = 0;
    new (barrier) WithCompletion(blockDim.x, Doubles{&sum, results});
  }
  __syncthreads();
  for (unsigned round = 0; round < rounds; ++round) {
    atomicAdd(&sum, i * (round + 1));
    barrier->arrive_and_wait();
    seen += results[round + 1];
    barrier->arrive_and_wait();
    ++round; // the second phase of the pair collected nothing
  }
  out[i] = seen;
}

// One warp fills two buffers, the others drain them: only those who need to know wait.
extern "C" __global__ void roles(const unsigned *in, unsigned *out, unsigned rounds) {
  __shared__ unsigned buffer[2][32];
  __shared__ Barrier barriers[4]; // ready 0 and 1, filled 0 and 1
  unsigned i = threadIdx.x, n = blockDim.x, warp = i / 32, lane = i % 32;
  if (i < 4)
    init(&barriers[i], n);
  __syncthreads();
  if (warp == 0) {
    for (unsigned round = 0; round < rounds; ++round) {
      barriers[round & 1].arrive_and_wait();
      buffer[round & 1][lane] = in[round * 32 + lane];
      (void)barriers[2 + (round & 1)].arrive();
    }
    return;
  }
  (void)barriers[0].arrive();
  (void)barriers[1].arrive();
  unsigned sum = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    barriers[2 + (round & 1)].arrive_and_wait();
    sum += buffer[round & 1][(lane + warp) % 32];
    (void)barriers[round & 1].arrive();
  }
  out[i] = sum;
}

// One lane arrives for its warp; waits by parity, with and without a limit of time.
extern "C" __global__ void counts(unsigned *out, unsigned rounds) {
  __shared__ unsigned words[256];
  __shared__ Barrier barrier;
  unsigned i = threadIdx.x, n = blockDim.x, sum = 0;
  if (i == 0)
    init(&barrier, 3 * (n / 32));
  __syncthreads();
  for (unsigned round = 0; round < rounds; ++round) {
    words[i] = i + round;
    __syncwarp();
    if (i % 32 == 0)
      (void)barrier.arrive(3);
    if (round & 1)
      while (!barrier.try_wait_parity_for(round & 1, cuda::std::chrono::microseconds(1)))
        ;
    else
      barrier.wait_parity(round & 1);
    sum += words[(i + 33) % n];
    __syncthreads();
  }
  out[i] = sum;
}

// The primitives, with tokens and their counts.
extern "C" __global__ void primitives(unsigned *out) {
  __shared__ __mbarrier_t barrier;
  __shared__ unsigned words[256];
  unsigned i = threadIdx.x, n = blockDim.x;
  if (i == 0)
    __mbarrier_init(&barrier, n);
  __syncthreads();
  words[i] = i * i;
  __mbarrier_token_t token = __mbarrier_arrive(&barrier);
  unsigned pending = __mbarrier_token_pending_count(token);
  while (!__mbarrier_test_wait(&barrier, token))
    ;
  unsigned other = words[n - 1 - i];
  // The upper half drops out, and the lower completes the second phase alone.
  if (i >= n / 2) {
    (void)__mbarrier_arrive_and_drop(&barrier);
  } else {
    token = __mbarrier_arrive(&barrier);
    while (!__mbarrier_test_wait(&barrier, token))
      ;
    token = __mbarrier_arrive(&barrier);
    pending += __mbarrier_token_pending_count(token) * 1000;
    while (!__mbarrier_test_wait(&barrier, token))
      ;
  }
  __syncthreads();
  if (i == 0)
    __mbarrier_inval(&barrier);
  out[2 * i] = other;
  out[2 * i + 1] = pending;
}
