// Program: a decoded module, immutable and shared by all launches.
#pragma once

#include "runtime/simulator/Machine.h"
#include "runtime/simulator/program/Op.h"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace tessera::sim::program {

/// Where an op comes from, for reports.
struct SourceInstruction {
  uint32_t line = 0;
  std::string text;
};

/// A virtual register during decoding.
struct VirtualRegister {
  Type type = Type::None;
  std::string name;
  uint8_t bytes = 0; ///< per lane; predicates 0
};

/// A parameter or result of a function, where the call finds it.
struct FormalParameter {
  uint32_t size = 0;
  uint32_t frameOffset = 0; ///< in the local frame (.param)
  uint32_t reg = ptx::none; ///< frame offset of the register (.reg), else none
  uint8_t registerBytes = 0;
};

/// One call site: actual arguments, matched with the callee's formals at load.
struct CallSite {
  std::vector<FormalParameter> arguments, results; ///< in the caller's frame; immediate arguments are constants
  std::vector<uint32_t> targets;                   ///< possible callees of an indirect call; one for a direct call
};

/// One decoded function or kernel.
struct DecodedFunction {
  std::string name;
  bool kernel = false;
  std::vector<Op> ops;
  std::deque<std::vector<uint32_t>> operandLists;  ///< what Op::ext points to
  std::vector<std::vector<uint32_t>> branchTables; ///< op indices of brx.idx
  std::vector<CallSite> calls;
  std::vector<FormalParameter> parameters, results;
  std::vector<std::byte> constants; ///< first bytes of every frame: zeros, then broadcast immediates
  uint32_t frameBytes = 0;          ///< constants and registers
  std::vector<std::pair<uint32_t, uint32_t>> undefinedSlots; ///< (offset, bytes) that may be read before written
  std::vector<std::string> slotNames; ///< by offset / 64: a register that lives there, for reports
  uint32_t localBytes = 0;            ///< .local and .param variables of one activation
  uint32_t registerPressure = 0;      ///< peak of live 32-bit registers
  std::vector<uint32_t> callees;
  bool callsIndirectly = false;                        ///< then `callees` are all functions that it might be
  size_t branchTableEntries = 0;                       ///< of all tables
  uint32_t firstInstruction = 0, instructionCount = 0; ///< in Program::instructions
};

/// A variable with its place, for reports about shared memory.
struct PlacedVariable {
  std::string name;
  uint32_t offset = 0, size = 0;
};

struct DecodedKernel {
  KernelInfo info;
  uint32_t function = 0;
  uint32_t sharedBase = 0;        ///< first address of shared memory on this architecture
  uint32_t staticSharedEnd = 0;   ///< address after the static variables
  uint32_t dynamicSharedBase = 0; ///< address of the .extern .shared arrays
  std::vector<PlacedVariable> shared;
  uint32_t localBytes = 0; ///< per thread, callees included
  bool recursive = false;
  bool orderSensitive = false; ///< blocks communicate: run them in order on one thread
};

struct Program {
  unsigned major = 0, minor = 0;
  std::string target;
  std::vector<std::string> warnings;
  unsigned smVersion = 80;
  std::vector<DecodedFunction> functions;
  std::vector<DecodedKernel> kernels;
  std::vector<KernelInfo> kernelInfos;
  std::vector<GlobalInfo> globals;
  std::vector<SourceInstruction> instructions;
  GlobalMemory *memory = nullptr;
  std::vector<uint64_t> ownedAllocations; ///< freed with the module
  ~Program();
};

/// Function addresses as PTX sees them: tagged indices, not pointers.
constexpr uint64_t functionAddressBase = 0x6f00'0000'0000;

} // namespace tessera::sim::program
