// The reasons behind the choice of a schedule, and its costs.
#include "runtime/engine/Explain.h"

#include "runtime/spec/DefaultSchedule.h"
#include "runtime/spec/SharedLayout.h"

#include <algorithm>
#include <fmt/format.h>

namespace tessera {
namespace {

/// Shared memory is allocated with 1 KiB per block on top, registers per warp in steps of 256.
unsigned residentBlocks(const Explanation &e, const Target &target) {
  const unsigned warps = e.blockThreads / 32;
  const unsigned byShared = unsigned(target.sharedBytesPerSm / (e.sharedBytes + 1024));
  const unsigned byRegisters = 65536 / (warps * ((std::min(e.estimatedRegisters, 255u) + 7) / 8 * 8) * 32);
  return std::min({byShared, byRegisters, target.maxWarpsPerSm / warps, target.maxBlocksPerSm});
}

void addCosts(Explanation &e, const Target &target) {
  e.target = target.name;
  e.sharedBytes = e.schedule.sharedBytes(e.spec);
  e.sharedLimit = target.sharedBytesPerBlock;
  e.estimatedRegisters = estimatedRegisters(e.schedule, e.spec);
  e.blockThreads = 32 * e.schedule.warps;
  e.blocksPerSm = residentBlocks(e, target);
}

std::string tilesText(const Schedule &s) {
  return fmt::format("{}x{} tiles with {} warps", s.tileQ, s.tileKv, s.warps);
}

} // namespace

Explanation explain(const AttentionSpec &spec, const Target &target) {
  ScheduleChoice choice = chooseDefaultSchedule(spec, target);
  Explanation e;
  e.spec = spec;
  e.schedule = choice.schedule;
  e.provenance = "default";
  e.reason = fmt::format("default: {} for {} with head dims up to {}{}", tilesText(choice.schedule),
                         spec.dtype == DType::F32 ? "f32 inputs" : "16-bit inputs", choice.maxDim,
                         choice.rejected.empty() ? ""
                                                 : fmt::format(", after {} larger that {} cannot hold",
                                                               choice.rejected.size(), target.name));
  for (const auto &[schedule, status] : choice.rejected)
    e.rejected.push_back(tilesText(schedule) + ": " + status.message());
  addCosts(e, target);
  return e;
}

Explanation explain(const AttentionSpec &spec, const Target &target, const Schedule &given) {
  Explanation e;
  e.spec = spec;
  e.schedule = given;
  e.provenance = "given";
  Status status = given.legal(spec, target);
  e.reason = status.ok() ? "given by the caller" : "given by the caller, and refused: " + status.text();
  if (status.ok())
    addCosts(e, target);
  else
    e.target = target.name;
  return e;
}

std::string Explanation::text() const {
  std::string text;
  auto line = [&](std::string_view label, std::string_view value) { text += fmt::format("{:<14}{}\n", label, value); };
  line("attention", spec.text());
  line("target", target);
  line("schedule", schedule.text());
  line("because", reason);
  for (const std::string &one : rejected)
    line("rejected", one);
  if (blockThreads) {
    line("shared", fmt::format("{} of {} bytes per block", sharedBytes, sharedLimit));
    line("registers", fmt::format("about {} of 255 per thread", estimatedRegisters));
    line("residency", fmt::format("{} threads per block, {} blocks per SM", blockThreads, blocksPerSm));
  }
  return text;
}

} // namespace tessera
