// Loops: the loops of a decoded function and how they nest.
#pragma once

#include "runtime/simulator/program/Program.h"

namespace tessera::sim::program {

/// A set of ops that can be executed again and again. Loops with one header are one loop.
struct Loop {
  uint32_t header = 0;         ///< first op of the block where the loop is entered and where it begins again
  uint32_t first = 0, end = 0; ///< ops [first, end) enclose it; not all of them need to belong to it
  unsigned depth = 1;          ///< 1: in no other loop
  int parent = -1;             ///< index of the enclosing loop, -1: none
  std::string label;           ///< of the header, where a branch names it
};

struct LoopNest {
  std::vector<Loop> loops;      ///< outer before inner, by the text
  std::vector<int> innermostOf; ///< by op: index of its innermost loop, -1: none
};

/// Loops of reducible control flow are the natural ones. A cycle with several entries is a loop too; the entry that
/// comes first in the text counts as its header. `instructions` are those of the program.
LoopNest findLoops(const DecodedFunction &function, const std::vector<SourceInstruction> &instructions);

} // namespace tessera::sim::program
