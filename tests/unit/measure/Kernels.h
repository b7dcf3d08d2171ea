// Kernels of the compiler for the tests of the measurement, and the simulated device that they run on.
#pragma once

#include "autotune/space/Space.h"
#include "runtime/engine/Kernel.h"

#include <gtest/gtest.h>

namespace tessera::tune {

const Device &simulatedA100();

/// Compiled once per process for each request; a failure is one of the test. `mutate` is a deliberate fault of a pass.
const KernelImage &compiled(const AttentionSpec &spec, const Schedule &schedule, const std::string &mutate = {});

/// In front of tests that compile.
bool compilerIsMissing();
#define SKIP_WITHOUT_COMPILER()                                                                                        \
  if (compilerIsMissing())                                                                                             \
  GTEST_SKIP() << "skipped: no compiler library in this build"

AttentionSpec specOf(unsigned dim, const Mask &mask = Mask::full());
Schedule scheduleOf(const char *text); ///< a failure is one of the test

} // namespace tessera::tune
