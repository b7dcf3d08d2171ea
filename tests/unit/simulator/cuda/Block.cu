// Work of a block's warps together: barriers, shared memory of every kind, and blocks that meet in global memory.

__constant__ float coefficients[8];
__constant__ struct {
  int scale;
  short offsets[3];
} settings;
__device__ unsigned finished;
__device__ unsigned lockWord;

// Sum of each block's numbers by halving; the odd block sizes leave a rest.
extern "C" __global__ void reduce(const int *in, int *out, int n) {
  extern __shared__ int sums[];
  int t = threadIdx.x, total = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
    total += in[i];
  sums[t] = total;
  __syncthreads();
  for (int size = blockDim.x; size > 1;) {
    int half = (size + 1) / 2;
    if (t < size / 2)
      sums[t] += sums[t + half];
    __syncthreads();
    size = half;
  }
  if (t == 0)
    out[blockIdx.x] = sums[0];
}

// Inclusive sums of a block, in two buffers in turn.
extern "C" __global__ void scan(const unsigned *in, unsigned *out) {
  __shared__ unsigned buffers[2][256];
  unsigned t = threadIdx.x, from = 0;
  buffers[0][t] = in[blockIdx.x * blockDim.x + t];
  for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
    __syncthreads();
    buffers[from ^ 1][t] = buffers[from][t] + (t >= distance ? buffers[from][t - distance] : 0);
    from ^= 1;
  }
  out[blockIdx.x * blockDim.x + t] = buffers[from][t];
}

// Barriers that count, and and or.
extern "C" __global__ void barrierVotes(const int *in, int *out) {
  int t = threadIdx.x, x = in[t];
  int count = __syncthreads_count(x > 0), every = __syncthreads_and(x > -100), some = __syncthreads_or(x == 77);
  int few = __syncthreads_or(x == 12345);
  out[t] = count + 1000 * (every != 0) + 2000 * (some != 0) + 4000 * (few != 0);
}

// Named barriers: two halves of a block work in step with themselves only, and hand over through a third.
extern "C" __global__ void namedBarriers(int *out) {
  __shared__ int values[128];
  int t = threadIdx.x, half = t / 64;
  values[t] = t;
  for (int round = 0; round < 3; ++round) {
    asm volatile("barrier.cta.sync %0, 64;" ::"r"(1 + half) : "memory");
    int next = values[half * 64 + (t + 1) % 64];
    asm volatile("bar.sync %0, 64;" ::"r"(1 + half) : "memory");
    values[t] = next;
  }
  if (half == 0) { // the first half only announces, the second waits for it
    asm volatile("bar.arrive 3, 128;" ::: "memory");
  } else {
    asm volatile("bar.sync 3, 128;" ::: "memory");
    out[t - 64] = values[t - 64] + 1000 * values[t];
  }
}

// A transpose through a padded tile.
extern "C" __global__ void transpose(const float *in, float *out, int rows, int columns) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < columns && y < rows)
    tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x;
  y = blockIdx.x * 16 + threadIdx.y;
  if (x < rows && y < columns)
    out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}

// A stencil with a halo, coefficients in constant memory, dynamic shared memory of two types after static shared memory.
extern "C" __global__ void stencil(const float *in, float *out, int n) {
  __shared__ float largest;
  extern __shared__ double shared[];
  float *halo = (float *)(shared + 4);
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  if (t < 4)
    shared[t] = t * 0.5;
  if (t == 0)
    largest = settings.scale;
  halo[t + 3] = i < n ? in[i] : 0;
  if (t < 3)
    halo[t] = i >= 3 ? in[i - 3] : 0;
  if (t >= blockDim.x - 3)
    halo[t + 6] = i + 3 < n ? in[i + 3] : 0;
  __syncthreads();
  if (i >= n)
    return;
  float sum = 0;
  for (int k = -3; k <= 3; ++k)
    sum = __fadd_rn(sum, __fmul_rn(coefficients[k + 3], halo[t + 3 + k]));
  out[i] = sum + largest + (float)shared[t & 3] + settings.offsets[t % 3];
}

// A histogram in shared memory, merged into the global one.
extern "C" __global__ void histogram(const unsigned char *in, unsigned *out, int n) {
  __shared__ unsigned counts[64];
  for (int i = threadIdx.x; i < 64; i += blockDim.x)
    counts[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&counts[in[i] & 63], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 64; i += blockDim.x)
    atomicAdd(&out[i], counts[i]);
}

// The last block to finish adds up what the others left.
extern "C" __global__ void lastBlock(const int *in, int *partial, int *out, int n) {
  __shared__ bool last;
  __shared__ int sum;
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&sum, in[i]);
  __syncthreads();
  if (threadIdx.x == 0) {
    ((volatile int *)partial)[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    if (last)
      __threadfence();
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    int total = 0;
    for (int i = 0; i < gridDim.x; ++i)
      total += ((volatile int *)partial)[i];
    *out = total;
  }
}

// Blocks take turns behind a spin lock at what no atomic instruction does.
extern "C" __global__ void spinLock(unsigned long long *state, int rounds) {
  if (threadIdx.x)
    return;
  for (int i = 0; i < rounds; ++i) {
    while (atomicCAS(&lockWord, 0u, 1u) != 0u)
      __nanosleep(20);
    __threadfence();
    unsigned long long a = state[0], b = state[1];
    state[0] = b + 1;
    state[1] = a * 3 + b;
    __threadfence();
    atomicExch(&lockWord, 0u);
  }
}

// A barrier over the grid, as cooperative launches have it; each block reads its neighbours' numbers of the round before.
extern "C" __global__ void gridBarrier(int *values, unsigned *arrived, int rounds) {
  int block = blockIdx.x, blocks = gridDim.x;
  for (int round = 0; round < rounds; ++round) {
    int *from = values + (round & 1) * blocks, *to = values + (~round & 1) * blocks;
    if (threadIdx.x == 0) {
      int left = ((volatile int *)from)[(block + blocks - 1) % blocks], right = ((volatile int *)from)[(block + 1) % blocks];
      ((volatile int *)to)[block] = left * 2 + right;
      __threadfence();
      atomicAdd(arrived, 1u);
      while (*(volatile unsigned *)arrived < (unsigned)(blocks * (round + 1)))
        ;
      __threadfence();
    }
    __syncthreads();
  }
}
