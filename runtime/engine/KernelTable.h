// KernelTable: the kernels of one engine in memory, each made once however many threads ask for it, and no more of them
// than the engine may keep.
#pragma once

#include "runtime/engine/KernelKey.h"
#include "runtime/engine/LoadedKernel.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace tessera::detail {

/// Thread-safe.
class KernelTable {
public:
  using Loaded = std::shared_ptr<const LoadedKernel>;
  using Reason = std::shared_ptr<const std::string>; ///< why this schedule; null: it is the default

  explicit KernelTable(size_t maxKernels) : maxKernels_(maxKernels) {}

  struct Found {
    Loaded kernel; ///< null: none
    Reason reason;
  };
  /// The finished kernel of this key.
  Found find(const KernelKey &key) const;

  /// The kernel of this key. The first caller makes it, outside of any lock; those who come meanwhile wait for that
  /// one, and other keys are not held up. `made` says whether this call made it. A failure goes to all who waited and
  /// is forgotten, so that the next call tries again. Beyond maxKernels, the least recently found kernel is dropped.
  Result<Loaded> findOrMake(const KernelKey &key, const std::function<Result<Loaded>()> &make, bool &made);

  /// Lets `alias` find what was made for another key, for this reason.
  void add(const KernelKey &alias, const Loaded &kernel, Reason reason);

  uint64_t hits() const { return hits_; }
  uint64_t evictions() const { return evictions_; }
  size_t size() const;

private:
  /// One kernel with all keys that find it.
  struct Slot {
    Loaded kernel;
    std::atomic<uint64_t> lastUse{0};
    std::vector<KernelKey> keys;
  };
  struct Entry {
    std::shared_ptr<Slot> slot;
    Reason reason;
  };
  /// One compile under way.
  struct Flight {
    std::mutex mutex;
    std::condition_variable landed;
    bool over = false;
    std::optional<Result<Loaded>> result; ///< nothing where an exception ended the flight
  };

  /// Ends the flight: `result` goes to those who wait, who try for themselves where there is none.
  static void land(Flight &flight, std::optional<Result<Loaded>> result);
  void insert(const KernelKey &key, const std::shared_ptr<Slot> &slot, Reason reason);
  std::vector<Loaded> evict();

  const size_t maxKernels_;
  mutable std::atomic<uint64_t> hits_{0}; // also the clock of lastUse
  std::atomic<uint64_t> evictions_{0};
  mutable std::shared_mutex mutex_;
  std::unordered_map<KernelKey, Entry, KernelKeyHash> entries_;
  std::vector<std::shared_ptr<Slot>> slots_;
  std::unordered_map<KernelKey, std::shared_ptr<Flight>, KernelKeyHash> flights_;
};

} // namespace tessera::detail
