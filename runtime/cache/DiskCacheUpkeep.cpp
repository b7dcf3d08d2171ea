// Listing, checking, trimming and clearing a cache.
#include "runtime/cache/DiskCacheState.h"
#include "runtime/cache/FileLock.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <tuple>

namespace tessera {
namespace {

using detail::CacheFile;
using detail::CacheFileKind;
using detail::FolderState;

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

/// Removes what has the name of an entry; of folders only empty ones.
bool removeEntry(FileSystem &files, const std::string &path) {
  const int error = files.remove(path);
  return error == 0 || ((error == -EISDIR || error == -EPERM) && files.removeFolder(path) == 0);
}

} // namespace

uint64_t DiskCache::State::countBytes() {
  uint64_t sum = 0;
  detail::walkCache(files, layout.version(), [&](const CacheFile &file) {
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
  if (cleaner.outcome == detail::FileLock::Outcome::Busy) // without locks it is better to trim twice than never
    return removed;
  const int64_t now = files.now();
  const uint32_t user = files.user();
  std::vector<Candidate> candidates;
  uint64_t total = 0;
  detail::walkCache(files, layout.version(), [&](const CacheFile &file) {
    const int64_t stamp = int64_t(file.status.st_mtime);
    if (!S_ISREG(file.status.st_mode) || file.status.st_uid != user)
      return;
    if (file.kind == CacheFileKind::Temporary || file.kind == CacheFileKind::Lock) {
      if (std::abs(now - stamp) >= stampSeconds && detail::removeUnheld(files, file.path))
        ++removed.leftovers;
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
  }
  size = total;
  counters.evicted += removed.entries;
  return removed;
}

std::vector<CacheEntry> DiskCache::entries() const {
  std::vector<CacheEntry> entries;
  if (state_->folders() != FolderState::Usable)
    return entries;
  detail::walkCache(state_->files, state_->layout.version(), [&](const CacheFile &file) {
    if (file.kind == CacheFileKind::Entry)
      entries.push_back(entryOf(file));
  });
  std::sort(entries.begin(), entries.end(), byLastUse);
  return entries;
}

std::vector<DiskCache::Key> DiskCache::keys() const {
  std::vector<Key> keys;
  for (CacheEntry &entry : entries()) {
    detail::TrustedFile file(state_->files, entry.path, State::maxEntryBytes);
    Result<std::string> keyText = KernelImage::readKeyText([&](uint64_t bytes) { return file.read(bytes); });
    if (keyText.ok())
      keys.push_back({std::move(entry), std::move(*keyText)});
  }
  return keys;
}

std::vector<DiskCache::Verdict> DiskCache::verify(bool remove) {
  std::vector<Verdict> verdicts;
  for (CacheEntry &entry : entries()) {
    Lookup read = state_->read(entry.path, nullptr);
    if (read.miss == CacheMiss::Absent) // removed by another process since it was listed
      continue;
    if (remove && state_->mayRemove() && read.miss != CacheMiss::None && read.miss != CacheMiss::Unreadable)
      removeEntry(state_->files, entry.path);
    verdicts.push_back({std::move(entry), read.miss, std::move(read.detail)});
  }
  return verdicts;
}

DiskCache::Removed DiskCache::trimTo(uint64_t bytes) {
  if (!state_->mayRemove() || state_->folders() != FolderState::Usable)
    return {};
  return state_->sweep(bytes, bytes);
}

DiskCache::Removed DiskCache::clear() {
  Removed removed;
  State &state = *state_;
  if (!state.mayRemove() || state.folders() != FolderState::Usable)
    return removed;
  const uint32_t user = state.files.user();
  for (const std::string &version : detail::versionFolders(state.files, state.layout.directory)) {
    detail::walkCache(state.files, version, [&](const CacheFile &file) {
      if (file.status.st_uid != user || S_ISDIR(file.status.st_mode))
        return;
      if (file.kind == CacheFileKind::Temporary || file.kind == CacheFileKind::Lock) {
        removed.leftovers += detail::removeUnheld(state.files, file.path);
      } else if (state.files.remove(file.path) == 0 && file.kind == CacheFileKind::Entry) {
        ++removed.entries;
        removed.bytes += uint64_t(file.status.st_size);
      }
    });
    for (const std::string &folder : detail::innerFolders(state.files, version))
      state.files.removeFolder(folder); // the version folder last; none with files of others in it
  }
  state.size = 0;
  return removed;
}

} // namespace tessera
