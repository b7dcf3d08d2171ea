// The handlers for the instruction set of the host.
#pragma once

#include "runtime/simulator/program/Op.h"

#include <string_view>

namespace tessera::sim::lanes {

/// The lane handler of `op` for the widest instruction set that this host has and this build holds; null when there is
/// no handler. All sets give the same results.
program::Handler select(const program::Op &op);

/// "avx512", "avx2" or "baseline"; the environment variable TESSERA_SIM_ISA chooses a narrower one.
std::string_view instructionSet();

} // namespace tessera::sim::lanes
