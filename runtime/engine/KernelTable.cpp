// Single flight: one compile per key, any number of keys at once.
#include "runtime/engine/KernelTable.h"

namespace tessera::detail {

KernelTable::Loaded KernelTable::find(const KernelKey &key) const {
  std::shared_lock lock(mutex_);
  auto found = kernels_.find(key);
  return found == kernels_.end() ? nullptr : found->second;
}

Result<KernelTable::Loaded> KernelTable::findOrMake(const KernelKey &key, const std::function<Result<Loaded>()> &make,
                                                    bool &made) {
  made = false;
  std::shared_ptr<Flight> flight;
  {
    std::unique_lock lock(mutex_);
    if (auto found = kernels_.find(key); found != kernels_.end())
      return found->second;
    std::shared_ptr<Flight> &slot = flights_[key];
    if (!slot) {
      slot = std::make_shared<Flight>();
      made = true;
    }
    flight = slot;
  }
  if (!made) {
    std::unique_lock lock(flight->mutex);
    flight->landed.wait(lock, [&] { return flight->result.has_value(); });
    return *flight->result;
  }

  Result<Loaded> result = make();
  {
    // The kernel is in the table before its flight is gone from it, so that nobody makes it twice.
    std::unique_lock lock(mutex_);
    if (result)
      kernels_.emplace(key, *result);
    flights_.erase(key);
  }
  {
    std::lock_guard lock(flight->mutex);
    flight->result = result;
  }
  flight->landed.notify_all();
  return result;
}

void KernelTable::add(const KernelKey &alias, Loaded kernel) {
  std::unique_lock lock(mutex_);
  kernels_.emplace(alias, std::move(kernel));
}

} // namespace tessera::detail
