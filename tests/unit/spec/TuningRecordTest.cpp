// TuningRecord: buckets of shapes, and which record answers (B4).
#include "runtime/spec/TuningRecord.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

namespace tessera {
namespace {

constexpr const char *a100 = "NVIDIA A100-SXM4-80GB";

Target sm80() { return *Target::parse("sm_80"); }

TuningRecord record(int64_t seqlen, unsigned tileKv, const char *device = a100) {
  TuningRecord record;
  record.device = device;
  record.target = "sm_80";
  record.problem = {4, 32, 8, seqlen, seqlen};
  record.schedule.tileKv = tileKv;
  return record;
}

/// tile_kv of the chosen record and how it matched; 0 for none.
std::pair<unsigned, RecordMatch> choose(const std::vector<TuningRecord> &records, const Problem &problem,
                                        const AttentionSpec &spec = {}, const char *device = a100) {
  const auto choice = chooseRecord(records, spec, problem, device, sm80());
  return choice ? std::pair(choice->record->schedule.tileKv, choice->match) : std::pair(0u, RecordMatch::Exact);
}

TEST(TuningRecord, BucketsRoundUpToPowersOfTwo) {
  EXPECT_EQ(bucketOf({4, 32, 8, 2048, 2049}), "q2048,kv4096,b32,g4");
  EXPECT_EQ(bucketOf({1, 1, 1, 1, 0}), "q1,kv0,b1,g1");
  EXPECT_EQ(bucketOf({3, 3, 1, 1000, 1000}), "q1024,kv1024,b4,g3");
  EXPECT_EQ(bucketOf({INT64_MAX, 2, 2, 1, 1}).find("q1,kv1,b"), 0u); // no overflow
}

TEST(TuningRecord, B4_74_TheNearestKindOfMatchWins) {
  const std::vector<TuningRecord> records = {record(8192, 64, "NVIDIA A800"), record(512, 32), record(2048, 48),
                                             record(1500, 64), record(8192, 16)};
  EXPECT_EQ(choose(records, {4, 32, 8, 2048, 2048}), std::pair(48u, RecordMatch::Exact));
  EXPECT_EQ(choose(records, {4, 32, 8, 1600, 1600}), std::pair(64u, RecordMatch::Bucket)); // nearer than 2048
  EXPECT_EQ(choose(records, {4, 32, 8, 2000, 2000}), std::pair(48u, RecordMatch::Bucket));
  EXPECT_EQ(choose(records, {4, 32, 8, 100000, 100000}), std::pair(16u, RecordMatch::Nearest));
  EXPECT_EQ(choose(records, {4, 64, 8, 512, 512}), std::pair(32u, RecordMatch::Nearest)); // another head ratio
  EXPECT_EQ(choose(records, {4, 32, 8, 8192, 8192}, {}, "NVIDIA A30").second, RecordMatch::Family);
  // The kind of match counts before the distance: 1025 is nearer to 1024, but of the bucket of 2048.
  EXPECT_EQ(choose({record(1024, 32), record(2048, 48)}, {4, 32, 8, 1025, 1025}), std::pair(48u, RecordMatch::Bucket));
  EXPECT_EQ(choose({record(512, 32, "NVIDIA A800"), record(65536, 48)}, {4, 32, 8, 512, 512}),
            std::pair(48u, RecordMatch::Nearest));
}

TEST(TuningRecord, B4_74_OtherSpecsAndTargetsNeverAnswer) {
  std::vector<TuningRecord> records = {record(512, 32)};
  AttentionSpec other;
  other.headDim = other.valueDim = 64;
  EXPECT_EQ(choose(records, records[0].problem, other).first, 0u);
  records[0].target = "sm_86";
  EXPECT_EQ(choose(records, records[0].problem).first, 0u);
}

TEST(TuningRecord, B4_74_AScheduleThatIsNotLegalAnyMoreIsPassedOver) {
  std::vector<TuningRecord> records = {record(512, 32), record(600, 48)};
  records[0].schedule.stages = 9;
  EXPECT_EQ(choose(records, {4, 32, 8, 512, 512}).first, 48u);
}

TEST(TuningRecord, B4_74_ASimulatorsRecordAnswersForThatSimulatorAlone) {
  constexpr const char *simulated = "NVIDIA A100-SXM4-80GB (Tessera simulator)";
  const Problem shape = {4, 32, 8, 512, 512};
  EXPECT_EQ(choose({record(512, 32, simulated)}, shape, {}, simulated), std::pair(32u, RecordMatch::Exact));
  EXPECT_EQ(choose({record(4096, 32, simulated)}, shape, {}, simulated), std::pair(32u, RecordMatch::Nearest));
  EXPECT_EQ(choose({record(512, 32, simulated)}, shape).first, 0u) << "not for the GPU that it poses as";
  EXPECT_EQ(choose({record(512, 32, simulated)}, shape, {}, "NVIDIA A30 (Tessera simulator)").first, 0u);
  EXPECT_EQ(choose({record(512, 32, simulated), record(9999, 48, "NVIDIA A30")}, shape),
            std::pair(48u, RecordMatch::Family));
  EXPECT_EQ(choose({record(512, 32)}, shape, {}, simulated), std::pair(32u, RecordMatch::Family))
      << "what was measured";
  EXPECT_TRUE(isSimulatedDevice(simulated));
  EXPECT_FALSE(isSimulatedDevice(a100));
}

TEST(TuningRecord, B4_77_TiesGoToTheLast) {
  EXPECT_EQ(choose({record(512, 32), record(512, 48)}, {4, 32, 8, 512, 512}).first, 48u);
  EXPECT_EQ(choose({record(512, 48), record(512, 32)}, {4, 32, 8, 600, 600}).first, 32u);
}

TEST(TuningRecord, B4_74_AShapeIsMoreThanWhatBatchAndHeadsMultiplyTo) {
  std::vector<TuningRecord> records = {record(512, 16), record(512, 32), record(512, 48), record(300, 64)};
  records[1].problem = {1, 128, 32, 512, 512};
  records[2].problem = {32, 4, 1, 512, 512};
  const auto expect = [&](unsigned tileKv, RecordMatch match, const Problem &problem) {
    EXPECT_EQ(choose(records, problem), std::pair(tileKv, match));
  };
  for (int turn = 0; turn < 2; ++turn) { // in whatever order they were recorded
    expect(16, RecordMatch::Exact, {4, 32, 8, 512, 512});
    expect(32, RecordMatch::Exact, {1, 128, 32, 512, 512});
    expect(48, RecordMatch::Exact, {32, 4, 1, 512, 512});
    expect(64, RecordMatch::Exact, {4, 32, 8, 300, 300});
    expect(turn == 0 ? 48 : 16, RecordMatch::Bucket, {2, 64, 16, 512, 512}); // the newest of the nearest
    expect(64, RecordMatch::Bucket, {2, 64, 16, 300, 300});
    std::ranges::reverse(records);
  }
}

} // namespace
} // namespace tessera
