// HeadGroup: how many heads are worth taking their query tiles in turn, and from which end.
#pragma once

#include "autotune/space/Space.h"

#include <cstdint>

namespace tessera::tune {

/// The value of head_group that is tried beside 1, counted in (batch, head) pairs, or in (batch, KV head) pairs where
/// heads are packed; 1 where no other makes a difference.
int64_t usefulHeadGroup(const Task &task, bool packed);

/// The order that begins with the longest query tiles of a head; LastFirst where neither end has longer ones.
TileOrder longestFirst(const Task &task);

/// Whether query tiles of one head may differ in how many keys they see.
bool lengthsVary(const Task &task);

} // namespace tessera::tune
