// attn-to-nvvm: one attn.kernel becomes one function of the LLVM dialect with its shared memory and launch bounds.
#include "codegen/KernelEmitter.h"
#include "codegen/Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
namespace tessera::codegen {
namespace {

struct ToNvvm : PassWrapper<ToNvvm, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ToNvvm)
  StringRef getArgument() const final { return "attn-to-nvvm"; }
  StringRef getDescription() const final {
    return "tiles become the registers of one thread, dots become MMA instructions";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  }

  void runOnOperation() override {
    SmallVector<attn::KernelOp> kernels(getOperation().getOps<attn::KernelOp>());
    for (attn::KernelOp kernel : kernels) {
      if (failed(lower(kernel)))
        return signalPassFailure();
      kernel.erase();
    }
  }

  LogicalResult lower(attn::KernelOp kernel) {
    MLIRContext *context = &getContext();
    OpBuilder builder(kernel);
    // External, so that its size is the launch's dynamic shared memory; 1024 keeps every swizzle pattern at its repeat.
    auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
    auto shared = LLVM::GlobalOp::create(builder, kernel.getLoc(), bytes, /*isConstant=*/false, LLVM::Linkage::External,
                                         "shared_memory", Attribute(), /*alignment=*/1024, /*addrSpace=*/3);
    SmallVector<Type> types;
    const Schedule schedule = kernel.getSchedule().getSchedule();
    for (const Parameter &parameter : kernelParameters(schedule))
      types.push_back(parameter.type == "ptr"   ? Type(LLVM::LLVMPointerType::get(context, 1))
                      : parameter.type == "i64" ? Type(builder.getI64Type())
                                                : Type(builder.getI32Type()));
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
    auto function = LLVM::LLVMFuncOp::create(builder, kernel.getLoc(), kernel.getSymName(), type);
    unsigned threads = 32 * schedule.warps;
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
    function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), builder.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), builder.getI32IntegerAttr(1));
    return KernelEmitter(kernel, function, shared).emit();
  }
};

} // namespace

std::unique_ptr<Pass> createToNvvmPass() { return std::make_unique<ToNvvm>(); }

void registerCodegenPasses() {
  registerPass([] { return createDistributePass(); });
  registerPass([] { return createAmperePipelinePass(); });
  registerPass([] { return createToNvvmPass(); });
}

} // namespace tessera::codegen
