// Counters: what a launch did, counted per pipe, byte, sector and wavefront, and the clocks that this is modelled at.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tessera::sim {

/// The pipe that a warp instruction occupies on the GPU. The uniform datapath is not among them: which instructions
/// go there is decided by the assembler, and PTX does not tell.
enum class Pipe : uint8_t {
  Fma,     ///< f32 add, multiply, FMA; integer multiply
  Half,    ///< f16, bf16 and their pairs
  Fp64,    ///< double
  Alu,     ///< integer add, logic, shift, compare, select, min, max, packing, f32 to 16-bit conversion
  Mufu,    ///< ex2, lg2, rcp, rsqrt, sin, cos, tanh; bit counts; the other conversions
  Tensor,  ///< matrix instructions
  Shared,  ///< shared memory, matrix loads and shuffles, which share one crossbar
  Lsu,     ///< global, local and generic accesses, asynchronous copies
  Control, ///< branches, calls, barriers, fences
  Other,   ///< special registers, waits, constant memory: an issue slot only
  Folded,  ///< moves, parameter loads, address casts: usually become part of other instructions; no clocks
};
constexpr unsigned pipeCount = 11;
std::string_view toString(Pipe pipe);

/// What may bound a kernel: the pipes, and behind them these.
constexpr unsigned issueUnit = pipeCount;      ///< issue slots of the schedulers
constexpr unsigned l2Unit = pipeCount + 1;     ///< sectors through L2
constexpr unsigned memoryUnit = pipeCount + 2; ///< distinct sectors through device memory; for a whole launch only
constexpr unsigned unitCount = pipeCount + 3;
std::string_view unitName(unsigned unit); ///< "fma", …, "issue", "l2", "memory"

/// Modelled clocks for which work keeps each unit of an SM busy. Units overlap, so the largest is what the work takes
/// at least; latencies are not in it.
struct UnitClocks {
  std::array<double, unitCount> busy{};

  unsigned binding() const; ///< the unit with most clocks
  double most() const { return busy[binding()]; }
  UnitClocks &operator+=(const UnitClocks &other);
};

/// Accesses to global memory by one kind of instruction. Coalescing is sectors against ideal.
struct GlobalTraffic {
  uint64_t requests = 0; ///< warp instructions with at least one active lane
  uint64_t bytes = 0;    ///< asked for by active lanes
  uint64_t sectors = 0;  ///< distinct aligned 32-byte pieces, per request
  uint64_t ideal = 0;    ///< sectors that the distinct bytes of each request would fill
};

/// Accesses to shared memory by one kind of instruction. Conflicts are wavefronts above ideal.
struct SharedTraffic {
  uint64_t requests = 0;
  uint64_t bytes = 0;
  uint64_t wavefronts = 0; ///< passes over the 32 four-byte banks that the real addresses need
  uint64_t ideal = 0;      ///< passes that the same bytes need without conflicts
};

/// The global memory that a launch touched, each byte once: what any kernel that reads these inputs and writes these
/// outputs must move.
struct Footprint {
  uint64_t readBytes = 0, writtenBytes = 0;     ///< atomics count as both
  uint64_t readSectors = 0, writtenSectors = 0; ///< of 32 bytes
};

/// Sums over a launch. All counts are of warp instructions unless the name says otherwise.
struct Counters {
  uint64_t warpInstructions = 0;
  std::array<uint64_t, pipeCount> byPipe{};
  uint64_t mmaInstructions = 0;
  uint64_t mmaFlops = 0; ///< 2·m·n·k of every matrix instruction
  uint64_t ex2 = 0;
  GlobalTraffic globalLoads, globalStores, globalAtomics, asyncCopies;
  SharedTraffic sharedLoads, sharedStores, ldmatrix, asyncWrites, sharedAtomics;
  uint64_t localBytes = 0;   ///< spills and local arrays, loads and stores
  uint64_t barrierWaits = 0; ///< warps that arrived at a block barrier
  uint64_t divergentBranches = 0;

  Counters &operator+=(const Counters &other);
};

} // namespace tessera::sim
