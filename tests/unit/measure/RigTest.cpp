// The rig of a simulated device: predictions on counts, modelled measurements that say so, verdicts.
#include "autotune/measure/Rig.h"

#include "autotune/measure/SimulatorControl.h"
#include "autotune/measure/Timing.h"
#include "tests/unit/measure/Kernels.h"

#include <cmath>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::tune;

namespace {

const Task task{specOf(64, Mask::causal(Align::BottomRight)), {1, 32, 8, 2048, 2048}};
const KernelImage &image() { return compiled(task.spec, scheduleOf("v1:q128,kv64,w4,s1,lazy8,add,qsmem,online")); }

std::unique_ptr<Rig> openRig() {
  Result<std::unique_ptr<Rig>> rig = Rig::open(simulatedA100());
  EXPECT_TRUE(rig) << rig.status().text();
  return rig ? *std::move(rig) : nullptr;
}

uint64_t launches() {
  const auto control = SimulatorControl::of(simulatedA100());
  return (*control)->report().value("launch", uint64_t(0));
}

TEST(Rig, APredictionRestsOnTheImageAndTheSimulatorsCounts) {
  SKIP_WITHOUT_COMPILER();
  const auto rig = openRig();
  ASSERT_TRUE(rig);
  const Result<Prediction> prediction = rig->predictCompiled(image(), task);
  ASSERT_TRUE(prediction) << prediction.status().text();
  EXPECT_EQ(prediction->work, Basis::Simulated);
  EXPECT_EQ(prediction->footprint, Basis::Image);
  EXPECT_GT(prediction->milliseconds, 0);
}

TEST(Rig, B4_AModelledTimeIsNeverAMeasurement) {
  SKIP_WITHOUT_COMPILER();
  const auto rig = openRig();
  ASSERT_TRUE(rig);
  const Result<Measurement> measured = rig->measure(image(), task, {});
  ASSERT_TRUE(measured) << measured.status().text();
  EXPECT_TRUE(measured->modelled);
  EXPECT_EQ(measured->method, "modelled");
  EXPECT_EQ(measured->repeats, 0u);
  EXPECT_EQ(measured->lowMs, measured->milliseconds);
  EXPECT_EQ(measured->highMs, measured->milliseconds);
  EXPECT_EQ(measured->milliseconds, rig->predictCompiled(image(), task)->milliseconds);
}

TEST(Rig, B4_ATimeThatIsNoneIsRefused) {
  SKIP_WITHOUT_COMPILER();
  const auto rig = openRig();
  ASSERT_TRUE(rig);
  KernelImage tooLarge = image();
  tooLarge.registers = 300;
  const Result<Prediction> prediction = rig->predictCompiled(tooLarge, task);
  ASSERT_TRUE(prediction) << prediction.status().text();
  EXPECT_TRUE(std::isinf(prediction->milliseconds));
  const Result<Measurement> measured = rig->measure(tooLarge, task, {});
  ASSERT_FALSE(measured) << measured->milliseconds;
  EXPECT_EQ(measured.status().code(), Code::Unsupported);
  EXPECT_NE(measured.status().text().find("300 registers"), std::string::npos) << measured.status().text();
}

TEST(Rig, CountsAKernelOnceForAllShapesOfOneGeometry) {
  SKIP_WITHOUT_COMPILER();
  const auto rig = openRig();
  ASSERT_TRUE(rig);
  ASSERT_TRUE(rig->predictCompiled(image(), task));
  const uint64_t before = launches();
  Task longer = task;
  longer.problem = {2, 16, 8, 8192, 8192};
  const Result<Prediction> prediction = rig->predictCompiled(image(), longer);
  ASSERT_TRUE(prediction);
  EXPECT_EQ(launches(), before);
  Task ragged = task;
  ragged.problem.seqlenKv = 2000;
  ASSERT_TRUE(rig->predictCompiled(image(), ragged));
  EXPECT_GT(launches(), before) << "a tail is another geometry";
}

TEST(Rig, WithoutPtxTheWorkIsEstimatedAndSaysSo) {
  SKIP_WITHOUT_COMPILER();
  const auto rig = openRig();
  ASSERT_TRUE(rig);
  KernelImage stripped = image();
  stripped.ptx.clear();
  stripped.registers.reset();
  const Result<Prediction> prediction = rig->predictCompiled(stripped, task);
  ASSERT_TRUE(prediction) << prediction.status().text();
  EXPECT_EQ(prediction->work, Basis::Estimated);
  EXPECT_EQ(prediction->footprint, Basis::Estimated);
}

TEST(Rig, VerifiesOnTheSimulatorAtSmallSizesOnly) {
  SKIP_WITHOUT_COMPILER();
  const auto rig = openRig();
  ASSERT_TRUE(rig);
  const Result<Verification> verdict = rig->verify(image(), task);
  ASSERT_TRUE(verdict) << verdict.status().text();
  EXPECT_TRUE(verdict->right) << verdict->complaint;
  EXPECT_EQ(verdict->against.find("2048"), std::string::npos) << verdict->against;
  const Result<Verification> wrong =
      rig->verify(compiled(task.spec, scheduleOf("v1:q128,kv64,w4,s1,lazy8,add,qsmem,online"), "no-rescale-l"), task);
  ASSERT_TRUE(wrong) << wrong.status().text();
  EXPECT_FALSE(wrong->right) << "a wrong answer is no failure of the call";
}

TEST(Measure, AKernelIsTimedByGraphReplayOverRotatingTensors) {
  SKIP_WITHOUT_COMPILER();
  // One query that sees one key of very many: tensors larger than the L2, and a launch that the simulator does at once.
  const AttentionSpec spec = specOf(64, Mask::causal(Align::TopLeft));
  const Problem problem{1, 1, 1, 1, 100000};
  const KernelImage &small = compiled(spec, scheduleOf("v1:q64,kv64,w4,s1,lazy8,add,qsmem,online"));
  const auto simulator = *SimulatorControl::of(simulatedA100());
  const ScopedSimulatorOptions quick(*simulator, {{"checks", false}, {"counters", false}});
  const Result<Measurement> result = measure(small, simulatedA100(), problem, {.mostMilliseconds = 10});
  ASSERT_TRUE(result) << result.status().text();
  EXPECT_EQ(result->method, "graph replay, cold L2");
  EXPECT_TRUE(result->modelled) << "the simulator's clock";
  EXPECT_GT(result->milliseconds, 0);
  EXPECT_GE(result->repeats, 12u) << "three samples of a rotation of four";
}

} // namespace
