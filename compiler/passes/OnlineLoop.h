// The online softmax loop as the passes after fusion see it.
#pragma once

#include "dialect/AttnDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera::attn {

/// The rule exp(k * (x - reference)) of one exponent, on rows or on scores.
struct WeightedExponent {
  mlir::math::ExpOp exp;
  mlir::arith::SubFOp difference;
  double weight; ///< k, positive

  mlir::Value score() { return difference.getLhs(); }
  /// The reference of the rows, without its expand_rows.
  mlir::Value reference();

  static std::optional<WeightedExponent> match(mlir::math::ExpOp exp);
};

/// A loop over KV tiles that carries a row max, and values that its moves rescale:
///
///   scf.for ... iter_args(%m, %l, %acc)
///     %max = row_max %x init %m           rowMax
///     %ref = maxnumf %max, lowest         reference (%max itself where the guard is absent)
///     %alpha = exp(k * (%m - %ref))       alphas
///     %l2 = %l * %alpha                   rescales
///     %acc2 = %acc * expand(%alpha)
struct OnlineLoop {
  mlir::scf::ForOp loop;
  unsigned carriedMax; ///< position of %m among the carried values
  RowMaxOp rowMax;
  mlir::Value reference;
  llvm::SmallVector<WeightedExponent> alphas;
  llvm::SmallVector<mlir::arith::MulFOp> rescales; ///< in body order; lhs is the carried value

  static std::optional<OnlineLoop> match(mlir::scf::ForOp loop);
};

/// The tiles before the first one that needs no mask, as attn-bound-loops left it on the loop: the bound of the
/// induction variable in the condition of the branch around mask_scores. Null where the loop was not bounded.
mlir::Value headEdges(mlir::scf::ForOp loop);

} // namespace tessera::attn
