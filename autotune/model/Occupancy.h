// Occupancy: how many blocks of a kernel an SM holds at once.
#pragma once

#include "autotune/model/Gpu.h"
#include "autotune/model/Work.h"

namespace tessera::tune {

/// 0 where no SM can hold one.
unsigned blocksPerSm(const Gpu &gpu, const Footprint &footprint);

} // namespace tessera::tune
