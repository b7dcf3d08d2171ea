// What one block of a kernel does, counted by the simulator on a few small launches of the kernel itself.
#pragma once

#include "autotune/model/Work.h"
#include "runtime/engine/Kernel.h"

#include <vector>

namespace tessera::tune {

/// The launches that stand for a task: whole query tiles as the task has them (short ones where its queries fill none,
/// its heads of one group where the schedule packs), and two numbers of KV tiles with the task's own tail and diagonal.
struct CountingPlan {
  Problem few, many;

  static CountingPlan of(const Task &task, const Schedule &schedule);
  /// Tasks of one spec with equal texts have equal counts.
  std::string text() const;
};

/// The counts of a whole launch on normal inputs with a fixed seed, so that rescales are as rare as they usually are.
/// `simulated` is a simulated device that runs the image. Changes the simulator's options and sets them back.
Result<Work> countLaunch(const Kernel &kernel, const Device &simulated, const Problem &problem);

/// Solved from the two launches of the plan: the counts of B blocks that together visit V tiles are B fixed + V
/// perTile. Unsupported where `simulated` is none. Data-dependent rescales apart, which are counted where they happen,
/// the two terms reproduce any other launch of that geometry exactly, for which `fixed` may hold counts below zero (see
/// BlockWork); a window so wide that its left edge lies beyond
/// the launches is counted without the left edge.
Result<BlockWork> simulateWork(const KernelImage &image, const Task &task, const Device &simulated);

/// Query tiles of a problem, and the KV tiles that they visit together.
struct TileCount {
  int64_t blocks = 0, tiles = 0;
};
TileCount countTiles(const AttentionSpec &spec, const Problem &problem, const Schedule &schedule);

} // namespace tessera::tune
