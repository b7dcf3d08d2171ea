// Seeded normal values that are the same on every machine and for every number of threads.
#pragma once

#include "runtime/spec/DType.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::reference {

/// The i-th standard normal value of stream `stream` of `seed`: a pure function, so that any element can be made alone.
float normalAt(uint64_t seed, uint64_t stream, uint64_t i);

/// `count` elements of `type`, tightly packed, element i = round(deviation * normalAt(seed, stream, i)).
std::vector<std::byte> normalValues(DType type, size_t count, uint64_t seed, uint64_t stream, float deviation = 1.0f);

} // namespace tessera::reference
