// Opening a cache, finding and storing kernels, notes and locks.
#include "runtime/cache/DiskCache.h"

#include "runtime/cache/DiskCacheState.h"
#include "runtime/cache/FileLock.h"
#include "runtime/image/Digest.h"

#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>

namespace tessera {
namespace {

constexpr uint64_t defaultMaxBytes = uint64_t(1) << 30;
constexpr std::array<std::string_view, cacheMissCount> missNames = {"none",      "off",       "absent",    "untrusted",
                                                                    "malformed", "other-key", "unreadable"};

/// The mode asked for, ReadWrite where nobody asks; InvalidArgument for a word in the environment that is none.
Result<CacheMode> modeOf(const CacheOptions &options) {
  if (options.mode)
    return *options.mode;
  const char *named = std::getenv("TESSERA_CACHE");
  if (!named || !*named)
    return CacheMode::ReadWrite;
  if (std::optional<CacheMode> mode = parseCacheMode(named))
    return *mode;
  return Status(Code::InvalidArgument, fmt::format("TESSERA_CACHE is '{}'", named), "set it to rw, ro, refresh or off");
}

Result<uint64_t> sizeOf(const CacheOptions &options) {
  if (options.maxBytes)
    return *options.maxBytes;
  const char *named = std::getenv("TESSERA_CACHE_SIZE");
  if (!named || !*named)
    return defaultMaxBytes;
  Result<uint64_t> size = parseByteCount(named);
  if (size.ok())
    return *size;
  return Status(size.status().code(), "TESSERA_CACHE_SIZE: " + size.status().message(), size.status().hint());
}

constexpr size_t noteTail = 2 * sizeof(Digest) + 2; ///< newline, digest, newline

std::string noteHead(std::string_view name) { return fmt::format("tessera-note 1\n{}:{}\n", name.size(), name); }

/// The one form of a note: its name, the text, a digest over both.
std::string noteBytes(std::string_view name, std::string_view text) {
  std::string bytes = noteHead(name) + std::string(text);
  return bytes + "\n" + hexText(digestOf(bytes)) + "\n";
}

} // namespace

std::string_view name(CacheMiss miss) {
  return size_t(miss) < missNames.size() ? missNames[size_t(miss)] : std::string_view("unknown");
}

uint64_t CacheCounters::allMisses() const {
  uint64_t sum = 0;
  for (uint64_t count : misses)
    sum += count;
  return sum;
}

std::shared_ptr<DiskCache> DiskCache::open(const CacheOptions &options, std::function<void(const std::string &)> warn,
                                           FileSystem &files) {
  auto state = std::make_unique<State>(files, std::move(warn));
  const Result<CacheMode> mode = modeOf(options);
  const Result<uint64_t> size = sizeOf(options);
  const Result<std::string> directory = cacheDirectory(options);
  state->opened = mode.ok() ? *mode : CacheMode::Off;
  state->maxBytes = size.ok() ? *size : defaultMaxBytes;
  state->layout.directory = directory.ok() ? *directory : "";
  state->writing = state->mayRemove();
  for (const Status &status : {mode.status(), size.status(), directory.status()})
    if (!status.ok() && !(mode.ok() && *mode == CacheMode::Off))
      state->turnOff(status.hint().empty() ? status.message() : status.message() + "; " + status.hint());
  if (state->opened != CacheMode::Off)
    state->folders();
  return std::shared_ptr<DiskCache>(new DiskCache(std::move(state)));
}

DiskCache::DiskCache(std::unique_ptr<State> state) : state_(std::move(state)) {}
DiskCache::~DiskCache() = default;

CacheMode DiskCache::mode() const {
  if (state_->unusable)
    return CacheMode::Off;
  if (!state_->mayRemove() || state_->writing)
    return state_->opened;
  return state_->opened == CacheMode::ReadWrite ? CacheMode::ReadOnly : CacheMode::Off;
}

CacheMode DiskCache::modeAskedFor() const { return state_->opened; }

const std::string &DiskCache::directory() const { return state_->layout.directory; }
uint64_t DiskCache::maxBytes() const { return state_->maxBytes; }

DiskCache::Lookup DiskCache::find(const std::string &keyText, bool again) {
  State &state = *state_;
  Lookup found;
  const bool off = state.unusable || !state.readsEntries();
  found.miss = off ? CacheMiss::Off : state.folders();
  if (found.miss == CacheMiss::None)
    found = state.read(state.layout.entry(keyHash(keyText)), &keyText);
  if (found.miss == CacheMiss::None)
    ++state.counters.hits;
  else if (!again)
    ++state.counters.misses[size_t(found.miss)];
  return found;
}

void DiskCache::store(const KernelImage &image) {
  State &state = *state_;
  if (state.unusable || !state.writing)
    return;
  const Result<std::string> bytes = image.serialize();
  const std::string hash = keyHash(image.keyText);
  // What could not be read back, or would push out all else and then itself, is not kept.
  if (!bytes.ok() || bytes->size() > std::min(State::maxEntryBytes, state.maxBytes) ||
      !state.write(state.layout.folderOf(hash), hash, detail::CacheLayout::entrySuffix, *bytes))
    return void(++state.counters.failedStores);
  ++state.counters.stores;
  state.counters.bytesWritten += bytes->size();
  state.grow(bytes->size());
}

std::unique_ptr<DiskCache::KeyLock> DiskCache::lock(const std::string &keyText, unsigned waitMs) {
  State &state = *state_;
  const std::string hash = keyHash(keyText);
  const std::string folder = state.layout.folderOf(hash);
  if (state.unusable || !state.writing)
    return nullptr;
  detail::FileLock::Taken taken;
  for (int attempt = 0; attempt < 2 && taken.outcome == detail::FileLock::Outcome::Unavailable; ++attempt) {
    if (attempt > 0 && (state.unusable || detail::makeFolders(state.files, folder) < 0))
      return nullptr;
    if (state.folders() == CacheMiss::None &&
        detail::judgeFolder(state.files, folder, /*mayBeLink=*/false).fault == CacheMiss::None)
      taken = detail::FileLock::take(state.files, state.layout.lock(hash), waitMs);
  }
  return std::move(taken.lock);
}

std::optional<std::string> DiskCache::note(const std::string &name) {
  State &state = *state_;
  if (state.unusable || !state.readsEntries() || state.folders() != CacheMiss::None ||
      detail::judgeFolder(state.files, state.layout.notes(), /*mayBeLink=*/false).fault != CacheMiss::None)
    return std::nullopt;
  detail::TrustedFile file(state.files, state.layout.note(keyHash(name)), State::maxNoteBytes);
  const std::string bytes = file.read(file.size());
  const size_t head = noteHead(name).size();
  if (file.fault() != CacheMiss::None || bytes.size() < head + noteTail)
    return std::nullopt;
  std::string text = bytes.substr(head, bytes.size() - head - noteTail);
  return bytes == noteBytes(name, text) ? std::optional(std::move(text)) : std::nullopt;
}

void DiskCache::keepNote(const std::string &name, const std::string &text) {
  State &state = *state_;
  const std::string bytes = noteBytes(name, text);
  if (!state.unusable && state.writing && bytes.size() <= State::maxNoteBytes && note(name) != text)
    state.write(state.layout.notes(), keyHash(name), detail::CacheLayout::noteSuffix, bytes);
}

CacheCounters DiskCache::counters() const {
  const State::Counters &now = state_->counters;
  CacheCounters copy;
  copy.hits = now.hits;
  for (size_t i = 0; i < cacheMissCount; ++i)
    copy.misses[i] = now.misses[i];
  copy.stores = now.stores;
  copy.failedStores = now.failedStores;
  copy.bytesRead = now.bytesRead;
  copy.bytesWritten = now.bytesWritten;
  copy.evicted = now.evicted;
  return copy;
}

} // namespace tessera
