// The one register fragment of the mma.sync family: which thread of a block holds which element of a tile.
//
//   all warps lie along the rows; warp w owns rows [w R, (w + 1) R), R = rows / warps, in R / 16 row blocks
//   lane t = 4 g + q of a warp holds, of every block of 16 rows x 8 columns,
//
//              columns 2q   2q+1
//     row g            e0   e1        accumulator (f32): registers e0 e1 e2 e3
//     row g + 8        e2   e3        operand (16 bit):  registers (e0,e1) (e2,e3), low half first
//
// The packed accumulator is the A operand of mma.m16n8k16: the column blocks 2k and 2k + 1 are its k-step k. So the
// probabilities of one product are the operand of the next without moving.
#pragma once

namespace tessera::codegen {

/// A tile of rows x columns over `warps` warps.
struct Fragment {
  unsigned rowBlocks = 0;    ///< blocks of 16 rows of one warp
  unsigned columnBlocks = 0; ///< blocks of 8 columns; 0 for one value per row

  static Fragment of(unsigned rows, unsigned columns, unsigned warps) { return {rows / (16 * warps), columns / 8}; }

  unsigned blocks() const { return rowBlocks * columnBlocks; }
  /// Values per row and lane: rows g and g + 8 of every row block.
  unsigned rows() const { return rowBlocks * 2; }

  /// Register of element e (0..3) of a block of an accumulator.
  unsigned accumulator(unsigned rowBlock, unsigned columnBlock, unsigned e) const {
    return (rowBlock * columnBlocks + columnBlock) * 4 + e;
  }
  /// Register of the pair in the upper (half 0: row g) or lower (half 1: row g + 8) rows of a block of a 16-bit tile.
  unsigned pair(unsigned rowBlock, unsigned columnBlock, unsigned half) const {
    return (rowBlock * columnBlocks + columnBlock) * 2 + half;
  }
  /// Index among a lane's rows.
  static unsigned row(unsigned rowBlock, unsigned half) { return rowBlock * 2 + half; }
};

} // namespace tessera::codegen
