// Clock: what one party knows of the progress of all others; the vector clock of the race detector.
//
// A warp is two parties: number w stands for its own accesses, number warps + w for the asynchronous copies that it
// issued. An access is known to a party whose clock holds at least its number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace tessera::sim::machine {

/// Progress of the parties of some blocks, by linear block number. Absent: nothing known.
struct Clock {
  std::map<uint64_t, std::vector<uint32_t>> blocks;

  void join(uint64_t block, const std::vector<uint32_t> &parties) {
    std::vector<uint32_t> &mine = blocks[block];
    mine.resize(std::max(mine.size(), parties.size()));
    for (size_t i = 0; i < parties.size(); ++i)
      mine[i] = std::max(mine[i], parties[i]);
  }
  void join(const Clock &other) {
    for (const auto &[block, parties] : other.blocks)
      join(block, parties);
  }
  bool empty() const { return blocks.empty(); }
  void clear() { blocks.clear(); }
};

} // namespace tessera::sim::machine
