// Modes and sizes in words, and the folder that options and environment name.
#include "runtime/cache/CacheOptions.h"

#include "runtime/spec/CanonicalText.h"

#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

namespace tessera {
namespace {

constexpr std::array<std::string_view, 4> modeNames = {"rw", "ro", "refresh", "off"};
constexpr std::array<std::string_view, 5> unitNames = {"bytes", "KiB", "MiB", "GiB", "TiB"};
constexpr uint64_t maxByteCount = INT64_MAX; // file sizes are signed

/// The value of an environment variable; an empty one counts as unset.
std::string environment(const char *variable) {
  const char *value = std::getenv(variable);
  return value ? value : "";
}

/// 2^(10 k) for "", "k", "K", "KiB", ...; 0 for anything else. The powers of ten ("MB") are refused, not misread.
uint64_t unitOf(std::string_view text) {
  if (text.empty() || text == "B" || text == "byte" || text == "bytes")
    return 1;
  if (std::string_view rest = text.substr(1); !rest.empty() && rest != "iB")
    return 0;
  for (unsigned power = 1; power < unitNames.size(); ++power)
    if (std::toupper(static_cast<unsigned char>(text[0])) == unitNames[power][0])
      return uint64_t(1) << (10 * power);
  return 0;
}

/// Absolute, without "." and trailing slashes.
Result<std::string> absolutePath(const std::string &path) {
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(path, error).lexically_normal();
  if (error)
    return Status(Code::NotFound, fmt::format("the cache folder '{}' is relative to a working folder that is gone: {}",
                                              path, error.message()));
  std::string text = absolute.string();
  text.erase(0, text.find_first_not_of('/') == std::string::npos ? text.size() : text.find_first_not_of('/'));
  while (text.ends_with('/'))
    text.pop_back();
  return "/" + text;
}

} // namespace

std::string_view name(CacheMode mode) {
  return size_t(mode) < modeNames.size() ? modeNames[size_t(mode)] : std::string_view("unknown");
}

std::optional<CacheMode> parseCacheMode(std::string_view text) {
  for (size_t i = 0; i < modeNames.size(); ++i)
    if (text == modeNames[i])
      return CacheMode(i);
  return std::nullopt;
}

Result<uint64_t> parseByteCount(std::string_view text) {
  const auto refuse = [&](std::string_view what) {
    return Status(Code::InvalidArgument, fmt::format("'{}' {}", text.substr(0, 64), what),
                  "a count of bytes such as 1048576, 512M, 2G or 1.5GiB");
  };
  const size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, end);
  std::string_view unitText = text.substr(end);
  if (unitText.size() > 1 && unitText[0] == ' ')
    unitText.remove_prefix(1);
  const uint64_t unit = unitOf(unitText);
  if (!unit || number.empty() || number[0] == '.')
    return refuse("is not a size");
  if (number.find('.') == std::string_view::npos) {
    uint64_t count = 0;
    if (!detail::readNumber(number, count) || count > maxByteCount / unit)
      return refuse("is too large");
    return count * unit;
  }
  double count = 0;
  if (!detail::readNumber(number, count) || unit == 1)
    return refuse("is not a whole number of bytes");
  if (count * double(unit) >= double(maxByteCount))
    return refuse("is too large");
  return uint64_t(count * double(unit));
}

std::string byteText(uint64_t bytes) {
  if (bytes < 1024)
    return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  double value = double(bytes);
  unsigned unit = 0;
  for (; value >= 1023.95 && unit + 1 < unitNames.size(); ++unit) // where one decimal would read 1024.0
    value /= 1024;
  const bool whole = value == double(uint64_t(value));
  return fmt::format("{:.{}f} {}", value, whole ? 0 : 1, unitNames[unit]);
}

Result<std::string> cacheDirectory(const CacheOptions &options) {
  if (!options.directory.empty())
    return absolutePath(options.directory);
  if (std::string named = environment("TESSERA_CACHE_DIR"); !named.empty())
    return absolutePath(named);
  // The XDG specification has relative values ignored.
  if (std::string base = environment("XDG_CACHE_HOME"); base.starts_with('/'))
    return absolutePath(base + "/tessera");
  const std::string home = environment("HOME");
  const auto none = [](std::string why) {
    return Status(Code::NotFound, std::move(why) + " and names no folder for the disk cache",
                  "set TESSERA_CACHE_DIR to a folder of your own, or TESSERA_CACHE=off");
  };
  if (home.empty())
    return none("HOME is not set");
  if (!home.starts_with('/'))
    return none(fmt::format("HOME is the relative path '{}'", home));
  Result<std::string> folder = absolutePath(home);
  if (folder.ok() && *folder == "/")
    return none("HOME is '/'");
  return folder.ok() ? absolutePath(*folder + "/.cache/tessera") : folder;
}

} // namespace tessera
