// Listing, checking, trimming and clearing a cache.
#include "runtime/cache/DiskCacheState.h"
#include "runtime/cache/FileLock.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <tuple>

namespace tessera {
namespace {

using detail::CacheFile;
using detail::CacheFileKind;

CacheEntry entryOf(const CacheFile &file) {
  return {file.path, file.hash, uint64_t(file.status.st_size), int64_t(file.status.st_mtime)};
}

bool byLastUse(const CacheEntry &a, const CacheEntry &b) {
  return std::tie(a.lastUse, a.path) < std::tie(b.lastUse, b.path);
}

/// An entry as the trimmer orders them: a stamp ahead of now, from before a clock was set back, counts as now, and goes
/// the sooner the further it is ahead; or the entry just stored would be the first to go.
struct Candidate {
  CacheEntry entry;
  int64_t ahead = 0; ///< seconds

  bool operator<(const Candidate &other) const {
    return std::tuple(entry.lastUse, -ahead, std::string_view(entry.path)) <
           std::tuple(other.entry.lastUse, -other.ahead, std::string_view(other.entry.path));
  }
};

/// Removes what has the name of an entry; of folders only empty ones. 0 or -errno.
int removeEntry(FileSystem &files, const std::string &path) {
  const int error = files.remove(path);
  if (error != -EISDIR && error != -EPERM)
    return error;
  const int asFolder = files.removeFolder(path);
  return asFolder == -ENOTDIR ? error : asFolder;
}

/// What a removal that failed with one of these met: it was another process's turn, which is no failure.
bool isNoFailure(int error) { return error == 0 || error == -ENOENT || error == -EWOULDBLOCK; }

} // namespace

uint64_t DiskCache::State::countBytes() {
  uint64_t sum = 0;
  detail::Failures failures; // what cannot be seen cannot be trimmed either
  detail::walkCache(files, layout.version(), failures, [&](const CacheFile &file) {
    if (file.kind == CacheFileKind::Entry && S_ISREG(file.status.st_mode))
      sum += uint64_t(file.status.st_size);
  });
  return sum;
}

void DiskCache::State::grow(uint64_t bytes) {
  uint64_t total = size;
  if (total == unknownSize)
    size = total = countBytes();
  else
    total = size += bytes;
  if (total <= maxBytes)
    return;
  const uint64_t target = maxBytes - maxBytes / 10;
  sweep(maxBytes, target);
  // Where too little could be removed, or another process is at it, the next attempt waits for as much to be stored.
  if (size > maxBytes)
    size = target;
}

DiskCache::Removed DiskCache::State::sweep(uint64_t limit, uint64_t target) {
  Removed removed;
  const detail::FileLock::Taken cleaner = detail::FileLock::take(files, layout.cleanerLock(), 0);
  if (cleaner.outcome == detail::FileLock::Outcome::Busy) { // without locks it is better to trim twice than never
    removed.failed = 1;
    removed.failure = layout.cleanerLock() + ": another process is trimming this cache";
    return removed;
  }
  detail::Failures failures;
  const int64_t now = files.now();
  const uint32_t user = files.user();
  std::vector<Candidate> candidates;
  uint64_t total = 0;
  detail::walkCache(files, layout.version(), failures, [&](const CacheFile &file) {
    const int64_t stamp = int64_t(file.status.st_mtime);
    if (!S_ISREG(file.status.st_mode) || file.status.st_uid != user)
      return;
    if (file.kind == CacheFileKind::Temporary || file.kind == CacheFileKind::Lock) {
      if (std::abs(now - stamp) < stampSeconds)
        return;
      const int error = detail::removeUnheld(files, file.path);
      removed.leftovers += error == 0;
      if (!isNoFailure(error))
        failures.add(file.path, error);
      return;
    }
    if (file.kind != CacheFileKind::Entry)
      return;
    Candidate candidate{entryOf(file), std::max<int64_t>(stamp - now, 0)};
    total += candidate.entry.bytes;
    candidate.entry.lastUse = std::min(stamp, now);
    candidates.push_back(std::move(candidate));
    if (stamp >= now + stampSeconds) // or it would stay the youngest until the clock has caught up
      detail::TrustedFile(files, file.path, maxEntryBytes).touch(now);
  });
  std::sort(candidates.begin(), candidates.end());
  const uint64_t goal = total > limit ? target : total;
  for (const Candidate &candidate : candidates) {
    if (total <= goal)
      break;
    const int error = files.remove(candidate.entry.path);
    if (error == 0)
      ++removed.entries, removed.bytes += candidate.entry.bytes;
    if (error == 0 || error == -ENOENT)
      total -= candidate.entry.bytes;
    else
      failures.add(candidate.entry.path, error);
  }
  size = total;
  removed.failed = failures.count;
  removed.failure = std::move(failures.first);
  counters.evicted += removed.entries;
  return removed;
}

std::vector<CacheEntry> DiskCache::State::list(detail::Failures &failures) {
  std::vector<CacheEntry> entries;
  if (folders() != CacheMiss::None)
    return entries;
  detail::walkCache(files, layout.version(), failures, [&](const CacheFile &file) {
    if (file.kind == CacheFileKind::Entry)
      entries.push_back(entryOf(file));
  });
  std::sort(entries.begin(), entries.end(), byLastUse);
  return entries;
}

std::vector<CacheEntry> DiskCache::entries(std::string *failure) const {
  detail::Failures failures;
  std::vector<CacheEntry> entries = state_->list(failures);
  if (failure && failures.count)
    *failure = std::move(failures.first);
  return entries;
}

std::vector<DiskCache::Key> DiskCache::keys(std::string *failure) const {
  std::vector<Key> keys;
  detail::Failures failures;
  for (CacheEntry &entry : state_->list(failures)) {
    detail::TrustedFile file(state_->files, entry.path, State::maxEntryBytes);
    Result<std::string> keyText = KernelImage::readKeyText([&](uint64_t bytes) { return file.read(bytes); });
    if (file.fault() == CacheMiss::Unreadable)
      failures.add(file.detail());
    else if (keyText.ok())
      keys.push_back({std::move(entry), std::move(*keyText)});
  }
  if (failure && failures.count)
    *failure = std::move(failures.first);
  return keys;
}

std::vector<DiskCache::Verdict> DiskCache::verify(bool remove, std::string *failure) {
  std::vector<Verdict> verdicts;
  for (CacheEntry &entry : entries(failure)) {
    Lookup read = state_->read(entry.path, nullptr);
    if (read.miss == CacheMiss::Absent) // removed by another process since it was listed
      continue;
    Verdict verdict{std::move(entry), read.miss, std::move(read.detail)};
    if (remove && state_->mayRemove() && read.miss != CacheMiss::None && read.miss != CacheMiss::Unreadable) {
      const int error = removeEntry(state_->files, verdict.entry.path);
      verdict.removed = error == 0 || error == -ENOENT;
      if (!verdict.removed)
        verdict.detail += "; it cannot be removed: " + detail::errorText(error);
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

DiskCache::Removed DiskCache::trimTo(uint64_t bytes) {
  if (!state_->mayRemove() || state_->folders() != CacheMiss::None)
    return {};
  return state_->sweep(bytes, bytes);
}

DiskCache::Removed DiskCache::clear() {
  Removed removed;
  State &state = *state_;
  if (!state.mayRemove() || state.folders() == CacheMiss::Off) // without a v1 there may be others
    return removed;
  detail::Failures failures;
  const uint32_t user = state.files.user();
  const auto removeFile = [&](const CacheFile &file) {
    if (file.status.st_uid != user)
      return failures.add(fmt::format("{}: belongs to user {}, not to {}", file.path, file.status.st_uid, user));
    const bool leftover = file.kind == CacheFileKind::Temporary || file.kind == CacheFileKind::Lock;
    const int error = leftover && S_ISREG(file.status.st_mode) ? detail::removeUnheld(state.files, file.path)
                                                               : removeEntry(state.files, file.path);
    if (!isNoFailure(error))
      failures.add(file.path, error);
    if (error != 0)
      return;
    removed.leftovers += leftover;
    removed.tuning |= file.kind == CacheFileKind::Tuning;
    if (file.kind == CacheFileKind::Entry) {
      ++removed.entries;
      removed.bytes += uint64_t(file.status.st_size);
    }
  };
  for (const std::string &version : detail::versionFolders(state.files, state.layout.directory, failures))
    for (const std::string &folder : detail::walkCache(state.files, version, failures, removeFile))
      // Files of others, and those that another process writes now, keep their folder.
      if (int error = state.files.removeFolder(folder); !isNoFailure(error) && error != -ENOTEMPTY && error != -EEXIST)
        failures.add(folder, error);
  state.size = failures.count ? State::unknownSize : 0;
  removed.failed = failures.count;
  removed.failure = std::move(failures.first);
  return removed;
}

} // namespace tessera
