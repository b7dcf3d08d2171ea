// The model's ranking against the tiles that others chose by measuring their kernels (design/schedules.md, Ampere and
// Ada rows). No constant of the model was fitted to a row of it.
#include "tests/unit/model/Tasks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <tuple>

namespace tessera::tune {
namespace {

using Tile = std::tuple<unsigned, unsigned, unsigned>; ///< tile_q, tile_kv, warps

struct Published {
  const char *gpu;
  unsigned dim;
  std::vector<Tile> tiles; ///< any of them, without those for windows
};

const std::vector<Published> table = {
    {"a100", 64, {{128, 112, 4}, {128, 128, 4}}},
    {"a100", 96, {{128, 48, 4}, {128, 64, 4}}},
    {"a100", 128, {{128, 64, 4}}},
    {"a100", 192, {{128, 64, 8}, {128, 80, 8}, {128, 96, 8}}},
    {"a100", 256, {{128, 64, 8}, {128, 80, 8}, {128, 96, 8}}},
    {"rtx4090", 64, {{128, 112, 4}, {128, 128, 4}}},
    {"rtx4090", 96, {{128, 48, 4}, {128, 64, 4}}},
    {"rtx4090", 128, {{128, 96, 8}, {128, 112, 8}, {128, 128, 8}}},
    {"rtx4090", 192, {{128, 64, 8}, {128, 80, 8}, {128, 96, 8}}},
    {"rtx4090", 256, {{128, 32, 8}, {128, 48, 8}, {128, 64, 8}}},
};

/// The first five tiles of the ranking that differ.
std::vector<Tile> bestTiles(const Gpu &gpu, const Task &task) {
  const std::vector<Schedule> legal = Space::of(task, targetOf(gpu))->legal;
  std::vector<Tile> best;
  for (size_t i : rank(gpu, task, legal, targetOf(gpu))) {
    const Tile tile{legal[i].tileQ, legal[i].tileKv, legal[i].warps};
    if (std::find(best.begin(), best.end(), tile) == best.end())
      best.push_back(tile);
    if (best.size() == 5)
      break;
  }
  return best;
}

void scaleLatencies(Gpu &gpu, double factor) {
  for (Figure Gpu::*latency : {&Gpu::latencyMma, &Gpu::latencyShared, &Gpu::latencyL2, &Gpu::latencyMemory,
                               &Gpu::latencyBarrier, &Gpu::latencyDependent})
    (gpu.*latency).value *= factor;
}

/// The pairs for which a published tile is among the first five for causal and full, at all three lengths.
int pairsFound(const std::function<void(Gpu &)> &change, std::string &missed) {
  int found = 0;
  for (const Published &row : table) {
    Gpu gpu = *Gpu::find(row.gpu);
    change(gpu);
    std::string at;
    for (bool causal : {true, false})
      for (int64_t length : {2048, 4096, 8192}) {
        const std::vector<Tile> best = bestTiles(gpu, usualTask(row.dim, causal, length));
        if (std::none_of(best.begin(), best.end(), [&](const Tile &tile) {
              return std::find(row.tiles.begin(), row.tiles.end(), tile) != row.tiles.end();
            }))
          at += fmt::format(" {} {}", causal ? "causal" : "full", length);
      }
    found += at.empty();
    if (!at.empty())
      missed += fmt::format("{} d {} is not among the first five at{}\n", row.gpu, row.dim, at);
  }
  return found;
}

// rtx4090 at d 128 is missed for causal 2k alone, by one place. A matrix unit of 256 FMA per clock hides everything
// else, so that the tiles of this card differ by their ends, and the diagonal of a short sequence wastes more of a
// large tile: in front stand 64x64 and 64x32 with 4 warps and 128x32, of which FlashAttention-2 takes the first
// (causal) and the last (full) on this architecture. The published 128x96 to 128x128 with 8 warps were measured on
// longer ones.
TEST(PublishedTiles, AreAmongTheFirstFiveForEightOfTenPairs) {
  std::string missed;
  EXPECT_EQ(table.size(), 10u);
  EXPECT_GE(pairsFound([](Gpu &) {}, missed), 8) << missed;
}

// The constants that nobody can look up may be off: what the model ranks first must not hang on them.
TEST(PublishedTiles, AreAmongThemThoughTheEstimatedConstantsAreOff) {
  const std::pair<const char *, std::function<void(Gpu &)>> changes[] = {
      {"units overlap less", [](Gpu &gpu) { gpu.overlapPower.value = 2; }},
      {"units overlap more", [](Gpu &gpu) { gpu.overlapPower.value = 4; }},
      {"warps overlap more by themselves", [](Gpu &gpu) { gpu.chainShare.value = 0.25; }},
      {"warps overlap nothing by themselves", [](Gpu &gpu) { gpu.chainShare.value = 1; }},
      {"slower L2", [](Gpu &gpu) { gpu.l2BytesPerClock.value *= 0.7; }},
      {"faster L2", [](Gpu &gpu) { gpu.l2BytesPerClock.value *= 1.5; }},
      {"half the latencies", [](Gpu &gpu) { scaleLatencies(gpu, 0.5); }},
      {"twice the latencies", [](Gpu &gpu) { scaleLatencies(gpu, 2); }},
  };
  for (const auto &[what, change] : changes) {
    std::string missed;
    EXPECT_GE(pairsFound(change, missed), 8) << what << "\n" << missed;
  }
}

} // namespace
} // namespace tessera::tune
