// Module::load: from PTX text to a decoded program with its variables placed.
#include "runtime/simulator/Machine.h"
#include "runtime/simulator/machine/Interpreter.h"
#include "runtime/simulator/program/Decoder.h"
#include "runtime/simulator/ptx/Parser.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fmt/format.h>

namespace tessera::sim {

namespace program {
Program::~Program() {
  for (uint64_t address : ownedAllocations)
    (void)!memory->free(address).ok();
}
} // namespace program

namespace {

using namespace program;
using ptx::Function;
using ptx::OperandKind;
using ptx::SyntaxTree;
using ptx::Variable;
using ptx::VariableScope;

/// Beyond one activation of each function, for recursion.
constexpr uint32_t recursiveStackBytes = 1 << 14;

class Loader {
public:
  Loader(std::string_view source, const DeviceProfile &profile, GlobalMemory &memory)
      : source_(source), profile_(profile), memory_(memory) {}

  Result<std::unique_ptr<Program>> run() {
    auto tree = ptx::parse(source_);
    if (!tree)
      return tree.status();
    tree_ = std::move(*tree);
    program_ = std::make_unique<Program>();
    program_->memory = &memory_;
    program_->major = tree_.major;
    program_->minor = tree_.minor;
    program_->target = tree_.target;
    for (Status (Loader::*step)() :
         {&Loader::checkTarget, &Loader::placeGlobals, &Loader::placeShared, &Loader::decode, &Loader::describeKernels})
      if (Status status = (this->*step)(); !status)
        return status;
    return std::move(program_);
  }

private:
  Status error(uint32_t line, std::string what) const {
    return Status(Code::CompileError, fmt::format("PTX line {}: {}\n  {}", line, what, ptx::lineText(source_, line)));
  }

  /// sm_80 runs on every later device; sm_90a on compute capability 9.0 only; sm_100f on 10.x.
  Status checkTarget() {
    std::string_view target = tree_.target;
    unsigned version = 0;
    char suffix = 0;
    if (target.starts_with("sm_")) {
      auto [end, code] = std::from_chars(target.data() + 3, target.data() + target.size(), version);
      size_t rest = static_cast<size_t>(target.data() + target.size() - end);
      if (code != std::errc() || rest > 1)
        version = 0;
      else if (rest == 1)
        suffix = *end;
    }
    if (!version || (suffix && suffix != 'a' && suffix != 'f'))
      return Status(Code::CompileError, fmt::format("'.target {}' is not an architecture", target));
    unsigned device = profile_.major * 10 + profile_.minor;
    bool fits = suffix == 'a'   ? version == device
                : suffix == 'f' ? version / 10 == device / 10 && version <= device
                                : version <= device;
    if (!fits)
      return Status(
          Code::CompileError,
          fmt::format("a module for {} does not run on {} ({})", target, profile_.name, profile_.architecture),
          "compile it for the device's architecture, or choose another device");
    if (version < 70)
      return Status(Code::CompileError,
                    fmt::format("'.target {}' is older than sm_70, the oldest that is supported", target));
    layout_.tree = &tree_;
    layout_.smVersion = version;
    layout_.archSpecific = suffix == 'a';
    // Numerics and shared addresses follow the device that runs the module.
    program_->smVersion = device;
    return {};
  }

  Status placeGlobals() {
    layout_.variableAddress.assign(tree_.variables.size(), 0);
    for (size_t i = 0; i < tree_.variables.size(); ++i) {
      const Variable &variable = tree_.variables[i];
      if (variable.space == Space::Shared)
        continue;
      if (variable.external)
        return error(variable.line,
                     fmt::format("variable '{}' is .extern and not defined in this module", variable.name));
      uint64_t bytes = std::max<uint64_t>(variable.size, 1);
      auto address = memory_.allocate(bytes, std::max<uint64_t>(variable.alignment, 256),
                                      fmt::format("variable {}", variable.name));
      if (!address)
        return address.status();
      program_->ownedAllocations.push_back(*address);
      layout_.variableAddress[i] = *address;
      program_->globals.push_back({variable.name, *address, variable.size});
    }
    for (size_t i = 0; i < tree_.variables.size(); ++i) {
      const Variable &variable = tree_.variables[i];
      if (variable.space == Space::Shared)
        continue;
      // Variables without initial value start as zero.
      if (Status status = memory_.fill(layout_.variableAddress[i], 0, 1, std::max<uint64_t>(variable.size, 1)); !status)
        return status;
      if (variable.initial.empty())
        continue;
      std::vector<uint8_t> bytes = variable.initial;
      for (const ptx::Relocation &relocation : variable.relocations)
        if (Status status = relocate(relocation, bytes); !status)
          return status;
      if (Status status = memory_.write(layout_.variableAddress[i], bytes.data(), bytes.size()); !status)
        return status;
    }
    return {};
  }

  Status relocate(const ptx::Relocation &relocation, std::vector<uint8_t> &bytes) {
    uint64_t value = 0;
    bool found = false;
    for (size_t i = 0; i < tree_.variables.size() && !found; ++i)
      if (tree_.variables[i].name == relocation.symbol) {
        if (tree_.variables[i].space == Space::Shared)
          return error(relocation.line,
                       fmt::format("the address of shared variable '{}' is not a constant", relocation.symbol));
        value = layout_.variableAddress[i];
        found = true;
      }
    for (size_t i = 0; i < tree_.functions.size() && !found; ++i)
      if (tree_.functions[i].name == relocation.symbol) {
        value = functionAddressBase + i;
        found = true;
      }
    if (!found)
      return error(relocation.line, fmt::format("'{}' is not declared", relocation.symbol));
    value += static_cast<uint64_t>(relocation.addend);
    if (relocation.mask != ~0ull)
      value = (value & relocation.mask) >> std::countr_zero(relocation.mask ? relocation.mask : 1);
    std::memcpy(bytes.data() + relocation.offset, &value, std::min<size_t>(relocation.size, 8));
    return {};
  }

  // Shared variables. Those that device functions use, or that several kernels share with them, get one place for the
  // whole module; those of one kernel are placed behind it, kernel by kernel.
  static uint64_t alignUp(uint64_t at, uint64_t alignment) { return (at + alignment - 1) & ~(alignment - 1); }

  void collectModuleVariables(const ptx::Operand &operand, std::vector<bool> &used) const {
    if (operand.kind == OperandKind::Variable && operand.scope == VariableScope::Module)
      used[operand.index] = true;
    for (const ptx::Operand &element : operand.elements)
      collectModuleVariables(element, used);
  }

  Status placeShared() {
    sharedBase_ = program_->smVersion >= 90 ? 1024 : 0; // the system keeps the first KiB there
    size_t functions = tree_.functions.size();
    std::vector<std::vector<bool>> used(functions, std::vector<bool>(tree_.variables.size(), false));
    std::vector<bool> common(tree_.variables.size(), false);
    for (size_t f = 0; f < functions; ++f) {
      for (const ptx::Instruction &instruction : tree_.functions[f].body)
        for (const ptx::Operand &operand : instruction.operands)
          collectModuleVariables(operand, used[f]);
      if (!tree_.functions[f].kernel)
        for (size_t v = 0; v < common.size(); ++v)
          common[v] = common[v] || used[f][v];
    }
    addresses_.assign(functions, layout_.variableAddress);
    local_.assign(functions, {});
    placed_.assign(functions, {});
    end_.assign(functions, sharedBase_);
    dynamicAlignment_.assign(functions, 16);
    uint64_t commonEnd = sharedBase_;
    std::vector<PlacedVariable> commonPlaced;
    auto isDynamic = [](const Variable &v) { return v.external && (v.unsizedArray || v.size == 0); };
    auto put = [&](const Variable &variable, uint64_t &end, std::vector<PlacedVariable> &placed) {
      uint64_t at = alignUp(end, std::max(variable.alignment, 1u));
      end = at + variable.size;
      placed.push_back({variable.name, static_cast<uint32_t>(at), static_cast<uint32_t>(variable.size)});
      return at;
    };
    for (size_t v = 0; v < tree_.variables.size(); ++v) {
      const Variable &variable = tree_.variables[v];
      if (variable.space != Space::Shared || isDynamic(variable) || !common[v])
        continue;
      if (variable.size > (1 << 20))
        return error(variable.line, fmt::format("shared variable '{}' of {} bytes exceeds every device", variable.name,
                                                variable.size));
      uint64_t at = put(variable, commonEnd, commonPlaced);
      for (auto &addresses : addresses_)
        addresses[v] = at;
    }
    for (size_t f = 0; f < functions; ++f) {
      if (tree_.functions[f].kernel)
        continue;
      for (const Variable &variable : tree_.functions[f].variables)
        local_[f].push_back(variable.space == Space::Shared ? put(variable, commonEnd, commonPlaced) : 0);
    }
    for (size_t f = 0; f < functions; ++f) {
      const Function &function = tree_.functions[f];
      if (!function.kernel)
        continue;
      bool calls = std::any_of(function.body.begin(), function.body.end(),
                               [](const ptx::Instruction &i) { return i.opcode == "call"; });
      bool usesCommon = calls;
      for (size_t v = 0; v < tree_.variables.size(); ++v)
        usesCommon |= common[v] && used[f][v] && tree_.variables[v].space == Space::Shared;
      uint64_t end = usesCommon ? commonEnd : sharedBase_;
      if (usesCommon)
        placed_[f] = commonPlaced;
      for (size_t v = 0; v < tree_.variables.size(); ++v) {
        const Variable &variable = tree_.variables[v];
        if (variable.space == Space::Shared && !isDynamic(variable) && !common[v] && used[f][v])
          addresses_[f][v] = put(variable, end, placed_[f]);
      }
      for (const Variable &variable : function.variables)
        local_[f].push_back(variable.space == Space::Shared ? put(variable, end, placed_[f]) : 0);
      if (end > (1 << 24))
        return error(function.line, fmt::format("the shared variables of '{}' take {} bytes", function.name, end));
      end_[f] = end;
    }
    // All unsized .extern arrays begin together behind the static variables. Device functions may be called by several
    // kernels: the place must then be one for all.
    uint64_t alignment = 16, latest = 0;
    bool functionsUseDynamic = false;
    for (size_t v = 0; v < tree_.variables.size(); ++v)
      if (tree_.variables[v].space == Space::Shared && isDynamic(tree_.variables[v])) {
        alignment = std::max<uint64_t>(alignment, tree_.variables[v].alignment);
        functionsUseDynamic |= common[v];
      }
    for (size_t f = 0; f < functions; ++f)
      latest = std::max(latest, end_[f]);
    dynamicBase_.assign(functions, 0);
    for (size_t f = 0; f < functions; ++f) {
      dynamicBase_[f] = alignUp(functionsUseDynamic ? latest : end_[f], alignment);
      for (size_t v = 0; v < tree_.variables.size(); ++v)
        if (tree_.variables[v].space == Space::Shared && isDynamic(tree_.variables[v]))
          addresses_[f][v] = dynamicBase_[f];
    }
    return {};
  }

  Status decode() {
    program_->functions.resize(tree_.functions.size());
    for (uint32_t f = 0; f < tree_.functions.size(); ++f) {
      program_->functions[f].name = tree_.functions[f].name;
      if (!tree_.functions[f].defined)
        continue;
      layout_.variableAddress = addresses_[f];
      Decoder decoder(layout_, *program_, f, local_[f]);
      if (Status status = decoder.run(); !status)
        return status;
      std::string what;
      uint32_t instruction = 0;
      if (!machine::bindHandlers(program_->functions[f], what, instruction)) {
        const SourceInstruction &source = program_->instructions[instruction];
        return Status(Code::CompileError, fmt::format("PTX line {}: {}\n  {}", source.line, what, source.text));
      }
    }
    return {};
  }

  /// Bytes of the deepest chain of activations below `f`; a recursive one counts once.
  uint64_t localDepth(uint32_t f, std::vector<uint8_t> &state, bool &recursive) const {
    if (state[f] == 1) {
      recursive = true;
      return 0;
    }
    state[f] = 1;
    uint64_t deepest = 0;
    for (uint32_t callee : program_->functions[f].callees)
      deepest = std::max(deepest, localDepth(callee, state, recursive));
    state[f] = 0;
    return deepest + program_->functions[f].localBytes;
  }

  void reach(uint32_t f, std::vector<bool> &reached) const {
    if (reached[f])
      return;
    reached[f] = true;
    for (uint32_t callee : program_->functions[f].callees)
      reach(callee, reached);
  }

  /// Blocks that read what others write in the same launch must run in a fixed order.
  static bool communicates(const Op &op) {
    bool global = op.space == Space::Generic || op.space == Space::Global;
    if (!global)
      return false;
    if (op.code == Opcode::Atom)
      return true;
    if (op.code == Opcode::Red)
      return ptx::isFloat(op.type) || op.type == Type::F16x2 || op.type == Type::BF16x2;
    return op.code == Opcode::Ld && op.order != Order::Weak && op.scope != Scope::Block;
  }

  /// Peak pressure and a few for addresses and the call frame, within what the kernel's directives leave to the
  /// assembler (it spills above that).
  uint32_t estimateRegisters(uint32_t pressure, const KernelInfo &info) const {
    uint32_t estimate = std::clamp((pressure + 8 + 7) / 8 * 8, 16u, profile_.limits.registersPerThread.value);
    if (info.maxRegisters)
      estimate = std::min(estimate, info.maxRegisters);
    uint32_t warps = (info.maxThreads + 31) / 32 * std::max(info.minBlocksPerSm, 1u);
    if (warps)
      estimate = std::min(estimate, std::max(profile_.limits.registersPerSm / (warps * 32) / 8 * 8, 16u));
    return estimate;
  }

  Status describeKernels() {
    for (uint32_t f = 0; f < tree_.functions.size(); ++f) {
      const Function &function = tree_.functions[f];
      if (!function.kernel || !function.defined)
        continue;
      DecodedKernel kernel;
      kernel.function = f;
      KernelInfo &info = kernel.info;
      info.name = function.name;
      uint64_t at = 0;
      for (const Variable &parameter : function.parameters) {
        at = alignUp(at, parameter.alignment);
        info.parameters.push_back(
            {parameter.name, static_cast<uint32_t>(at), static_cast<uint32_t>(parameter.size), parameter.alignment});
        at += parameter.size;
      }
      if (at > 32764)
        return error(function.line,
                     fmt::format("the parameters of '{}' take {} bytes; 32764 is the most", function.name, at));
      info.parameterBytes = static_cast<uint32_t>(at);
      kernel.sharedBase = sharedBase_;
      kernel.staticSharedEnd = static_cast<uint32_t>(end_[f]);
      kernel.dynamicSharedBase = static_cast<uint32_t>(dynamicBase_[f]);
      kernel.shared = placed_[f];
      info.staticSharedBytes = kernel.staticSharedEnd - sharedBase_;
      std::vector<bool> reached(tree_.functions.size(), false);
      reach(f, reached);
      uint32_t pressure = 0;
      for (uint32_t g = 0; g < reached.size(); ++g) {
        if (!reached[g])
          continue;
        pressure = std::max(pressure, program_->functions[g].registerPressure);
        for (const Op &op : program_->functions[g].ops)
          kernel.orderSensitive |= communicates(op);
      }
      std::vector<uint8_t> state(tree_.functions.size(), 0);
      uint64_t local = localDepth(f, state, kernel.recursive);
      kernel.localBytes = static_cast<uint32_t>(local) + (kernel.recursive ? recursiveStackBytes : 0);
      info.localBytesPerThread = static_cast<uint32_t>(local);
      info.requiredThreads = function.requiredThreads;
      info.requiredCluster = function.requiredCluster;
      const auto &most = function.requiredThreads[0] ? function.requiredThreads : function.maxThreads;
      info.maxThreads = most[0] * most[1] * most[2];
      info.minBlocksPerSm = function.minBlocks;
      info.maxRegisters = function.maxRegisters;
      info.registersPerThread = estimateRegisters(pressure, info);
      program_->kernelInfos.push_back(info);
      program_->kernels.push_back(std::move(kernel));
    }
    return {};
  }

  std::string_view source_;
  const DeviceProfile &profile_;
  GlobalMemory &memory_;
  SyntaxTree tree_;
  ModuleLayout layout_;
  std::unique_ptr<Program> program_;
  uint32_t sharedBase_ = 0;
  std::vector<std::vector<uint64_t>> addresses_, local_; ///< by function
  std::vector<std::vector<PlacedVariable>> placed_;
  std::vector<uint64_t> end_, dynamicBase_, dynamicAlignment_;
};

} // namespace

Result<std::unique_ptr<Module>> Module::load(std::string_view ptx, const DeviceProfile &profile, GlobalMemory &memory) {
  auto program = Loader(ptx, profile, memory).run();
  if (!program)
    return program.status();
  auto module = std::unique_ptr<Module>(new Module);
  module->program_ = std::move(*program);
  return module;
}

Module::~Module() = default;

const std::vector<KernelInfo> &Module::kernels() const { return program_->kernelInfos; }
const std::vector<GlobalInfo> &Module::globals() const { return program_->globals; }
unsigned Module::ptxMajor() const { return program_->major; }
unsigned Module::ptxMinor() const { return program_->minor; }
const std::string &Module::target() const { return program_->target; }

const KernelInfo *Module::findKernel(std::string_view name) const {
  for (const KernelInfo &kernel : program_->kernelInfos)
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

const GlobalInfo *Module::findGlobal(std::string_view name) const {
  for (const GlobalInfo &global : program_->globals)
    if (global.name == name)
      return &global;
  return nullptr;
}

} // namespace tessera::sim
