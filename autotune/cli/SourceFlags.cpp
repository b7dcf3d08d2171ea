// Flags to the options of an engine.
#include "autotune/cli/SourceFlags.h"

#include "autotune/cli/Print.h"
#include "autotune/cli/ProblemFlags.h"
#include "autotune/cli/files/ByteSource.h"

#include <fmt/format.h>

#include <cstdio>

namespace tessera::cli {
namespace {

Result<CacheMode> parseMode(const std::string &text) {
  if (const std::optional<CacheMode> mode = parseCacheMode(text))
    return *mode;
  return Status(Code::InvalidArgument,
                fmt::format("'{}' is not a mode of the cache; give rw, ro (write nothing), refresh (read no kernel, "
                            "compile anew and store) or off",
                            text));
}

Result<Policy> parsePolicyText(const std::string &text) {
  if (const std::optional<Policy> policy = parsePolicy(text))
    return *policy;
  return Status(Code::InvalidArgument,
                fmt::format("'{}' is not a policy; give bundle-only, cache-only (never compile) or jit", text));
}

/// The text of a key file: one short line.
template <typename Key> Result<Key> readKey(const std::string &path) {
  constexpr uint64_t kMostBytes = 4096;
  const Result<std::string> text = files::readWhole(path, kMostBytes);
  if (!text)
    return text.status();
  Result<Key> key = Key::parse(*text);
  if (!key)
    return Status(Code::File, fmt::format("{}: {}", path, key.status().message()), key.status().hint());
  return key;
}

} // namespace

void CacheFlags::addTo(CLI::App &app, bool withMode) {
  const std::string group = "Disk cache";
  if (withMode)
    addValue(app, "--cache", mode, parseMode,
             "read and write, only read, compile anew and replace, or neither (default $TESSERA_CACHE, else rw)",
             "rw|ro|refresh|off")
        ->group(group);
  app.add_option("--cache-dir", directory,
                 "its folder (default $TESSERA_CACHE_DIR, else $XDG_CACHE_HOME/tessera, else ~/.cache/tessera)")
      ->type_name("DIR")
      ->group(group);
}

void SourceFlags::addTo(CLI::App &app) {
  const std::string group = "Sources";
  app.add_option("--bundle", bundles, "take the kernel from this bundle; may be given several times, the first wins")
      ->allow_extra_args(false)
      ->type_name("FILE")
      ->group(group);
  app.add_option("--public-key", publicKey, "every bundle must be signed by this key, else exit code 2")
      ->type_name("FILE")
      ->group(group);
  addValue(app, "--policy", policy, parsePolicyText,
           "what a kernel may come from: bundles only, bundles and the disk cache, or also the compiler (default jit)",
           "bundle-only|cache-only|jit")
      ->group(group);
  cache.addTo(app);
}

Result<EngineOptions> SourceFlags::engineOptions(const CommonFlags &common) const {
  if (bundles.empty() && policy == Policy::BundleOnly)
    return Status(Code::InvalidArgument, "--policy bundle-only needs a bundle", "add --bundle FILE");
  if (bundles.empty() && !publicKey.empty())
    return Status(Code::InvalidArgument, fmt::format("--public-key {} is for bundles, and none is given", publicKey),
                  "add --bundle FILE, or leave it out");
  EngineOptions options;
  options.bundles = bundles;
  if (!publicKey.empty()) {
    const Result<PublicKey> key = readPublicKey(publicKey);
    if (!key)
      return key.status();
    options.bundleKey = key->text();
  }
  options.cache = cache.options();
  options.policy = policy.value_or(Policy::Jit);
  options.warn = warnings(common);
  return options;
}

Result<PublicKey> readPublicKey(const std::string &path) { return readKey<PublicKey>(path); }
Result<PrivateKey> readPrivateKey(const std::string &path) { return readKey<PrivateKey>(path); }

std::function<void(const std::string &)> warnings(const CommonFlags &common) {
  if (common.quiet)
    return [](const std::string &) {};
  return [](const std::string &warning) { say("tessera: {}\n", warning); };
}

} // namespace tessera::cli
