// Names of the cache's files, told from those of others.
#include "runtime/cache/CacheLayout.h"

#include <cerrno>
#include <fmt/format.h>
#include <optional>

namespace tessera::detail {
namespace {

bool isHex(std::string_view text) { return text.find_first_not_of("0123456789abcdef") == std::string_view::npos; }

std::optional<CacheFileKind> kindOf(std::string_view name) {
  if (name == "clean.lock")
    return CacheFileKind::Lock;
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

std::vector<std::string> namesIn(FileSystem &files, const std::string &folder) {
  std::vector<std::string> names;
  files.list(folder, names); // what was read before a fault counts
  return names;
}

} // namespace

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

std::vector<std::string> versionFolders(FileSystem &files, const std::string &directory) {
  std::vector<std::string> folders;
  for (const std::string &name : namesIn(files, directory + "/")) // the slash: the folder itself may be a link
    if (name.size() > 1 && name[0] == 'v' && name.find_first_not_of("0123456789", 1) == std::string::npos)
      folders.push_back(fmt::format("{}/{}", directory, name));
  return folders;
}

std::vector<std::string> innerFolders(FileSystem &files, const std::string &version) {
  std::vector<std::string> folders;
  for (const std::string &name : namesIn(files, version))
    if ((name.size() == 2 && isHex(name)) || name == "notes")
      folders.push_back(fmt::format("{}/{}", version, name));
  folders.push_back(version);
  return folders;
}

void walkCache(FileSystem &files, const std::string &version, const std::function<void(const CacheFile &)> &each) {
  for (const std::string &folder : innerFolders(files, version))
    for (const std::string &name : namesIn(files, folder)) {
      CacheFile file;
      file.path = fmt::format("{}/{}", folder, name);
      if (std::optional<CacheFileKind> kind = kindOf(name); kind && files.statusOf(file.path, file.status) == 0) {
        file.kind = *kind;
        file.hash = name.substr(0, std::min<size_t>(name.size(), 64));
        each(file);
      }
    }
}

} // namespace tessera::detail
