// The grid on the simulator: each case with its schedule, and again with three KV loops, both within N14 of the f64
// answer.
#include "tests/kernels/GridCases.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::kernels;

namespace {

std::string testName(const testing::TestParamInfo<GridCase> &info) { return info.param.name; }

class Grid : public testing::TestWithParam<GridCase> {};
TEST_P(Grid, AgreesWithTheReference) { expectRight(GetParam().test); }
INSTANTIATE_TEST_SUITE_P(Pairs, Grid, testing::ValuesIn(gridCases()), testName);

/// The cases that do not have three loops already, with three loops.
std::vector<GridCase> threeLoopCases() {
  std::vector<GridCase> cases;
  for (GridCase one : gridCases()) {
    Schedule schedule = one.test.schedule.value_or(defaultFor(one.test.spec));
    if (schedule.loops == Loops::Three)
      continue;
    // Three loops have no running reference that could lag behind, and their sums are their own.
    schedule.loops = Loops::Three;
    schedule.rescale = Rescale::Every;
    schedule.rowSum = RowSum::Add;
    one.test.schedule = schedule;
    cases.push_back(std::move(one));
  }
  return cases;
}

class ThreeLoops : public testing::TestWithParam<GridCase> {};
TEST_P(ThreeLoops, AgreeWithTheReferenceToo) { expectRight(GetParam().test); }
INSTANTIATE_TEST_SUITE_P(Pairs, ThreeLoops, testing::ValuesIn(threeLoopCases()), testName);

} // namespace
