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

detail::FolderState DiskCache::State::folders() {
  if (unusable || layout.directory.empty())
    return detail::FolderState::Unusable;
  if (checked)
    return detail::FolderState::Usable;
  for (const std::string &folder : {layout.directory, layout.version()}) {
    detail::FolderVerdict verdict = detail::judgeFolder(files, folder, /*mayBeLink=*/folder == layout.directory);
    if (verdict.state == detail::FolderState::Unusable)
      turnOff(verdict.why);
    if (verdict.state != detail::FolderState::Usable)
      return verdict.state;
  }
  checked = true;
  return detail::FolderState::Usable;
}

DiskCache::Lookup DiskCache::State::read(const std::string &path, const std::string *wanted) {
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
                             std::string_view bytes) {
  int error = -ENOENT;
  // The folder may be missing, and another process may clear the cache just after it was made.
  for (int attempt = 0; attempt < 3 && error == -ENOENT; ++attempt) {
    if (attempt > 0)
      if (error = detail::makeFolders(files, folder); error < 0)
        break;
    const detail::FolderState state = folders();
    if (state == detail::FolderState::Unusable)
      return false;
    error = state == detail::FolderState::Usable ? detail::replaceFile(files, folder, stem, std::string(suffix), bytes)
                                                 : -ENOENT;
  }
  if (error < 0 && !detail::isPassing(error) && writing.exchange(false))
    warnOnce(
        fmt::format("the disk cache no longer writes: {}: {}; kernels are still found there, new ones are not kept",
                    folder, detail::errorText(error)));
  return error == 0;
}

} // namespace tessera
