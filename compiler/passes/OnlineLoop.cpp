// Recognition of the online softmax loop.
#include "compiler/passes/OnlineLoop.h"

#include "compiler/passes/TileBuilder.h"

using namespace mlir;
using namespace tessera::attn;

Value WeightedExponent::reference() {
  Value reference = difference.getRhs();
  if (auto expand = reference.getDefiningOp<ExpandRowsOp>())
    return expand.getRows();
  return reference;
}

std::optional<WeightedExponent> WeightedExponent::match(math::ExpOp exp) {
  double weight = 1;
  Value argument = exp.getOperand();
  if (auto product = argument.getDefiningOp<arith::MulFOp>()) {
    auto factor = splatValue(product.getRhs());
    if (!factor || !(*factor > 0))
      return std::nullopt;
    weight = *factor;
    argument = product.getLhs();
  }
  auto difference = argument.getDefiningOp<arith::SubFOp>();
  if (!difference)
    return std::nullopt;
  bool rows = cast<RankedTensorType>(exp.getType()).getRank() == 1;
  if (!rows && !difference.getRhs().getDefiningOp<ExpandRowsOp>())
    return std::nullopt;
  return WeightedExponent{exp, difference, weight};
}

std::optional<OnlineLoop> OnlineLoop::match(scf::ForOp loop) {
  OnlineLoop online{loop, 0, {}, {}, {}, {}};
  for (auto [position, yielded] : llvm::enumerate(loop.getYieldedValues())) {
    auto rowMax = yielded.getDefiningOp<RowMaxOp>();
    if (rowMax && rowMax.getInit() == loop.getRegionIterArg(position)) {
      online.carriedMax = position;
      online.rowMax = rowMax;
    }
  }
  if (!online.rowMax)
    return std::nullopt;
  online.reference = online.rowMax.getResult();
  for (Operation *user : online.rowMax->getUsers())
    if (auto guard = dyn_cast<arith::MaxNumFOp>(user); guard && isLowest(guard.getRhs()))
      online.reference = guard;

  SmallPtrSet<Value, 4> factors;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (auto exp = dyn_cast<math::ExpOp>(op); exp && cast<RankedTensorType>(exp.getType()).getRank() == 1) {
      if (auto alpha = WeightedExponent::match(exp)) {
        online.alphas.push_back(*alpha);
        factors.insert(exp.getResult());
      }
    } else if (auto expand = dyn_cast<ExpandRowsOp>(op); expand && factors.contains(expand.getRows())) {
      factors.insert(expand.getResult());
    } else if (auto product = dyn_cast<arith::MulFOp>(op);
               product && factors.contains(product.getRhs()) && isa<BlockArgument>(product.getLhs())) {
      online.rescales.push_back(product);
    }
  }
  return online;
}

Value tessera::attn::headEdges(scf::ForOp loop) {
  for (auto branch : loop.getBody()->getOps<scf::IfOp>()) {
    if (branch.thenBlock()->getOps<MaskScoresOp>().empty())
      continue;
    Value condition = branch.getCondition();
    if (auto either = condition.getDefiningOp<arith::OrIOp>())
      condition = either.getLhs();
    auto compare = condition.getDefiningOp<arith::CmpIOp>();
    if (compare && compare.getPredicate() == arith::CmpIPredicate::slt && compare.getLhs() == loop.getInductionVar())
      return compare.getRhs();
  }
  return {};
}
