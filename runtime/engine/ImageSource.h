// ImageSource: kernel images from the disk cache and the compiler, without any device.
#pragma once

#include "runtime/cache/DiskCache.h"
#include "runtime/engine/CompilerLibrary.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

/// What a request may draw on.
enum class Policy : uint8_t {
  BundleOnly, ///< opened bundles and memory; no cache, no compiler
  CacheOnly,  ///< bundles, memory and the disk cache; never compiles
  Jit,        ///< everything (default)
};
std::string_view name(Policy policy); ///< bundle-only, cache-only, jit
std::optional<Policy> parsePolicy(std::string_view text);

struct FoundImage {
  KernelImage image;
  bool compiled = false;   ///< by this call; else from the disk
  double milliseconds = 0; ///< to compile or to read
  std::string warnings;    ///< of the compiler
};

/// Thread-safe. Threads that ask for one key at once each look and compile (the engine lets one go at a time);
/// processes that share the cache wait for each other, as long as that is not too long.
class ImageSource {
public:
  /// `compilerLibrary` as in CompilerLibrary::open; it is loaded by the first request that has to compile.
  ImageSource(std::shared_ptr<DiskCache> cache, std::string compilerLibrary);

  /// From the disk, else compiled and stored. With Policy::CacheOnly a miss is NotFound with the reason, and nothing is
  /// compiled; otherwise Unsupported without a compiler, CompileError, ... The schedule must be legal.
  Result<FoundImage> get(const AttentionSpec &spec, const Schedule &schedule, const Target &target, Policy policy);

  /// The key that get() looks for. Unsupported without a compiler, whose build is part of it.
  Result<ImageKey> keyOf(const AttentionSpec &spec, const Schedule &schedule, const Target &target);

  DiskCache &cache() const { return *cache_; }
  uint64_t compiles() const { return compiles_; }

private:
  Result<FoundImage> compile(const AttentionSpec &spec, const Schedule &schedule, const Target &target);

  std::shared_ptr<DiskCache> cache_;
  std::string compilerLibrary_;
  std::atomic<uint64_t> compiles_{0};
  std::mutex identityMutex_;
  std::optional<std::pair<std::string, std::string>> identity_; ///< build and assembler, once known
};

} // namespace tessera
