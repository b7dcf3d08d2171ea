// The counts of a launch follow from two others, for every mask and schedule.
#include "autotune/measure/SimulatedWork.h"

#include "autotune/measure/SimulatorControl.h"
#include "autotune/model/Model.h"
#include "tests/unit/measure/Kernels.h"

#include <cmath>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::tune;

namespace {

struct Line {
  const char *name;
  const char *schedule;
  Mask mask;
  Problem task;
  Problem third; ///< a launch of the same geometry: whole query tiles, the same tails
};

const Line lines[] = {
    {"full", "v1:q128,kv64,w4,s1,lazy8,add,qsmem,online", Mask::full(), {1, 8, 8, 512, 512}, {1, 2, 1, 256, 448}},
    {"fullWithTail", "v1:q64,kv64,w4,s2,lazy8,add,qreg,online", Mask::full(), {1, 8, 8, 512, 500}, {1, 1, 1, 128, 436}},
    {"everyTile", "v1:q64,kv32,w4,s1,every,add,qsmem,online", Mask::full(), {1, 8, 8, 512, 512}, {2, 1, 1, 64, 288}},
    {"anchored",
     "v1:q128,kv64,w4,s1,anchored,add,qsmem,online",
     Mask::full(),
     {1, 8, 8, 512, 512},
     {1, 1, 1, 128, 640}},
    {"causalBottomRight",
     "v1:q128,kv64,w4,s1,lazy8,add,qsmem,online",
     Mask::causal(Align::BottomRight),
     {1, 8, 8, 512, 512},
     {1, 1, 1, 384, 768}},
    {"causalTopLeft",
     "v1:q128,kv64,w4,s1,lazy8,add,qsmem,online",
     Mask::causal(Align::TopLeft),
     {1, 8, 8, 512, 512},
     {1, 1, 1, 640, 640}},
    {"packed", "v1:q64,kv64,w4,s1,lazy8,add,qsmem,online,pack", Mask::full(), {1, 8, 2, 512, 512}, {1, 8, 2, 32, 384}},
    {"fewPackedQueries",
     "v1:q64,kv64,w4,s1,lazy8,add,qsmem,online,pack",
     Mask::full(),
     {1, 8, 2, 1, 512},
     {1, 4, 1, 1, 640}},
    {"persistent",
     "v1:q128,kv64,w4,s1,lazy8,add,qsmem,online,persist",
     Mask::full(),
     {1, 8, 8, 512, 512},
     {1, 3, 1, 128, 448}},
};

class OnOneLine : public testing::TestWithParam<Line> {};

/// Largest relative difference over all counts.
double difference(const Work &predicted, const Work &counted, std::string &where) {
  double most = 0;
  const std::pair<const char *, double Work::*> fields[] = {{"mma flops", &Work::mmaFlops},
                                                            {"instructions", &Work::instructions},
                                                            {"fma", &Work::fma},
                                                            {"alu", &Work::alu},
                                                            {"mufu", &Work::mufu},
                                                            {"shuffle", &Work::shuffle},
                                                            {"wavefronts", &Work::sharedWavefronts},
                                                            {"fill bytes", &Work::fillBytes},
                                                            {"store bytes", &Work::storeBytes},
                                                            {"local bytes", &Work::localBytes},
                                                            {"barriers", &Work::barriers}};
  for (const auto &[name, field] : fields) {
    const double off = std::fabs(predicted.*field - counted.*field) / std::max(1.0, counted.*field);
    if (off > most) {
      most = off;
      where = name;
    }
  }
  return most;
}

TEST_P(OnOneLine, AThirdLaunchIsPredictedExactly) {
  SKIP_WITHOUT_COMPILER();
  const Line &line = GetParam();
  const AttentionSpec spec = specOf(64, line.mask);
  const KernelImage &image = compiled(spec, scheduleOf(line.schedule));
  const Result<BlockWork> work = simulateWork(image, {spec, line.task}, simulatedA100());
  ASSERT_TRUE(work) << work.status().text();
  EXPECT_EQ(work->basis, Basis::Simulated);
  EXPECT_GT(work->perTile.mmaFlops, 0);

  const Result<Kernel> kernel = Kernel::load(image, simulatedA100());
  ASSERT_TRUE(kernel) << kernel.status().text();
  const Result<Work> counted = countLaunch(*kernel, simulatedA100(), line.third);
  ASSERT_TRUE(counted) << counted.status().text();
  const TileCount count = countTiles(spec, line.third, image.schedule);
  Work predicted = double(count.blocks) * work->fixed;
  predicted += double(count.tiles) * work->perTile;
  std::string where;
  EXPECT_LT(difference(predicted, *counted, where), 1e-9) << where;
}
INSTANTIATE_TEST_SUITE_P(Counts, OnOneLine, testing::ValuesIn(lines),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(SimulatedWork, FlopsPerTileAreThoseOfTheTile) {
  SKIP_WITHOUT_COMPILER();
  const AttentionSpec spec = specOf(64);
  const KernelImage &image = compiled(spec, scheduleOf("v1:q128,kv64,w4,s1,lazy8,add,qsmem,online"));
  const Result<BlockWork> work = simulateWork(image, {spec, {1, 8, 8, 512, 512}}, simulatedA100());
  ASSERT_TRUE(work) << work.status().text();
  EXPECT_EQ(work->perTile.mmaFlops, 2.0 * 128 * 64 * (64 + 64));
  EXPECT_EQ(work->perTile.fillBytes, 64.0 * (64 + 64) * 2) << "K and V once";
  EXPECT_EQ(work->fixed.fillBytes, 128.0 * 64 * 2) << "Q once";
  EXPECT_EQ(work->fixed.storeBytes, 128.0 * 64 * 2 + 128 * 4) << "O and LSE once";
}

TEST(SimulatedWork, AWindowNarrowerThanTheLaunchesSeesItsLeftEdge) {
  SKIP_WITHOUT_COMPILER();
  const AttentionSpec spec = specOf(64, Mask::window(100, 0, Align::BottomRight));
  const Schedule schedule = scheduleOf("v1:q128,kv64,w4,s1,lazy8,add,qsmem,online");
  const Task task{spec, {1, 8, 8, 512, 512}};
  const CountingPlan plan = CountingPlan::of(task, schedule);
  EXPECT_NE(countTiles(spec, plan.few, schedule).tiles, countTiles(spec, plan.many, schedule).tiles);
  EXPECT_GT(plan.many.seqlenKv, 128 + 100) << "some row's window begins behind the first key";
  const Result<BlockWork> work = simulateWork(compiled(spec, schedule), task, simulatedA100());
  ASSERT_TRUE(work) << work.status().text();
  EXPECT_GT(work->fixed.instructions, 0);
}

// A last tile of few keys copies less than the others: `fixed` is then below zero, and the time must be none the less a
// time.
TEST(SimulatedWork, ARaggedTailCopiesLessAndItsTimeIsFinite) {
  SKIP_WITHOUT_COMPILER();
  const Schedule schedule = scheduleOf("v1:q16,kv80,w1,s1,lazy8,add,qsmem,online");
  const AttentionSpec spec = specOf(64, Mask::causal(Align::BottomRight));
  const Task task{spec, {4, 16, 2, 1, 481}};
  const Result<BlockWork> work = simulateWork(compiled(spec, schedule), task, simulatedA100());
  ASSERT_TRUE(work) << work.status().text();
  EXPECT_EQ(work->perTile.fillBytes, 80.0 * (64 + 64) * 2);
  EXPECT_EQ(work->fixed.fillBytes, (1 + 2.0 - 2 * 80) * 64 * 2) << "one query, and one key of the last tile's 80";
  EXPECT_LT(work->fixed.fillBytes, 0);
  const Prediction prediction = predict(*Gpu::find("a100"), task, schedule, estimateFootprint(task, schedule), *work);
  EXPECT_TRUE(std::isfinite(prediction.milliseconds));
  for (const Term &term : prediction.terms)
    EXPECT_TRUE(std::isfinite(term.milliseconds) && term.milliseconds >= 0) << prediction.text();
  const double estimated = predict(*Gpu::find("a100"), task, schedule).milliseconds;
  EXPECT_NEAR(prediction.milliseconds, estimated, 0.25 * estimated);
}

TEST(SimulatedWork, TasksOfOneGeometryShareTheirLaunches) {
  const Schedule schedule = scheduleOf("v1:q128,kv64,w4,s1,lazy8,add,qsmem,online");
  const AttentionSpec spec = specOf(64, Mask::causal(Align::BottomRight));
  const auto plan = [&](const Problem &problem) { return CountingPlan::of({spec, problem}, schedule).text(); };
  EXPECT_EQ(plan({1, 8, 8, 512, 512}), plan({4, 32, 8, 8192, 8192}));
  EXPECT_NE(plan({1, 8, 8, 512, 512}), plan({1, 8, 8, 512, 500})) << "a tail";
  EXPECT_NE(plan({1, 8, 8, 512, 512}), plan({1, 8, 8, 1, 512})) << "one query";
}

TEST(SimulatedWork, LeavesTheSimulatorsOptionsAsTheyWere) {
  SKIP_WITHOUT_COMPILER();
  const auto control = *SimulatorControl::of(simulatedA100());
  ASSERT_TRUE(control);
  const auto before = control->options();
  const AttentionSpec spec = specOf(64);
  ASSERT_TRUE(simulateWork(compiled(spec, scheduleOf("v1:q128,kv64,w4,s1,lazy8,add,qsmem,online")),
                           {spec, {1, 8, 8, 512, 512}}, simulatedA100()));
  EXPECT_EQ(control->options(), before);
}

} // namespace
