// Clock: what one party knows of the progress of all others; the vector clock of the race detector.
//
// A warp is two parties: number w stands for its own accesses, number 32 + w for the asynchronous copies that it
// issued. An access is known to a party whose clock holds at least its number.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

namespace tessera::sim::machine {

constexpr unsigned partyBits = 6;
constexpr unsigned partiesPerBlock = 1 << partyBits;
/// The party that stands for the asynchronous copies of a warp.
constexpr unsigned asyncParty(unsigned warp) { return partiesPerBlock / 2 + warp; }

/// Progress of all parties of one block. Zero: nothing known.
using Progress = std::array<uint32_t, partiesPerBlock>;

inline void joinProgress(Progress &into, const Progress &from) {
  for (unsigned i = 0; i < partiesPerBlock; ++i)
    into[i] = std::max(into[i], from[i]);
}

/// Progress of the parties of some blocks, by linear block number. Absent: nothing known.
struct Clock {
  std::map<uint64_t, Progress> blocks;

  void join(uint64_t block, const Progress &progress) { joinProgress(blocks[block], progress); }
  void join(const Clock &other) {
    for (const auto &[block, progress] : other.blocks)
      join(block, progress);
  }
  bool empty() const { return blocks.empty(); }
  void clear() { blocks.clear(); }
};

} // namespace tessera::sim::machine
