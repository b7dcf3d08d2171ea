// The rig as it works on a GPU: timed by graph replay, checked at the task's own shape, predicted with a simulator's
// counts. The GPU is the simulator in disguise (DisguisedGpu.cpp), so its times are no GPU's.
#include "autotune/measure/Rig.h"

#include "autotune/measure/SimulatorControl.h"
#include "tests/unit/measure/Kernels.h"

#include <dlfcn.h>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::tune;

namespace {

constexpr const char *everyTile = "v1:q64,kv64,w4,s1,every,add,qsmem,online";

class GpuRig : public testing::Test {
protected:
  void SetUp() override {
    SKIP_WITHOUT_COMPILER();
    ASSERT_TRUE(dlopen(DISGUISED_GPU, RTLD_NOW)) << dlerror();
    const Result<Device> gpu = Device::open("cuda:0");
    ASSERT_TRUE(gpu) << gpu.status().text();
    ASSERT_FALSE(gpu->simulated());
    Result<std::unique_ptr<Rig>> opened = Rig::open(*gpu);
    ASSERT_TRUE(opened) << opened.status().text();
    rig = *std::move(opened);
    context = gpu->context();
    // Under the disguise it is the same simulator.
    const auto found = SimulatorControl::of(simulatedA100());
    ASSERT_TRUE(found && *found);
    simulator = **found;
    quick.emplace(*simulator,
                  nlohmann::json{{"checks", false}, {"counters", false}, {"print", false}, {"sticky", false}});
  }
  std::unique_ptr<Rig> rig;
  std::shared_ptr<const Context> context;
  std::optional<SimulatorControl> simulator;
  std::optional<ScopedSimulatorOptions> quick;
};

TEST_F(GpuRig, MeasuresByGraphReplayAndUnloadsTheKernel) {
  // One query that sees one key of very many: see RigTest.
  const Task task{specOf(64, Mask::causal(Align::TopLeft)), {1, 1, 1, 1, 100000}};
  const Result<Measurement> result =
      rig->measure(compiled(task.spec, scheduleOf(everyTile)), task, {.mostMilliseconds = 10});
  ASSERT_TRUE(result) << result.status().text();
  EXPECT_FALSE(result->modelled);
  EXPECT_EQ(result->method, "graph replay, cold L2");
  EXPECT_GT(result->milliseconds, 0);
  EXPECT_GE(result->repeats, 3u);
  EXPECT_EQ(context->retired(), 0u);
}

TEST_F(GpuRig, VerifiesAtTheTasksOwnShapeToo) {
  const Task task{specOf(64, Mask::causal(Align::BottomRight)), {1, 2, 1, 70, 100}};
  const Result<Verification> right = rig->verify(compiled(task.spec, scheduleOf(everyTile)), task);
  ASSERT_TRUE(right) << right.status().text();
  EXPECT_TRUE(right->right) << right->complaint;
  EXPECT_TRUE(right->against.starts_with("f64 at 1x4x69x141, ")) << right->against;
  EXPECT_NE(right->against.find("at 1x2x70x100"), std::string::npos) << right->against;
  const Result<Verification> wrong = rig->verify(compiled(task.spec, scheduleOf(everyTile), "no-rescale-u"), task);
  ASSERT_TRUE(wrong) << wrong.status().text();
  EXPECT_FALSE(wrong->right);
}

TEST_F(GpuRig, B4_AKernelThatFaultsIsWrong) {
  const Task task{specOf(64), {1, 2, 1, 70, 100}};
  KernelImage faulty = compiled(task.spec, scheduleOf(everyTile));
  const size_t body = faulty.ptx.find("ld.param");
  ASSERT_NE(body, std::string::npos);
  faulty.ptx.insert(body, "trap;\n\t");
  const Result<Verification> verdict = rig->verify(faulty, task);
  ASSERT_TRUE(verdict) << verdict.status().text();
  EXPECT_FALSE(verdict->right);
  EXPECT_NE(verdict->complaint.find("the launch failed"), std::string::npos) << verdict->complaint;
}

TEST_F(GpuRig, PredictsWithTheCountsOfTheSimulatorThatPosesAsTheGpu) {
  const Task task{specOf(64), {1, 8, 8, 512, 512}};
  const Result<Prediction> prediction = rig->predictCompiled(compiled(task.spec, scheduleOf(everyTile)), task);
  ASSERT_TRUE(prediction) << prediction.status().text();
  EXPECT_EQ(prediction->work, Basis::Simulated);
}

TEST_F(GpuRig, ATaskThatDoesNotFitIsRefusedWithItsSizes) {
  const Task task{specOf(64), {1 << 14, 8, 8, 1 << 16, 1 << 16}};
  const Result<Measurement> result = rig->measure(compiled(task.spec, scheduleOf(everyTile)), task, {});
  ASSERT_FALSE(result);
  EXPECT_NE(result.status().message().find("65536 queries"), std::string::npos) << result.status().text();
}

} // namespace
