// AttentionSpec to attn.attention.
#include "compiler/passes/BuildAttention.h"

#include "compiler/passes/AttnPasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::attn {
#define GEN_PASS_DEF_ATTNBUILD
#include "compiler/passes/Passes.h.inc"
} // namespace tessera::attn

using namespace mlir;
using namespace tessera;
using namespace tessera::attn;

static Type elementType(Builder &builder, DType type) {
  switch (type) {
  case DType::F16:
    return builder.getF16Type();
  case DType::BF16:
    return builder.getBF16Type();
  case DType::F32:
    return builder.getF32Type();
  }
  llvm_unreachable("all element types are listed");
}

static BandAttr bandOf(MLIRContext *context, const Mask &mask) {
  if (mask.isFull())
    return {};
  return BandAttr::get(context, mask.left, mask.right,
                       mask.align == Align::TopLeft ? BandAlign::TopLeft : BandAlign::BottomRight);
}

OwningOpRef<ModuleOp> tessera::attn::buildAttention(MLIRContext *context, const AttentionSpec &spec,
                                                    const Schedule &schedule, const Target &target) {
  context->loadDialect<AttnDialect, func::FuncDialect>();
  OpBuilder builder(context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  (*module)->setAttr("attn.schedule", ScheduleAttr::get(context, schedule.text()));
  (*module)->setAttr("attn.target", TargetAttr::get(context, target.name));
  (*module)->setAttr("attn.access_bytes", builder.getI64IntegerAttr(spec.accessBytes));

  constexpr int64_t any = ShapedType::kDynamic;
  Type input = elementType(builder, spec.dtype);
  auto qk = RankedTensorType::get({any, any, any, int64_t(spec.headDim)}, input);
  auto v = RankedTensorType::get({any, any, any, int64_t(spec.valueDim)}, input);
  SmallVector<Type> results{v.clone(elementType(builder, spec.outputType()))};
  if (contains(spec.outputs, Output::LSE))
    results.push_back(RankedTensorType::get({any, any, any}, builder.getF32Type()));

  builder.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(builder, loc, "attention", builder.getFunctionType({qk, qk, v}, results));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  auto attention = AttentionOp::create(
      builder, loc, results[0], results.size() > 1 ? results[1] : Type(), entry->getArgument(0), entry->getArgument(1),
      entry->getArgument(2), builder.getF32FloatAttr(spec.effectiveScale()),
      spec.softcap ? builder.getF32FloatAttr(*spec.softcap) : FloatAttr(), bandOf(context, spec.mask),
      spec.dtype == DType::F32 && spec.precision == Precision::Precise ? builder.getUnitAttr() : UnitAttr());
  func::ReturnOp::create(builder, loc, attention->getResults());
  return module;
}

namespace {

struct BuildPass : tessera::attn::impl::AttnBuildBase<BuildPass> {
  using AttnBuildBase::AttnBuildBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto refuse = [&](const Status &status) {
      module.emitError("attn-build: ") << status.text();
      signalPassFailure();
    };
    auto parsedSpec = AttentionSpec::parse(spec);
    if (!parsedSpec)
      return refuse(parsedSpec.status());
    auto parsedTarget = Target::parse(target);
    if (!parsedTarget)
      return refuse(parsedTarget.status());
    Result<Schedule> parsedSchedule =
        schedule.empty() ? Result<Schedule>(defaultSchedule(*parsedSpec, *parsedTarget)) : Schedule::parse(schedule);
    if (!parsedSchedule)
      return refuse(parsedSchedule.status());
    if (Status legal = parsedSchedule->legal(*parsedSpec, *parsedTarget); !legal.ok())
      return refuse(legal);
    OwningOpRef<ModuleOp> built = buildAttention(&getContext(), *parsedSpec, *parsedSchedule, *parsedTarget);
    module->setDiscardableAttrs((*built)->getDiscardableAttrDictionary());
    module.getBody()->getOperations().splice(module.getBody()->end(), built->getBody()->getOperations());
  }
};

} // namespace
