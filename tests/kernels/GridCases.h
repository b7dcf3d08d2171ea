// The grid: factors of an attention and a small set of cases in which every two values of two factors meet.
#pragma once

#include "tests/kernels/Harness.h"

#include <ostream>
#include <string>
#include <vector>

namespace tessera::kernels {

struct GridCase {
  std::string name;
  KernelCase test;
};
inline void PrintTo(const GridCase &one, std::ostream *out) { *out << one.name; } // NOLINT: GoogleTest's name

/// The cases, in a fixed order, with distinct names fit for GoogleTest.
const std::vector<GridCase> &gridCases();

} // namespace tessera::kernels
