// Tiles: where the fragments of matrix instructions lie in registers.
//
// All dense forms but m8n8k4 of f16 are made of tiles of 8 rows, a row in 4 lanes. A register of A over all lanes is 8
// rows of 16 bytes (f64: 32) of K; of B, 8 columns of as much; C and D have tiles of 8 × 8, lane 4g + q with columns
// 2q and 2q + 1 of row g, in two registers, or packed in one for f16:
//
//     A, M = 16:  [ reg 0 | reg 2 ]     B, N = 8:  [ reg 0 ]     C, D, M = 16:  [ regs 0, 1 ]
//                 [ reg 1 | reg 3 ]                [ reg 1 ]                    [ regs 2, 3 ]
//
// The manual leaves the fragments of wmma open; here they are the same tiles, N in steps of 8 outermost. Fragments of
// f16 A and B have 8 registers by definition, of which the first ones count and the others repeat them.
#pragma once

#include "runtime/simulator/lanes/Lanes.h"

namespace tessera::sim::lanes::TESSERA_SIM_ISA {
namespace {

struct Tiles {
  unsigned rowTiles, columnTiles;
  unsigned depth; ///< registers of A along K
  bool cHalf, dHalf;
  const uint32_t *aRegs, *bRegs, *cRegs, *dRegs;

  uint32_t a(unsigned rowTile, unsigned step) const { return aRegs[step * rowTiles + rowTile]; }
  uint32_t b(unsigned columnTile, unsigned step) const { return bRegs[columnTile * depth + step]; }
  unsigned tile(unsigned rowTile, unsigned columnTile) const { return columnTile * rowTiles + rowTile; }
  unsigned tiles() const { return rowTiles * columnTiles; }
};

inline unsigned depthOf(MmaElement element, unsigned k) {
  return k * bitsOf(element) / (element == MmaElement::F64 ? 256 : 128);
}

inline Tiles tilesOf(const Op &op) {
  MmaExtent extent = extentOf(static_cast<MmaShape>(op.variant));
  auto element = static_cast<MmaElement>(op.registerBytes);
  Tiles t;
  t.rowTiles = extent.m / 8;
  t.columnTiles = extent.n / 8;
  t.depth = depthOf(element, extent.k);
  t.cHalf = op.type3 == Type::F16;
  t.dHalf = op.type2 == Type::F16;
  t.dRegs = op.ext;
  t.aRegs = op.ext + op.extResults;
  t.cRegs = t.aRegs + op.extSources - t.tiles() * (t.cHalf ? 1 : 2);
  bool repeats = op.variant >= uint8_t(MmaShape::M16N16K8) && element == MmaElement::F16;
  t.bRegs = t.aRegs + (repeats ? 8 : t.rowTiles * t.depth);
  return t;
}

inline uint64_t spread(uint32_t lanes) { // lane i to bits 2i and 2i + 1
  uint64_t x = lanes;
  x = (x | x << 16) & 0x0000ffff0000ffff;
  x = (x | x << 8) & 0x00ff00ff00ff00ff;
  x = (x | x << 4) & 0x0f0f0f0f0f0f0f0f;
  x = (x | x << 2) & 0x3333333333333333;
  x = (x | x << 1) & 0x5555555555555555;
  return x | x << 1;
}
inline uint32_t gather(uint64_t bits) { // bits 2i to lane i
  uint64_t x = bits & 0x5555555555555555;
  x = (x | x >> 1) & 0x3333333333333333;
  x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0f;
  x = (x | x >> 4) & 0x00ff00ff00ff00ff;
  x = (x | x >> 8) & 0x0000ffff0000ffff;
  return static_cast<uint32_t>(x | x >> 16);
}
/// Bit g: some lane 4g … 4g + 3.
inline uint32_t rowsOf(uint32_t lanes) {
  uint32_t x = (lanes | lanes >> 1 | lanes >> 2 | lanes >> 3) & 0x11111111, rows = 0;
  for (unsigned g = 0; g < 8; ++g)
    rows |= (x >> 4 * g & 1) << g;
  return rows;
}

/// An element of D is undefined where one of its row of A, its column of B, or its C is.
inline void undefinedTiles(Warp &w, const Op &op, const Tiles &t) {
  uint32_t any = 0;
  for (unsigned i = 0; i < op.extSources; ++i)
    any |= w.undef(op.ext[op.extResults + i]).lanes;
  if (!any) {
    for (unsigned i = 0; i < op.extResults; ++i)
      w.undef(op.ext[i]) = {};
    return;
  }
  uint32_t rows[4] = {}, columns[4] = {};
  for (unsigned step = 0; step < t.depth; ++step) {
    for (unsigned i = 0; i < t.rowTiles; ++i)
      rows[i] |= rowsOf(w.undef(t.a(i, step)).lanes);
    for (unsigned i = 0; i < t.columnTiles; ++i)
      columns[i] |= rowsOf(w.undef(t.b(i, step)).lanes);
  }
  uint64_t elements[8]; // bit 8 · row + column of each tile
  for (unsigned i = 0; i < t.tiles(); ++i) {
    uint64_t c = 0;
    if (t.cHalf) {
      c = spread(w.undef(t.cRegs[i]).lanes);
    } else {
      c = spread(w.undef(t.cRegs[2 * i]).lanes) & 0x5555555555555555;
      c |= spread(w.undef(t.cRegs[2 * i + 1]).lanes) & 0xaaaaaaaaaaaaaaaa;
    }
    for (unsigned g = 0; g < 8; ++g)
      c |= uint64_t(rows[i % t.rowTiles] >> g & 1 ? 0xff : columns[i / t.rowTiles]) << (8 * g);
    elements[i] = c;
  }
  for (unsigned i = 0; i < t.tiles(); ++i) {
    uint32_t even = gather(elements[i]), odd = gather(elements[i] >> 1);
    if (t.dHalf) {
      w.undef(t.dRegs[i]) = {even | odd, even | odd};
    } else {
      w.undef(t.dRegs[2 * i]) = {even, even};
      w.undef(t.dRegs[2 * i + 1]) = {odd, odd};
    }
  }
}

/// Start of the draws of stress mode: by seed and instruction, whatever the host threads.
inline uint64_t freedom(const Warp &w) {
  return w.block->launch->options->seed ^ (w.block->linear << 40) ^ (uint64_t(w.index) << 32) ^ w.instructions;
}

} // namespace
} // namespace tessera::sim::lanes::TESSERA_SIM_ISA
