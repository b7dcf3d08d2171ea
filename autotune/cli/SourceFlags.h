// SourceFlags: the flags that say where kernels may come from: bundles, the disk cache, the compiler.
#pragma once

#include "autotune/cli/Commands.h"
#include "runtime/engine/Engine.h"

#include <CLI/App.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

/// Where the disk cache is and what may be done with it.
struct CacheFlags {
  std::optional<CacheMode> mode;
  std::string directory;

  void addTo(CLI::App &app, bool withMode = true);
  CacheOptions options() const { return {.mode = mode, .directory = directory, .maxBytes = {}}; }
};

/// What prepares a kernel may draw on.
struct SourceFlags {
  std::vector<std::string> bundles;
  std::string publicKey; ///< file; empty: signatures are not asked for
  std::optional<Policy> policy;
  CacheFlags cache;

  void addTo(CLI::App &app);
  /// Refuses combinations that could only fail later: --policy bundle-only without a bundle, --public-key likewise.
  Result<EngineOptions> engineOptions(const CommonFlags &common) const;
};

/// The key in the file that `tessera bundle keygen` wrote.
Result<PublicKey> readPublicKey(const std::string &path);
Result<PrivateKey> readPrivateKey(const std::string &path);

/// Warnings of the library on stderr, or nowhere if quiet.
std::function<void(const std::string &)> warnings(const CommonFlags &common);

} // namespace tessera::cli
