// The two matmuls of the reference over blocks of rows, for any accumulator type: K packed so that eight keys share a
// vector register.
#pragma once

#include "autotune/reference/Attention.h"
#include "autotune/reference/Processors.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

// The packed loops run at twice the speed with AVX2 and FMA; chosen when the process starts, so that one binary runs
// anywhere.
#if defined(__x86_64__) && defined(__clang__)
#define TESSERA_REFERENCE_AVX2 __attribute__((target("avx2,fma")))
#endif

namespace tessera::reference {

inline constexpr int64_t kKeyGroup = 8;  ///< keys per packed group
inline constexpr int64_t kRowGroup = 4;  ///< rows per pass over a packed group
inline constexpr int64_t kDimGroup = 16; ///< value components per pass

/// dots[r * keys + j] = q_r . k_j for `rows` rows; packed holds ceil(keys / 8) groups of [dim][8]. dots has room for
/// the padding.
template <typename Acc>
[[gnu::always_inline]] inline void dotRows(const Acc *q, const Acc *packed, Acc *dots, int64_t rows, int64_t paddedKeys,
                                           int64_t dim) {
  for (int64_t r = 0; r < rows; r += kRowGroup) {
    const Acc *row[kRowGroup];
    for (int64_t n = 0; n < kRowGroup; ++n) // a partial group computes its last row several times
      row[n] = q + std::min(r + n, rows - 1) * dim;
    for (int64_t j = 0; j < paddedKeys; j += kKeyGroup) {
      const Acc *group = packed + j * dim;
      Acc sum[kRowGroup][kKeyGroup] = {};
      for (int64_t c = 0; c < dim; ++c)
        for (int64_t n = 0; n < kRowGroup; ++n)
          for (int64_t x = 0; x < kKeyGroup; ++x)
            sum[n][x] += row[n][c] * group[c * kKeyGroup + x];
      for (int64_t n = 0; n < kRowGroup && r + n < rows; ++n)
        std::copy_n(sum[n], kKeyGroup, dots + (r + n) * paddedKeys + j);
    }
  }
}

/// out[0..dim) = sum over keys [begin, end) of weight_j * v_j; v is [keys][paddedDim] and out has paddedDim places.
template <typename Acc>
[[gnu::always_inline]] inline void weightedSum(const Acc *weights, const Acc *v, Acc *out, KeyRange keys,
                                               int64_t paddedDim) {
  for (int64_t c = 0; c < paddedDim; c += kDimGroup) {
    Acc sum[kDimGroup] = {};
    for (int64_t j = keys.begin; j < keys.end; ++j)
      for (int64_t x = 0; x < kDimGroup; ++x)
        sum[x] += weights[j] * v[j * paddedDim + c + x];
    std::copy_n(sum, kDimGroup, out + c);
  }
}

/// The instances for this machine: dotRows and weightedSum of Acc, with AVX2 where the CPU has it.
template <typename Acc> struct Loops {
  using Dot = void (*)(const Acc *, const Acc *, Acc *, int64_t, int64_t, int64_t);
  using Sum = void (*)(const Acc *, const Acc *, Acc *, KeyRange, int64_t);
  Dot dot;
  Sum sum;

  static void plainDot(const Acc *q, const Acc *k, Acc *d, int64_t r, int64_t p, int64_t n) {
    dotRows(q, k, d, r, p, n);
  }
  static void plainSum(const Acc *w, const Acc *v, Acc *o, KeyRange k, int64_t n) { weightedSum(w, v, o, k, n); }
#ifdef TESSERA_REFERENCE_AVX2
  TESSERA_REFERENCE_AVX2 static void wideDot(const Acc *q, const Acc *k, Acc *d, int64_t r, int64_t p, int64_t n) {
    dotRows(q, k, d, r, p, n);
  }
  TESSERA_REFERENCE_AVX2 static void wideSum(const Acc *w, const Acc *v, Acc *o, KeyRange k, int64_t n) {
    weightedSum(w, v, o, k, n);
  }
#endif
  static Loops pick() {
#ifdef TESSERA_REFERENCE_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      return {wideDot, wideSum};
#endif
    return {plainDot, plainSum};
  }
};

/// Runs one attention: `Acc` is the accumulator; `Arithmetic` says how an operand enters a matmul (load), how a row of
/// dots becomes weights and an LSE (softmax), and how a result leaves (finish). A new Arithmetic per thread is copied
/// from `prototype`.
template <typename Acc, typename Arithmetic> class BlockedRows {
public:
  BlockedRows(const View &q, const View &k, const View &v, const Problem &problem, const Sizes &sizes, Answer &answer)
      : q(q), k(k), v(v), problem(problem), sizes(sizes), answer(answer) {
    paddedKeys = (sizes.keyLength + kKeyGroup - 1) / kKeyGroup * kKeyGroup;
    paddedDim = (sizes.valueDim + kDimGroup - 1) / kDimGroup * kDimGroup;
    // A block's scores stay within 8 MiB, and a head is cut so that small problems still use every core.
    rowsPerBlock = std::clamp<int64_t>((int64_t(1) << 20) / std::max<int64_t>(paddedKeys, 1), kRowGroup, 128);
    blocksPerHead = (sizes.queryLength + rowsPerBlock - 1) / rowsPerBlock;
  }

  void run(const Arithmetic &arithmetic, unsigned threads) {
    const int64_t blocks = sizes.batch * sizes.queryHeads * blocksPerHead;
    std::atomic<int64_t> next{0};
    const auto work = [&] {
      Scratch scratch;
      for (int64_t block; (block = next.fetch_add(1, std::memory_order_relaxed)) < blocks;)
        runBlock(arithmetic, block, scratch);
    };
    if (threads == 0)
      threads = usableProcessors();
    std::vector<std::thread> others;
    for (unsigned n = 1; n < threads && int64_t(n) < blocks; ++n)
      others.emplace_back(work);
    work();
    for (std::thread &other : others)
      other.join();
  }

private:
  struct Scratch {
    int64_t batch = -1, keyHead = -1; ///< whose keys and values are packed
    std::vector<Acc> keys, values, rows, scores, out;
  };

  void pack(const Arithmetic &arithmetic, int64_t b, int64_t head, Scratch &scratch) const {
    if (scratch.batch == b && scratch.keyHead == head)
      return;
    scratch.batch = b;
    scratch.keyHead = head;
    scratch.keys.assign(paddedKeys * sizes.headDim, Acc(0));
    scratch.values.assign(paddedKeys * paddedDim, Acc(0));
    for (int64_t j = 0; j < sizes.keyLength; ++j) {
      Acc *group = scratch.keys.data() + j / kKeyGroup * kKeyGroup * sizes.headDim + j % kKeyGroup;
      for (int64_t c = 0; c < sizes.headDim; ++c)
        group[c * kKeyGroup] = arithmetic.operand(k.load(b, j, head, c));
      for (int64_t c = 0; c < sizes.valueDim; ++c)
        scratch.values[j * paddedDim + c] = arithmetic.operand(v.load(b, j, head, c));
    }
  }

  void runBlock(const Arithmetic &arithmetic, int64_t block, Scratch &scratch) {
    const int64_t first = block % blocksPerHead * rowsPerBlock;
    const int64_t head = block / blocksPerHead % sizes.queryHeads;
    const int64_t b = block / blocksPerHead / sizes.queryHeads;
    const int64_t rows = std::min(rowsPerBlock, sizes.queryLength - first);
    pack(arithmetic, b, head / (sizes.queryHeads / sizes.keyHeads), scratch); // N9
    scratch.rows.resize(rows * sizes.headDim);
    scratch.scores.resize(rows * paddedKeys);
    scratch.out.resize(paddedDim);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < sizes.headDim; ++c)
        scratch.rows[r * sizes.headDim + c] = arithmetic.operand(q.load(b, first + r, head, c));
    loops.dot(scratch.rows.data(), scratch.keys.data(), scratch.scores.data(), rows, paddedKeys, sizes.headDim);
    for (int64_t r = 0; r < rows; ++r) {
      const KeyRange keys = visibleKeys(problem.mask, first + r, sizes.queryLength, sizes.keyLength);
      Acc *scores = scratch.scores.data() + r * paddedKeys;
      double lse;
      Acc divisor;
      const bool empty = !arithmetic.softmax(scores, keys, lse, divisor);
      answer.lse[(b * sizes.queryHeads + head) * sizes.queryLength + first + r] = lse;
      double *out =
          answer.out.data() + ((b * sizes.queryLength + first + r) * sizes.queryHeads + head) * sizes.valueDim;
      if (empty) {
        std::fill_n(out, sizes.valueDim, 0.0);
        continue;
      }
      loops.sum(scores, scratch.values.data(), scratch.out.data(), keys, paddedDim);
      for (int64_t c = 0; c < sizes.valueDim; ++c)
        out[c] = arithmetic.finish(scratch.out[c], divisor);
    }
  }

  const View &q, &k, &v;
  const Problem &problem;
  const Sizes sizes;
  Answer &answer;
  const Loops<Acc> loops = Loops<Acc>::pick();
  int64_t paddedKeys, paddedDim, rowsPerBlock, blocksPerHead;
};

} // namespace tessera::reference
