// Runs the stages in order, writes, replaces and stops at them, and packs what they made into an image.
#include "compiler/Compiler.h"

#include "codegen/KernelEmitter.h"
#include "codegen/ptx/Assembler.h"
#include "codegen/ptx/Ptx.h"
#include "compiler/Pipeline.h"
#include "compiler/passes/AttnPasses.h"
#include "compiler/passes/BuildAttention.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>
#include <fstream>
#include <sstream>

namespace tessera {
namespace {

class Compile {
public:
  Compile(const AttentionSpec &spec, const Schedule &schedule, const Target &target, const CompileOptions &options)
      : spec_(spec), schedule_(schedule), target_(target), options_(options),
        context_(makeRegistry(), mlir::MLIRContext::Threading::DISABLED) {}

  Result<CompileResult> run() {
    mlir::ScopedDiagnosticHandler handler(&context_, [&](mlir::Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
        diagnostics_ += (diagnostics_.empty() ? "" : "\n") + diagnostic.str();
      return mlir::success();
    });
    // Without a handler of its own LLVM ends the process at the first error.
    llvmContext_.setDiagnosticHandlerCallBack(
        [](const llvm::DiagnosticInfo *info, void *self) { static_cast<Compile *>(self)->collect(*info); }, this);
    Status status = options_.overrideStage ? runGuarded() : runStages();
    if (!status)
      return status;
    return CompileResult{std::move(bytes_), std::move(warnings_)};
  }

  /// After a crash the contexts are in no state to be destroyed.
  bool crashed() const { return crashed_; }

private:
  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    attn::registerTileDialects(registry);
    registry.insert<mlir::LLVM::LLVMDialect, mlir::NVVM::NVVMDialect>();
    mlir::registerBuiltinDialectTranslation(registry);
    mlir::registerLLVMDialectTranslation(registry);
    mlir::registerNVVMDialectTranslation(registry);
    return registry;
  }

  void collect(const llvm::DiagnosticInfo &info) {
    if (info.getSeverity() != llvm::DS_Error)
      return;
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    diagnostics_ += (diagnostics_.empty() ? "" : "\n") + text;
    llvmFailed_ = true;
  }

  Status fail(const std::string &what) const {
    return Status(Code::CompileError, what + (diagnostics_.empty() ? "" : ": " + diagnostics_));
  }

  /// A file of the user's can hold what LLVM aborts on (an instruction that the target lacks); that must not end the
  /// caller's process.
  Status runGuarded() {
    Status status;
    llvm::CrashRecoveryContext::Enable();
    bool survived = llvm::CrashRecoveryContext().RunSafely([&] { status = runStages(); });
    llvm::CrashRecoveryContext::Disable();
    if (survived)
      return status;
    crashed_ = true;
    return fail(fmt::format("LLVM cannot select an operation of '{}', given as stage '{}', for {}",
                            options_.overrideFile, describe(*options_.overrideStage).name, target_.name));
  }

  Status runStages() {
    for (Stage stage : {Stage::Attn, Stage::Tiled, Stage::Online, Stage::Scheduled, Stage::Nvvm, Stage::Llvm,
                        Stage::Ptx, Stage::Cubin}) {
      if (Status status = reach(stage); !status)
        return status;
      if (stage == options_.emit) {
        bytes_ = stageText(stage);
        return {};
      }
    }
    return packImage();
  }

  /// Runs what leads to a stage, or reads the file that replaces it, and writes the stage to its folder.
  Status reach(Stage stage) {
    Status status = options_.overrideStage == stage ? replace(stage) : produce(stage);
    if (!status)
      return status;
    if (!options_.stagesFolder.empty())
      return writeStage(stage);
    return {};
  }

  Status produce(Stage stage) {
    switch (stage) {
    case Stage::Attn:
      module_ = attn::buildAttention(&context_, spec_, schedule_, target_);
      return module_ ? Status() : fail("cannot state the problem");
    case Stage::Tiled:
    case Stage::Online:
    case Stage::Scheduled:
    case Stage::Nvvm: {
      mlir::PassManager manager(&context_);
      manager.enableVerifier(stage == Stage::Scheduled || options_.overrideStage.has_value());
      addPassesTo(stage, manager, schedule_, options_.mutate);
      return mlir::succeeded(manager.run(*module_))
                 ? Status()
                 : fail(fmt::format("the passes to stage '{}' failed", describe(stage).name));
    }
    case Stage::Llvm:
      llvm_ = mlir::translateModuleToLLVMIR(*module_, llvmContext_);
      if (!llvm_)
        return fail("translation to LLVM IR failed");
      return codegen::optimize(*llvm_, target_);
    case Stage::Ptx: {
      auto ptx = codegen::emitPtx(*llvm_, target_);
      if (!ptx)
        return ptx.status();
      if (llvmFailed_)
        return fail("LLVM cannot emit PTX for " + std::string(target_.name));
      ptx_ = std::move(*ptx);
      return {};
    }
    case Stage::Cubin:
      return assemble();
    case Stage::Image:
      break;
    }
    return {};
  }

  Status assemble() {
    const codegen::Assembler &assembler = codegen::Assembler::instance();
    if (!assembler.available()) {
      if (options_.emit == Stage::Cubin)
        return Status(
            Code::Unsupported, "no cubin without an assembler: " + assembler.why(),
            "set TESSERA_CUDA_PATH, or ask for --emit ptx or image (the driver assembles an image without a cubin)");
      warnings_ = "the image holds PTX only: " + assembler.why();
      return {};
    }
    auto assembly = assembler.assemble(ptx_, target_);
    if (!assembly)
      return assembly.status();
    assembly_ = std::move(*assembly);
    return {};
  }

  Status replace(Stage stage) {
    std::ifstream file(options_.overrideFile, std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    if (!file)
      return Status(Code::File,
                    fmt::format("cannot read '{}' to replace stage '{}'", options_.overrideFile, describe(stage).name));
    std::string text = content.str();
    if (stage == Stage::Ptx) {
      ptx_ = std::move(text);
    } else if (stage == Stage::Llvm) {
      llvm::SMDiagnostic error;
      llvm_ = llvm::parseIR(llvm::MemoryBufferRef(text, options_.overrideFile), error, llvmContext_);
      if (!llvm_)
        return Status(Code::CompileError,
                      fmt::format("{}:{}: {}", options_.overrideFile, error.getLineNo(), error.getMessage().str()));
    } else if (stage < Stage::Llvm) {
      module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_, options_.overrideFile);
      if (!module_)
        return fail(fmt::format("'{}' is no module of stage '{}'", options_.overrideFile, describe(stage).name));
    } else {
      return Status(Code::Unsupported, fmt::format("stage '{}' cannot be replaced", describe(stage).name),
                    "replace one of attn, tiled, online, scheduled, nvvm, llvm, ptx");
    }
    return {};
  }

  std::string stageText(Stage stage) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    if (stage <= Stage::Nvvm)
      module_->print(stream);
    else if (stage == Stage::Llvm)
      llvm_->print(stream, nullptr);
    else
      return stage == Stage::Ptx ? ptx_ : assembly_.cubin;
    return text;
  }

  Status writeStage(Stage stage) {
    auto write = [&](std::string_view name, const std::string &text) -> Status {
      std::string path = options_.stagesFolder + "/" + std::string(name);
      std::ofstream file(path, std::ios::binary);
      file << text;
      return file ? Status() : Status(Code::File, fmt::format("cannot write stage file '{}'", path));
    };
    Status status = write(describe(stage).file, stageText(stage));
    if (status && stage == Stage::Cubin)
      status = write("assembler.log", assembly_.log + "\n");
    return status;
  }

  Status packImage() {
    const codegen::Assembler &assembler = codegen::Assembler::instance();
    KernelImage image;
    image.spec = spec_;
    image.schedule = schedule_;
    image.target = std::string(target_.name);
    image.entry = "attention";
    for (const codegen::Parameter &parameter : codegen::kernelParameters(schedule_))
      image.parameters.push_back({parameter.name.str(), *parseParameterType(std::string_view(parameter.type))});
    image.grid = gridRuleOf(schedule_);
    image.tileQ = schedule_.tileQ;
    image.blockThreads = schedule_.warps * 32;
    image.dynamicSharedBytes = uint32_t(schedule_.sharedBytes(spec_));
    if (!assembly_.cubin.empty()) {
      image.registers = assembly_.registers;
      image.spillBytes = assembly_.spillBytes;
      image.cubin.assign(assembly_.cubin.begin(), assembly_.cubin.end());
    }
    image.assemblerLog = assembly_.log;
    image.ptxVersion = target_.ptxVersion;
    image.toolVersions = {{"llvm", LLVM_VERSION_STRING}, {"assembler", assembler.name()}};
    image.buildId = compilerBuildId();
    image.keyText = ImageKey{image.buildId, spec_, schedule_, image.target, assembler.name(), options_.mutate}.text();
    image.ptx = std::move(ptx_);
    auto serialized = image.serialize();
    if (!serialized)
      return serialized.status();
    bytes_ = std::move(*serialized);
    return {};
  }

  const AttentionSpec &spec_;
  const Schedule &schedule_;
  const Target &target_;
  const CompileOptions &options_;
  mlir::MLIRContext context_;
  llvm::LLVMContext llvmContext_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::unique_ptr<llvm::Module> llvm_;
  std::string ptx_;
  codegen::Assembly assembly_;
  std::string diagnostics_, warnings_, bytes_;
  bool llvmFailed_ = false, crashed_ = false;
};

} // namespace

Result<CompileResult> compile(const AttentionSpec &spec, const Schedule &schedule, const Target &target,
                              const CompileOptions &options) {
  if (Status status = spec.validate(); !status)
    return status;
  if (Status status = schedule.legal(spec, target); !status)
    return status;
  auto compile = std::make_unique<Compile>(spec, schedule, target, options);
  Result<CompileResult> result = compile->run();
  if (compile->crashed()) [[maybe_unused]]
    Compile *leaked = compile.release();
  return result;
}

} // namespace tessera
