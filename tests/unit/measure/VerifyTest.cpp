// Right kernels are found right, and wrong ones wrong: by the reference, by the guard zones, by the simulator.
#include "autotune/measure/Verify.h"

#include "autotune/measure/SimulatorControl.h"
#include "autotune/measure/Verdict.h"
#include "tests/unit/measure/Kernels.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

using namespace tessera;
using namespace tessera::tune;

namespace {

constexpr const char *lazySchedule = "v1:q128,kv64,w4,s1,lazy8,add,qsmem,online";
constexpr const char *everySchedule = "v1:q128,kv64,w4,s1,every,add,qsmem,online";
const Task causal{specOf(64, Mask::causal(Align::BottomRight)), {1, 8, 4, 1024, 1024}};

Result<Verification> verifyAlone(const KernelImage &image, const Task &task) {
  const Result<Kernel> kernel = Kernel::load(image, simulatedA100());
  if (!kernel)
    return kernel.status();
  return verifySmall(*kernel, simulatedA100(), task);
}

/// The image with one piece of its PTX replaced, everywhere or at its first place.
KernelImage edited(KernelImage image, const std::string &from, const std::string &to, bool everywhere = false) {
  size_t at = image.ptx.find(from), places = 0;
  for (; at != std::string::npos; at = everywhere ? image.ptx.find(from, at + to.size()) : std::string::npos, ++places)
    image.ptx.replace(at, from.size(), to);
  EXPECT_GT(places, 0u) << "the kernel has no " << from;
  return image;
}

/// The image with every store to O one access further on.
KernelImage shifted(KernelImage image) {
  size_t stores = 0;
  for (size_t at = 0; (at = image.ptx.find("st.global.v4", at)) != std::string::npos; ++stores) {
    const size_t close = image.ptx.find(']', at), open = image.ptx.rfind('[', close);
    const std::string address = image.ptx.substr(open + 1, close - open - 1);
    const size_t plus = address.find('+');
    const long offset = plus == std::string::npos ? 0 : std::stol(address.substr(plus + 1));
    const std::string moved = fmt::format("{}+{}", address.substr(0, plus), offset + 16);
    image.ptx.replace(open + 1, close - open - 1, moved);
    at = open;
  }
  EXPECT_GT(stores, 0u);
  return image;
}

struct RightKernel {
  const char *name, *schedule;
  Mask mask;
  Problem problem;
  DType type = DType::BF16;
};

const RightKernel rightKernels[] = {
    {"full", lazySchedule, Mask::full(), {1, 8, 8, 512, 512}},
    {"causal", everySchedule, Mask::causal(Align::BottomRight), {1, 8, 2, 512, 512}},
    {"causalTopLeft", lazySchedule, Mask::causal(Align::TopLeft), {1, 8, 2, 512, 512}},
    {"window", lazySchedule, Mask::window(100, 20, Align::BottomRight), {1, 8, 2, 512, 512}},
    {"windowTopLeft", lazySchedule, Mask::window(100, 20, Align::TopLeft), {1, 8, 2, 512, 512}},
    {"packed", "v1:q64,kv64,w4,s2,lazy8,add,qreg,online,pack", Mask::causal(Align::BottomRight), {1, 8, 2, 512, 512}},
    {"packedBySeven", "v1:q64,kv32,w4,s1,lazy8,add,qsmem,online,pack", Mask::full(), {1, 14, 2, 512, 512}},
    {"anchored", "v1:q128,kv64,w4,s1,anchored,add,qsmem,online", Mask::causal(Align::BottomRight), {1, 4, 4, 512, 512}},
    {"persistent",
     "v1:q64,kv64,w4,s1,lazy8,add,qsmem,online,persist",
     Mask::causal(Align::BottomRight),
     {1, 4, 2, 512, 512}},
    {"headGroup",
     "v1:q128,kv64,w4,s1,lazy8,add,qsmem,online,h32",
     Mask::causal(Align::BottomRight),
     {4, 32, 8, 512, 512}},
    {"headGroupPersistent",
     "v1:q64,kv64,w4,s1,lazy8,add,qsmem,online,pack,h64,persist",
     Mask::causal(Align::TopLeft),
     {64, 8, 2, 512, 512}},
    {"f16", lazySchedule, Mask::full(), {1, 4, 4, 512, 512}, DType::F16},
    {"f32", "v1:q64,kv32,w4,s1,every,add,qsmem,online", Mask::full(), {1, 4, 4, 512, 512}, DType::F32},
};
class Right : public testing::TestWithParam<RightKernel> {};

TEST_P(Right, KernelIsFoundRight) {
  SKIP_WITHOUT_COMPILER();
  const RightKernel &kernel = GetParam();
  AttentionSpec spec = specOf(64, kernel.mask);
  spec.dtype = kernel.type;
  const Result<Verification> verdict = verifyAlone(compiled(spec, scheduleOf(kernel.schedule)), {spec, kernel.problem});
  ASSERT_TRUE(verdict) << verdict.status().text();
  EXPECT_TRUE(verdict->right) << verdict->complaint;
  EXPECT_EQ(verdict->complaint, "");
  EXPECT_GT(verdict->bound, 0);
  EXPECT_LE(verdict->error, verdict->bound);
  EXPECT_TRUE(verdict->against.starts_with("f64 at 1x")) << verdict->against;
}
INSTANTIATE_TEST_SUITE_P(Verify, Right, testing::ValuesIn(rightKernels),
                         [](const auto &info) { return std::string(info.param.name); });

struct Mutant {
  const char *schedule, *mutation;
};
const Mutant mutants[] = {{everySchedule, "no-rescale-u"}, {everySchedule, "no-rescale-l"},
                          {everySchedule, "wrong-alpha"},  {everySchedule, "no-guard"},
                          {lazySchedule, "no-rescale-u"},  {lazySchedule, "no-rescale-l"},
                          {lazySchedule, "wrong-alpha"}};
class Wrong : public testing::TestWithParam<Mutant> {};

TEST_P(Wrong, MutantIsFoundOut) {
  SKIP_WITHOUT_COMPILER();
  const auto &[schedule, mutation] = GetParam();
  // From the top left every row sees keys in its first tile, where a lazy reference finds its place: only scores that
  // rise show what happens when it moves. Rows that see nothing in other tiles are what a guard is for.
  const Task task{specOf(64, Mask::causal(Align::TopLeft)), causal.problem};
  const Result<Verification> verdict = verifyAlone(compiled(task.spec, scheduleOf(schedule), mutation), task);
  ASSERT_TRUE(verdict) << verdict.status().text();
  EXPECT_FALSE(verdict->right);
  EXPECT_TRUE(verdict->complaint.starts_with("at ")) << verdict->complaint;
}
INSTANTIATE_TEST_SUITE_P(Verify, Wrong, testing::ValuesIn(mutants), [](const auto &info) {
  std::string name = fmt::format("{}_{}", info.param.schedule == everySchedule ? "every" : "lazy", info.param.mutation);
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(Verify, B4_AKernelThatWritesNothingIsWrong) {
  SKIP_WITHOUT_COMPILER();
  const KernelImage &image = compiled(causal.spec, scheduleOf(lazySchedule));
  const size_t body = image.ptx.find("ld.param");
  ASSERT_NE(body, std::string::npos);
  KernelImage idle = image;
  idle.ptx.insert(body, "ret;\n\t");
  const Result<Verification> verdict = verifyAlone(idle, causal);
  ASSERT_TRUE(verdict) << verdict.status().text();
  EXPECT_FALSE(verdict->right);
  EXPECT_NE(verdict->complaint.find("nan; the answer is "), std::string::npos) << verdict->complaint;
  EXPECT_EQ(verdict->error, HUGE_VAL);
  EXPECT_GT(verdict->bound, 0);
}

TEST(Verify, AHeadGroupThatIsNotFullIsTriedToo) {
  SKIP_WITHOUT_COMPILER();
  const Schedule schedule = scheduleOf("v1:q64,kv64,w4,s1,lazy8,add,qsmem,online,h8");
  KernelImage image = compiled(causal.spec, schedule);
  // Tiles are dealt out among as many heads as the group has: of the last group, what is left. Without that:
  const size_t full = image.ptx.find("min.u32"), left = image.ptx.find("min.u32", full + 1);
  ASSERT_NE(left, std::string::npos);
  image.ptx.replace(image.ptx.rfind(',', image.ptx.find(';', left)), 1, "; //");
  image.ptx.replace(left, 3, "mov");
  const Result<Verification> verdict = verifyAlone(image, causal);
  ASSERT_TRUE(verdict) << verdict.status().text();
  EXPECT_FALSE(verdict->right);
  EXPECT_TRUE(verdict->complaint.starts_with("at 5x2x69x37: ")) << verdict->complaint;
}

TEST(Verify, AWriteBesideTheOutputIsWrong) {
  SKIP_WITHOUT_COMPILER();
  const Result<Verification> verdict = verifyAlone(shifted(compiled(causal.spec, scheduleOf(lazySchedule))), causal);
  ASSERT_TRUE(verdict) << verdict.status().text();
  EXPECT_FALSE(verdict->right);
  EXPECT_NE(verdict->complaint.find("behind o"), std::string::npos) << verdict->complaint;
}

TEST(Verify, WhatTheSimulatorFindsIsWrong) {
  SKIP_WITHOUT_COMPILER();
  const KernelImage &image = compiled(causal.spec, scheduleOf(lazySchedule));
  const Result<Verification> verdict =
      verifyAlone(edited(image, "bar.sync", "// bar.sync", /*everywhere=*/true), causal);
  ASSERT_TRUE(verdict) << verdict.status().text();
  EXPECT_FALSE(verdict->right);
  EXPECT_NE(verdict->complaint.find("the simulator found"), std::string::npos) << verdict->complaint;
}

TEST(Verify, AFaultIsWrongAndTheNextKernelIsJudgedAlone) {
  SKIP_WITHOUT_COMPILER();
  const KernelImage &image = compiled(causal.spec, scheduleOf(lazySchedule));
  const Result<Verification> faulty = verifyAlone(edited(image, "ld.param", "trap;\n\tld.param"), causal);
  ASSERT_TRUE(faulty) << faulty.status().text();
  EXPECT_FALSE(faulty->right);
  EXPECT_NE(faulty->complaint, "");
  const Result<Verification> next = verifyAlone(image, causal);
  ASSERT_TRUE(next) << next.status().text();
  EXPECT_TRUE(next->right) << next->complaint;
}

TEST(SmallCases, HaveTheTasksMaskAndGroupAndEveryKindOfTail) {
  const Schedule schedule = scheduleOf("v1:q64,kv32,w4,s1,anchored,add,qsmem,online,pack,persist");
  const Task task{specOf(64, Mask::window(100, 0, Align::BottomRight)), {4, 24, 8, 4096, 4096}};
  bool oneQuery = false, noKeys = false, moreQueries = false, moreKeys = false, batch = false, drift = false,
       second = false, leftEdge = false;
  std::set<int64_t> kvHeads;
  for (const SmallCase &test : smallCases(task, schedule, /*residentBlocks=*/216)) {
    const Problem &p = test.problem;
    EXPECT_EQ(p.heads, 3 * p.kvHeads);
    EXPECT_TRUE(p.validate().ok());
    kvHeads.insert(p.kvHeads);
    oneQuery |= p.seqlenQ == 1;
    noKeys |= p.seqlenKv == 0;
    moreQueries |= p.seqlenQ > p.seqlenKv && p.seqlenKv > 0;
    moreKeys |= p.seqlenQ < p.seqlenKv;
    batch |= p.batch > 1;
    drift |= test.growth > 0;
    second |= p.batch * p.kvHeads > 216;
    leftEdge |= p.seqlenKv > 100 + 64;
  }
  EXPECT_TRUE(oneQuery && noKeys && moreQueries && moreKeys && batch && drift && second && leftEdge);
  EXPECT_EQ(kvHeads, (std::set<int64_t>{1, 2}));
}

TEST(SmallCases, OfAShapeOnlyTheRatioOfItsHeadsCounts) {
  const Schedule schedule = scheduleOf("v1:q64,kv32,w4,s1,anchored,add,qsmem,online,pack,persist");
  const AttentionSpec spec = specOf(64, Mask::window(100, 0, Align::BottomRight));
  const auto textsOf = [&](const Problem &problem) {
    std::vector<std::string> texts;
    for (const SmallCase &test : smallCases({spec, problem}, schedule, /*residentBlocks=*/216)) {
      const Problem &p = test.problem;
      texts.push_back(
          fmt::format("{}x{}/{}x{}x{} {}", p.batch, p.heads, p.kvHeads, p.seqlenQ, p.seqlenKv, test.growth));
    }
    return texts;
  };
  const std::vector<std::string> many = textsOf({4, 24, 8, 4096, 4096});
  EXPECT_EQ(textsOf({1, 3, 1, 7, 100000}), many) << "what is right for one KV head is used for several";
  EXPECT_NE(textsOf({1, 4, 1, 7, 100000}), many);
}

TEST(SmallCases, HaveMoreHeadsThanAHeadGroupAndSeveralTilesOfEach) {
  for (const char *pack : {"", ",pack"})
    for (unsigned headGroup : {2u, 3u, 8u, 32u, 64u})
      for (int64_t group : {1, 3, 4, 8}) {
        const Schedule schedule =
            scheduleOf(fmt::format("v1:q64,kv32,w4,s1,every,add,qsmem,online{},h{}", pack, headGroup).c_str());
        const Task task{specOf(64), {4, 8 * group, 8, 4096, 4096}};
        bool second = false, partial = false;
        for (const SmallCase &test : smallCases(task, schedule, /*residentBlocks=*/216)) {
          const Problem &p = test.problem;
          const int64_t pairs = p.batch * (*pack ? p.kvHeads : p.heads), rows = p.seqlenQ * (*pack ? group : 1);
          const bool severalTiles = rows > schedule.tileQ && 2 * p.seqlenKv > p.seqlenQ; // seen under any mask
          second |= severalTiles && pairs > headGroup;
          partial |= severalTiles && pairs > headGroup && pairs % headGroup != 0;
        }
        EXPECT_TRUE(second) << schedule.text() << " " << group;
        EXPECT_EQ(partial, *pack || group % headGroup != 0) << schedule.text() << " " << group;
      }
}

TEST(Verdict, OfAComparisonIsItsWorst) {
  const auto verdictOf = [](const reference::Comparison &comparison) {
    Verification verdict{.right = true, .error = 0.01, .bound = 0.1, .against = "", .complaint = ""};
    enter(verdict, comparison, "here");
    EXPECT_EQ(verdict.right, comparison.ok);
    EXPECT_EQ(verdict.complaint, comparison.ok ? "" : "here: why");
    return std::pair(verdict.error, verdict.bound);
  };
  using Found = std::pair<double, double>;
  EXPECT_EQ(verdictOf({.ok = true, .error = 0.05, .bound = 0.2, .complaint = ""}), Found(0.05, 0.2));
  EXPECT_EQ(verdictOf({.ok = true, .error = 0.01, .bound = 0.2, .complaint = ""}), Found(0.01, 0.1))
      << "farther from its bound";
  EXPECT_EQ(verdictOf({.error = 0.3, .bound = 0.2, .beyond = 1, .complaint = "why"}), Found(0.3, 0.2));
  EXPECT_EQ(verdictOf({.error = 0, .bound = 0.2, .mismatched = 1, .complaint = "why"}), Found(HUGE_VAL, 0.2));
  EXPECT_EQ(verdictOf({.error = 0.001, .bound = 0.2, .noisyGroups = 1, .complaint = "why"}), Found(0.001, 0.2))
      << "what is wrong is worse than what is right";
  EXPECT_EQ(verdictOf({.lseError = 2, .lseBound = 0.1, .lseBeyond = 1, .complaint = "why"}), Found(2, 0.1));
  EXPECT_EQ(verdictOf({.lseError = 0, .lseBound = 0.1, .lseBeyond = 1, .complaint = "why"}), Found(HUGE_VAL, 0.1))
      << "an LSE that is NaN";
  const Verification right{.right = true, .error = 0.05, .bound = 0.1, .against = "a", .complaint = ""},
      wrong{.right = false, .error = HUGE_VAL, .bound = 1, .against = "b", .complaint = "why"};
  EXPECT_EQ(both(right, wrong).error, HUGE_VAL);
  EXPECT_EQ(both(wrong, right).error, HUGE_VAL);
  EXPECT_EQ(both(right, wrong).complaint, "why");
}

// The large-shape step, at a size that the simulator can do.

const Task ownShape{specOf(64, Mask::causal(Align::BottomRight)), {2, 2, 1, 150, 200}};

Result<Verification> verifyAtOwnShape(const KernelImage &image, const Result<NaiveAttention> &naive,
                                      double mostFlops = 40e12, double mostSeconds = 100, const Task &task = ownShape) {
  const Result<Kernel> kernel = Kernel::load(image, simulatedA100());
  if (!kernel)
    return kernel.status();
  const auto simulator = *SimulatorControl::of(simulatedA100());
  const ScopedSimulatorOptions quick(*simulator, {{"checks", false}, {"counters", false}});
  return verifyOwnShape(*kernel, simulatedA100(), task, naive, mostFlops, mostSeconds);
}

TEST(OwnShape, TheNaiveKernelAgreesAndNoticesAMutant) {
  SKIP_WITHOUT_COMPILER();
  const Result<NaiveAttention> naive = NaiveAttention::create(simulatedA100(), ownShape.spec);
  if (!naive && naive.status().code() == Code::Unsupported)
    GTEST_SKIP() << "skipped: " << naive.status().text();
  ASSERT_TRUE(naive) << naive.status().text();
  const Result<Verification> right = verifyAtOwnShape(compiled(ownShape.spec, scheduleOf(everySchedule)), naive);
  ASSERT_TRUE(right) << right.status().text();
  EXPECT_TRUE(right->right) << right->complaint;
  EXPECT_EQ(right->against, "naive kernel at 2x2x150x200");
  EXPECT_GT(right->bound, 0);
  const Result<Verification> wrong =
      verifyAtOwnShape(compiled(ownShape.spec, scheduleOf(everySchedule), "no-rescale-u"), naive);
  ASSERT_TRUE(wrong) << wrong.status().text();
  EXPECT_FALSE(wrong->right);
  EXPECT_NE(wrong->complaint.find("at 2x2x150x200, head 0"), std::string::npos) << wrong->complaint;
  EXPECT_GT(wrong->error, wrong->bound);
  const Result<Verification> some =
      verifyAtOwnShape(compiled(ownShape.spec, scheduleOf(everySchedule)), naive,
                       3.5 * NaiveAttention::flopsPerHead(ownShape.spec, ownShape.problem));
  ASSERT_TRUE(some) << some.status().text();
  EXPECT_EQ(some->against, "naive kernel at 2x2x150x200, 3 of 4 heads");
  const Result<Verification> hurried =
      verifyAtOwnShape(compiled(ownShape.spec, scheduleOf(everySchedule)), naive, 40e12, /*mostSeconds=*/1e-9);
  ASSERT_TRUE(hurried) << hurried.status().text();
  EXPECT_EQ(hurried->against, "naive kernel at 2x2x150x200, 1 of 4 heads");
  const Result<Verification> huge =
      verifyAtOwnShape(compiled(ownShape.spec, scheduleOf(everySchedule)), naive,
                       0.5 * NaiveAttention::flopsPerHead(ownShape.spec, ownShape.problem));
  ASSERT_TRUE(huge) << huge.status().text();
  EXPECT_TRUE(huge->right) << huge->complaint;
  EXPECT_EQ(huge->against,
            "f64 at 2x2x150x200, 15 rows in each of 4 of 4 heads (one head is too much for the naive kernel)");
}

TEST(OwnShape, WithoutNvrtcASampleOfRowsIsComparedAndItSaysSo) {
  SKIP_WITHOUT_COMPILER();
  const Result<NaiveAttention> none = Status(Code::Unsupported, "no NVRTC: none is wanted");
  const Result<Verification> right = verifyAtOwnShape(compiled(ownShape.spec, scheduleOf(everySchedule)), none);
  ASSERT_TRUE(right) << right.status().text();
  EXPECT_TRUE(right->right) << right->complaint;
  EXPECT_EQ(right->against, "f64 at 2x2x150x200, 15 rows in each of 4 of 4 heads (no NVRTC: none is wanted)");
  const Result<Verification> wrong =
      verifyAtOwnShape(compiled(ownShape.spec, scheduleOf(everySchedule), "no-rescale-u"), none);
  ASSERT_TRUE(wrong) << wrong.status().text();
  EXPECT_FALSE(wrong->right);
}

TEST(OwnShape, N14_SampledRowsAreJudgedByTheKeysThatTheySee) {
  SKIP_WITHOUT_COMPILER();
  Task task{specOf(64, Mask::window(0, 0, Align::BottomRight)), ownShape.problem};
  task.spec.outDType = DType::F32;
  task.spec.scale = 4.0f;
  const Result<Verification> verdict = verifyAtOwnShape(compiled(task.spec, scheduleOf(everySchedule)),
                                                        Status(Code::Unsupported, "none"), 40e12, 100, task);
  ASSERT_TRUE(verdict) << verdict.status().text();
  EXPECT_TRUE(verdict->right) << verdict->complaint;
}

TEST(OwnShape, AWriteBesideTheOutputIsWrong) {
  SKIP_WITHOUT_COMPILER();
  const Result<Verification> verdict =
      verifyAtOwnShape(shifted(compiled(ownShape.spec, scheduleOf(everySchedule))), Status(Code::Unsupported, "none"));
  ASSERT_TRUE(verdict) << verdict.status().text();
  EXPECT_FALSE(verdict->right);
  EXPECT_NE(verdict->complaint.find("behind o"), std::string::npos) << verdict->complaint;
  EXPECT_EQ(verdict->against, "nothing at 2x2x150x200");
}

} // namespace
