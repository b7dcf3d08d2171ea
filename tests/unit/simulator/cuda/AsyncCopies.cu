// Asynchronous copies of libcu++, of cooperative groups and of the primitives, in pipelines of several stages.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline.h>

// Barriers start with init(), not with their constructor.
#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

// A batch at a time into shared memory by the group, two in flight.
extern "C" __global__ void groupCopy(const unsigned *in, unsigned *out, unsigned batches) {
  extern __shared__ unsigned words[]; // two batches
  cg::thread_block block = cg::this_thread_block();
  unsigned n = block.size(), i = block.thread_rank(), sum = 0;
  cg::memcpy_async(block, words, in, sizeof(unsigned) * n);
  for (unsigned batch = 0; batch < batches; ++batch) {
    if (batch + 1 < batches) {
      cg::memcpy_async(block, words + n * ((batch + 1) & 1), in + n * (batch + 1), cuda::aligned_size_t<16>(sizeof(unsigned) * n));
      cg::wait_prior<1>(block);
    } else {
      cg::wait(block);
    }
    sum += words[n * (batch & 1) + n - 1 - i];
    block.sync();
  }
  out[block.group_index().x * n + i] = sum;
}

// By warps, of sizes that no copy instruction has, from addresses that are aligned to nothing.
extern "C" __global__ void tileCopy(const unsigned char *in, unsigned char *out, unsigned bytes) {
  __shared__ alignas(16) unsigned char words[4][256];
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
  unsigned warp = tile.meta_group_rank();
  for (unsigned k = tile.thread_rank(); k < 256; k += 32)
    words[warp][k] = 0xee;
  tile.sync();
  cg::memcpy_async(tile, words[warp] + warp, in + 37 * warp, bytes);
  cg::wait(tile);
  for (unsigned k = tile.thread_rank(); k < 256; k += 32)
    out[256 * warp + k] = words[warp][k];
}

// Copies that a barrier waits for: of the whole block, and of single threads.
extern "C" __global__ void barrierCopy(const unsigned *in, unsigned *out, unsigned rounds) {
  __shared__ alignas(16) unsigned words[256], own[256];
  __shared__ Barrier barrier;
  cg::thread_block block = cg::this_thread_block();
  unsigned n = block.size(), i = block.thread_rank(), sum = 0;
  if (i == 0)
    init(&barrier, n);
  block.sync();
  for (unsigned round = 0; round < rounds; ++round) {
    cuda::memcpy_async(block, words, in + n * round, cuda::aligned_size_t<16>(sizeof(unsigned) * n), barrier);
    cuda::memcpy_async(own + i, in + n * round + i, sizeof(unsigned), barrier);
    barrier.arrive_and_wait();
    sum += words[n - 1 - i] + 2 * own[(i + 1) % n];
    barrier.arrive_and_wait();
  }
  out[i] = sum;
}

// All threads produce and consume; three stages.
extern "C" __global__ void blockPipeline(const unsigned *in, unsigned *out, unsigned batches) {
  constexpr unsigned stages = 3;
  extern __shared__ unsigned words[]; // a batch per stage
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  cg::thread_block block = cg::this_thread_block();
  unsigned n = block.size(), i = block.thread_rank(), sum = 0;
  auto pipeline = cuda::make_pipeline(block, &state);
  for (unsigned batch = 0, fetched = 0; batch < batches; ++batch) {
    for (; fetched < batches && fetched < batch + stages; ++fetched) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, words + n * (fetched % stages), in + n * fetched, sizeof(unsigned) * n, pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    sum += words[n * (batch % stages) + (i + batch) % n];
    pipeline.consumer_release();
  }
  out[i] = sum;
}

// The first warp produces, the others consume; two stages.
extern "C" __global__ void splitPipeline(const unsigned *in, unsigned *out, unsigned batches) {
  constexpr unsigned stages = 2, width = 128;
  __shared__ alignas(16) unsigned words[stages][width];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  cg::thread_block block = cg::this_thread_block();
  unsigned i = block.thread_rank(), sum = 0;
  auto role = i < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipeline = cuda::make_pipeline(block, &state, role);
  for (unsigned batch = 0; batch < batches; ++batch) {
    if (role == cuda::pipeline_role::producer) {
      pipeline.producer_acquire();
      for (unsigned k = i; k < width / 4; k += 32)
        cuda::memcpy_async(&words[batch % stages][4 * k], in + width * batch + 4 * k, cuda::aligned_size_t<16>(16), pipeline);
      pipeline.producer_commit();
    } else {
      pipeline.consumer_wait();
      sum += words[batch % stages][(i + batch) % width];
      pipeline.consumer_release();
    }
  }
  out[i] = sum;
}

// Every thread has its own pipeline and reads only what it copied itself.
extern "C" __global__ void threadPipeline(const unsigned *in, unsigned *out, unsigned batches) {
  __shared__ unsigned words[4][256];
  unsigned n = blockDim.x, i = threadIdx.x, sum = 0;
  cuda::pipeline<cuda::thread_scope_thread> pipeline = cuda::make_pipeline();
  for (unsigned batch = 0, fetched = 0; batch < batches; ++batch) {
    for (; fetched < batch + 3; ++fetched) {
      pipeline.producer_acquire();
      if (fetched < batches)
        cuda::memcpy_async(&words[fetched % 4][i], in + n * fetched + i, sizeof(unsigned), pipeline);
      pipeline.producer_commit();
    }
    if (batch & 1)
      cuda::pipeline_consumer_wait_prior<2>(pipeline);
    else
      pipeline.consumer_wait();
    sum = sum * 5 + words[batch % 4][i];
    pipeline.consumer_release();
  }
  out[i] = sum;
}

// The primitives: zero fill, groups, and a barrier that copies arrive on.
extern "C" __global__ void primitiveCopy(const uint4 *in, uint4 *out, unsigned rows) {
  __shared__ uint4 words[2][128];
  __shared__ __mbarrier_t barrier;
  unsigned i = threadIdx.x, n = blockDim.x;
  if (i == 0)
    __mbarrier_init(&barrier, n);
  __syncthreads();
  for (unsigned row = 0; row < rows; ++row) {
    __pipeline_memcpy_async(&words[0][i], in + row * n + i, 16, 4 * (i % 5)); // the last bytes become zero
    __pipeline_commit();
    __pipeline_memcpy_async(&words[1][i], in + row * n + n - 1 - i, 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    uint4 mine = words[0][i];
    __pipeline_arrive_on(&barrier);
    __mbarrier_token_t token = __mbarrier_arrive(&barrier);
    while (!__mbarrier_test_wait(&barrier, token))
      ;
    uint4 other = words[1][(i + 5) % n];
    out[row * n + i] = make_uint4(mine.x + other.x, mine.y + other.y, mine.z + other.z, mine.w + other.w);
    __syncthreads();
  }
}

// A product of matrices whose tiles come through a pipeline of `stages`.
template <unsigned stages> __device__ void multiply(const float *a, const float *b, float *c, unsigned n) {
  constexpr unsigned tile = 16;
  __shared__ alignas(16) float as[stages][tile][tile], bs[stages][tile][tile];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  cg::thread_block block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  unsigned x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * tile + y, column = blockIdx.x * tile + x, steps = n / tile;
  float sum = 0;
  for (unsigned step = 0, fetched = 0; step < steps; ++step) {
    for (; fetched < steps && fetched < step + stages; ++fetched) {
      pipeline.producer_acquire();
      unsigned s = fetched % stages;
      if (x % 4 == 0) {
        cuda::memcpy_async(&as[s][y][x], a + row * n + fetched * tile + x, cuda::aligned_size_t<16>(16), pipeline);
        cuda::memcpy_async(&bs[s][y][x], b + (fetched * tile + y) * n + column, cuda::aligned_size_t<16>(16), pipeline);
      }
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    for (unsigned k = 0; k < tile; ++k)
      sum += as[step % stages][y][k] * bs[step % stages][k][x];
    pipeline.consumer_release();
  }
  c[row * n + column] = sum;
}
extern "C" __global__ void product2(const float *a, const float *b, float *c, unsigned n) { multiply<2>(a, b, c, n); }
extern "C" __global__ void product4(const float *a, const float *b, float *c, unsigned n) { multiply<4>(a, b, c, n); }
