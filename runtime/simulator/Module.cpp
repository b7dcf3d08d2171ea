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

/// The PTX version whose manual this simulator follows.
constexpr unsigned newestMajor = 9, newestMinor = 0;

/// Of all variables of a module together; they take real memory at load.
constexpr uint64_t mostModuleBytes = uint64_t(1) << 28;

/// Far above what any device has; the launch checks the device's limits.
constexpr uint64_t mostSharedBytes = 1 << 20, mostLocalBytes = 1 << 19;
constexpr uint32_t mostThreads = 1 << 30;

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
    for (Status (Loader::*step)() : {&Loader::checkVersion, &Loader::checkTarget, &Loader::placeGlobals,
                                     &Loader::placeShared, &Loader::decode, &Loader::describeKernels})
      if (Status status = (this->*step)(); !status)
        return status;
    return std::move(program_);
  }

private:
  Status error(uint32_t line, std::string what, std::string hint = {}) const {
    return Status(Code::CompileError, fmt::format("PTX line {}: {}\n  {}", line, what, ptx::lineText(source_, line)),
                  std::move(hint));
  }

  /// PTX is upward compatible: a newer version may hold nothing that is new.
  Status checkVersion() {
    if (tree_.major > newestMajor || (tree_.major == newestMajor && tree_.minor > newestMinor))
      program_->warnings.push_back(fmt::format(
          "PTX {}.{} is newer than {}.{}, the newest that this simulator knows; what is new in it is refused",
          tree_.major, tree_.minor, newestMajor, newestMinor));
    return {};
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
    uint32_t line = tree_.targetLine;
    if (!version || (suffix && suffix != 'a' && suffix != 'f'))
      return error(line, fmt::format("'.target {}' is not an architecture", target));
    unsigned device = profile_.major * 10 + profile_.minor;
    bool fits = suffix == 'a'   ? version == device
                : suffix == 'f' ? version / 10 == device / 10 && version <= device
                                : version <= device;
    if (!fits)
      return error(line,
                   fmt::format("a module for {} does not run on {} ({})", target, profile_.name, profile_.architecture),
                   "compile it for the device's architecture, or choose another device");
    if (suffix)
      return error(line,
                   fmt::format("modules for {} are not supported yet: this simulator does not have the instructions "
                               "of that target alone (wgmma, bulk copies, tensor maps, clusters, tcgen05)",
                               target),
                   fmt::format("compile it for sm_80 or sm_{}", version));
    if (version < 70)
      return error(line, fmt::format("'.target {}' is older than sm_70, the oldest that is supported", target));
    layout_.tree = &tree_;
    layout_.smVersion = version;
    // Numerics and shared addresses follow the device that runs the module.
    program_->smVersion = device;
    return {};
  }

  Status placeGlobals() {
    layout_.variableAddress.assign(tree_.variables.size(), 0);
    uint64_t total = 0;
    for (size_t i = 0; i < tree_.variables.size(); ++i) {
      const Variable &variable = tree_.variables[i];
      if (variable.space == Space::Shared)
        continue;
      if (variable.external)
        return error(variable.line,
                     fmt::format("variable '{}' is .extern and not defined in this module", variable.name));
      uint64_t bytes = std::max<uint64_t>(variable.size, 1);
      if (total += bytes; total > mostModuleBytes)
        return error(variable.line, fmt::format("the variables of the module take more than {} bytes; allocate large "
                                                "arrays instead",
                                                mostModuleBytes));
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

  bool isShared(uint32_t variable) const { return tree_.variables[variable].space == Space::Shared; }
  /// An .extern array without extent: its size comes with the launch.
  bool isDynamic(uint32_t variable) const {
    const Variable &v = tree_.variables[variable];
    return v.external && (v.unsizedArray || v.size == 0);
  }

  /// The shared module variables that an operand names.
  void collectShared(const ptx::Operand &operand, std::vector<uint32_t> &used) const {
    if (operand.kind == OperandKind::Variable && operand.scope == VariableScope::Module && isShared(operand.index))
      used.push_back(operand.index);
    for (const ptx::Operand &element : operand.elements)
      collectShared(element, used);
  }

  static uint64_t put(const Variable &variable, uint64_t &end, std::vector<PlacedVariable> &placed) {
    uint64_t at = alignUp(end, std::max(variable.alignment, 1u));
    end = at + variable.size;
    placed.push_back({variable.name, static_cast<uint32_t>(at), static_cast<uint32_t>(variable.size)});
    return at;
  }

  Status placeShared() {
    sharedBase_ = program_->smVersion >= 90 ? 1024 : 0; // the system keeps the first KiB there
    shared_.assign(tree_.functions.size(), {});
    // By function, in the order of declaration.
    std::vector<std::vector<uint32_t>> used(tree_.functions.size());
    std::vector<bool> common(tree_.variables.size(), false);
    uint64_t alignment = 16;
    bool functionsUseDynamic = false;
    for (uint32_t v = 0; v < tree_.variables.size(); ++v) {
      if (!isShared(v))
        continue;
      if (tree_.variables[v].size > mostSharedBytes)
        return error(tree_.variables[v].line, fmt::format("shared variable '{}' of {} bytes exceeds every device",
                                                          tree_.variables[v].name, tree_.variables[v].size));
      if (isDynamic(v))
        alignment = std::max<uint64_t>(alignment, tree_.variables[v].alignment);
    }
    for (size_t f = 0; f < tree_.functions.size(); ++f) {
      for (const ptx::Instruction &instruction : tree_.functions[f].body)
        for (const ptx::Operand &operand : instruction.operands)
          collectShared(operand, used[f]);
      std::sort(used[f].begin(), used[f].end());
      used[f].erase(std::unique(used[f].begin(), used[f].end()), used[f].end());
      if (!tree_.functions[f].kernel)
        for (uint32_t v : used[f]) {
          common[v] = true;
          functionsUseDynamic |= isDynamic(v);
        }
    }
    uint64_t commonEnd = sharedBase_;
    std::vector<PlacedVariable> commonPlaced;
    for (uint32_t v = 0; v < tree_.variables.size(); ++v)
      if (common[v] && !isDynamic(v))
        layout_.variableAddress[v] = put(tree_.variables[v], commonEnd, commonPlaced);
    for (size_t f = 0; f < tree_.functions.size(); ++f)
      if (!tree_.functions[f].kernel)
        for (const Variable &variable : tree_.functions[f].variables)
          shared_[f].local.push_back(variable.space == Space::Shared ? put(variable, commonEnd, commonPlaced) : 0);
    uint64_t latest = commonEnd;
    for (size_t f = 0; f < tree_.functions.size(); ++f) {
      SharedLayout &layout = shared_[f];
      layout.end = sharedBase_;
      const Function &function = tree_.functions[f];
      if (!function.kernel)
        continue;
      bool usesCommon = std::any_of(function.body.begin(), function.body.end(),
                                    [](const ptx::Instruction &i) { return i.opcode == "call"; });
      for (uint32_t v : used[f])
        usesCommon |= common[v];
      if (usesCommon) {
        layout.end = commonEnd;
        layout.placed = commonPlaced;
      }
      for (uint32_t v : used[f])
        if (!isDynamic(v) && !common[v])
          layout.own.push_back({v, put(tree_.variables[v], layout.end, layout.placed)});
      for (const Variable &variable : function.variables)
        layout.local.push_back(variable.space == Space::Shared ? put(variable, layout.end, layout.placed) : 0);
      if (layout.end > mostSharedBytes)
        return error(function.line,
                     fmt::format("the shared variables of '{}' take {} bytes", function.name, layout.end));
      latest = std::max(latest, layout.end);
    }
    if (latest > mostSharedBytes)
      return error(1, fmt::format("the shared variables of the module's functions take {} bytes", latest));
    // All unsized .extern arrays begin together behind the static variables. Device functions may be called by several
    // kernels: the place must then be one for all.
    for (size_t f = 0; f < tree_.functions.size(); ++f) {
      SharedLayout &layout = shared_[f];
      layout.dynamicBase = alignUp(functionsUseDynamic ? latest : layout.end, alignment);
      for (uint32_t v : used[f])
        if (isDynamic(v))
          layout.own.push_back({v, layout.dynamicBase});
    }
    return {};
  }

  Status decode() {
    program_->functions.resize(tree_.functions.size());
    for (uint32_t f = 0; f < tree_.functions.size(); ++f) {
      program_->functions[f].name = tree_.functions[f].name;
      if (!tree_.functions[f].defined)
        continue;
      for (auto [variable, address] : shared_[f].own)
        layout_.variableAddress[variable] = address;
      Decoder decoder(layout_, *program_, f, shared_[f].local);
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

  /// What calls reach from one function. Recursive functions count once each in `localBytes`.
  struct CallTree {
    std::vector<uint32_t> functions;
    uint64_t localBytes = 0; ///< of the deepest chain of activations
    bool recursive = false;
  };

  /// Depth-first over the callees, without recursion of its own: the text decides how deep it goes.
  CallTree callTree(uint32_t root) {
    CallTree tree;
    enum : uint8_t { New, Open, Done };
    std::vector<uint8_t> state(tree_.functions.size(), New);
    std::vector<uint64_t> below(tree_.functions.size(), 0);
    std::vector<std::pair<uint32_t, size_t>> stack{{root, 0}};
    state[root] = Open;
    while (!stack.empty()) {
      auto &[f, next] = stack.back();
      const auto &callees = program_->functions[f].callees;
      if (next < callees.size()) {
        uint32_t callee = callees[next++];
        if (state[callee] == New) {
          state[callee] = Open;
          stack.push_back({callee, 0});
        } else if (state[callee] == Open) {
          tree.recursive = true;
        } else {
          below[f] = std::max(below[f], below[callee]);
        }
        continue;
      }
      uint32_t finished = f;
      below[finished] += program_->functions[finished].localBytes;
      state[finished] = Done;
      tree.functions.push_back(finished);
      stack.pop_back();
      if (!stack.empty())
        below[stack.back().first] = std::max(below[stack.back().first], below[finished]);
    }
    tree.localBytes = below[root];
    return tree;
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
    uint64_t warps = (uint64_t(info.maxThreads) + 31) / 32 * std::max(info.minBlocksPerSm, 1u);
    if (warps) {
      uint64_t share = profile_.limits.registersPerSm.value / (warps * 32) / 8 * 8;
      estimate = std::min(estimate, static_cast<uint32_t>(std::max<uint64_t>(share, 16)));
    }
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
      kernel.staticSharedEnd = static_cast<uint32_t>(shared_[f].end);
      kernel.dynamicSharedBase = static_cast<uint32_t>(shared_[f].dynamicBase);
      kernel.shared = std::move(shared_[f].placed);
      info.staticSharedBytes = kernel.staticSharedEnd - sharedBase_;
      CallTree calls = callTree(f);
      uint32_t pressure = 0;
      for (uint32_t g : calls.functions) {
        pressure = std::max(pressure, program_->functions[g].registerPressure);
        for (const Op &op : program_->functions[g].ops)
          kernel.orderSensitive |= communicates(op);
      }
      if (calls.localBytes > mostLocalBytes)
        return error(function.line, fmt::format("'{}' and the functions it calls take {} bytes of local memory per "
                                                "thread; at most {} fit",
                                                function.name, calls.localBytes, mostLocalBytes));
      kernel.recursive = calls.recursive;
      kernel.localBytes = static_cast<uint32_t>(calls.localBytes) + (kernel.recursive ? recursiveStackBytes : 0);
      info.localBytesPerThread = static_cast<uint32_t>(calls.localBytes);
      info.requiredThreads = function.requiredThreads;
      info.requiredCluster = function.requiredCluster;
      const auto &most = function.requiredThreads[0] ? function.requiredThreads : function.maxThreads;
      unsigned __int128 product = static_cast<unsigned __int128>(most[0]) * most[1] * most[2];
      info.maxThreads = product > mostThreads ? mostThreads : static_cast<uint32_t>(product);
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
  /// Shared memory as one function sees it.
  struct SharedLayout {
    std::vector<std::pair<uint32_t, uint64_t>> own; ///< module variables with addresses of their own
    std::vector<uint64_t> local;                    ///< of the function's variables, by index
    std::vector<PlacedVariable> placed;
    uint64_t end = 0, dynamicBase = 0;
  };
  std::vector<SharedLayout> shared_; ///< by function
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
const std::vector<std::string> &Module::warnings() const { return program_->warnings; }

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
