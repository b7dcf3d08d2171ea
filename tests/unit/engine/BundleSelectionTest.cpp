// Selection from bundles by facts of devices that need not be there (B5).
#include "tests/unit/engine/Fakes.h"

#include "runtime/engine/BundleSelection.h"

namespace tessera {
namespace {

struct BundleSelection : fakes::Test {
  std::vector<std::string> bytes; ///< of the bundles, which look into it
  std::vector<std::shared_ptr<const Bundle>> bundles;

  void add(std::initializer_list<KernelImage> images, std::initializer_list<TuningRecord> records = {}) {
    auto bytes = std::make_unique<std::string>(fakes::bundle(images, records));
    auto bundle = Bundle::openEmbedded(std::as_bytes(std::span(*bytes)), fmt::format("bundle {}", bundles.size()));
    ASSERT_TRUE(bundle.ok()) << bundle.status().text();
    bundles.push_back(*bundle);
    kept.push_back(std::move(bytes));
  }

  BundleChoice choose(const DeviceFacts &device, const AttentionSpec &spec = {}, const Problem &problem = {},
                      const Schedule *given = nullptr) {
    return chooseFromBundles(bundles, spec, problem, device, given);
  }

  std::vector<std::unique_ptr<std::string>> kept;
};

DeviceFacts facts(unsigned major, unsigned minor, int driver = 13000) {
  DeviceFacts facts;
  facts.target = *Target::forDevice(major, minor);
  facts.name = fmt::format("GPU {}.{}", major, minor);
  facts.code = {major, minor, driver};
  facts.sharedBytesPerBlock = facts.target.sharedBytesPerBlock;
  return facts;
}

std::string targetOf(const BundleChoice &choice) {
  return choice.chosen ? choice.chosen->entry->target.text() : "none";
}

TEST_F(BundleSelection, ExactThenFamilyThenPtx) {
  add({fakes::image({}, "sm_80"), fakes::image({}, "sm_86")});
  EXPECT_EQ(targetOf(choose(facts(8, 0))), "sm_80");
  EXPECT_EQ(choose(facts(8, 0)).chosen->fit, CodeFit::Exact);
  EXPECT_EQ(targetOf(choose(facts(8, 6))), "sm_86");
  EXPECT_EQ(targetOf(choose(facts(8, 9))), "sm_86"); // the newest of the family
  EXPECT_EQ(choose(facts(8, 9)).chosen->fit, CodeFit::Family);
  EXPECT_EQ(targetOf(choose(facts(12, 0))), "sm_86");
  EXPECT_EQ(choose(facts(12, 0)).chosen->fit, CodeFit::Ptx);
}

TEST_F(BundleSelection, B5_81_WhatNeedsMoreThanTheDeviceHasIsSkippedWithItsReason) {
  AttentionSpec wide;
  wide.headDim = wide.valueDim = 256;
  add({fakes::image(wide, "sm_80")}); // 131072 bytes of shared memory
  const BundleChoice choice = choose(facts(8, 6), wide);
  EXPECT_FALSE(choice.chosen);
  ASSERT_EQ(choice.refused.size(), 1u);
  EXPECT_EQ(choice.refused[0].reason, "it needs 131072 bytes of shared memory per block; GPU 8.6 has 101376");
  EXPECT_NE(describeNearest(bundles, wide, choice).find("bundle 0: sm_80 v1:"), std::string::npos);
  EXPECT_TRUE(choose(facts(8, 0), wide).chosen);
}

TEST_F(BundleSelection, RegistersThreadsAndClustersCountToo) {
  KernelNeeds needs = KernelNeeds::of(fakes::image());
  DeviceFacts device = facts(8, 0);
  EXPECT_EQ(fitOnDevice(needs, device).fit, CodeFit::Exact);
  device.registersPerBlock = 128 * 200 - 1;
  EXPECT_EQ(fitOnDevice(needs, device).reason,
            "it needs 25600 registers per block (128 threads of 200); GPU 8.0 has 25599");
  device.registersPerBlock = 65536;
  device.maxThreadsPerBlock = 64;
  EXPECT_EQ(fitOnDevice(needs, device).reason, "it needs 128 threads per block; GPU 8.0 has 64");
  device.maxThreadsPerBlock = 1024;
  needs.clusterBlocks = 2;
  EXPECT_EQ(fitOnDevice(needs, device).reason,
            "it needs clusters of 2 blocks; GPU 8.0 (compute capability 8.0) has none");
}

TEST_F(BundleSelection, DriverTooOldForThePtxIsNamedWithTheVersionNeeded) {
  KernelNeeds needs = KernelNeeds::of(fakes::image());
  needs.ptxVersion = 87;
  const CodeMatch match = fitOnDevice(needs, facts(9, 0, 12040));
  EXPECT_EQ(match.fit, CodeFit::None);
  EXPECT_NE(match.reason.find("PTX 8.7 needs a driver for CUDA 12.8 or newer, and this one is for CUDA 12.4"),
            std::string::npos)
      << match.reason;
}

TEST_F(BundleSelection, TheSimulatorNeedsPtxAndRanksLikeTheGpuItPosesAs) {
  add({fakes::image({}, "sm_80"), fakes::image({}, "sm_86")});
  DeviceFacts device = facts(8, 6);
  device.simulated = true;
  EXPECT_EQ(targetOf(choose(device)), "sm_86");
  EXPECT_EQ(choose(device).chosen->fit, CodeFit::Exact);
  KernelImage stripped = fakes::image();
  stripped.ptx.clear();
  EXPECT_EQ(fitOnDevice(KernelNeeds::of(stripped), device).reason,
            "it holds no PTX, which is what the simulator executes");
}

TEST_F(BundleSelection, TheScheduleIsTheGivenTheTunedTheDefaultOrTheFirst) {
  const AttentionSpec spec;
  const Schedule standard = defaultSchedule(spec, *Target::parse("sm_80"));
  Schedule small = standard, smaller = standard;
  small.tileKv = 32, smaller.tileKv = 16;
  TuningRecord record{spec, "GPU 8.0", "sm_80", {1, 1, 1, 512, 512}, small};
  const auto scheduleOf = [&](const BundleChoice &choice) { return std::string(choice.chosen->entry->schedule); };

  add({fakes::image(spec, "sm_80", small), fakes::image(spec, "sm_80", standard)});
  EXPECT_EQ(scheduleOf(choose(facts(8, 0))), standard.text());
  EXPECT_EQ(choose(facts(8, 0)).scheduleReason, "the default for sm_80");
  EXPECT_EQ(scheduleOf(choose(facts(8, 0), spec, {}, &small)), small.text());
  const BundleChoice none = choose(facts(8, 0), spec, {}, &smaller);
  EXPECT_FALSE(none.chosen);
  EXPECT_EQ(none.refused.size(), 2u);
  EXPECT_EQ(none.refused[0].reason, "another schedule than the one given");

  bundles.clear();
  add({fakes::image(spec, "sm_80", small), fakes::image(spec, "sm_80", standard)}, {record});
  const BundleChoice tuned = choose(facts(8, 0), spec, {1, 1, 1, 500, 500});
  EXPECT_EQ(scheduleOf(tuned), small.text());
  EXPECT_EQ(tuned.scheduleReason, "tuned on GPU 8.0 for q512,kv512,b1,g1 (a shape of the same bucket)");

  bundles.clear();
  add({fakes::image(spec, "sm_80", smaller)});
  EXPECT_EQ(scheduleOf(choose(facts(8, 0))), smaller.text());
  EXPECT_EQ(choose(facts(8, 0)).scheduleReason, "the first that bundle 0 holds for this attention on sm_80");
}

TEST_F(BundleSelection, B4_74_TheNearerRecordWinsAndTheBundlesWhereBothAreAsNear) {
  const AttentionSpec spec;
  Schedule shipped = defaultSchedule(spec, *Target::parse("sm_80")), logged = shipped;
  shipped.tileKv = 32, logged.tileKv = 16;
  const auto record = [&](int64_t seqlen, const Schedule &schedule, const char *device = "GPU 8.0") {
    return TuningRecord{spec, device, "sm_80", {1, 1, 1, seqlen, seqlen}, schedule};
  };
  add({fakes::image(spec, "sm_80", shipped), fakes::image(spec, "sm_80")}, {record(512, shipped)});
  const std::vector<TuningRecord> log = {record(512, logged), record(4096, logged)};
  const auto tuned = [&](int64_t seqlen, std::span<const TuningRecord> log) {
    return tunedSchedules(bundles, log, spec, {1, 1, 1, seqlen, seqlen}, facts(8, 0), facts(8, 0).target);
  };

  const std::vector<TunedSchedule> exact = tuned(512, log);
  ASSERT_EQ(exact.size(), 2u);
  EXPECT_EQ(exact[0].schedule, shipped);
  EXPECT_EQ(exact[0].reason, "tuned on GPU 8.0 for q512,kv512,b1,g1 (this shape)");
  EXPECT_EQ(exact[1].schedule, logged);
  EXPECT_EQ(exact[1].reason, "tuned on GPU 8.0 for q512,kv512,b1,g1 (this shape, by the tuning log of the cache)");
  EXPECT_EQ(tuned(4096, log)[0].schedule, logged);
  EXPECT_EQ(tuned(4000, log)[0].schedule, logged) << "a bucket before the nearest";
  EXPECT_EQ(tuned(100000, log)[0].schedule, shipped) << "both are but the nearest";
  const TuningRecord family[] = {record(4096, logged, "GPU 8.0 of another kind")};
  EXPECT_EQ(tuned(4096, family)[0].schedule, shipped);

  // A bundle that lacks what the log says serves what its own record says.
  const BundleChoice choice = chooseFromBundles(bundles, spec, {1, 1, 1, 4096, 4096}, facts(8, 0), nullptr, log);
  EXPECT_EQ(choice.chosen->entry->schedule, shipped.text());
  EXPECT_EQ(choice.scheduleReason, "tuned on GPU 8.0 for q512,kv512,b1,g1 (the nearest shape)");
}

TEST_F(BundleSelection, B4_74_TheRecordIsOfTheCodeThatRuns) {
  const AttentionSpec spec;
  const Schedule standard = defaultSchedule(spec, *Target::parse("sm_80"));
  Schedule found = standard, other = standard;
  found.tileKv = 32, other.tileKv = 16;
  const auto record = [&](const char *device, const char *target, const Schedule &schedule) {
    return TuningRecord{spec, device, target, {1, 1, 1, 512, 512}, schedule};
  };
  add({fakes::image(spec, "sm_80"), fakes::image(spec, "sm_80", found), fakes::image(spec, "sm_80", other)});
  const auto chosen = [&](const std::vector<TuningRecord> &log) {
    const BundleChoice choice = chooseFromBundles(bundles, spec, {1, 1, 1, 512, 512}, facts(8, 6), nullptr, log);
    EXPECT_EQ(targetOf(choice), "sm_80");
    EXPECT_EQ(choice.byShape, choice.match.has_value());
    return std::string(choice.chosen->entry->schedule);
  };
  // sm_80 code on a GPU of sm_86.
  EXPECT_EQ(chosen({record("GPU 8.6", "sm_80", found)}), found.text());
  EXPECT_EQ(chosen({record("GPU 8.6", "sm_86", other), record("GPU 8.6", "sm_80", found)}), found.text());
  EXPECT_EQ(chosen({record("GPU 8.6", "sm_86", other)}), standard.text()) << "times of other code";
  EXPECT_EQ(chosen({record("GPU 8.0", "sm_80", other)}), standard.text()) << "a GPU of another architecture";
  // What is compiled there is sm_86 code.
  const TuningRecord log[] = {record("GPU 8.6", "sm_80", found)};
  EXPECT_TRUE(tunedSchedules({}, log, spec, {1, 1, 1, 512, 512}, facts(8, 6), facts(8, 6).target).empty());
}

TEST_F(BundleSelection, AnEarlierBundleWins) {
  add({fakes::image({}, "sm_80")});
  add({fakes::image({}, "sm_86")});
  EXPECT_EQ(targetOf(choose(facts(8, 6))), "sm_80");
}

TEST_F(BundleSelection, TheNearestSpecsAreListedWithWhatDiffers) {
  AttentionSpec causal, f16;
  causal.mask = Mask::causal(Align::BottomRight);
  f16.dtype = DType::F16;
  f16.headDim = 64;
  add({fakes::image(causal), fakes::image(f16)});
  const std::string text = describeNearest(bundles, {}, choose(facts(8, 0)));
  EXPECT_EQ(text.find("bundle 0 holds one with mask=*:0:bottom-right (wanted mask=full)"), 0u) << text;
  AttentionSpec wide;
  wide.dtype = DType::F16;
  EXPECT_EQ(describeNearest(bundles, wide, choose(facts(8, 0))).find("bundle 0 holds one with d=64 (wanted d=128)"), 0u)
      << "the nearest stands first";
  EXPECT_NE(text.find("in=f16 (wanted in=bf16), out=f16 (wanted out=bf16), d=64 (wanted d=128)"), std::string::npos)
      << text;
}

} // namespace
} // namespace tessera
