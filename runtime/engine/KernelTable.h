// KernelTable: the kernels of one engine in memory, each made once however many threads ask for it.
#pragma once

#include "runtime/engine/KernelKey.h"
#include "runtime/engine/LoadedKernel.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace tessera::detail {

/// Thread-safe.
class KernelTable {
public:
  using Loaded = std::shared_ptr<const LoadedKernel>;

  /// The finished kernel of this key, or null.
  Loaded find(const KernelKey &key) const;

  /// The kernel of this key. The first caller makes it, outside of any lock; those who come meanwhile wait for that
  /// one, and other keys are not held up. `made` says whether this call made it. A failure goes to all who waited and
  /// is forgotten, so that the next call tries again.
  Result<Loaded> findOrMake(const KernelKey &key, const std::function<Result<Loaded>()> &make, bool &made);

  /// Lets `alias` find what was made for another key.
  void add(const KernelKey &alias, Loaded kernel);

private:
  /// One compile under way.
  struct Flight {
    std::mutex mutex;
    std::condition_variable landed;
    std::optional<Result<Loaded>> result;
  };

  mutable std::shared_mutex mutex_;
  std::unordered_map<KernelKey, Loaded, KernelKeyHash> kernels_;
  std::unordered_map<KernelKey, std::shared_ptr<Flight>, KernelKeyHash> flights_;
};

} // namespace tessera::detail
