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

} // namespace

const std::vector<TuningRecord> &TuningLog::of(const AttentionSpec &spec) const {
  const std::string specText = spec.text();
  std::lock_guard lock(mutex_);
  const auto [known, fresh] = bySpec_.try_emplace(specText);
  if (!fresh)
    return known->second;
  // The text of a spec needs no escapes, so a line of it holds it as it is.
  std::string lines;
  const std::string_view text = text_;
  for (size_t at = text.find(specText); at != text.npos; at = text.find(specText, at)) {
    const size_t newline = text.rfind('\n', at), begin = newline == text.npos ? 0 : newline + 1;
    at = std::min(text.find('\n', at), text.size());
    lines.append(text.substr(begin, at - begin)) += '\n';
  }
  std::vector<TuningRecord> records = readRecordLines(lines).records;
  std::erase_if(records, [&](const TuningRecord &record) { return record.spec.text() != specText; });
  keepLast(records);
  return known->second = std::move(records);
}

RecordLines TuningLog::all() const {
  RecordLines lines = readRecordLines(text_);
  keepLast(lines.records);
  return lines;
}

std::string DiskCache::tuningPath() const {
  return state_->layout.directory.empty() ? std::string() : state_->layout.tuning();
}

std::shared_ptr<const TuningLog> DiskCache::tuningLog() const {
  if (state_->unusable || !state_->readsEntries())
    return std::make_shared<const TuningLog>(CacheMiss::Off, "the disk cache is not read");
  return state_->readTuning();
}

std::shared_ptr<const TuningLog> DiskCache::State::readTuning() {
  if (const CacheMiss fault = folders(); fault != CacheMiss::None)
    return std::make_shared<const TuningLog>(fault, "");
  detail::TrustedFile file(files, layout.tuning(), TuningLog::maxBytes);
  std::string text = file.read(file.size());
  if (file.fault() != CacheMiss::None)
    return std::make_shared<const TuningLog>(file.fault(), file.detail());
  return std::make_shared<const TuningLog>(std::move(text));
}

Status DiskCache::keepTuning(std::span<const TuningRecord> records) {
  State &state = *state_;
  const auto refused = [&](std::string_view why) {
    return Status(Code::File, fmt::format("the tuning log {} is not written: {}", tuningPath(), why),
                  "choose another folder with TESSERA_CACHE_DIR, or keep the result in a bundle");
  };
  if (state.unusable || !state.writing)
    return refused(fmt::format("the mode of the disk cache is {}", name(mode())));
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
  if (before->fault() == CacheMiss::Unreadable)
    return refused(before->detail());
  std::vector<TuningRecord> all = before->all().records;
  all.insert(all.end(), records.begin(), records.end());
  keepLast(all);
  std::string text;
  for (size_t i = all.size() - std::min(all.size(), TuningLog::maxRecords); i < all.size(); ++i)
    text += recordLine(all[i]);
  if (text.size() > TuningLog::maxBytes)
    return refused(fmt::format("it would have {} bytes; at most {}", text.size(), TuningLog::maxBytes));
  std::string why;
  if (!state.write(state.layout.version(), "tuning", ".jsonl", text, &why))
    return refused(why);
  return {};
}

} // namespace tessera
