// Counters: what a launch did, counted per pipe, byte, sector and wavefront.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tessera::sim {

/// The pipe that a warp instruction occupies on the GPU.
enum class Pipe : uint8_t { Fma, Alu, Mufu, Lsu, Tensor, Other };
constexpr unsigned pipeCount = 6;
std::string_view toString(Pipe pipe);

/// Accesses to global memory by one kind of instruction. Coalescing is sectors * 32 against bytes.
struct GlobalTraffic {
  uint64_t requests = 0; ///< warp instructions with at least one active lane
  uint64_t bytes = 0;    ///< asked for by active lanes
  uint64_t sectors = 0;  ///< distinct aligned 32-byte pieces, per request
};

/// Accesses to shared memory by one kind of instruction. Conflicts are wavefronts above ideal.
struct SharedTraffic {
  uint64_t requests = 0;
  uint64_t bytes = 0;
  uint64_t wavefronts = 0; ///< passes over the 32 four-byte banks that the real addresses need
  uint64_t ideal = 0;      ///< passes that the same bytes need without conflicts
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
