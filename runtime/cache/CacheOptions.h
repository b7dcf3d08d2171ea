// CacheOptions: where the disk cache is, how large it may grow, and what may be done with it.
#pragma once

#include "runtime/spec/Result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

enum class CacheMode : uint8_t {
  ReadWrite,
  ReadOnly, ///< never writes, not even a stamp
  Refresh,  ///< reads no entry: every kernel is compiled anew and its entry replaced; the tuning log is read
  Off,
};
std::string_view name(CacheMode mode); ///< rw, ro, refresh, off
std::optional<CacheMode> parseCacheMode(std::string_view text);

struct CacheOptions {
  std::optional<CacheMode> mode; ///< absent: $TESSERA_CACHE, else ReadWrite
  std::string directory;         ///< empty: $TESSERA_CACHE_DIR, else $XDG_CACHE_HOME/tessera, else $HOME/.cache/tessera
  std::optional<uint64_t> maxBytes; ///< of all entries; absent: $TESSERA_CACHE_SIZE ("512M"), else 1 GiB
};

/// "1048576", "512M", "2G", "1.5GiB": bytes. InvalidArgument for anything else.
Result<uint64_t> parseByteCount(std::string_view text);
/// "1.5 GiB", "512 bytes".
std::string byteText(uint64_t bytes);

/// The folder that these options and the environment name, not looked at yet; NotFound with the reason where nothing
/// names one (HOME unset, empty, relative or "/" and no other). Never a folder in a shared temporary directory.
Result<std::string> cacheDirectory(const CacheOptions &options);

} // namespace tessera
