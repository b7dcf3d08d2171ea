// attn-distribute: the layout of every tile, and partial row sums.
#include "codegen/Passes.h"
#include "dialect/AttnDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
namespace tessera::codegen {
namespace {

/// The loop or branch results, arguments and yields that a value flows into unchanged in meaning.
void flowsInto(OpOperand &use, SmallVectorImpl<Value> &out) {
  Operation *user = use.getOwner();
  unsigned index = use.getOperandNumber();
  if (auto loop = dyn_cast<scf::ForOp>(user)) {
    if (index >= loop.getNumControlOperands()) {
      out.push_back(loop.getRegionIterArgs()[index - loop.getNumControlOperands()]);
      out.push_back(loop.getResult(index - loop.getNumControlOperands()));
    }
  } else if (auto loop = dyn_cast<scf::WhileOp>(user)) {
    out.push_back(loop.getBeforeArguments()[index]);
  } else if (auto condition = dyn_cast<scf::ConditionOp>(user)) {
    auto loop = cast<scf::WhileOp>(condition->getParentOp());
    if (index > 0) {
      out.push_back(loop.getAfterArguments()[index - 1]);
      out.push_back(loop.getResult(index - 1));
    }
  } else if (isa<scf::YieldOp>(user)) {
    Operation *parent = user->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      out.push_back(loop.getRegionIterArgs()[index]);
      out.push_back(loop.getResult(index));
    } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
      out.push_back(loop.getBeforeArguments()[index]);
    } else {
      out.push_back(parent->getResult(index));
    }
  } else if (isa<arith::MulFOp, arith::SelectOp>(user) && isa<RankedTensorType>(user->getResult(0).getType())) {
    out.push_back(user->getResult(0)); // a rescaled partial sum is a partial sum
  } else if (auto sum = dyn_cast<attn::RowSumOp>(user); sum && use.get() == sum.getInit()) {
    out.push_back(sum.getResult());
  }
}

struct Distribute : PassWrapper<Distribute, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Distribute)
  StringRef getArgument() const final { return "attn-distribute"; }
  StringRef getDescription() const final { return "which thread holds which element of every tile"; }

  void runOnOperation() override {
    getOperation().walk([&](attn::KernelOp kernel) {
      if (kernel.getSchedule().getSchedule().rowSum == RowSum::Add)
        makeSumsPartial(kernel);
      assignLayouts(kernel);
    });
  }

  // Row sums stay per lane for the whole loop; the four lanes of a row meet once, behind the outermost loop.
  void makeSumsPartial(attn::KernelOp kernel) {
    llvm::SetVector<Value> partial;
    kernel.walk([&](attn::RowSumOp sum) {
      if (sum.getMma())
        return;
      sum.setPartial(true);
      partial.insert(sum.getResult());
    });
    for (unsigned i = 0; i < partial.size(); ++i) {
      Value value = partial[i];
      for (OpOperand &use : value.getUses()) {
        SmallVector<Value> next;
        flowsInto(use, next);
        for (Value v : next)
          if (!isOutside(v, kernel) || isa<scf::ForOp, scf::WhileOp>(v.getDefiningOp()))
            partial.insert(v);
      }
    }
    OpBuilder builder(kernel.getContext());
    for (Value value : partial) {
      if (!isOutside(value, kernel))
        continue;
      builder.setInsertionPointAfter(value.getDefiningOp());
      auto complete = attn::CompleteRowsOp::create(builder, value.getLoc(), value.getType(), value);
      value.replaceAllUsesExcept(complete, complete);
    }
  }

  /// Defined in the kernel's own block: outside of every loop.
  static bool isOutside(Value value, attn::KernelOp kernel) {
    return value.getDefiningOp() && value.getDefiningOp()->getParentOp() == kernel;
  }

  void assignLayouts(attn::KernelOp kernel) {
    unsigned warps = kernel.getSchedule().getSchedule().warps;
    auto withLayout = [&](Type type) -> Type {
      auto tile = dyn_cast<RankedTensorType>(type);
      if (!tile)
        return type;
      auto placement = tile.getRank() == 1 ? attn::Placement::Rows : attn::Placement::Fragment;
      return RankedTensorType::get(tile.getShape(), tile.getElementType(),
                                   attn::LayoutAttr::get(kernel.getContext(), placement, warps));
    };
    kernel.walk([&](Operation *op) {
      for (Value result : op->getResults())
        result.setType(withLayout(result.getType()));
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            argument.setType(withLayout(argument.getType()));
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
          constant.setValueAttr(
              SplatElementsAttr::get(cast<ShapedType>(constant.getType()), splat.getSplatValue<Attribute>()));
    });
  }
};

} // namespace

std::unique_ptr<Pass> createDistributePass() { return std::make_unique<Distribute>(); }

} // namespace tessera::codegen
