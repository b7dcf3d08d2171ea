// MatrixElement: the elements of matrix fragments, eight at a time: value, exponent and range. All functions are static
// or internal so that each instruction-set build has its own.
//
// A register over 32 lanes is a tile of 8 rows of 16 bytes (B: 8 columns of 16 bytes).
#pragma once

#include "runtime/simulator/numerics/Formats.h"

#include <cstring>
#include <utility>

namespace tessera::sim::numerics {
namespace {

typedef double Row __attribute__((vector_size(64))); // one row of D: 8 columns
typedef int64_t LongRow __attribute__((vector_size(64)));
typedef float FloatRow __attribute__((vector_size(32)));
typedef int32_t IntRow __attribute__((vector_size(32)));
typedef uint32_t WordRow __attribute__((vector_size(32)));
typedef uint16_t HalfRow __attribute__((vector_size(16)));
typedef uint8_t ByteRow __attribute__((vector_size(8)));

/// Tiles by element width.
template <class Raw> struct TileOf;
template <> struct TileOf<uint8_t> {
  typedef uint8_t Tile __attribute__((vector_size(128)));
  using Eight = ByteRow;
};
template <> struct TileOf<uint16_t> {
  typedef uint16_t Tile __attribute__((vector_size(128)));
  using Eight = HalfRow;
};
template <> struct TileOf<uint32_t> {
  typedef uint32_t Tile __attribute__((vector_size(128)));
  using Eight = WordRow;
};

template <class V> [[gnu::always_inline]] inline V choose(const auto &mask, const V &yes, const V &no) {
  return mask ? yes : no;
}

/// Columns become rows: [n][k] to [k][n] for 8 values of n, by three perfect shuffles of the halves.
template <class V, int... I>
[[gnu::always_inline]] inline V perfectShuffle(const V &x, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(x, x, ((I & 1) * int(sizeof...(I) / 2) + I / 2)...);
}
template <class Raw>
[[gnu::always_inline]] inline typename TileOf<Raw>::Tile transposeTile(typename TileOf<Raw>::Tile x) {
  using Indices = std::make_integer_sequence<int, int(128 / sizeof(Raw))>;
  for (int i = 0; i < 3; ++i)
    x = perfectShuffle(x, Indices{});
  return x;
}

/// A binary format with E exponent and M fraction bits in the upper bits of Raw; `cut` low bits do not count.
template <class RawType, int E, int M, int Cut, bool Infinity> struct FloatElement {
  using Raw = RawType;
  using Tile = typename TileOf<Raw>::Tile;
  using Eight = typename TileOf<Raw>::Eight;
  static constexpr int bias = (1 << (E - 1)) - 1, fractionBits = M;
  static constexpr Raw magnitudeMask = Raw(((Raw(1) << (E + M)) - 1) << Cut);
  /// Magnitudes from here on are no numbers.
  static constexpr Raw special = Raw((Infinity ? ((Raw(1) << E) - 1) << M : (Raw(1) << (E + M)) - 1)) << Cut;

  /// Exponent of a magnitude's leading place, or the smallest normal one for subnormals.
  static int exponent(Raw magnitude) {
    int field = int(magnitude >> (M + Cut));
    return (field ? field : 1) - bias;
  }
  /// The same for eight; -126 for zeros, as the matrix units have it.
  [[gnu::always_inline]] static IntRow exponents(const Eight &x) {
    IntRow magnitude = __builtin_convertvector(x & magnitudeMask, IntRow), field = magnitude >> (M + Cut);
    IntRow e = choose<IntRow>(field > 0, field, IntRow{} + 1) - bias;
    if constexpr (bias == 127)
      return e;
    return choose<IntRow>(magnitude == 0, IntRow{} - 126, e);
  }
  [[gnu::always_inline]] static Row values(const Eight &x) {
    WordRow b = __builtin_convertvector(x, WordRow);
    if constexpr (bias == 127)
      return __builtin_convertvector((FloatRow)((b >> Cut) << (31 - E - M)), Row);
    WordRow sign = (b >> (E + M)) << 31, rest = b & magnitudeMask;
    constexpr uint32_t scale = uint32_t(127 + 127 - bias) << 23;
    FloatRow scaled = (FloatRow)(rest << (23 - M)) * std::bit_cast<float>(scale);
    WordRow bits = (WordRow)scaled;
    // Infinity keeps its zero fraction; a format without it has one NaN, all ones.
    bits = choose<WordRow>(rest >= special, bits | 0x7f800000, bits);
    return __builtin_convertvector((FloatRow)(bits | sign), Row);
  }
};

using HalfElement = FloatElement<uint16_t, 5, 10, 0, true>;
using BfloatElement = FloatElement<uint16_t, 8, 7, 0, true>;
using Tf32Element = FloatElement<uint32_t, 8, 10, 13, true>;
using E4M3Element = FloatElement<uint8_t, 4, 3, 0, false>;
using E5M2Element = FloatElement<uint8_t, 5, 2, 0, true>;
using SingleElement = FloatElement<uint32_t, 8, 23, 0, true>;

/// Between which powers of two the numbers of some tiles lie.
struct Range {
  int top = -10000;     ///< all magnitudes are below 2^top
  int quantum = 10000;  ///< all are multiples of 2^quantum
  bool special = false; ///< infinities or NaNs among them
  bool zero() const { return top == -10000; }
};

template <class Element> class RangeFinder {
public:
  [[gnu::always_inline]] void look(const typename Element::Tile &x) {
    typename Element::Tile magnitude = x & Element::magnitudeMask, below = magnitude - 1; // zeros wrap to the largest
    most_ = __builtin_elementwise_max(most_, magnitude);
    least_ = __builtin_elementwise_min(least_, below);
  }
  [[gnu::always_inline]] Range range() const {
    Range r;
    auto most = __builtin_reduce_max(most_);
    if (!most)
      return r;
    auto least = static_cast<typename Element::Raw>(__builtin_reduce_min(least_) + 1);
    r.special = most >= Element::special;
    r.top = Element::exponent(most) + 1;
    r.quantum = Element::exponent(least) - Element::fractionBits;
    return r;
  }

private:
  typename Element::Tile most_ = {}, least_ = ~typename Element::Tile{};
};

} // namespace
} // namespace tessera::sim::numerics
