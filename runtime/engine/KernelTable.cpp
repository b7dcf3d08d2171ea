// Single flight: one compile per key, any number of keys at once; and the limit on what is kept.
#include "runtime/engine/KernelTable.h"

#include <algorithm>

namespace tessera::detail {
namespace {

/// Shapes that find one kernel; beyond them the oldest is forgotten and found anew.
constexpr size_t maxKeys = 64;

} // namespace

KernelTable::Found KernelTable::find(const KernelKey &key) const {
  std::shared_lock lock(mutex_);
  auto found = entries_.find(key);
  if (found == entries_.end())
    return {};
  const Entry &entry = found->second;
  entry.slot->lastUse.store(hits_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return {entry.slot->kernel, entry.reason};
}

Result<KernelTable::Loaded> KernelTable::findOrMake(const KernelKey &key, const std::function<Result<Loaded>()> &make,
                                                    bool &made) {
  made = false;
  std::shared_ptr<Flight> flight;
  {
    std::unique_lock lock(mutex_);
    if (auto found = entries_.find(key); found != entries_.end()) {
      found->second.slot->lastUse = ++hits_;
      return found->second.slot->kernel;
    }
    std::shared_ptr<Flight> &slot = flights_[key];
    if (!slot) {
      slot = std::make_shared<Flight>();
      made = true;
    }
    flight = slot;
  }
  if (!made) {
    std::unique_lock lock(flight->mutex);
    flight->landed.wait(lock, [&] { return flight->over; });
    if (!flight->result) {
      lock.unlock();
      return findOrMake(key, make, made);
    }
    if (*flight->result)
      ++hits_;
    return *flight->result;
  }

  std::vector<Loaded> dropped; // released outside of the lock
  try {
    Result<Loaded> result = make();
    // The kernel is in the table before its flight is gone from it, so that nobody makes it twice.
    std::unique_lock lock(mutex_);
    if (result) {
      auto slot = std::make_shared<Slot>();
      slot->kernel = *result;
      slot->lastUse = hits_ + 1;
      slots_.push_back(slot);
      insert(key, slot, nullptr);
      dropped = evict();
    }
    flights_.erase(key);
    lock.unlock();
    land(*flight, result);
    return result;
  } catch (...) { // out of memory: nobody may wait for good
    {
      std::unique_lock lock(mutex_);
      flights_.erase(key);
    }
    land(*flight, std::nullopt);
    throw;
  }
}

void KernelTable::land(Flight &flight, std::optional<Result<Loaded>> result) {
  {
    std::lock_guard lock(flight.mutex);
    flight.result = std::move(result);
    flight.over = true;
  }
  flight.landed.notify_all();
}

void KernelTable::add(const KernelKey &alias, const Loaded &kernel, Reason reason) {
  std::unique_lock lock(mutex_);
  auto slot = std::ranges::find(slots_, kernel, &Slot::kernel);
  if (slot != slots_.end()) // else evicted already
    insert(alias, *slot, std::move(reason));
}

void KernelTable::insert(const KernelKey &key, const std::shared_ptr<Slot> &slot, Reason reason) {
  auto [entry, fresh] = entries_.try_emplace(key, Entry{slot, std::move(reason)});
  if (!fresh)
    return;
  if (slot->keys.size() == maxKeys) { // the first is the kernel's own
    entries_.erase(slot->keys[1]);
    slot->keys.erase(slot->keys.begin() + 1);
  }
  slot->keys.push_back(key);
}

/// Drops the least recently used kernels beyond the limit.
std::vector<KernelTable::Loaded> KernelTable::evict() {
  std::vector<Loaded> dropped;
  while (slots_.size() > maxKernels_) {
    auto oldest = std::ranges::min_element(slots_.begin(), slots_.end() - 1, {}, // the last has only just come
                                           [](const std::shared_ptr<Slot> &slot) { return slot->lastUse.load(); });
    for (const KernelKey &key : (*oldest)->keys)
      entries_.erase(key);
    dropped.push_back((*oldest)->kernel);
    slots_.erase(oldest);
    ++evictions_;
  }
  return dropped;
}

size_t KernelTable::size() const {
  std::shared_lock lock(mutex_);
  return slots_.size();
}

} // namespace tessera::detail
