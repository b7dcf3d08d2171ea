// mma.sync and wmma.mma of floating-point elements, in three numerical modes.
#include "runtime/simulator/lanes/Lanes.h"
#include "runtime/simulator/lanes/Tiles.h"
#include "runtime/simulator/numerics/MatrixSum.h"

namespace tessera::sim::lanes::TESSERA_SIM_ISA {

namespace {

typedef float SingleTile __attribute__((vector_size(256)));
typedef float SingleHalf __attribute__((vector_size(128)));

template <class V> V load(const void *from) {
  V v;
  std::memcpy(&v, from, sizeof(V));
  return v;
}

/// Rows of a register of A.
template <class E, unsigned K>
void widenLeft(const typename E::Raw *tile, unsigned step, Left<K> &left, bool exponents) {
  constexpr unsigned width = 16 / sizeof(typename E::Raw);
  for (unsigned i = 0; i < 8 * width; i += 8) {
    auto x = load<typename E::Eight>(tile + i);
    Row v = E::values(x);
    constexpr unsigned piece = width < 8 ? width : 8;
    for (unsigned part = 0; part < 8; part += piece) {
      unsigned row = (i + part) / width, column = step * width + (i + part) % width;
      std::memcpy(&left.a[row][column], reinterpret_cast<const double *>(&v) + part, 8 * piece);
    }
    if (exponents) {
      IntRow e = E::exponents(x);
      for (unsigned part = 0; part < 8; part += piece) {
        unsigned row = (i + part) / width, column = step * width + (i + part) % width;
        std::memcpy(&left.e[row][column], reinterpret_cast<const int32_t *>(&e) + part, 4 * piece);
      }
    }
  }
}

/// Columns of a register of B.
template <class E, unsigned K>
void widenRight(const typename E::Raw *columns, unsigned step, Right<K> &right, bool exponents) {
  constexpr unsigned width = 16 / sizeof(typename E::Raw);
  alignas(64) typename E::Raw rows[8 * width];
  auto tile = transposeTile<typename E::Raw>(load<typename E::Tile>(columns));
  std::memcpy(rows, &tile, sizeof(tile));
  for (unsigned k = 0; k < width; ++k) {
    auto x = load<typename E::Eight>(rows + 8 * k);
    right.b[step * width + k] = E::values(x);
    if (exponents)
      right.e[step * width + k] = E::exponents(x);
  }
}

template <int... I>
[[gnu::always_inline]] inline SingleTile zip(const SingleHalf &even, const SingleHalf &odd,
                                             std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(even, odd, (I / 2 + (I & 1) * 32)...);
}
template <int... I>
[[gnu::always_inline]] inline SingleHalf unzip(const SingleTile &tile, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(tile, tile, (2 * I)...);
}
template <int... I>
[[gnu::always_inline]] inline SingleHalf unzipOdd(const SingleTile &tile, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(tile, tile, (2 * I + 1)...);
}

/// A tile of C.
void widenC(Warp &w, const Tiles &t, unsigned tile, Row *d) {
  if (t.cHalf) {
    const auto *both = w.reg<uint16_t>(t.cRegs[tile]);
    for (unsigned g = 0; g < 8; ++g)
      d[g] = HalfElement::values(load<HalfRow>(both + 8 * g));
    return;
  }
  SingleTile all = zip(load<SingleHalf>(w.reg<float>(t.cRegs[2 * tile])),
                       load<SingleHalf>(w.reg<float>(t.cRegs[2 * tile + 1])), std::make_integer_sequence<int, 64>{});
  for (unsigned g = 0; g < 8; ++g)
    d[g] = __builtin_convertvector(load<FloatRow>(reinterpret_cast<const float *>(&all) + 8 * g), Row);
}

/// A tile of D, rounded to nearest even.
void narrowD(Warp &w, const Tiles &t, unsigned tile, const Row *d) {
  if (t.dHalf) {
    auto *both = w.reg<uint16_t>(t.dRegs[tile]);
    for (unsigned g = 0; g < 8; ++g) {
      HalfRow h = halfBits(roundToHalf(d[g]));
      std::memcpy(both + 8 * g, &h, 16);
    }
    return;
  }
  SingleTile all;
  for (unsigned g = 0; g < 8; ++g) {
    FloatRow f = roundToFloat(d[g]);
    std::memcpy(reinterpret_cast<float *>(&all) + 8 * g, &f, 32);
  }
  SingleHalf even = unzip(all, std::make_integer_sequence<int, 32>{}),
             odd = unzipOdd(all, std::make_integer_sequence<int, 32>{});
  std::memcpy(w.reg<float>(t.dRegs[2 * tile]), &even, 128);
  std::memcpy(w.reg<float>(t.dRegs[2 * tile + 1]), &odd, 128);
}

template <class E> Range rangeOf(Warp &w, const uint32_t *regs, unsigned count) {
  RangeFinder<E> finder;
  for (unsigned i = 0; i < count; ++i)
    finder.look(load<typename E::Tile>(w.reg<std::byte>(regs[i])));
  return finder.range();
}

/// Range of the products and C, and of all their sums.
Range rangeOfSums(const Range &a, const Range &b, const Range &c, unsigned k) {
  Range r = c;
  if (!a.zero() && !b.zero()) {
    r.top = std::max(r.top, a.top + b.top);
    r.quantum = std::min(r.quantum, a.quantum + b.quantum);
  }
  r.top += std::bit_width(k);
  r.special |= a.special || b.special;
  return r;
}

template <class EA, class EB, unsigned K> const Op *mma(Warp &w, const Op &op) {
  if (!machine::checkConverged(w, op))
    return nullptr;
  Tiles t = tilesOf(op);
  if (w.checks)
    undefinedTiles(w, op, t);
  MmaMode mode = w.block->launch->options->mma;
  bool exponents = mode == MmaMode::Hardware, half = t.cHalf && t.dHalf;
  Range a = rangeOf<EA>(w, t.aRegs, t.rowTiles * t.depth), b = rangeOf<EB>(w, t.bRegs, t.columnTiles * t.depth);
  Range c = t.cHalf ? rangeOf<HalfElement>(w, t.cRegs, t.tiles()) : rangeOf<SingleElement>(w, t.cRegs, 2 * t.tiles());
  Range sums = rangeOfSums(a, b, c, K);
  bool exactInDouble = !sums.special && sums.top - sums.quantum <= 53;
  Inputs inputs{sums.special, !sums.special && sums.top < 127 && sums.quantum >= -126};
  MatrixModel model{};
  if (exponents) {
    const DeviceProfile &profile = *w.block->launch->profile;
    model = matrixModel(profile.major * 10 + profile.minor, static_cast<MmaElement>(op.registerBytes), K,
                        op.variant >= uint8_t(MmaShape::M16N16K8));
  }
  uint64_t state = freedom(w);
  Left<K> left[4];
  Right<K> right;
  Row d[4][8];
  bool pairs = exponents && model.pairs;
  for (unsigned i = 0; i < t.rowTiles; ++i) {
    for (unsigned step = 0; step < t.depth; ++step)
      widenLeft<EA, K>(w.reg<typename EA::Raw>(t.a(i, step)), step, left[i], exponents);
    if (pairs)
      orderPairs(left[i]);
  }
  // D may lie where the sources do: all of them are read first.
  for (unsigned j = 0, tile = 0; j < t.columnTiles; ++j) {
    for (unsigned step = 0; step < t.depth; ++step)
      widenRight<EB, K>(w.reg<typename EB::Raw>(t.b(j, step)), step, right, exponents);
    if (pairs)
      orderPairs(right);
    for (unsigned i = 0; i < t.rowTiles; ++i, ++tile) {
      widenC(w, t, tile, d[tile]);
      switch (mode) {
      case MmaMode::Exact:
        if (exactInDouble)
          sumInDouble(left[i], right, d[tile]);
        else
          sumWide(left[i], right, d[tile]);
        break;
      case MmaMode::Hardware:
        sumAsHardware(left[i], right, d[tile], model, half, inputs);
        break;
      case MmaMode::Stress:
        sumFreely(left[i], right, d[tile], state, half);
        break;
      }
    }
  }
  for (unsigned tile = 0; tile < t.tiles(); ++tile)
    narrowD(w, t, tile, d[tile]);
  return &op + 1;
}

template <class E> Handler byDepth(const Op &op) {
  switch (extentOf(static_cast<MmaShape>(op.variant)).k) {
  case 4:
    if constexpr (sizeof(typename E::Raw) == 4)
      return mma<E, E, 4>;
    return nullptr;
  case 8:
    return mma<E, E, 8>;
  default:
    if constexpr (sizeof(typename E::Raw) == 2)
      return mma<E, E, 16>;
    return nullptr;
  }
}
template <unsigned K> Handler byteMma(const Op &op) {
  bool a5 = op.registerBytes == uint8_t(MmaElement::E5M2), b5 = op.sourceBytes == uint8_t(MmaElement::E5M2);
  if (a5)
    return b5 ? mma<E5M2Element, E5M2Element, K> : mma<E5M2Element, E4M3Element, K>;
  return b5 ? mma<E4M3Element, E5M2Element, K> : mma<E4M3Element, E4M3Element, K>;
}

} // namespace

Handler selectMatrix(const Op &op) {
  if (op.code != Opcode::Mma)
    return nullptr;
  if (static_cast<MmaShape>(op.variant) == MmaShape::M8N8K4Quads)
    return selectMatrixQuads(op);
  switch (static_cast<MmaElement>(op.registerBytes)) {
  case MmaElement::F16:
    return byDepth<HalfElement>(op);
  case MmaElement::BF16:
    return byDepth<BfloatElement>(op);
  case MmaElement::TF32:
    return byDepth<Tf32Element>(op);
  case MmaElement::E4M3:
  case MmaElement::E5M2:
    return extentOf(static_cast<MmaShape>(op.variant)).k == 32 ? byteMma<32>(op) : byteMma<16>(op);
  default:
    return selectMatrixInteger(op);
  }
}

} // namespace tessera::sim::lanes::TESSERA_SIM_ISA

TESSERA_SIM_ISA_END
