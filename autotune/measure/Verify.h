// The verdict on one kernel: run alone on poisoned outputs and compared, at small sizes and at the task's own.
#pragma once

#include "autotune/measure/Measurement.h"
#include "autotune/measure/NaiveAttention.h"
#include "autotune/space/Space.h"
#include "runtime/engine/Kernel.h"

namespace tessera::tune {

/// A launch that a kernel is checked with.
struct SmallCase {
  Problem problem;
  double growth = 0; ///< of the scores from one KV tile to the next, see ScoreTrend
};

/// Sizes that have the task's mask and group, and of this schedule more than one query tile, several KV tiles, tails,
/// one query, more queries than keys, no keys, and scores that rise and fall by more than any rescale policy lets pass;
/// where heads take their tiles in turn, more of them than one head group has; where the schedule is persistent, more
/// tiles than `residentBlocks`, and of a window its far edge unless it is thousands of keys away. Of the task's shape
/// only the ratio of its heads counts: a kernel that is right for one shape is used for others, so several KV heads and
/// batch elements are tried even where the task has one.
std::vector<SmallCase> smallCases(const Task &task, const Schedule &schedule, int64_t residentBlocks);

/// Against the f64 reference (N14), each case in memory of its own with guard zones that must stay as they were. On the
/// simulator whatever its checks find makes the kernel wrong. A launch that faults makes it wrong too; the other
/// failures are of the call.
Result<Verification> verifySmall(const Kernel &kernel, const Device &device, const Task &task);

/// At the task's own shape against the naive kernel, head by head, over every element of as many heads as `mostFlops`
/// of the naive kernel and `mostSeconds` allow, spread evenly; `against` says how many. Without NVRTC, and where one
/// head is too much for that, against the f64 reference on a sample of rows, which it says as well. So it ends within
/// the time that a search grants, however long the sequences.
Result<Verification> verifyOwnShape(const Kernel &kernel, const Device &device, const Task &task,
                                    const Result<NaiveAttention> &naive, double mostFlops = 40e12,
                                    double mostSeconds = 100);

} // namespace tessera::tune
