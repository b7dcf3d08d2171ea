// What the C++ language asks of the device: calls of every kind, objects, local memory, tables, printf, assert, parameters.
#ifndef __CUDACC_RTC__ // which has both built in
#include <assert.h>
#include <stdio.h>
#endif

// Calls through pointers and virtual tables
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ __noinline__ int negate(int x) { return -x; }
typedef int (*Function)(int);
__device__ Function table[3] = {twice, square, negate};

struct Shape {
  __device__ virtual int area() const = 0;
  __device__ virtual int corners() const { return 0; }
};
struct Rectangle : Shape {
  int a, b;
  __device__ Rectangle(int a, int b) : a(a), b(b) {}
  __device__ int area() const override { return a * b; }
  __device__ int corners() const override { return 4; }
};
struct Circle : Shape {
  int r;
  __device__ explicit Circle(int r) : r(r) {}
  __device__ int area() const override { return 3 * r * r; }
};

extern "C" __global__ void pointers(int *out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  Function f = table[t % 3];
  int value = f(t) + table[(t / 2) % 3](t + 1);
  Rectangle rectangle(t, 3);
  Circle circle(t);
  Shape *shape = t & 1 ? (Shape *)&rectangle : (Shape *)&circle;
  out[t] = value * 1000 + shape->area() + shape->corners();
}

// Recursion of different depths in one warp
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__device__ __noinline__ int isEven(int n);
__device__ __noinline__ int isOdd(int n) { return n == 0 ? 0 : isEven(n - 1); }
__device__ __noinline__ int isEven(int n) { return n == 0 ? 1 : isOdd(n - 1); }
__device__ __noinline__ void hanoi(int n, int from, int to, int *moves) {
  if (n == 0)
    return;
  hanoi(n - 1, from, 3 - from - to, moves);
  *moves = *moves * 3 % 1000003 + from * 3 + to;
  hanoi(n - 1, 3 - from - to, to, moves);
}

extern "C" __global__ void recursion(int *out) {
  int t = threadIdx.x, moves = 0;
  hanoi(t % 7, 0, 2, &moves);
  out[3 * t] = (int)ackermann(t % 3, t % 4);
  out[3 * t + 1] = isEven(t);
  out[3 * t + 2] = moves;
}

// Local memory: an array that is indexed by data, and structs that are returned by value
struct Matrix {
  float m[3][3];
};
__device__ __noinline__ Matrix multiply(Matrix a, Matrix b) {
  Matrix r;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      r.m[i][j] = 0;
      for (int k = 0; k < 3; ++k)
        r.m[i][j] += a.m[i][k] * b.m[k][j];
    }
  return r;
}
extern "C" __global__ void locals(const int *in, float *out, int n) {
  int t = threadIdx.x;
  short counts[40];
  for (int i = 0; i < 40; ++i)
    counts[i] = 0;
  for (int i = 0; i < n; ++i)
    ++counts[(in[i] + t) % 40];
  Matrix m;
  for (int i = 0; i < 9; ++i)
    m.m[i / 3][i % 3] = counts[(i * 7 + t) % 40];
  Matrix p = multiply(m, multiply(m, m));
  out[t] = p.m[t % 3][t / 3 % 3] + counts[t % 40];
}

// A switch with many cases, and control that leaves loops in the middle
extern "C" __global__ void switches(const int *program, int *out, int n) {
  int t = threadIdx.x, a = t, b = 1, stack[8], depth = 0, steps = 0;
  for (int at = 0; at < n && steps < 500; ++at, ++steps) {
    switch (program[at]) {
    case 0: a += b; break;
    case 1: a -= 3; break;
    case 2: a ^= t; break;
    case 3: b = a & 7; break;
    case 4: b <<= 1; break;
    case 5:
      if (depth < 8)
        stack[depth++] = a;
      break;
    case 6:
      if (depth)
        a += stack[--depth];
      break;
    case 7:
      if (a & 1)
        ++at;
      break;
    case 8:
      if (b < 100) {
        b += 37;
        at = -1;
      }
      break;
    case 9: a = a * 5 % 1009; break;
    case 10:
      do {
        a = a & 1 ? 3 * a + 1 : a / 2;
        if (a > 900)
          goto large;
      } while (a > 1 && ++steps < 400);
      break;
    large:
      a -= 899;
      break;
    case 11:
      if (t % 5 == 2)
        goto finish;
      continue;
    case 12: b = -b; break;
    default: a += program[at]; break;
    }
  }
finish:
  out[t] = a * 16 + depth + steps;
}

extern "C" __global__ void prints(int n, double d, const char *name) {
  if (threadIdx.x == 5 && blockIdx.x == 1)
    printf("%d %5d|%-5d|%05d %+d %u %x %X %o %c %s %%\n", n, n, n, n, n, -n, n, n, n, 'c', "text");
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    printf("%f %.3f %10.2e %g %a\n", d, d, d, d, d);
    printf("%lld %llu %hd %ld %5.1f%s\n", (long long)n << 33, 1ull << 63, (short)n, 7l, 2.25, "");
    printf("%*d|%.*f|%-*s|\n", 6, n, 2, d, 4, "ab");
    printf("no arguments\n");
    printf("%d\n", printf("%d %s %f\n", 1, "two", 3.0)); // the number of arguments
  }
}

extern "C" __global__ void asserts(int limit) { assert(threadIdx.x < limit); }
extern "C" __global__ void traps(int *out) {
  out[threadIdx.x] = 1;
  if (threadIdx.x == 40)
    __trap();
}

// Structs by value as parameters, of sizes and alignments of every kind
struct Odd {
  char name[7];
  short pair[3];
};
struct alignas(16) Wide {
  float4 v;
  long long tail;
};
struct Large {
  int values[1000];
};
extern "C" __global__ void parameters(char c, Odd odd, double d, short s, Wide wide, const int *p, bool b, Odd last, long long *out) {
  int t = threadIdx.x;
  out[t] = c + odd.name[t % 7] * 3 + odd.pair[t % 3] * 5 + (long long)(d * 10) + s * 7 + (long long)(wide.v.x + 2 * wide.v.w) * 11 +
           wide.tail + p[t] + b * 1000000 + last.name[(t + 1) % 7] + last.pair[(t + 1) % 3] * 13;
}
extern "C" __global__ void largeParameter(Large large, int *out) {
  int sum = 0;
  for (int i = threadIdx.x; i < 1000; i += 32)
    sum += large.values[i] * (large.values[(i * 7) % 1000] & 3);
  out[threadIdx.x] = sum;
}

// Loads and stores of every cache behaviour and width
extern "C" __global__ void loads(const float4 *a, const int2 *b, const unsigned char *c, float4 *out) {
  int t = threadIdx.x;
  float4 v = __ldg(a + t), w = __ldcs(a + (t ^ 1)), x = __ldcg(a + (t ^ 2)), y = __ldca(a + (t ^ 3)), z = __ldcv(a + (t ^ 4));
  int2 i = __ldg(b + t);
  uchar4 u = *(const uchar4 *)(c + 4 * t);
  float4 r = make_float4(v.x + w.y + i.x, v.y + x.z + u.x, v.z + y.w + i.y + u.w, v.w + z.x + __ldlu(b + t).x + __ldg(c + t));
  if (t % 4 == 0)
    __stcg(out + t, r);
  else if (t % 4 == 1)
    __stcs(out + t, r);
  else if (t % 4 == 2)
    __stwt(out + t, r);
  else
    __stwb(out + t, r);
}

// Clocks run forward
extern "C" __global__ void clocks(unsigned long long *out) {
  long long first = clock64();
  unsigned long long time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  __nanosleep(100);
  int dummy = 0;
  for (int i = 0; i < 10; ++i)
    dummy += __float2int_rn(__int2float_rn(i) * 0.5f);
  unsigned long long later;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(later));
  out[2 * threadIdx.x] = (unsigned long long)(clock64() - first) + (dummy < 0);
  out[2 * threadIdx.x + 1] = later - time;
}

// Kinds of memory told apart, and addresses of each used through generic pointers
__device__ int globalValue = 5;
extern "C" __global__ void spaces(int *out, const int *in) {
  __shared__ int sharedValue;
  int localValue = threadIdx.x * 2;
  if (threadIdx.x == 0)
    sharedValue = 100;
  __syncthreads();
  const int *pointers[] = {&localValue, &sharedValue, &globalValue, in};
  const int *p = pointers[threadIdx.x % 4];
  out[threadIdx.x] = *p * 16 + __isGlobal(p) + 2 * __isShared(p) + 4 * __isLocal(p) + 8 * __isConstant(p);
}
