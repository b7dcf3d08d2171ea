// Cost: which pipe an instruction occupies on a GPU, for how long, and how many issue slots it takes.
#pragma once

#include "runtime/simulator/DeviceProfile.h"
#include "runtime/simulator/program/Op.h"

namespace tessera::sim::program {

/// Of one warp instruction, without what its addresses cost (bank conflicts, sectors).
struct Cost {
  Pipe pipe = Pipe::Other;
  double clocks = 0; ///< of the pipe on one SM
  double slots = 1;  ///< machine instructions that the assembler makes of it
};

/// From the throughput table of the CUDA programming guide (as DeviceRates holds it). Where one PTX instruction
/// becomes several machine instructions (64-bit integers, division, IEEE roots, bit fields) their number is an estimate
/// and all of them are charged to the main pipe. The guard is not looked at: an instruction whose lanes are all off
/// still takes its slot.
Cost costOf(const Op &op, const DeviceRates &rates);

} // namespace tessera::sim::program
