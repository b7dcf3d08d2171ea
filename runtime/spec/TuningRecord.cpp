// The choice among tuning records: exact shape, bucket, nearest shape, another GPU with code for the same target.
#include "runtime/spec/TuningRecord.h"

#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <tuple>

namespace tessera {
namespace {

/// What the choice of a schedule depends on in a shape.
struct Extents {
  uint64_t seqlenQ, seqlenKv, batchHeads, group;

  explicit Extents(const Problem &problem)
      : seqlenQ(uint64_t(problem.seqlenQ)), seqlenKv(uint64_t(problem.seqlenKv)),
        batchHeads(uint64_t(problem.batch) * uint64_t(problem.kvHeads)),
        group(problem.kvHeads > 0 ? uint64_t(problem.heads / problem.kvHeads) : 0) {}
};

uint64_t rounded(uint64_t extent) {
  constexpr uint64_t largest = uint64_t(1) << 63;
  return extent == 0 ? 0 : extent > largest ? largest : std::bit_ceil(extent);
}

bool sameBucket(const Extents &a, const Extents &b) {
  return rounded(a.seqlenQ) == rounded(b.seqlenQ) && rounded(a.seqlenKv) == rounded(b.seqlenKv) &&
         rounded(a.batchHeads) == rounded(b.batchHeads) && a.group == b.group;
}

double distance(const Extents &a, const Extents &b) {
  auto ratio = [](uint64_t x, uint64_t y) { return std::fabs(std::log2(double(x) + 1) - std::log2(double(y) + 1)); };
  return ratio(a.seqlenQ, b.seqlenQ) + ratio(a.seqlenKv, b.seqlenKv) + ratio(a.batchHeads, b.batchHeads) +
         ratio(a.group, b.group);
}

} // namespace

bool isSimulatedDevice(std::string_view device) { return device.ends_with(" (Tessera simulator)"); }

std::string_view name(RecordMatch match) {
  constexpr std::string_view names[] = {"exact", "bucket", "nearest", "family"};
  return names[unsigned(match)];
}

std::string bucketOf(const Problem &problem) {
  const Extents extents(problem);
  return fmt::format("q{},kv{},b{},g{}", rounded(extents.seqlenQ), rounded(extents.seqlenKv),
                     rounded(extents.batchHeads), extents.group);
}

std::optional<RecordChoice> chooseRecord(std::span<const TuningRecord> records, const AttentionSpec &spec,
                                         const Problem &problem, std::string_view device, const Target &target) {
  const Extents wanted(problem);
  const std::string specText = spec.text();
  std::optional<RecordChoice> best;
  double bestDistance = 0;
  for (const TuningRecord &record : records) {
    if (record.target != target.name || record.spec.headDim != spec.headDim || // texts take longer to compare
        record.spec.dtype != spec.dtype || (record.device != device && isSimulatedDevice(record.device)) ||
        record.spec.text() != specText || !record.schedule.legal(spec, target))
      continue;
    const Extents found(record.problem);
    const RecordMatch match = record.device != device     ? RecordMatch::Family
                              : record.problem == problem ? RecordMatch::Exact
                              : sameBucket(found, wanted) ? RecordMatch::Bucket
                                                          : RecordMatch::Nearest;
    const double away = distance(found, wanted);
    if (!best || std::tie(match, away) <= std::tie(best->match, bestDistance)) { // of equals the last
      best = RecordChoice{&record, match};
      bestDistance = away;
    }
  }
  return best;
}

} // namespace tessera
