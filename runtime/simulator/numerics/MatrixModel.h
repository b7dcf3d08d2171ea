// MatrixModel: how the matrix unit of each architecture adds products up (design/ptx-semantics.md, 2.8).
#pragma once

#include "runtime/simulator/program/Variants.h"

namespace tessera::sim::numerics {

using program::MmaElement;

/// One architecture's way to D = A·B + C for one output element. A block of products and the sum so far are aligned to
/// the largest exponent among them, cut toward zero to `fraction` bits below it, and added exactly; the result, rounded
/// to D's type (f32: toward zero, f16: to nearest even), is the sum so far of the next block.
struct MatrixModel {
  int fraction;       ///< bits kept below the largest exponent
  unsigned block;     ///< products added at once
  int outputBits;     ///< fraction bits of an f32 result
  bool pairs = false; ///< k with bit 1 clear first, then the others; from zero, and C is added last, to nearest even
  bool chain =
      false; ///< f32 fused multiply-adds, k ascending, from zero; C is added last. The other fields say nothing
};

/// `architecture`: compute capability as 10 · major + minor. `k`: depth of the instruction. `wmma`: of a wmma.mma.
/// Not for f64 and integers, which every architecture computes alike.
MatrixModel matrixModel(unsigned architecture, MmaElement element, unsigned k, bool wmma);

} // namespace tessera::sim::numerics
