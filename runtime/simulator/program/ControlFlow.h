// Basic blocks of a decoded function.
#pragma once

#include "runtime/simulator/program/Program.h"

namespace tessera::sim::program {

struct BasicBlock {
  uint32_t first = 0, end = 0; ///< ops [first, end)
  std::vector<uint32_t> successors;
  bool exits = false; ///< ends in an unguarded exit, trap or return
};

std::vector<BasicBlock> basicBlocks(const DecodedFunction &function);

} // namespace tessera::sim::program
