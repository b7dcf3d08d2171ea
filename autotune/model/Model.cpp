// The time of a launch: the clocks of an SM (Sm.h), the waves of blocks over the GPU, and the traffic to device memory.
#include "autotune/model/Model.h"

#include "autotune/model/Occupancy.h"
#include "autotune/model/Sm.h"
#include "autotune/model/Traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::tune {
namespace {

/// Where spills were not counted: every spilled register is written and read about once per step.
BlockWork withSpills(BlockWork work, const Footprint &footprint) {
  if (footprint.spillBytes && work.perTile.localBytes == 0) {
    work.perTile.localBytes = 2.0 * footprint.spillBytes * footprint.threads;
    work.perTile.instructions += work.perTile.localBytes / 4 / 32;
  }
  return work;
}

/// Clocks until the last block ends: waves where blocks are alike; else the mean load of an SM and what the blocks that
/// start last stick out.
struct Span {
  double clocks = 0, even = 0; ///< even: as if every SM ended at once
};

Span spanOf(const Gpu &gpu, const Schedule &s, const Grid &grid, const Sm &sm, double perSm) {
  const double blocks = grid.blocks(), resident = perSm * gpu.sms;
  Span span;
  if (blocks == 0)
    return span;
  span.even = blocks / resident * sm.blockClocks(perSm, grid.mean);
  if (blocks <= resident) {
    const double together = std::ceil(blocks / gpu.sms);
    span.clocks = std::min(sm.blockClocks(together, grid.longest),
                           sm.blockClocks(together, grid.mean) + (grid.longest - grid.mean) * sm.stepClocks(1));
  } else if (grid.longest - grid.shortest < 0.1 * grid.mean) {
    const double waves = std::floor(blocks / resident), left = blocks - waves * resident;
    span.clocks = waves * sm.blockClocks(perSm, grid.longest);
    if (left > 0)
      span.clocks += sm.blockClocks(std::ceil(left / gpu.sms), grid.longest);
  } else if (s.persistent) {
    // Tile after tile by number: within a wave the first block has the longest tile, and so in the next.
    const double group = std::min(double(s.headGroup), grid.pairs) * grid.tiles;
    const double rounds = blocks / std::max(group, resident);
    span.clocks = span.even + std::sqrt(rounds) * (grid.longest - grid.mean) * sm.stepClocks(perSm);
  } else {
    // When the last block starts, its neighbours have half of theirs to do on average; as they end it is left alone.
    const double among = sm.stepClocks(perSm), thinning = (among + sm.stepClocks(1)) / 2;
    span.clocks = span.even + std::max(grid.lastLongest * thinning - grid.lastMean / 2 * among, 0.0);
  }
  span.clocks = std::max(span.clocks, span.even);
  return span;
}

} // namespace

Prediction predict(const Gpu &gpu, const Task &task, const Schedule &schedule, const Footprint &footprint,
                   const BlockWork &work) {
  Prediction p;
  p.work = work.basis;
  p.footprint = footprint.basis;
  p.blocksPerSm = blocksPerSm(gpu, footprint);
  p.flops = usefulFlops(task);
  const double clocksPerMs = gpu.clockMHz * 1e3;
  const double resident = std::max(double(p.blocksPerSm), 1.0) * gpu.sms;
  const Grid grid = gridOf(task, schedule, resident);
  const Sm sm(gpu, task, schedule, withSpills(work, footprint).withoutNegatives(grid.mean));
  p.waves = grid.blocks() / resident;
  p.memoryBytes = memoryBytes(gpu, task, schedule, grid, resident);

  const Span span = spanOf(gpu, schedule, grid, sm, std::max(double(p.blocksPerSm), 1.0));
  const double perSmBlocks = grid.blocks() / gpu.sms;
  const double memory = p.memoryBytes / (gpu.memoryGBps * gpu.memoryShare * 1e6);
  for (int unit = 0; unit < unitCount; ++unit)
    p.terms.push_back(
        {std::string(unitNames[unit]), perSmBlocks * (grid.mean * sm.step()[unit] + sm.fixed()[unit]) / clocksPerMs});
  p.terms.push_back({"memory", memory});
  const double busy = perSmBlocks * sm.busyClocks(1, grid.mean);
  p.terms.push_back({"latency", (span.even - busy) / clocksPerMs});
  p.terms.push_back({"tail", (span.clocks - span.even) / clocksPerMs});
  p.terms.push_back({"launch", gpu.launchMicroseconds / 1e3});
  p.bound = std::max_element(p.terms.begin(), p.terms.end(), [](const Term &a, const Term &b) {
              return a.milliseconds < b.milliseconds;
            })->name;
  if (p.blocksPerSm == 0) {
    p.milliseconds = std::numeric_limits<double>::infinity();
    return p;
  }
  p.milliseconds = gpu.launchMicroseconds / 1e3;
  if (grid.blocks() == 0)
    return p;
  const double inner = span.clocks / clocksPerMs, power = gpu.overlapPower, most = std::max(inner, memory);
  p.milliseconds += most * std::pow(std::pow(inner / most, power) + std::pow(memory / most, power), 1 / power);
  return p;
}

Prediction predict(const Gpu &gpu, const Task &task, const Schedule &schedule) {
  return predict(gpu, task, schedule, estimateFootprint(task, schedule), estimateWork(task, schedule));
}

std::string Prediction::text() const {
  std::string text =
      fmt::format("{:.4f} ms predicted ({} work, {} footprint), bound by {}; {} blocks per SM, {:.2f} waves\n",
                  milliseconds, tune::name(work), tune::name(footprint), bound, blocksPerSm, waves);
  for (const Term &term : terms)
    text += fmt::format("  {:<9}{:10.4f} ms\n", term.name, term.milliseconds);
  return text;
}

} // namespace tessera::tune
