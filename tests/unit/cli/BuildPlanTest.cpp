// What a bundle is to hold: the product without repetitions, and the reasons for what is left out.
#include "autotune/cli/bundle/BuildPlan.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::cli;

namespace {

AttentionSpec spec(unsigned dim) {
  AttentionSpec spec;
  spec.headDim = spec.valueDim = dim;
  return spec;
}

Target target(std::string_view name) { return *Target::parse(name); }

/// Two buffers of 128 keys at d 256: 192 KiB, more than any target but those with 227 has.
const Schedule large = *Schedule::parse("v1:q128,kv64,w8,s2,lazy8,add,qsmem,online");
const Schedule small = *Schedule::parse("v1:q64,kv32,w4,s1,lazy8,add,qsmem,online");

TEST(BuildPlan, TheProductHoldsNothingTwice) {
  const auto plan =
      planBuild({spec(64), spec(128), spec(64)}, {target("sm_86"), target("sm_80"), target("sm_86")}, ScheduleSet{});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->items.size(), 4u);
  for (const BuildItem &item : plan->items)
    EXPECT_EQ(item.schedule, defaultSchedule(item.spec, item.target));
}

ScheduleSet candidates(const std::vector<Schedule> &schedules) {
  return {ScheduleSet::Candidates, [=](const AttentionSpec &, const Target &) { return schedules; }, {}};
}

TEST(BuildPlan, CandidatesThatAreNotLegalAreLeftOutWithTheReason) {
  ASSERT_FALSE(large.legal(spec(256), target("sm_86")));
  const auto plan = planBuild({spec(64), spec(256)}, {target("sm_86")}, candidates({large, small, small}));
  ASSERT_TRUE(plan) << plan.status().text();
  EXPECT_EQ(plan->items.size(), 3u);
  ASSERT_EQ(plan->skipped.size(), 1u);
  EXPECT_NE(plan->skipped[0].find("shared memory"), std::string::npos) << plan->skipped[0];
  EXPECT_NE(plan->skipped[0].find(large.text()), std::string::npos) << plan->skipped[0];
}

TEST(BuildPlan, AnAttentionWithoutAnyScheduleIsAnError) {
  const auto plan = planBuild({spec(64), spec(256)}, {target("sm_86")}, candidates({large}));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.status().code(), Code::InvalidArgument);
  EXPECT_NE(plan.status().text().find("d=256"), std::string::npos) << plan.status().text();
  EXPECT_NE(plan.status().text().find("shared memory"), std::string::npos) << plan.status().text();
}

TEST(BuildPlan, TunedHoldsTheDefaultAndTheRecordsThatFit) {
  TuningRecord fits{spec(64), "gpu", "sm_80", {}, small};
  TuningRecord otherTarget = fits, otherSpec = fits, illegal = fits;
  otherTarget.target = "sm_90";
  otherSpec.spec = spec(32);
  otherSpec.schedule.tileKv = otherTarget.schedule.tileKv = 64; // legal for d 64 on sm_80, but not asked for
  illegal.schedule.tileQ = 48;
  const auto plan =
      planBuild({spec(64)}, {target("sm_80")}, {ScheduleSet::Tuned, {}, {otherTarget, otherSpec, illegal, fits, fits}});
  ASSERT_TRUE(plan) << plan.status().text();
  ASSERT_EQ(plan->items.size(), 2u);
  EXPECT_EQ(plan->items[0].schedule, defaultSchedule(spec(64), target("sm_80")));
  EXPECT_EQ(plan->items[1].schedule, small);
  EXPECT_EQ(plan->skipped.size(), 1u) << "the schedule that is not legal";
  for (const TuningRecord &record : plan->records)
    EXPECT_EQ(record, fits);
  EXPECT_FALSE(plan->records.empty());
  ASSERT_EQ(plan->unused.size(), 3u);
  EXPECT_NE(plan->unused[0].find("no code for sm_90 is built"), std::string::npos) << plan->unused[0];
  EXPECT_NE(plan->unused[1].find("this attention is not built"), std::string::npos) << plan->unused[1];
  EXPECT_NE(plan->unused[2].find("is not legal"), std::string::npos) << plan->unused[2];
}

TEST(BuildPlan, CandidateFilesNameTheLineAtFault) {
  const auto schedules = readCandidates("# some\n\n  " + small.text() + " \r\n" + large.text());
  ASSERT_TRUE(schedules) << schedules.status().text();
  EXPECT_EQ(*schedules, (std::vector{small, large}));
  EXPECT_NE(readCandidates(small.text() + "\nnonsense\n").status().text().find("line 2: "), std::string::npos);
  EXPECT_NE(readCandidates("# none\n").status().text().find("holds no schedule"), std::string::npos);
}

} // namespace
