// The grid on the simulator: each case with its schedule, and again with three KV loops, both within N14 of the f64
// answer.
#include "tests/kernels/GridCases.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::kernels;

namespace {

class Grid : public testing::TestWithParam<GridCase> {};

TEST_P(Grid, AgreesWithTheReference) { expectRight(GetParam().test); }

TEST_P(Grid, ThreeLoopsAgreeToo) {
  KernelCase test = GetParam().test;
  Schedule schedule = test.schedule.value_or(defaultFor(test.spec));
  if (schedule.loops == Loops::Three)
    GTEST_SKIP() << "the case itself has three loops";
  // Three loops have no running reference that could lag behind, and their sums are their own.
  schedule.loops = Loops::Three;
  schedule.rescale = Rescale::Every;
  schedule.rowSum = RowSum::Add;
  test.schedule = schedule;
  expectRight(test);
}

INSTANTIATE_TEST_SUITE_P(Pairs, Grid, testing::ValuesIn(gridCases()), [](const auto &info) { return info.param.name; });

} // namespace
