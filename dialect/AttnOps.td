// Ops of the attn dialect, one file per concept.
#ifndef ATTN_OPS_TD
#define ATTN_OPS_TD

include "dialect/ProblemOps.td"
include "dialect/KernelOps.td"
include "dialect/TileOps.td"
include "dialect/SharedOps.td"

#endif
