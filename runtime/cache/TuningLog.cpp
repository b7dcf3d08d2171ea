// Reading and rewriting the tuning log of a cache.
#include "runtime/cache/TuningLog.h"

#include "runtime/cache/DiskCacheState.h"
#include "runtime/cache/FileLock.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <tuple>

namespace tessera {
namespace {

constexpr unsigned lockWaitMs = 5000;

/// Of each spec, device, target and shape the last, in order.
void keepLast(std::vector<TuningRecord> &records) {
  std::set<std::tuple<std::string, std::string, std::string, int64_t, int64_t, int64_t, int64_t, int64_t>> seen;
  std::vector<TuningRecord> kept;
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    const Problem &p = record->problem;
    if (seen.emplace(record->spec.text(), record->device, record->target, p.batch, p.heads, p.kvHeads, p.seqlenQ,
                     p.seqlenKv)
            .second)
      kept.push_back(std::move(*record));
  }
  std::ranges::reverse(kept);
  records = std::move(kept);
}

/// The last of them that fit into half a log.
std::vector<std::string> newestForeign(std::vector<std::string> lines) {
  size_t bytes = 0, kept = 0;
  while (kept < std::min(lines.size(), TuningLog::maxRecords / 2) &&
         (bytes += lines[lines.size() - 1 - kept].size() + 1) <= TuningLog::maxBytes / 2)
    ++kept;
  lines.erase(lines.begin(), lines.end() - ptrdiff_t(kept));
  return lines;
}

} // namespace

TuningLog::TuningLog(std::string_view text) : bytes_(text.size()), lines_(readRecordLines(text)) {
  keepLast(lines_.records);
  for (const TuningRecord &record : lines_.records)
    bySpec_[record.spec.text()].push_back(record);
}

const std::vector<TuningRecord> &TuningLog::of(const AttentionSpec &spec) const {
  static const auto &none = *new std::vector<TuningRecord>;
  const auto found = bySpec_.find(spec.text());
  return found == bySpec_.end() ? none : found->second;
}

std::string DiskCache::tuningPath() const {
  return state_->layout.directory.empty() ? std::string() : state_->layout.tuning();
}

std::shared_ptr<const TuningLog> DiskCache::tuningLog() const {
  // To compile anew is no reason to choose anew: what was measured stands, and no search may take it for lost.
  if (state_->unusable || state_->opened == CacheMode::Off)
    return std::make_shared<const TuningLog>(CacheMiss::Off, "the disk cache is not read");
  return state_->readTuning();
}

std::shared_ptr<const TuningLog> DiskCache::State::readTuning() {
  if (const CacheMiss fault = folders(); fault != CacheMiss::None)
    return std::make_shared<const TuningLog>(fault, "");
  detail::TrustedFile file(files, layout.tuning(), TuningLog::maxBytes);
  const std::string text = file.read(file.size());
  if (file.fault() != CacheMiss::None)
    return std::make_shared<const TuningLog>(file.fault(), file.detail());
  return std::make_shared<const TuningLog>(text);
}

Status DiskCache::keepTuning(std::span<const TuningRecord> records) {
  State &state = *state_;
  const auto refused = [&](std::string_view why, std::string_view first = "") {
    return Status(Code::File, fmt::format("the tuning log {} is not written: {}", tuningPath(), why),
                  fmt::format("{}choose another folder with TESSERA_CACHE_DIR, or keep the result in a bundle", first));
  };
  if (!state.mayRemove())
    return refused(fmt::format("the mode of the disk cache is {}", name(state.opened)));
  if (state.unusable) // which was warned of, with the reason
    return refused("its folder is not to be used");
  if (!state.writing)
    return refused("its folder could not be written to");
  // Without locks two that write at once cost the records of one; with them nobody waits for one that hangs.
  if (state.folders() == CacheMiss::Absent)
    detail::makeFolders(state.files, state.layout.version());
  if (state.folders() == CacheMiss::Off)
    return refused("its folder is not to be used");
  const detail::FileLock::Taken writer = detail::FileLock::take(state.files, state.layout.tuningLock(), lockWaitMs);
  if (writer.outcome == detail::FileLock::Outcome::Busy)
    return refused(state.layout.tuningLock() + " is held by another process");

  std::shared_ptr<const TuningLog> before = state.readTuning();
  if (before->fault() == CacheMiss::Absent) // a network file system may have remembered that it was not there
    before = state.readTuning();
  if (before->fault() != CacheMiss::None && before->fault() != CacheMiss::Absent) // it is not known to be ours
    return refused(before->detail(), "remove it, ");
  std::vector<TuningRecord> all = before->all().records;
  all.insert(all.end(), records.begin(), records.end());
  keepLast(all);
  // What only another version of Tessera understands stands last, so that it goes on counting there, whatever is
  // recorded for the same shape here.
  std::vector<std::string> foreign;
  if (!records.empty())
    foreign = newestForeign(before->all().foreign);
  const size_t most = TuningLog::maxRecords - foreign.size();
  std::string text;
  for (size_t i = all.size() - std::min(all.size(), most); i < all.size(); ++i)
    text += recordLine(all[i]);
  for (const std::string &line : foreign)
    text += line + "\n";
  if (text.size() > TuningLog::maxBytes)
    return refused(fmt::format("it would have {} bytes; at most {}", text.size(), TuningLog::maxBytes));
  std::string why;
  if (!state.write(state.layout.version(), "tuning", ".jsonl", text, &why))
    return refused(why);
  if (const std::vector<std::string> &lost = before->all().lost; !lost.empty() && !records.empty())
    state.warnOnce(fmt::format("lines of the tuning log {} that held no record are gone: {}{}", tuningPath(),
                               lost.front(), lost.size() > 1 ? ", and others" : ""));
  return {};
}

} // namespace tessera
