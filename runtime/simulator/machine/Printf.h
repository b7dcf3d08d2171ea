// Device-side printf and assertion failures.
#pragma once

#include "runtime/simulator/machine/Block.h"

namespace tessera::sim::machine {

const Op *runPrintf(Warp &warp, const Op &op);
const Op *runAssertFail(Warp &warp, const Op &op);

} // namespace tessera::sim::machine
