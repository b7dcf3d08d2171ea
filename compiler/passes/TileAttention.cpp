// attn-tile: what one thread block does for one attn.attention, as three loops over KV tiles.
#include "compiler/passes/AttnPasses.h"
#include "compiler/passes/TileBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

#include <limits>

namespace tessera::attn {
#define GEN_PASS_DEF_ATTNTILE
#include "compiler/passes/Passes.h.inc"
} // namespace tessera::attn

using namespace mlir;
using namespace tessera;
using namespace tessera::attn;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The probabilities are exp(weight * (x - max x)), where x = tanh(dot * factor) or dot * factor. Keeping the row max
/// on x, with a positive weight, leaves no multiplication per score where x is the dot itself.
struct ScoreScale {
  double factor, weight;
  bool tanh;

  static ScoreScale of(AttentionOp attention) {
    float scale = attention.getScale().convertToFloat();
    if (auto softcap = attention.getSoftcap()) {
      float cap = softcap->convertToFloat();
      return {scale / cap, cap, true};
    }
    if (scale > 0)
      return {1, scale, false};
    return {scale, 1, false};
  }
};

/// Builds the kernel of one attention. The members are values at the top of the kernel, in scope of all three loops.
class KernelBuilder {
public:
  KernelBuilder(AttentionOp attention, KernelOp kernel, ValueRange tensors);
  void build();

private:
  Value scores(Value column);
  Value probabilities(Value column, Value reference);
  /// A loop over all KV tiles that carries one value; `step` maps (first key of the tile, carried) to the next value.
  Value loop(Value init, llvm::function_ref<Value(Value, Value)> step);

  AttentionOp attention;
  TileBuilder b;
  Location loc;
  Schedule schedule;
  ScoreScale scale;
  ValueRange tensors;
  RankedTensorType rowsType, scoresType, accumulatorType, keyType, valueType;
  ProgramIdOp program;
  Value query, tiles;
};

KernelBuilder::KernelBuilder(AttentionOp attention, KernelOp kernel, ValueRange tensors)
    : attention(attention), b(kernel), loc(attention.getLoc()), schedule(kernel.getSchedule().getSchedule()),
      scale(ScoreScale::of(attention)), tensors(tensors) {
  auto query = cast<RankedTensorType>(attention.getQuery().getType());
  int64_t dim = query.getDimSize(3), valueDim = cast<RankedTensorType>(attention.getValue().getType()).getDimSize(3);
  int64_t tileQ = schedule.tileQ, tileKv = schedule.tileKv;
  rowsType = RankedTensorType::get({tileQ}, b.getF32Type());
  scoresType = RankedTensorType::get({tileQ, tileKv}, b.getF32Type());
  accumulatorType = RankedTensorType::get({tileQ, valueDim}, b.getF32Type());
  keyType = RankedTensorType::get({tileKv, dim}, query.getElementType());
  valueType = RankedTensorType::get({tileKv, valueDim}, query.getElementType());

  program = ProgramIdOp::create(b, loc, schedule.packHeads);
  Value keys = LengthOp::create(b, loc, /*key=*/true);
  Value padded = b.add(keys, b.index(tileKv - 1));
  tiles = arith::DivUIOp::create(b, loc, padded, b.index(tileKv));
  this->query = TileLoadOp::create(b, loc, RankedTensorType::get({tileQ, dim}, query.getElementType()), tensors[0],
                                   program.getBatch(), program.getRow(), program.getHead(), schedule.packHeads);
}

Value KernelBuilder::scores(Value column) {
  Value key = TileLoadOp::create(b, loc, keyType, tensors[1], program.getBatch(), column, program.getKvHead(),
                                 /*packed=*/false);
  Value x = DotOp::create(b, loc, query, key, b.splat(scoresType, 0), /*transposed=*/true, attention.getPrecise());
  x = b.scale(x, scale.factor);
  if (scale.tanh)
    x = math::TanhOp::create(b, loc, x);
  return MaskScoresOp::create(b, loc, x, program.getRow(), column, attention.getBandAttr(), schedule.packHeads);
}

Value KernelBuilder::probabilities(Value column, Value reference) {
  Value x = scores(column);
  return math::ExpOp::create(b, loc, b.scale(b.sub(x, b.expand(reference, scoresType)), scale.weight));
}

Value KernelBuilder::loop(Value init, llvm::function_ref<Value(Value, Value)> step) {
  auto loop = scf::ForOp::create(b, loc, b.index(0), tiles, b.index(1), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(loop.getBody());
  Value column = b.mul(loop.getInductionVar(), b.index(schedule.tileKv));
  Value next = step(column, loop.getRegionIterArg(0));
  scf::YieldOp::create(b, loc, next);
  return loop.getResult(0);
}

void KernelBuilder::build() {
  Value max = loop(b.splat(rowsType, -infinity), [&](Value column, Value max) -> Value {
    return RowMaxOp::create(b, loc, rowsType, scores(column), max);
  });
  // A row that sees no key has max = -inf and only scores of -inf: any finite reference gives it weights of 0, where
  // -inf - -inf would give NaN.
  Value reference = arith::MaxNumFOp::create(b, loc, max, b.lowest(rowsType));
  Value sum = loop(b.splat(rowsType, 0), [&](Value column, Value sum) -> Value {
    return RowSumOp::create(b, loc, probabilities(column, reference), sum);
  });
  Value accumulator = loop(b.splat(accumulatorType, 0), [&](Value column, Value accumulator) -> Value {
    Value p = probabilities(column, reference);
    if (!valueType.getElementType().isF32())
      p = arith::TruncFOp::create(b, loc, scoresType.clone(valueType.getElementType()), p);
    Value value = TileLoadOp::create(b, loc, valueType, tensors[2], program.getBatch(), column, program.getKvHead(),
                                     /*packed=*/false);
    return DotOp::create(b, loc, p, value, accumulator, /*transposed=*/false, attention.getPrecise());
  });

  Value zero = b.splat(rowsType, 0);
  Value empty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, sum, zero);
  Value quotient = arith::DivFOp::create(b, loc, b.splat(rowsType, 1), sum);
  Value inverse = arith::SelectOp::create(b, loc, empty, zero, quotient);
  Value output = b.mul(accumulator, b.expand(inverse, accumulatorType));
  Type outputElement = cast<ShapedType>(attention.getOutput().getType()).getElementType();
  if (!outputElement.isF32())
    output = arith::TruncFOp::create(b, loc, accumulatorType.clone(outputElement), output);
  TileStoreOp::create(b, loc, output, tensors[3], program.getBatch(), program.getRow(), program.getHead(),
                      schedule.packHeads);
  if (attention.getLse()) {
    Value lse = b.add(b.scale(max, scale.weight), math::LogOp::create(b, loc, sum));
    TileStoreOp::create(b, loc, lse, tensors[4], program.getBatch(), program.getRow(), program.getHead(),
                        schedule.packHeads);
  }
  ReturnOp::create(b, loc);
}

/// The tensor in device memory: strides are run-time arguments, and the last dimension of a rank 4 tensor is
/// contiguous.
MemRefType globalType(RankedTensorType type) {
  SmallVector<int64_t> strides(type.getRank(), ShapedType::kDynamic);
  if (type.getRank() == 4)
    strides.back() = 1;
  auto layout = StridedLayoutAttr::get(type.getContext(), /*offset=*/0, strides);
  return MemRefType::get(type.getShape(), type.getElementType(), layout);
}

/// The attention that the function consists of, or null with a diagnostic.
AttentionOp soleAttention(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody())) {
    function.emitError("tile_c1: attn-tile expects a function of one block");
    return {};
  }
  Block &block = function.getBody().front();
  auto attention = dyn_cast<AttentionOp>(block.front());
  if (!attention || attention->getNextNode() != block.getTerminator() ||
      block.getTerminator()->getOperands() != attention->getResults() ||
      attention->getOperands() != ValueRange(block.getArguments())) {
    function.emitError("tile_c1: attn-tile expects a function that returns one attn.attention of its arguments");
    return {};
  }
  return attention;
}

struct TileAttention : tessera::attn::impl::AttnTileBase<TileAttention> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto schedule = module->getAttrOfType<ScheduleAttr>("attn.schedule");
    auto target = module->getAttrOfType<TargetAttr>("attn.target");
    auto accessBytes = module->getAttrOfType<IntegerAttr>("attn.access_bytes");
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (!schedule || !target || !accessBytes) {
        module.emitError("tile_c2: attn-tile needs attn.schedule, attn.target and attn.access_bytes on the module");
        return signalPassFailure();
      }
      AttentionOp attention = soleAttention(function);
      if (!attention)
        return signalPassFailure();
      OpBuilder builder(function);
      auto kernel =
          KernelOp::create(builder, function.getLoc(), function.getSymNameAttr(), schedule, target, accessBytes);
      Block &entry = kernel.getBody().emplaceBlock();
      for (Type type : attention->getOperandTypes())
        entry.addArgument(globalType(cast<RankedTensorType>(type)), function.getLoc());
      for (Type type : attention->getResultTypes())
        entry.addArgument(globalType(cast<RankedTensorType>(type)), function.getLoc());
      KernelBuilder(attention, kernel, entry.getArguments()).build();
      function.erase();
    }
    for (StringRef name : {"attn.schedule", "attn.target", "attn.access_bytes"})
      module->removeAttr(name);
  }
};

} // namespace
