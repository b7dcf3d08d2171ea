// mma.sync and wmma.mma of integers, bits and f64: exact, or a chain of fused multiply-adds.
#include "runtime/simulator/lanes/Lanes.h"
#include "runtime/simulator/lanes/Tiles.h"
#include "runtime/simulator/numerics/MatrixSum.h"

namespace tessera::sim::lanes::TESSERA_SIM_ISA {

namespace {

/// Integers of D and C: 8 columns of each of 8 rows.
void addC(Warp &w, const Op &op, const Tiles &t, unsigned tile, const IntRow *products, IntRow *d) {
  const auto *even = w.reg<int32_t>(t.cRegs[2 * tile]), *odd = w.reg<int32_t>(t.cRegs[2 * tile + 1]);
  for (unsigned g = 0; g < 8; ++g) {
    const int32_t *e = even + 4 * g, *o = odd + 4 * g;
    WordRow c = {uint32_t(e[0]), uint32_t(o[0]), uint32_t(e[1]), uint32_t(o[1]),
                 uint32_t(e[2]), uint32_t(o[2]), uint32_t(e[3]), uint32_t(o[3])};
    WordRow p = (WordRow)products[g], sum = c + p;
    if (op.flags & Satfinite) {
      IntRow overflow = (IntRow)((c ^ sum) & (p ^ sum)) >> 31, limit = ((IntRow)c >> 31) ^ INT32_MAX;
      sum = (WordRow)((limit & overflow) | ((IntRow)sum & ~overflow));
    }
    d[g] = (IntRow)sum;
  }
}

void storeD(Warp &w, const Tiles &t, unsigned tile, const IntRow *d) {
  auto *even = w.reg<int32_t>(t.dRegs[2 * tile]), *odd = w.reg<int32_t>(t.dRegs[2 * tile + 1]);
  for (unsigned g = 0; g < 8; ++g)
    for (unsigned q = 0; q < 4; ++q) {
      even[4 * g + q] = d[g][2 * q];
      odd[4 * g + q] = d[g][2 * q + 1];
    }
}

/// Runs `product(rowTile, columnTile, sums)` over all tiles and adds C.
template <class Product> const Op *overTiles(Warp &w, const Op &op, const Tiles &t, Product product) {
  IntRow d[4][8];
  for (unsigned tile = 0; tile < t.tiles(); ++tile) {
    IntRow products[8] = {};
    product(tile % t.rowTiles, tile / t.rowTiles, products);
    addC(w, op, t, tile, products, d[tile]);
  }
  for (unsigned tile = 0; tile < t.tiles(); ++tile)
    storeD(w, t, tile, d[tile]);
  return &op + 1;
}

/// Four bits as T's sign says.
template <class T> int32_t nibble(uint32_t x) { return T(-1) < T(0) ? int32_t(x << 28) >> 28 : int32_t(x); }

/// Eight bytes of TA or TB; of nibbles, the lower ones or the upper ones.
template <class T, int Nibble> IntRow widenBytes(const ByteRow &x) {
  typedef T Narrow __attribute__((vector_size(8)));
  if constexpr (Nibble < 0) {
    return __builtin_convertvector((Narrow)x, IntRow);
  } else {
    WordRow v = __builtin_convertvector(x, WordRow) << (Nibble ? 24 : 28);
    return T(-1) < T(0) ? (IntRow)v >> 28 : (IntRow)(v >> 28);
  }
}

template <class TA, class TB, bool Nibbles> const Op *mmaInteger(Warp &w, const Op &op) {
  if (!machine::checkConverged(w, op))
    return nullptr;
  Tiles t = tilesOf(op);
  if (w.checks)
    undefinedTiles(w, op, t);
  return overTiles(w, op, t, [&](unsigned i, unsigned j, IntRow *sums) {
    for (unsigned step = 0; step < t.depth; ++step) {
      alignas(64) uint8_t columns[128];
      TileOf<uint8_t>::Tile tile; // wants more alignment than registers have
      std::memcpy(&tile, w.reg<uint8_t>(t.b(j, step)), sizeof tile);
      tile = transposeTile<uint8_t>(tile);
      std::memcpy(columns, &tile, 128);
      constexpr unsigned width = Nibbles ? 32 : 16;
      IntRow b[width];
      for (unsigned k = 0; k < 16; ++k) {
        ByteRow x;
        std::memcpy(&x, columns + 8 * k, 8);
        if constexpr (Nibbles) {
          b[2 * k] = widenBytes<TB, 0>(x);
          b[2 * k + 1] = widenBytes<TB, 1>(x);
        } else {
          b[k] = widenBytes<TB, -1>(x);
        }
      }
      const uint8_t *bytes = w.reg<uint8_t>(t.a(i, step));
      int32_t a[8][width];
      for (unsigned g = 0; g < 8; ++g)
        for (unsigned k = 0; k < 16; ++k) {
          uint8_t x = bytes[16 * g + k];
          if constexpr (Nibbles) {
            a[g][2 * k] = nibble<TA>(x & 15);
            a[g][2 * k + 1] = nibble<TA>(x >> 4);
          } else {
            a[g][k] = static_cast<TA>(x);
          }
        }
      for (unsigned k = 0; k < width; ++k)
        for (unsigned g = 0; g < 8; ++g)
          sums[g] += b[k] * a[g][k];
    }
  });
}

template <bool And> const Op *mmaBits(Warp &w, const Op &op) {
  if (!machine::checkConverged(w, op))
    return nullptr;
  Tiles t = tilesOf(op);
  if (w.checks)
    undefinedTiles(w, op, t);
  return overTiles(w, op, t, [&](unsigned i, unsigned j, IntRow *sums) {
    for (unsigned step = 0; step < t.depth; ++step) {
      const auto *a = w.reg<uint64_t>(t.a(i, step)), *b = w.reg<uint64_t>(t.b(j, step));
      for (unsigned g = 0; g < 8; ++g)
        for (unsigned n = 0; n < 8; ++n) {
          uint64_t low = And ? a[2 * g] & b[2 * n] : a[2 * g] ^ b[2 * n],
                   high = And ? a[2 * g + 1] & b[2 * n + 1] : a[2 * g + 1] ^ b[2 * n + 1];
          sums[g][n] += std::popcount(low) + std::popcount(high);
        }
    }
  });
}

/// A chain of fused multiply-adds, k ascending; in stress mode in any order.
const Op *mmaDouble(Warp &w, const Op &op) {
  if (!machine::checkConverged(w, op))
    return nullptr;
  Tiles t = tilesOf(op);
  if (w.checks)
    undefinedTiles(w, op, t);
  unsigned depth = 4 * t.depth, order[16];
  for (unsigned k = 0; k < depth; ++k)
    order[k] = k;
  if (w.block->launch->options->mma == MmaMode::Stress) {
    uint64_t state = freedom(w);
    for (unsigned k = depth - 1; k > 0; --k)
      std::swap(order[k], order[draw(state) % (k + 1)]);
  }
  double d[2][64];
  for (unsigned i = 0; i < t.rowTiles; ++i)
    for (unsigned g = 0; g < 8; ++g)
      for (unsigned n = 0; n < 8; ++n) {
        double sum = w.reg<double>(t.cRegs[2 * i + (n & 1)])[4 * g + n / 2];
        for (unsigned o = 0; o < depth; ++o) {
          unsigned k = order[o];
          double a = w.reg<double>(t.a(i, k / 4))[4 * g + k % 4], b = w.reg<double>(t.b(0, k / 4))[4 * n + k % 4];
          sum = op.rounding == Rounding::RN ? std::fma(a, b, sum) : numerics::fma(a, b, sum, op.rounding);
        }
        d[i][8 * g + n] = sum;
      }
  for (unsigned i = 0; i < t.rowTiles; ++i)
    for (unsigned e = 0; e < 64; ++e)
      w.reg<double>(t.dRegs[2 * i + (e & 1)])[e / 2] = d[i][e];
  return &op + 1;
}

template <bool Nibbles> Handler integerMma(bool aSigned, bool bSigned) {
  if (aSigned)
    return bSigned ? mmaInteger<int8_t, int8_t, Nibbles> : mmaInteger<int8_t, uint8_t, Nibbles>;
  return bSigned ? mmaInteger<uint8_t, int8_t, Nibbles> : mmaInteger<uint8_t, uint8_t, Nibbles>;
}

} // namespace

Handler selectMatrixInteger(const Op &op) {
  auto a = static_cast<MmaElement>(op.registerBytes), b = static_cast<MmaElement>(op.sourceBytes);
  switch (a) {
  case MmaElement::F64:
    return mmaDouble;
  case MmaElement::B1:
    return op.boolOp == BoolOp::And ? mmaBits<true> : mmaBits<false>;
  case MmaElement::S4:
  case MmaElement::U4:
    return integerMma<true>(a == MmaElement::S4, b == MmaElement::S4);
  case MmaElement::S8:
  case MmaElement::U8:
    return integerMma<false>(a == MmaElement::S8, b == MmaElement::S8);
  default:
    return nullptr;
  }
}

} // namespace tessera::sim::lanes::TESSERA_SIM_ISA

TESSERA_SIM_ISA_END
