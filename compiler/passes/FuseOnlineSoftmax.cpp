// attn-fuse-online-softmax: reductions weighted by exp(k (x - max x)) join the loop that finds the max.
//
// The identity. Let u(m) = sum_j exp(k (x_j - m)) v_j. It is linear in exp(-k m), so u(m') = u(m) exp(k (m - m')): what
// was summed under an old reference becomes right under a new one by one factor. The row sum is the case v = 1, the
// weighted sum of the values is the other; nothing else about either is used.
#include "compiler/passes/AttnPasses.h"
#include "compiler/passes/OnlineLoop.h"
#include "compiler/passes/TileBuilder.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tessera::attn {
#define GEN_PASS_DEF_ATTNFUSEONLINESOFTMAX
#include "compiler/passes/Passes.h.inc"
} // namespace tessera::attn

using namespace mlir;
using namespace tessera::attn;

namespace {

enum class Mutation { None, NoRescaleU, NoRescaleL, NoGuard, WrongAlpha };

std::optional<Mutation> parseMutation(StringRef name) {
  return llvm::StringSwitch<std::optional<Mutation>>(name)
      .Cases({"none", ""}, Mutation::None)
      .Case("no-rescale-u", Mutation::NoRescaleU)
      .Case("no-rescale-l", Mutation::NoRescaleL)
      .Case("no-guard", Mutation::NoGuard)
      .Case("wrong-alpha", Mutation::WrongAlpha)
      .Default(std::nullopt);
}

/// A sum over tiles that a loop carries: row_sum or dot with the carried value as its init.
struct Reduction {
  Operation *op = nullptr;
  Value weights; ///< the operand in which it is linear
  Value carried;

  static Reduction match(Operation *op) {
    if (auto sum = dyn_cast_or_null<RowSumOp>(op))
      return {op, sum.getValues(), sum.getInit()};
    if (auto dot = dyn_cast_or_null<DotOp>(op))
      return {op, dot.getLhs(), dot.getInit()};
    return {};
  }
};

/// One loop that finds a row max, and the loops after it whose sums are weighted by exp(k (x - max)).
class Fusion {
public:
  Fusion(scf::ForOp first, Mutation mutation) : first(first), mutation(mutation) {}

  /// Nothing to do is not a failure; a loop that comes close but breaks the rule gets a remark.
  bool match();
  void rewrite(KernelOp kernel);
  ArrayRef<scf::ForOp> absorbed() const { return followers; }

private:
  bool matchMaxLoop();
  bool matchFollower(scf::ForOp loop);
  bool collectWeights(Value reference, scf::ForOp loop);
  bool followWeight(Value weight);
  bool refuse(Operation *op, const Twine &why) {
    op->emitRemark("attn-fuse-online-softmax leaves the loops apart: ") << why;
    return false;
  }
  void merge(TileBuilder &b, Block &source, IRMapping &values, Block &target);
  Value alpha(TileBuilder &b, double weight, Value oldMax, Value reference);
  Value rescale(TileBuilder &b, Value carried, double weight, Value oldMax, Value reference);

  scf::ForOp first;
  Mutation mutation;
  RowMaxOp rowMax;
  SmallVector<arith::MaxNumFOp> guards;
  SmallVector<scf::ForOp> followers;
  DenseMap<Operation *, double> weightOf; ///< reductions that depend on the max, and their k
  double currentWeight = 0;
  SmallVector<std::pair<double, Value>> alphas; ///< one factor per k
};

bool readsOnly(scf::ForOp loop) {
  return llvm::all_of(loop.getBody()->without_terminator(), [](Operation &op) {
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    return op.getNumRegions() == 0 && effects && !effects.hasEffect<MemoryEffects::Write>();
  });
}

bool Fusion::matchMaxLoop() {
  if (first.getNumRegionIterArgs() != 1 || !readsOnly(first))
    return false;
  Value carried = first.getRegionIterArg(0);
  rowMax = first.getYieldedValues()[0].getDefiningOp<RowMaxOp>();
  return rowMax && rowMax.getInit() == carried && carried.hasOneUse();
}

/// From a weight to the reductions that take it, through roundings only.
bool Fusion::followWeight(Value weight) {
  for (OpOperand &use : weight.getUses()) {
    Operation *user = use.getOwner();
    if (isa<arith::TruncFOp>(user)) {
      if (!followWeight(user->getResult(0)))
        return false;
      continue;
    }
    Reduction reduction = Reduction::match(user);
    if (!reduction.op || reduction.weights != weight || use.getOperandNumber() != 0)
      return refuse(user, "a weight goes into an op that is not a sum over the keys");
    weightOf[user] = currentWeight;
  }
  return true;
}

/// Checks that the loop uses the reference only as exp(k (x - reference)).
bool Fusion::collectWeights(Value reference, scf::ForOp loop) {
  for (Operation *user : reference.getUsers()) {
    if (!loop->isProperAncestor(user))
      continue;
    if (!isa<ExpandRowsOp>(user))
      return refuse(user, "the row max is used otherwise than in exp(k * (x - max))");
    for (Operation *difference : user->getUsers()) {
      if (!isa<arith::SubFOp>(difference) || difference->getOperand(0) == user->getResult(0))
        return refuse(difference, "the row max is used otherwise than in exp(k * (x - max))");
      for (Operation *next : difference->getUsers()) {
        Operation *exponent = isa<arith::MulFOp>(next) && next->hasOneUse() ? *next->user_begin() : next;
        auto exp = dyn_cast<math::ExpOp>(exponent);
        auto weighted = exp ? WeightedExponent::match(exp) : std::nullopt;
        if (!weighted || weighted->difference != difference)
          return refuse(next, "the row max is used otherwise than in exp(k * (x - max))");
        currentWeight = weighted->weight;
        if (!followWeight(exp))
          return false;
      }
    }
  }
  return true;
}

bool Fusion::matchFollower(scf::ForOp loop) {
  if (!readsOnly(loop))
    return refuse(loop, "a later loop writes or branches");
  if (!collectWeights(first.getResult(0), loop))
    return false;
  for (arith::MaxNumFOp guard : guards)
    if (!collectWeights(guard, loop))
      return false;
  for (auto [carried, yielded] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    Reduction reduction = Reduction::match(yielded.getDefiningOp());
    if (!reduction.op || reduction.carried != carried || !carried.hasOneUse() || !yielded.hasOneUse())
      return refuse(loop, "a carried value is not a sum over the keys");
  }
  for (auto [sum, weight] : weightOf)
    if (sum->getBlock() == loop.getBody() && !llvm::is_contained(loop.getYieldedValues(), sum->getResult(0)))
      return refuse(sum, "a weighted sum is used within its loop");
  return true;
}

bool Fusion::match() {
  if (!matchMaxLoop())
    return false;
  Block *block = first->getBlock();
  for (Operation *user : first.getResult(0).getUsers())
    if (auto guard = dyn_cast<arith::MaxNumFOp>(user); guard && guard->getBlock() == block && isLowest(guard.getRhs()))
      guards.push_back(guard);
  for (Operation *op = first->getNextNode(); op; op = op->getNextNode()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop || loop.getLowerBound() != first.getLowerBound() || loop.getUpperBound() != first.getUpperBound() ||
        loop.getStep() != first.getStep() || loop.getNumResults() == 0)
      continue;
    if (!matchFollower(loop))
      return false;
    followers.push_back(loop);
  }
  if (followers.empty())
    return false;

  // The fused loop stands where the last of them stood: nothing before it may need a result.
  auto usedEarly = [&](Value result) {
    return llvm::any_of(result.getUsers(), [&](Operation *user) {
      Operation *top = block->findAncestorOpInBlock(*user);
      return !llvm::is_contained(guards, top) && !llvm::is_contained(followers, top) &&
             top->isBeforeInBlock(followers.back());
    });
  };
  SmallVector<Value> results(first.getResults());
  llvm::append_range(results, guards);
  for (scf::ForOp loop : followers)
    llvm::append_range(results, loop.getResults());
  if (llvm::any_of(results, usedEarly))
    return refuse(first, "a result is used between the loops");
  return true;
}

/// Clones `source` to the end of `target`; an op that stands there already is not repeated.
void Fusion::merge(TileBuilder &b, Block &source, IRMapping &values, Block &target) {
  for (Operation &op : source.without_terminator()) {
    Operation *copy = b.clone(op, values);
    for (Operation &present : target) {
      if (&present == copy)
        break;
      if (!OperationEquivalence::isEquivalentTo(&present, copy, OperationEquivalence::IgnoreLocations))
        continue;
      values.map(op.getResults(), present.getResults());
      copy->erase();
      break;
    }
  }
}

Value Fusion::alpha(TileBuilder &b, double weight, Value oldMax, Value reference) {
  for (auto [k, factor] : alphas)
    if (k == weight)
      return factor;
  Value growth = mutation == Mutation::WrongAlpha ? b.sub(reference, oldMax) : b.sub(oldMax, reference);
  Value factor = math::ExpOp::create(b, rowMax.getLoc(), b.scale(growth, weight));
  alphas.emplace_back(weight, factor);
  return factor;
}

/// carried * exp(k (old - new)).
Value Fusion::rescale(TileBuilder &b, Value carried, double weight, Value oldMax, Value reference) {
  bool isRows = cast<RankedTensorType>(carried.getType()).getRank() == 1;
  if (mutation == (isRows ? Mutation::NoRescaleL : Mutation::NoRescaleU))
    return carried;
  Value factor = alpha(b, weight, oldMax, reference);
  return b.mul(carried, isRows ? factor : b.expand(factor, carried.getType()));
}

void Fusion::rewrite(KernelOp kernel) {
  TileBuilder b(kernel);
  b.setInsertionPoint(followers.back());
  SmallVector<Value> inits(first.getInitArgs());
  for (scf::ForOp loop : followers)
    llvm::append_range(inits, loop.getInitArgs());
  auto fused =
      scf::ForOp::create(b, first.getLoc(), first.getLowerBound(), first.getUpperBound(), first.getStep(), inits);
  Block &body = *fused.getBody();
  b.setInsertionPointToEnd(&body);

  IRMapping values;
  values.map(first.getInductionVar(), fused.getInductionVar());
  Value oldMax = fused.getRegionIterArg(0);
  values.map(first.getRegionIterArg(0), oldMax);
  merge(b, *first.getBody(), values, body);
  Value newMax = values.lookup(rowMax.getResult());
  Value reference = newMax;
  if (mutation != Mutation::NoGuard)
    reference = arith::MaxNumFOp::create(b, rowMax.getLoc(), newMax, b.lowest(newMax.getType()));
  values.map(first.getResult(0), reference);
  for (arith::MaxNumFOp guard : guards)
    values.map(guard.getResult(), reference);

  SmallVector<Value> yields{newMax};
  unsigned position = 1;
  for (scf::ForOp loop : followers) {
    values.map(loop.getInductionVar(), fused.getInductionVar());
    for (auto [carried, yielded] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues())) {
      Value old = fused.getRegionIterArg(position++);
      auto weight = weightOf.find(yielded.getDefiningOp());
      values.map(carried, weight == weightOf.end() ? old : rescale(b, old, weight->second, oldMax, reference));
    }
    merge(b, *loop.getBody(), values, body);
    for (Value yielded : loop.getYieldedValues())
      yields.push_back(values.lookup(yielded));
  }
  scf::YieldOp::create(b, fused.getLoc(), yields);

  // Results, last loop first: each loop is unused by the time it is erased.
  for (arith::MaxNumFOp guard : guards) {
    if (llvm::all_of(guard->getUsers(), [&](Operation *user) {
          return llvm::any_of(followers, [&](scf::ForOp loop) { return loop->isProperAncestor(user); });
        }))
      continue;
    guard->moveAfter(fused);
    guard->replaceUsesOfWith(first.getResult(0), fused.getResult(0));
  }
  position = fused.getNumResults();
  for (scf::ForOp loop : llvm::reverse(followers)) {
    position -= loop.getNumResults();
    loop->replaceAllUsesWith(fused.getResults().slice(position, loop.getNumResults()));
    loop->erase();
  }
  for (arith::MaxNumFOp guard : guards)
    if (guard.use_empty())
      guard->erase();
  first->replaceAllUsesWith(fused.getResults().take_front(1));
  first->erase();
}

struct FuseOnlineSoftmax : tessera::attn::impl::AttnFuseOnlineSoftmaxBase<FuseOnlineSoftmax> {
  using AttnFuseOnlineSoftmaxBase::AttnFuseOnlineSoftmaxBase;

  void runOnOperation() override {
    std::optional<Mutation> mutation = parseMutation(mutate);
    if (!mutation) {
      getOperation().emitError("attn-fuse-online-softmax knows no mutation '")
          << mutate << "': none, no-rescale-u, no-rescale-l, no-guard, wrong-alpha";
      return signalPassFailure();
    }
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    // A fused loop may take loops of the list with it; it is the last of its group, so later groups are untouched.
    SmallPtrSet<Operation *, 4> gone;
    for (scf::ForOp loop : loops) {
      if (gone.contains(loop))
        continue;
      Fusion fusion(loop, *mutation);
      if (!fusion.match())
        continue;
      gone.insert(fusion.absorbed().begin(), fusion.absorbed().end());
      fusion.rewrite(getOperation());
    }
  }
};

} // namespace
