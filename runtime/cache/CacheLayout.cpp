// Names of the cache's files, told from those of others.
#include "runtime/cache/CacheLayout.h"

#include "runtime/cache/TrustedFile.h"

#include <cerrno>
#include <fmt/format.h>
#include <optional>

namespace tessera::detail {
namespace {

bool isHex(std::string_view text) { return text.find_first_not_of("0123456789abcdef") == std::string_view::npos; }

std::optional<CacheFileKind> kindOf(std::string_view name) {
  if (name == "clean.lock" || name == "tuning.lock")
    return CacheFileKind::Lock;
  if (name == "tuning.jsonl")
    return CacheFileKind::Tuning;
  if (name.starts_with("tuning.") && name.ends_with(".tmp"))
    return CacheFileKind::Temporary;
  if (name.size() < 64 || !isHex(name.substr(0, 64)))
    return std::nullopt;
  const std::string_view rest = name.substr(64);
  if (rest == CacheLayout::entrySuffix)
    return CacheFileKind::Entry;
  if (rest == CacheLayout::noteSuffix)
    return CacheFileKind::Note;
  if (rest == ".lock")
    return CacheFileKind::Lock;
  if (rest.starts_with('.') && rest.ends_with(".tmp"))
    return CacheFileKind::Temporary;
  return std::nullopt;
}

/// The names in a folder inside the cache; nothing where the folder is not there or not to be trusted.
std::optional<std::vector<std::string>> namesIn(FileSystem &files, const std::string &folder, Failures &failures) {
  const FolderVerdict verdict = judgeFolder(files, folder, /*mayBeLink=*/false);
  if (verdict.fault != CacheMiss::None && verdict.fault != CacheMiss::Absent)
    failures.add(fmt::format("{}: {}", folder, verdict.why));
  if (verdict.fault != CacheMiss::None)
    return std::nullopt;
  std::vector<std::string> names;
  if (int error = files.list(folder, names); error < 0 && error != -ENOENT) // what was read before a fault counts
    failures.add(folder, error);
  return names;
}

} // namespace

void Failures::add(std::string what) {
  if (++count == 1)
    first = std::move(what);
}

void Failures::add(const std::string &path, int error) { add(fmt::format("{}: {}", path, errorText(error))); }

int makeFolders(FileSystem &files, const std::string &folder) {
  const int error = files.makeFolder(folder, 0700);
  if (error == 0 || error == -EEXIST)
    return 0;
  const size_t slash = folder.rfind('/');
  if (error != -ENOENT || slash == 0 || slash == std::string::npos)
    return error;
  if (int above = makeFolders(files, folder.substr(0, slash)); above < 0)
    return above;
  const int again = files.makeFolder(folder, 0700);
  return again == -EEXIST ? 0 : again;
}

std::vector<std::string> versionFolders(FileSystem &files, const std::string &directory, Failures &failures) {
  std::vector<std::string> names, folders;
  // The slash: the folder itself may be a link.
  if (int error = files.list(directory + "/", names); error < 0 && error != -ENOENT)
    failures.add(directory, error);
  for (const std::string &name : names)
    if (name.size() > 1 && name[0] == 'v' && name.find_first_not_of("0123456789", 1) == std::string::npos)
      folders.push_back(fmt::format("{}/{}", directory, name));
  return folders;
}

std::vector<std::string> walkCache(FileSystem &files, const std::string &version, Failures &failures,
                                   const std::function<void(const CacheFile &)> &each) {
  std::vector<std::string> entered;
  auto eachIn = [&](const std::string &folder, const std::vector<std::string> &names) {
    entered.push_back(folder);
    for (const std::string &name : names) {
      const std::optional<CacheFileKind> kind = kindOf(name);
      if (!kind)
        continue;
      CacheFile file;
      file.path = fmt::format("{}/{}", folder, name);
      file.kind = *kind;
      file.hash = name.substr(0, std::min<size_t>(name.size(), 64));
      if (int error = files.statusOf(file.path, file.status); error == 0)
        each(file);
      else if (error != -ENOENT)
        failures.add(file.path, error);
    }
  };
  const std::optional<std::vector<std::string>> top = namesIn(files, version, failures);
  if (!top)
    return entered;
  for (const std::string &name : *top)
    if ((name.size() == 2 && isHex(name)) || name == "notes") {
      const std::string folder = fmt::format("{}/{}", version, name);
      if (std::optional<std::vector<std::string>> names = namesIn(files, folder, failures))
        eachIn(folder, *names);
    }
  eachIn(version, *top);
  return entered;
}

} // namespace tessera::detail
