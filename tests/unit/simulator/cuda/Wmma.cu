// <mma.h> in every type, shape and layout: D = A B + C with two steps along K.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

template <class Fragment> __device__ void round(Fragment &fragment) {}
template <class Use, int M, int N, int K, class Layout>
__device__ void round(wmma::fragment<Use, M, N, K, wmma::precision::tf32, Layout> &fragment) {
  for (int i = 0; i < fragment.num_elements; ++i)
    fragment.x[i] = wmma::__float_to_tf32(fragment.x[i]);
}


template <class T> constexpr bool byRows = false;
template <> constexpr bool byRows<wmma::row_major> = true;

// Elements from one row or column to the next: 16 bytes at least, as the loads demand.
template <class Storage> __device__ constexpr int leading(int extent) { return extent * sizeof(Storage) < 16 ? 16 / sizeof(Storage) : extent; }

// Two matrices of A, M x K, and two of B, K x N, stand one after the other, each in its own layout; C comes and D goes in the
// layout of `rowMajor`.
template <int M, int N, int K, class In, class Storage, class Out, class LayoutA, class LayoutB>
__device__ void product(const Storage *a, const Storage *b, const Out *c, Out *d, bool rowMajor, bool negate) {
  constexpr int leadingA = leading<Storage>(byRows<LayoutA> ? K : M), leadingB = leading<Storage>(byRows<LayoutB> ? N : K);
  constexpr int sizeA = leadingA * (byRows<LayoutA> ? M : K), sizeB = leadingB * (byRows<LayoutB> ? K : N);
  wmma::fragment<wmma::matrix_a, M, N, K, In, LayoutA> fragmentA;
  wmma::fragment<wmma::matrix_b, M, N, K, In, LayoutB> fragmentB;
  wmma::fragment<wmma::accumulator, M, N, K, Out> sum;
  auto layout = rowMajor ? wmma::mem_row_major : wmma::mem_col_major;
  wmma::load_matrix_sync(sum, c, rowMajor ? N : M, layout);
  for (int step = 0; step < 2; ++step) {
    wmma::load_matrix_sync(fragmentA, a + step * sizeA, leadingA);
    wmma::load_matrix_sync(fragmentB, b + step * sizeB, leadingB);
    round(fragmentA);
    round(fragmentB);
    wmma::mma_sync(sum, fragmentA, fragmentB, sum);
  }
  if (negate)
    for (int i = 0; i < sum.num_elements; ++i)
      sum.x[i] = Out(0) - sum.x[i];
  wmma::store_matrix_sync(d, sum, rowMajor ? N : M, layout);
}

#define LAYOUTS(name, M, N, K, In, Storage, Out)                                                                       \
  extern "C" __global__ void name(const Storage *a, const Storage *b, const Out *c, Out *d, int layouts) {             \
    using R = wmma::row_major;                                                                                         \
    using C = wmma::col_major;                                                                                         \
    bool rows = layouts & 4, negate = layouts & 8;                                                                     \
    switch (layouts & 3) {                                                                                             \
    case 0: product<M, N, K, In, Storage, Out, R, R>(a, b, c, d, rows, negate); break;                                 \
    case 1: product<M, N, K, In, Storage, Out, C, R>(a, b, c, d, rows, negate); break;                                 \
    case 2: product<M, N, K, In, Storage, Out, R, C>(a, b, c, d, rows, negate); break;                                 \
    default: product<M, N, K, In, Storage, Out, C, C>(a, b, c, d, rows, negate); break;                                \
    }                                                                                                                  \
  }
#define SHAPES(name, In, Storage, Out)                                                                                 \
  LAYOUTS(name##_16x16x16, 16, 16, 16, In, Storage, Out)                                                               \
  LAYOUTS(name##_32x8x16, 32, 8, 16, In, Storage, Out)                                                                 \
  LAYOUTS(name##_8x32x16, 8, 32, 16, In, Storage, Out)
SHAPES(half_float, __half, __half, float)
SHAPES(half_half, __half, __half, __half)
SHAPES(bfloat_float, __nv_bfloat16, __nv_bfloat16, float)
SHAPES(s8_int, signed char, signed char, int)
SHAPES(u8_int, unsigned char, unsigned char, int)
LAYOUTS(tf32_float_16x16x8, 16, 16, 8, wmma::precision::tf32, float, float)
LAYOUTS(double_double_8x8x4, 8, 8, 4, double, double, double)

// Formats below a byte: rows of A against columns of B, the numbers packed into words.
#define PACKED(name, K, In, multiply)                                                                                  \
  extern "C" __global__ void name(const int *a, const int *b, const int *c, int *d) {                                  \
    wmma::fragment<wmma::matrix_a, 8, 8, K, wmma::experimental::precision::In, wmma::row_major> x;                     \
    wmma::fragment<wmma::matrix_b, 8, 8, K, wmma::experimental::precision::In, wmma::col_major> y;                     \
    wmma::fragment<wmma::accumulator, 8, 8, K, int> sum;                                                               \
    wmma::load_matrix_sync(sum, c, 8, wmma::mem_row_major);                                                            \
    wmma::load_matrix_sync(x, a, K);                                                                                   \
    wmma::load_matrix_sync(y, b, K);                                                                                   \
    multiply;                                                                                                          \
    wmma::store_matrix_sync(d, sum, 8, wmma::mem_row_major);                                                           \
  }
PACKED(s4, 32, s4, wmma::mma_sync(sum, x, y, sum))
PACKED(u4, 32, u4, wmma::mma_sync(sum, x, y, sum))
PACKED(b1_xor, 128, b1, wmma::bmma_sync(sum, x, y, sum, wmma::experimental::bmmaBitOpXOR))
PACKED(b1_and, 128, b1, wmma::bmma_sync(sum, x, y, sum, wmma::experimental::bmmaBitOpAND))
