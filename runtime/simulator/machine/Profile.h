// Profile: what a launch counted, told by instruction, by loop and by pipe, with the clocks that it is modelled at.
#pragma once

#include "runtime/simulator/machine/Block.h"

namespace tessera::sim::machine {

/// Fills instructions, loops, clocks and footprint of a report whose `counters` hold the traffic of all blocks, and
/// adds the instructions to those counters. `counts` is by Program::instructions.
void fillProfile(LaunchReport &report, const LaunchState &state, std::vector<InstructionCount> counts);

} // namespace tessera::sim::machine
