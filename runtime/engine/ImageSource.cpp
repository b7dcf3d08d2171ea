// Looks on the disk, then compiles and stores; other processes that want the same key wait rather than compile it too.
#include "runtime/engine/ImageSource.h"

#include "runtime/engine/CompilerIdentity.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace tessera {
namespace {

/// How long a process waits for another one that compiles the same key. A compile takes a fraction of it; who waits
/// longer than this waits for somebody who is stuck.
constexpr unsigned longestWaitMs = 10000;

double millisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

std::string_view name(Policy policy) {
  constexpr std::string_view names[] = {"bundle-only", "cache-only", "jit"};
  return names[unsigned(policy)];
}

std::optional<Policy> parsePolicy(std::string_view text) {
  for (Policy policy : {Policy::BundleOnly, Policy::CacheOnly, Policy::Jit})
    if (name(policy) == text)
      return policy;
  return std::nullopt;
}

ImageSource::ImageSource(std::shared_ptr<DiskCache> cache, std::string compilerLibrary)
    : cache_(std::move(cache)), compilerLibrary_(std::move(compilerLibrary)) {}

Result<ImageKey> ImageSource::keyOf(const AttentionSpec &spec, const Schedule &schedule, const Target &target) {
  std::lock_guard lock(identityMutex_);
  if (!identity_) {
    Result<detail::CompilerIdentity> found = detail::identifyCompiler(compilerLibrary_, *cache_);
    if (!found)
      return found.status();
    identity_.emplace(found->build, found->assembler);
  }
  return ImageKey{identity_->first, spec, schedule, std::string(target.name), identity_->second, {}};
}

Result<FoundImage> ImageSource::get(const AttentionSpec &spec, const Schedule &schedule, const Target &target,
                                    Policy policy) {
  if (policy == Policy::BundleOnly)
    return Status(Code::NotFound, "the policy bundle-only allows neither the cache nor the compiler");
  const CacheMode mode = cache_->mode();
  if (mode == CacheMode::Off && policy == Policy::Jit)
    return compile(spec, schedule, target);

  const auto start = std::chrono::steady_clock::now();
  Result<ImageKey> key = keyOf(spec, schedule, target);
  if (!key)
    return key.status();
  const std::string keyText = key->text();
  const auto fromDisk = [&](DiskCache::Lookup &lookup) {
    return FoundImage{*std::move(lookup.image), false, millisecondsSince(start), {}};
  };
  if (mode == CacheMode::Off || mode == CacheMode::Refresh)
    if (policy == Policy::CacheOnly)
      return Status(Code::NotFound,
                    fmt::format("the policy cache-only has no disk cache to read: its mode is {}", name(mode)),
                    "let it be rw or ro (--cache, TESSERA_CACHE), or use another policy");
  DiskCache::Lookup lookup = cache_->find(keyText);
  if (lookup.image)
    return fromDisk(lookup);
  if (policy == Policy::CacheOnly)
    return Status(Code::NotFound,
                  fmt::format("the disk cache{} has no kernel for {} with schedule {} on {} ({}{}{})",
                              cache_->directory().empty() ? "" : " in " + cache_->directory(), spec.text(),
                              schedule.text(), target.name, name(lookup.miss), lookup.detail.empty() ? "" : ": ",
                              lookup.detail),
                  "prepare it once with the policy jit, ship it in a bundle, or ask `tessera explain --why-miss`");

  // Whoever holds the lock may have stored it between the look above and this lock, so it looks again.
  std::unique_ptr<DiskCache::KeyLock> lock = cache_->lock(keyText, longestWaitMs);
  if (lock)
    if (DiskCache::Lookup again = cache_->find(keyText, /*again=*/true); again.image)
      return fromDisk(again);
  Result<FoundImage> made = compile(spec, schedule, target);
  if (made && !made->image.keyText.empty())
    cache_->store(made->image);
  return made;
}

Result<FoundImage> ImageSource::compile(const AttentionSpec &spec, const Schedule &schedule, const Target &target) {
  const auto start = std::chrono::steady_clock::now();
  Result<std::shared_ptr<const CompilerLibrary>> compiler = CompilerLibrary::open(compilerLibrary_);
  if (!compiler)
    return compiler.status();
  CompileRequest request;
  request.spec = spec;
  request.schedule = schedule;
  request.target = target.name;
  ++compiles_;
  Result<CompileOutput> output = (*compiler)->compile(request);
  if (!output)
    return output.status();
  Result<KernelImage> image = KernelImage::parse(output->bytes);
  if (!image)
    return Status(Code::Internal,
                  fmt::format("{} returned no image: {}", (*compiler)->path(), image.status().message()),
                  "libtessera.so and libtessera-compiler.so must come from one build");
  if (!(image->spec == spec) || image->schedule != schedule || image->target != request.target)
    return Status(Code::Internal, fmt::format("{} was asked for {} {} {} and returned {} {} {}", (*compiler)->path(),
                                              spec.text(), schedule.text(), request.target, image->spec.text(),
                                              image->schedule.text(), image->target));
  return FoundImage{*std::move(image), true, millisecondsSince(start), std::move(output->warnings)};
}

} // namespace tessera
