// Streaming: the elementwise chain that makes the left operand of a product, and the row sums of it, are emitted k-step
// by k-step between the product's own instructions. So exponents overlap with MMAs, and a score's register is free as
// soon as its weight is packed.
#include "codegen/KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
namespace tessera::codegen {

/// Whether each column of the op's result depends on the same column of its operands alone.
static bool isColumnwise(Operation *op) {
  auto type = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType()) : RankedTensorType();
  return type && type.getRank() == 2 && !isa<arith::ConstantOp>(op) &&
         isa<arith::ArithDialect, math::MathDialect>(op->getDialect());
}

// Deferred are the columnwise ops of the block that reach the product, and the row sums of them, as long as nothing but
// these, the product, and (for sums) what follows the product asks for their values.
void KernelEmitter::planStreaming(Block &block) {
  for (auto dot : block.getOps<attn::DotOp>()) {
    if (dot.getTransposed())
      continue;
    SmallVector<Operation *> chain;
    auto belongs = [&](OpOperand &use) {
      return use.getOwner() == dot ? use.get() == dot.getLhs() && use.get() != dot.getInit()
                                   : llvm::is_contained(chain, use.getOwner());
    };
    for (Operation *op = dot->getPrevNode(); op; op = op->getPrevNode()) { // users come first
      if (isColumnwise(op) && llvm::all_of(op->getUses(), belongs)) {
        chain.push_back(op);
      } else if (auto sum = dyn_cast<attn::RowSumOp>(op)) {
        bool later = llvm::all_of(op->getUsers(), [&](Operation *user) {
          Operation *inBlock = block.findAncestorOpInBlock(*user);
          return inBlock && dot->isBeforeInBlock(inBlock);
        });
        if (later)
          chain.push_back(op);
      }
    }
    // A sum belongs only if what it sums is streamed.
    llvm::erase_if(chain, [&](Operation *op) {
      auto sum = dyn_cast<attn::RowSumOp>(op);
      return sum && !llvm::is_contained(chain, sum.getValues().getDefiningOp());
    });
    std::reverse(chain.begin(), chain.end());
    deferred_.insert(chain.begin(), chain.end());
    streamed_[dot] = std::move(chain);
  }
}

LogicalResult KernelEmitter::emitStreamed(attn::DotOp dot, unsigned first, unsigned count) {
  for (Operation *op : streamed_[dot]) {
    if (auto sum = dyn_cast<attn::RowSumOp>(op))
      emitRowSum(sum, first, count);
    else if (failed(emitElementwise(*op, std::pair(first, count))))
      return failure();
  }
  return success();
}

} // namespace tessera::codegen
