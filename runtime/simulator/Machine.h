// The simulator's core as the driver layer sees it: memory, modules and launches. No CUDA names, no global state.
#pragma once

#include "runtime/simulator/Counters.h"
#include "runtime/simulator/DeviceProfile.h"
#include "runtime/simulator/Memory.h"
#include "runtime/spec/Result.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::sim {

namespace program {
struct Program;
}

/// Grid, block and cluster extents, x first.
struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// One parameter of a kernel: where its bytes lie in LaunchConfig::parameters.
struct ParameterInfo {
  std::string name;
  uint32_t offset = 0;
  uint32_t size = 0;
  uint32_t alignment = 1;
};

/// What a kernel needs and promises.
struct KernelInfo {
  std::string name;
  std::vector<ParameterInfo> parameters;
  uint32_t parameterBytes = 0;               ///< offset + size of the last parameter
  uint32_t staticSharedBytes = 0;            ///< .shared variables of the kernel, without .extern ones
  uint32_t localBytesPerThread = 0;          ///< .local variables, callees included (a recursive callee once)
  uint32_t registersPerThread = 0;           ///< estimate: peak of live 32-bit registers plus a constant
  uint32_t maxThreads = 0;                   ///< .maxntid or .reqntid as a product; 0: not stated
  std::array<uint32_t, 3> requiredThreads{}; ///< .reqntid; zeros: not stated
  uint32_t minBlocksPerSm = 0;               ///< .minnctapersm; 0: not stated
  uint32_t maxRegisters = 0;                 ///< .maxnreg; 0: not stated
  std::array<uint32_t, 3> requiredCluster{}; ///< .reqnctapercluster; zeros: not stated
};

/// A module-level .global or .const variable.
struct GlobalInfo {
  std::string name;
  uint64_t address = 0;
  uint64_t size = 0;
};

/// A loaded PTX module. Immutable after load, so shareable among threads. Must not outlive its GlobalMemory.
class Module {
public:
  /// Parses, checks and decodes `ptx`, and places its variables in `memory`. Malformed text, unknown opcodes and
  /// qualifiers, a .target that the profile cannot run, and unresolved .extern names are CompileErrors that name
  /// the line and its text. A newer .version than known is tried, see warnings(). Never crashes on any input.
  static Result<std::unique_ptr<Module>> load(std::string_view ptx, const DeviceProfile &profile, GlobalMemory &memory);
  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  const std::vector<KernelInfo> &kernels() const;
  const KernelInfo *findKernel(std::string_view name) const; ///< null when there is none
  const std::vector<GlobalInfo> &globals() const;
  const GlobalInfo *findGlobal(std::string_view name) const;
  unsigned ptxMajor() const, ptxMinor() const; ///< .version
  const std::string &target() const;           ///< .target, e.g. "sm_80"
  /// What the load accepted with doubts: PTX newer than this simulator knows. One sentence each.
  const std::vector<std::string> &warnings() const;

  const program::Program &program() const { return *program_; }

private:
  Module() = default;
  std::unique_ptr<program::Program> program_;
};

/// In which order the parties of a launch make progress, where the manual leaves it open.
enum class Schedule : uint8_t {
  Late,   ///< asynchronous operations take effect at the last moment that the manual allows, so that a missing wait
          ///< shows; warps take turns, each until it waits
  Eager,  ///< asynchronous operations take effect at issue; warps as above
  Random, ///< warps, divergent lanes, blocks and asynchronous operations advance as Options::seed draws it, on one
          ///< host thread
};

/// How matrix instructions round (design/ptx-semantics.md, 2.8).
enum class MmaMode : uint8_t {
  Hardware, ///< align and truncate, as the architecture of the profile does
  Exact,    ///< the exact sum of the exact products, rounded once
  Stress,   ///< order and rounding drawn from Options::seed; approximations perturbed within their bounds
};

struct Options {
  bool checks = true;    ///< shadow state: uninitialised reads, async hazards, races; bounds are checked always
  bool races = true;     ///< with checks: conflicting accesses of shared and global memory that nothing orders
  bool counters = false; ///< fill LaunchReport::counters and ::instructions
  Schedule schedule = Schedule::Late;
  MmaMode mma = MmaMode::Exact;
  uint64_t seed = 0;
  unsigned threads = 0;          ///< host threads; 0: as many as the machine has. Findings do not depend on it, nor
                                 ///< results, unless blocks race.
  uint32_t maxFindings = 16;     ///< findings of equal kind and instruction are reported once
  uint64_t instructionLimit = 0; ///< warp instructions per warp until a launch counts as hung; 0: none
  double clockMHz = 1000;        ///< scales %globaltimer; clocks count warp instructions of the warp
};

struct LaunchConfig {
  std::string kernel;
  Dim3 grid, block, cluster;
  uint32_t dynamicSharedBytes = 0;
  std::vector<std::byte> parameters; ///< KernelInfo::parameterBytes bytes, laid out as ParameterInfo says
  uint64_t id = 0;                   ///< shown in reports
  bool cooperative = false;          ///< blocks wait for each other: all are there from the start
  uint64_t gridWorkspace = 0; ///< %envreg1 (upper half) and %envreg2: where the grid barrier of a cooperative launch is
};

/// Which rule a finding is about.
enum class FindingKind : uint8_t {
  OutOfBounds,
  Misaligned,
  UseAfterFree,
  UninitialisedRead,
  ConvergenceViolation,
  BarrierMisuse,
  Deadlock,
  AsyncHazard,
  DataRace,
  Trap,
  Assertion,     ///< a device-side assert failed
  Unsupported,   ///< behaviour that the manual leaves undefined or that is not modelled
  Limit,         ///< instructionLimit reached
  InvalidLaunch, ///< the configuration does not fit kernel or profile
};
std::string_view toString(FindingKind kind);

/// One thing found. `text` is the whole story for people; the fields carry the same for programs.
struct Finding {
  FindingKind kind = FindingKind::Trap;
  bool fatal = false; ///< ends the launch, as it would on a GPU
  std::string kernel;
  uint32_t line = 0;       ///< of the PTX text, 1-based; 0: no single instruction
  std::string instruction; ///< its text
  Dim3 block{0, 0, 0}, thread{0, 0, 0};
  uint64_t address = 0;         ///< in `space`
  uint32_t bytes = 0;           ///< of the access
  std::string space;            ///< "global", "shared", "local", "const", "param"; empty: no address
  std::string object;           ///< allocation or variable with its size
  std::string other;            ///< the other party in words: access, barrier, waiting warps
  uint32_t otherLine = 0;       ///< of the other party's instruction; 0: none
  std::string otherInstruction; ///< its text
  Dim3 otherBlock{0, 0, 0};     ///< with otherLine
  uint32_t otherWarp = 0;       ///< with otherLine
  uint64_t repeats = 0;         ///< further occurrences of the same kind at the same instruction
  std::string text;
};

enum class LaunchStatus : uint8_t {
  Success,
  InvalidConfiguration, ///< CUDA_ERROR_INVALID_VALUE
  OutOfResources,       ///< CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
  IllegalAddress,       ///< CUDA_ERROR_ILLEGAL_ADDRESS
  MisalignedAddress,    ///< CUDA_ERROR_MISALIGNED_ADDRESS
  IllegalInstruction,   ///< CUDA_ERROR_ILLEGAL_INSTRUCTION: what the manual leaves undefined
  Trap,                 ///< CUDA_ERROR_LAUNCH_FAILED: trap instruction
  Assertion,            ///< CUDA_ERROR_ASSERT
  Timeout,              ///< deadlock or instructionLimit
};
std::string_view toString(LaunchStatus status);

/// One PTX instruction with what its executions did, in the order of the text (counters on).
struct InstructionProfile {
  std::string function; ///< that it belongs to
  uint32_t line = 0;
  std::string text;
  Pipe pipe = Pipe::Other;
  int loop = -1;                                ///< index into LaunchReport::loops of the innermost one; -1: none
  uint64_t executions = 0;                      ///< warp instructions
  uint64_t lanes = 0;                           ///< active lanes summed over executions
  uint64_t mmaFlops = 0;                        ///< of matrix instructions
  uint64_t ex2 = 0;                             ///< of ex2: 32 exponents each
  uint64_t wavefronts = 0, idealWavefronts = 0; ///< accesses to shared memory
  uint64_t sectors = 0, idealSectors = 0;       ///< accesses to global memory
  uint64_t bytes = 0;                           ///< of global memory
  UnitClocks clocks;
};

/// One loop of the PTX text. Sums include the loops inside it, but not the functions that it calls.
struct LoopProfile {
  std::string function;
  std::string label;                    ///< of the header; empty when no branch names it
  uint32_t firstLine = 0, lastLine = 0; ///< of the PTX text
  uint32_t headerLine = 0;              ///< of the header's first instruction
  unsigned depth = 1;                   ///< 1: in no other loop
  int parent = -1;                      ///< index of the enclosing loop
  uint64_t iterations = 0;              ///< of all warps: executions of the header; parts of a split warp count apart
  uint64_t warpInstructions = 0;
  std::array<uint64_t, pipeCount> byPipe{};
  uint64_t mmaFlops = 0, ex2 = 0;
  uint64_t wavefronts = 0, idealWavefronts = 0, sectors = 0, idealSectors = 0, bytes = 0; ///< as for instructions
  UnitClocks clocks;                                                                      ///< of all iterations
};

struct LaunchReport {
  LaunchStatus status = LaunchStatus::Success;
  std::vector<Finding> findings; ///< fatal or not, in the order of blocks
  uint64_t suppressed = 0;       ///< findings beyond Options::maxFindings
  Counters counters;
  std::vector<InstructionProfile> instructions; ///< of the kernel and the functions it calls
  std::vector<LoopProfile> loops;               ///< of the same, outer before inner
  Footprint footprint;                          ///< global memory touched
  UnitClocks clocks;                            ///< modelled, of the SM with most blocks
  double busiestShare = 1;                      ///< of all work: what that SM does
  std::string printed;                          ///< what device printf wrote, in the order of blocks
};

/// Runs one grid to its end. Launches on one memory may run in parallel (the caller orders dependent ones).
/// Memory is left as the last executed instruction left it when a fatal finding ends the launch.
LaunchReport launch(const Module &module, GlobalMemory &memory, const DeviceProfile &profile,
                    const LaunchConfig &config, const Options &options = {});

} // namespace tessera::sim
