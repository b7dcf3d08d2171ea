// Folders, single entries and warnings of a cache, below its public calls.
#include "runtime/cache/DiskCacheState.h"

#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>

namespace tessera {

void DiskCache::State::warnOnce(const std::string &sentence) {
  if (!warned.exchange(true) && warn)
    warn(sentence);
}

void DiskCache::State::turnOff(const std::string &why) {
  unusable = true;
  warnOnce("the disk cache is off: " + why);
}

CacheMiss DiskCache::State::folders() {
  if (unusable || layout.directory.empty())
    return CacheMiss::Off;
  if (checked)
    return CacheMiss::None;
  for (const std::string &folder : {layout.directory, layout.version()}) {
    const detail::FolderVerdict verdict = detail::judgeFolder(files, folder, /*mayBeLink=*/folder == layout.directory);
    if (verdict.fault == CacheMiss::None)
      continue;
    if (verdict.fault == CacheMiss::Absent || (verdict.error && detail::isPassing(verdict.error)))
      return CacheMiss::Absent;
    turnOff(verdict.error ? fmt::format("{} cannot be looked at: {}; set TESSERA_CACHE_DIR to a folder of your own",
                                        folder, verdict.why)
                          : fmt::format("{} {}", folder, verdict.why));
    return CacheMiss::Off;
  }
  checked = true;
  return CacheMiss::None;
}

DiskCache::Lookup DiskCache::State::read(const std::string &path, const std::string *wanted) {
  const std::string folder = path.substr(0, path.rfind('/'));
  if (const detail::FolderVerdict verdict = detail::judgeFolder(files, folder, /*mayBeLink=*/false);
      verdict.fault != CacheMiss::None)
    return {std::nullopt, verdict.fault,
            verdict.fault == CacheMiss::Absent ? "" : fmt::format("{}: {}", folder, verdict.why)};
  detail::TrustedFile file(files, path, maxEntryBytes);
  const std::string bytes = file.read(file.size());
  counters.bytesRead += bytes.size();
  if (file.fault() != CacheMiss::None)
    return {std::nullopt, file.fault(), file.detail()};
  Result<KernelImage> image = KernelImage::parse(bytes);
  if (!image.ok())
    return {std::nullopt, CacheMiss::Malformed, fmt::format("{}: {}", path, image.status().message())};
  if (layout.entry(keyHash(image->keyText)) != path || (wanted && image->keyText != *wanted))
    return {std::nullopt, CacheMiss::OtherKey, path + ": holds the kernel of another key"};
  // A stamp ahead of now, from before a clock was set back, is mended like an old one; else nothing is written.
  if (const int64_t now = files.now();
      wanted && opened == CacheMode::ReadWrite && std::abs(now - file.stamp()) >= stampSeconds)
    file.touch(now);
  return {std::move(*image), CacheMiss::None, {}};
}

bool DiskCache::State::write(const std::string &folder, const std::string &stem, std::string_view suffix,
                             std::string_view bytes, std::string *why) {
  const auto refused = [&](std::string reason) {
    if (why)
      *why = std::move(reason);
    return false;
  };
  int error = -ENOENT;
  // The folder may be missing, and another process may clear the cache just after it was made.
  for (int attempt = 0; attempt < 3 && error == -ENOENT; ++attempt) {
    if (attempt > 0)
      if (error = detail::makeFolders(files, folder); error < 0)
        break;
    const CacheMiss state = folders();
    if (state == CacheMiss::Off)
      return refused(fmt::format("{} is not to be used", layout.directory));
    const detail::FolderVerdict verdict = detail::judgeFolder(files, folder, /*mayBeLink=*/false);
    if (verdict.fault == CacheMiss::Untrusted)
      return refused(fmt::format("{} {}", folder, verdict.why));
    error = state == CacheMiss::Absent ? -ENOENT : verdict.error;
    if (error == 0)
      error = detail::replaceFile(files, folder, stem, std::string(suffix), bytes);
  }
  if (error == 0)
    return true;
  giveUpWriting(folder, error);
  return refused(fmt::format("{}: {}", folder, detail::errorText(error)));
}

void DiskCache::State::giveUpWriting(const std::string &folder, int error) {
  const bool neverMade = detail::judgeFolder(files, layout.directory, /*mayBeLink=*/true).fault == CacheMiss::Absent;
  // ENOENT passes where another process has just removed folders, but not where none can be made at all, as in /proc.
  const bool lasting = neverMade && error == -ENOENT && detail::makeFolders(files, layout.directory) == -ENOENT;
  if (detail::isPassing(error) && !lasting)
    return;
  if (!writing.exchange(false))
    return;
  if (neverMade)
    warnOnce(fmt::format("the disk cache keeps nothing: the folder {} cannot be made: {}; set TESSERA_CACHE_DIR to a "
                         "folder of your own",
                         layout.directory, detail::errorText(error)));
  else
    warnOnce(
        fmt::format("the disk cache no longer writes: {}: {}; kernels are still found there, new ones are not kept",
                    folder, detail::errorText(error)));
}

} // namespace tessera
