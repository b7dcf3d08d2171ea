// The least work of an attention, by hand for small ones, and the table that holds it beside the counters.
#include "autotune/cli/CounterReport.h"
#include "autotune/cli/ProblemFlags.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::cli;

namespace {

ResolvedProblem problem(std::optional<Align> causal, int64_t queries, int64_t keys) {
  ProblemFlags flags;
  flags.batch = 2;
  flags.heads = 4;
  flags.kvHeads = 1;
  flags.headDim = 64;
  flags.valueDim = 32;
  flags.seqlenQ = queries;
  flags.seqlenKv = keys;
  flags.causal = causal;
  flags.lse = true;
  flags.dtype = DType::BF16;
  auto resolved = flags.resolve();
  EXPECT_TRUE(resolved) << resolved.status().text();
  return *resolved;
}

TEST(LeastWork, InputsAndOutputsOnceAndWhatIsVisible) {
  const LeastWork least = leastWork(problem(std::nullopt, 100, 50));
  EXPECT_EQ(least.readBytes, 2 * (2 * 4 * 100 * 64 + 2 * 50 * (64 + 32)));
  EXPECT_EQ(least.writtenBytes, 2 * (2 * 4 * 100 * 32) + 4 * 2 * 4 * 100);
  EXPECT_EQ(least.exponents, 2 * 4 * 100 * 50);
  EXPECT_EQ(least.flops, 2.0 * (64 + 32) * 2 * 4 * 100 * 50);
  EXPECT_EQ(least.tileFlops, 0);
}

TEST(LeastWork, VisitedTilesAreThoseWithAVisibleScore) {
  Schedule schedule;
  schedule.tileQ = 64;
  schedule.tileKv = 32;
  // 130 rows are three tiles; all see all 100 keys, four tiles.
  EXPECT_EQ(leastWork(problem(std::nullopt, 130, 100), &schedule).tileFlops, 2.0 * 96 * 8 * (3 * 4) * 64 * 32);
  // Top-left: rows 0-63 see keys 0-63, two tiles; rows 64-127 keys 0-99 (of 0-127), four; rows 128-129 all four.
  const LeastWork causal = leastWork(problem(Align::TopLeft, 130, 100), &schedule);
  EXPECT_EQ(causal.tileFlops, 2.0 * 96 * 8 * (2 + 4 + 4) * 64 * 32);
  EXPECT_EQ(causal.exponents, 8.0 * (100 * 101 / 2 + 30 * 100));
  // Bottom-right with more queries than keys: rows 0-29 see nothing; row 63 sees keys 0-33, two tiles.
  EXPECT_EQ(leastWork(problem(Align::BottomRight, 130, 100), &schedule).tileFlops,
            2.0 * 96 * 8 * (2 + 4 + 4) * 64 * 32);
}

TEST(CounterRows, MeasuredMinimumAndRatio) {
  LeastWork least;
  least.readBytes = 1000;
  least.writtenBytes = 100;
  least.exponents = 640;
  least.flops = 512;
  least.tileFlops = 1024;
  const Json counters = {{"global_loads", {{"bytes", 500}, {"sectors", 50}, {"ideal_sectors", 25}}},
                         {"async_copies", {{"bytes", 1500}, {"sectors", 50}, {"ideal_sectors", 50}}},
                         {"global_stores", {{"bytes", 100}, {"sectors", 4}, {"ideal_sectors", 4}}},
                         {"footprint", {{"read_bytes", 1000}, {"written_bytes", 100}}},
                         {"ldmatrix", {{"requests", 3}, {"wavefronts", 24}, {"ideal_wavefronts", 12}}},
                         {"shared_loads", {{"requests", 0}, {"wavefronts", 0}, {"ideal_wavefronts", 0}}},
                         {"mma_flops", 2048},
                         {"ex2", 40},
                         {"local_bytes", 64},
                         {"warp_instructions", 100},
                         {"instructions", {1, 2, 3}}};
  const auto rowOf = [&](std::string_view name) {
    for (const CounterRow &row : counterRows(counters, least))
      if (row.name.find(name) != std::string::npos)
        return row;
    ADD_FAILURE() << name;
    return CounterRow();
  };
  EXPECT_EQ(rowOf("bytes read").ratio(), 2.0);
  EXPECT_EQ(rowOf("distinct").ratio(), 1.0);
  EXPECT_DOUBLE_EQ(*rowOf("fetched").ratio(), 100.0 / 75);
  EXPECT_EQ(rowOf("exponents").ratio(), 2.0);
  EXPECT_EQ(rowOf("visited tiles").ratio(), 2.0);
  EXPECT_EQ(rowOf("visible scores").measured, 1280);
  EXPECT_EQ(rowOf("ldmatrix").ratio(), 2.0);
  EXPECT_EQ(rowOf("spilled").least, 0.0);
  EXPECT_EQ(rowOf("spilled").ratio(), std::nullopt);
  for (const CounterRow &row : counterRows(counters, least))
    EXPECT_EQ(row.name.find("  loads"), std::string::npos); // nothing there to tell
  const Json report = counterJson(counters, least);
  EXPECT_FALSE(report.contains("instructions"));
  EXPECT_EQ(report["least"]["flops_in_tiles"], 1024);
  EXPECT_EQ(report["table"][0]["ratio"], 2.0);
}

} // namespace
