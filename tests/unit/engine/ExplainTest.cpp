// explain: the choice, its reason and its costs, without a compiler.
#include "tests/unit/engine/Fakes.h"

namespace tessera {
namespace {

using Explain = fakes::Test;

AttentionSpec wide() {
  AttentionSpec spec;
  spec.headDim = spec.valueDim = 256;
  return spec;
}

TEST_F(Explain, DefaultSaysWhatLargerTilesWereInTheWay) {
  Explanation e = explain(wide(), *Target::parse("sm_86"));
  EXPECT_EQ(e.schedule, defaultSchedule(wide(), *Target::parse("sm_86")));
  ASSERT_EQ(e.rejected.size(), 1u);
  EXPECT_NE(e.rejected[0].find("128x64 tiles with 8 warps"), std::string::npos);
  EXPECT_NE(e.rejected[0].find("131072 bytes of shared memory; sm_86 has 101376"), std::string::npos);
  EXPECT_NE(e.reason.find("128x32 tiles with 8 warps"), std::string::npos);
  EXPECT_EQ(e.sharedBytes, 98304u);
  EXPECT_EQ(e.sharedLimit, 101376u);
  EXPECT_EQ(e.blockThreads, 256u);
  EXPECT_EQ(e.blocksPerSm, 1u);
  EXPECT_NE(e.text().find("98304 of 101376 bytes"), std::string::npos) << e.text();
}

TEST_F(Explain, ResidencyCountsSharedMemoryAndRegisters) {
  EXPECT_EQ(explain(AttentionSpec(), *Target::parse("sm_80")).blocksPerSm,
            2u); // 65,536 bytes, about 240 registers, 4 warps
}

TEST_F(Explain, IllegalScheduleSaysWhy) {
  Explanation e = explain(wide(), *Target::parse("sm_86"), Schedule{.tileKv = 24});
  EXPECT_NE(e.reason.find("tile_kv must be a multiple of 16"), std::string::npos);
  EXPECT_EQ(e.sharedBytes, 0u);
}

TEST_F(Explain, EngineExplainsForADeviceAndCompilesNothing) {
  Result<Explanation> e = fakes::engine().explain(wide(), {}, fakes::device("cuda:2"));
  ASSERT_TRUE(e.ok());
  EXPECT_EQ(e->target, "sm_89");
  EXPECT_EQ(fakes::compiler().compiles, 0);
  AttentionSpec bad;
  bad.headDim = 12;
  EXPECT_EQ(fakes::engine().explain(bad, {}, fakes::device()).status().code(), Code::Unsupported);
}

} // namespace
} // namespace tessera
