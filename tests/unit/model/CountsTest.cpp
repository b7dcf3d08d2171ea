// Estimates against what the simulator counts when it runs the compiled kernel.
#include "autotune/model/Work.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace tessera::tune {
namespace {

struct Case {
  Task task;
  Schedule schedule;
};

std::string flags(const Task &task) {
  const Problem &problem = task.problem;
  std::string text = fmt::format(
      "--dtype {} --head-dim {} --value-dim {} --batch {} --heads {} --kv-heads {} --seqlen-q {} --seqlen-kv {}",
      name(task.spec.dtype), task.spec.headDim, task.spec.valueDim, problem.batch, problem.heads, problem.kvHeads,
      problem.seqlenQ, problem.seqlenKv);
  const Mask &mask = task.spec.mask;
  if (mask.left)
    text += fmt::format(" --window {},{} --align bottom-right", *mask.left, *mask.right);
  else if (mask.right)
    text += " --causal bottom-right";
  return text;
}

/// `tessera run --counters` of a case; null where it failed.
nlohmann::json countersOf(const Case &one) {
  const std::string command =
      fmt::format("{} run {} --device sim:a100 --checks off --counters --json --quiet --schedule {}", PROGRAM,
                  flags(one.task), one.schedule.text());
  FILE *pipe = popen(command.c_str(), "r"); // NOLINT(cert-env33-c): the program under test
  if (!pipe)
    return {};
  std::string text;
  char part[4096];
  for (size_t got; (got = fread(part, 1, sizeof part, pipe)) > 0;)
    text.append(part, got);
  if (pclose(pipe) != 0) {
    ADD_FAILURE() << command << "\n" << text;
    return {};
  }
  return nlohmann::json::parse(text, nullptr, false);
}

/// The estimate for the whole launch: every query tile of every head.
Work estimated(const Case &one) {
  const BlockWork block = estimateWork(one.task, one.schedule);
  const int64_t tiles = queryTiles(one.task, one.schedule);
  Work all = double(tiles) * block.fixed;
  for (int64_t tile = 0; tile < tiles; ++tile)
    all += double(visitedTiles(one.task, one.schedule, tile)) * block.perTile;
  return double(headPairs(one.task, one.schedule)) * all;
}

void compare(const Case &one) {
  SCOPED_TRACE(flags(one.task) + " --schedule " + one.schedule.text());
  const nlohmann::json report = countersOf(one);
  ASSERT_TRUE(report.is_object() && report.contains("counters"));
  const nlohmann::json &counters = report["counters"], &pipes = counters["by_pipe"];
  const Work work = estimated(one);
  auto near = [](const char *what, double estimate, double counted, double share) {
    EXPECT_NEAR(estimate, counted, share * counted) << what;
  };
  // Exact: the matrix work shows that the visited tiles are those of the kernel's loop.
  EXPECT_EQ(work.mmaFlops, counters["mma_flops"].get<double>());
  EXPECT_EQ(work.barriers, counters["barrier_waits"].get<double>() / one.schedule.warps);
  near("copied bytes", work.fillBytes, counters["async_copies"]["bytes"].get<double>(), 0.03);
  near("stored bytes", work.storeBytes, counters["global_stores"]["bytes"].get<double>(), 0.03);
  double wavefronts = 0, requests = 0;
  for (const char *kind : {"ldmatrix", "shared_loads", "shared_stores", "async_writes"})
    wavefronts += counters[kind]["wavefronts"].get<double>();
  for (const char *kind : {"ldmatrix", "shared_loads", "shared_stores"})
    requests += counters[kind]["requests"].get<double>();
  near("wavefronts", work.sharedWavefronts, wavefronts, 0.03);
  near("exponents", work.mufu, pipes["mufu"].get<double>(), 0.03);
  near("shuffles", work.shuffle, pipes["shared"].get<double>() - requests, 0.05);
  // Machine instructions: clocks of the busiest SM, of pipes of 64 lanes and of four schedulers.
  auto slots = [&](const char *pipe, double perClock) {
    return counters["modelled_clocks"][pipe].get<double>() * perClock / counters["busiest_share"].get<double>();
  };
  // How often a lazy reference moves hangs on the data: under a mask rows begin with few keys, and catch up. A move
  // takes two exponents of every 16 rows, by which it is counted, and a product of every output.
  const double rowBlocks = one.schedule.tileQ / (16.0 * one.schedule.warps);
  const double moves = (pipes["mufu"].get<double>() - work.mufu) / (2 * rowBlocks);
  const double moved = moves * rowBlocks * (one.task.spec.valueDim / 2.0 + 4);
  near("fma", work.fma + moved, slots("fma", 64.0 / 32), 0.12);
  near("alu", work.alu, slots("alu", 64.0 / 32), 0.15);
  near("instructions", work.instructions, slots("issue", 4), 0.08);
  const Footprint footprint = estimateFootprint(one.task, one.schedule);
  near("registers", footprint.registers, report["registers"].get<double>(), 0.15);
  EXPECT_EQ(footprint.sharedBytes, report["shared_bytes"].get<uint64_t>());
  EXPECT_EQ(footprint.threads, report["block_threads"].get<unsigned>());
}

enum Band { Full, Causal, Window };

Task task(unsigned dim, Band band, int64_t queries, int64_t keys) {
  Task made;
  made.spec.headDim = made.spec.valueDim = dim;
  made.spec.mask = band == Full     ? Mask::full()
                   : band == Causal ? Mask::causal(Align::BottomRight)
                                    : Mask::window(keys / 3, 0, Align::BottomRight);
  made.problem = {1, 1, 1, queries, keys};
  return made;
}

class Counts : public testing::TestWithParam<std::tuple<unsigned, const char *>> {};

TEST_P(Counts, OfTheEstimateAreThoseOfTheSimulator) {
  const auto [dim, tiles] = GetParam();
  for (const char *policy : {"every,add", "lazy8,add", "anchored,add", "lazy8,mma"})
    for (Band band : {Full, Causal, Window}) {
      const Schedule schedule = *Schedule::parse(fmt::format("v1:{},{},qsmem,online", tiles, policy));
      compare({task(dim, band, 2 * schedule.tileQ, 8 * schedule.tileKv), schedule});
    }
}

INSTANTIATE_TEST_SUITE_P(Tiles, Counts,
                         testing::Values(std::tuple(64u, "q128,kv64,w4,s1"), std::tuple(64u, "q64,kv96,w4,s1"),
                                         std::tuple(96u, "q128,kv48,w4,s1"), std::tuple(128u, "q128,kv64,w4,s1"),
                                         std::tuple(128u, "q128,kv96,w8,s1"), std::tuple(192u, "q128,kv64,w8,s1"),
                                         std::tuple(256u, "q64,kv32,w4,s1")));

TEST(Counts, OfRingsAndQueriesInRegistersAreThoseOfTheSimulator) {
  for (unsigned dim : {64u, 128u})
    for (const char *text : {"v1:q64,kv64,w4,s2,lazy8,add,qreg,online", "v1:q64,kv64,w4,s3,lazy8,add,qsmem,online",
                             "v1:q64,kv48,w4,s1,anchored,add,qreg,online"})
      for (Band band : {Full, Causal})
        compare({task(dim, band, 256, 576), *Schedule::parse(text)});
}

TEST(Counts, OfOtherTypesAndUnevenHeadsAreThoseOfTheSimulator) {
  for (Band band : {Full, Causal}) {
    Case half{task(64, band, 128, 512), *Schedule::parse("v1:q64,kv64,w4,s1,lazy8,mma,qsmem,online")};
    half.task.spec.dtype = DType::F16;
    compare(half);
    Case uneven{task(192, band, 128, 512), *Schedule::parse("v1:q64,kv64,w4,s1,lazy8,add,qsmem,online")};
    uneven.task.spec.valueDim = 128;
    compare(uneven);
    Case wide{task(64, band, 128, 512), *Schedule::parse("v1:q64,kv64,w4,s1,lazy8,add,qsmem,online")};
    wide.task.spec.dtype = DType::F32;
    compare(wide);
  }
}

TEST(Counts, OfPackedHeadsGroupsAndPersistentBlocksAreThoseOfTheSimulator) {
  for (const char *more : {",pack", ",h4", ",first", ",persist", ",pack,h2,persist"})
    for (Band band : {Full, Causal}) {
      Case one{task(64, band, 128, 384),
               *Schedule::parse(fmt::format("v1:q64,kv64,w4,s1,lazy8,add,qsmem,online{}", more))};
      one.task.problem.heads = 8;
      one.task.problem.kvHeads = 2;
      compare(one);
    }
}

} // namespace
} // namespace tessera::tune
