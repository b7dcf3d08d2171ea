// The schedule used where no tuned record answers: the tiles that win in public tables, reduced where a target has less
// shared memory.
#include "runtime/spec/DefaultSchedule.h"

#include <algorithm>
#include <span>

namespace tessera {
namespace {

/// Tiles to try for head dims up to maxDim; the first legal one is taken.
struct Preference {
  unsigned maxDim, tileQ, tileKv, warps;
};

// 16-bit: 128 query rows keep the matrix unit busy; 4 warps of 32 rows share each K and V fragment between two MMAs as
// long as the output accumulators leave room (d <= 128), beyond it 8 warps of 16 rows.
constexpr Preference narrow[] = {
    {64, 128, 128, 4}, {128, 128, 64, 4}, {192, 128, 64, 8}, {256, 128, 64, 8},
    {256, 128, 32, 8}, {256, 64, 32, 4},  {256, 64, 16, 4},
};

// A left bound adds a comparison per score and visits few tiles: narrower ones waste less at both edges.
constexpr Preference windowed[] = {
    {64, 128, 64, 4},  {128, 128, 48, 4}, {192, 128, 64, 8}, {256, 128, 64, 8},
    {256, 128, 32, 8}, {256, 64, 32, 4},  {256, 64, 16, 4},
};

// A soft cap needs registers of its own between the two products: smaller tiles, or more warps to share them.
constexpr Preference capped[] = {
    {64, 128, 64, 4}, {192, 128, 64, 8}, {256, 128, 64, 8}, {256, 128, 32, 8}, {256, 64, 32, 4}, {256, 64, 16, 4},
};

// f32: operands are twice as wide, so half the rows fit.
constexpr Preference wide[] = {
    {64, 64, 64, 4},
    {128, 64, 32, 4},
    {256, 64, 32, 4},
    {256, 64, 16, 4},
};

/// Calls visit(schedule, maxDim) for one preference after the other until it returns true.
template <typename Visit> void walk(const AttentionSpec &spec, Visit visit) {
  const unsigned dim = std::max(spec.headDim, spec.valueDim);
  const std::span<const Preference> preferences = spec.dtype == DType::F32 ? std::span<const Preference>(wide)
                                                  : spec.softcap           ? std::span<const Preference>(capped)
                                                  : spec.mask.left         ? std::span<const Preference>(windowed)
                                                                           : std::span<const Preference>(narrow);
  for (const Preference &preference : preferences) {
    if (dim > preference.maxDim)
      continue;
    Schedule schedule;
    schedule.tileQ = preference.tileQ;
    schedule.tileKv = preference.tileKv;
    schedule.warps = preference.warps;
    if (visit(schedule, preference.maxDim))
      return;
  }
}

} // namespace

Schedule defaultSchedule(const AttentionSpec &spec, const Target &target) {
  Schedule chosen;
  walk(spec, [&](const Schedule &schedule, unsigned) {
    chosen = schedule;
    return schedule.legal(spec, target).ok();
  });
  return chosen;
}

ScheduleChoice chooseDefaultSchedule(const AttentionSpec &spec, const Target &target) {
  ScheduleChoice choice;
  walk(spec, [&](const Schedule &schedule, unsigned maxDim) {
    choice.schedule = schedule;
    choice.maxDim = maxDim;
    Status status = schedule.legal(spec, target);
    if (!status.ok())
      choice.rejected.emplace_back(schedule, status);
    return status.ok();
  });
  return choice;
}

} // namespace tessera
