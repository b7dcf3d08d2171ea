// Running warps, and binding decoded ops to the functions that execute them.
#pragma once

#include "runtime/simulator/machine/Block.h"

namespace tessera::sim::machine {

/// Gives every op its handler for the host's instruction set. False, with the instruction, when there is none.
bool bindHandlers(program::DecodedFunction &function, std::string &error, uint32_t &instruction);

} // namespace tessera::sim::machine
