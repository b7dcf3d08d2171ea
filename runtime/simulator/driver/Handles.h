// Handles: the table that turns the opaque pointers of the driver API into objects, and everything else into an error.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace tessera::sim::driver {

/// A number that no handle of any kind had before, so that a stale handle, or one of another kind, never hits an
/// object. Looks like a pointer far from all that a process maps by itself; it is never followed.
inline uint64_t freshHandle() {
  static std::atomic<uint64_t> next{0x7e55'e7a0'0000'0000};
  return next.fetch_add(16, std::memory_order_relaxed);
}

/// Objects of one kind by handle. Thread-safe; an object lives on while a call that found it runs.
template <typename T, typename Handle> class Handles {
public:
  Handle add(std::shared_ptr<T> object) {
    Handle handle = reinterpret_cast<Handle>(freshHandle());
    addAs(handle, std::move(object));
    return handle;
  }
  void addAs(Handle handle, std::shared_ptr<T> object) {
    std::unique_lock lock(mutex_);
    objects_[handle] = std::move(object);
  }
  /// Null for anything that is no live handle of this kind.
  std::shared_ptr<T> find(Handle handle) const {
    std::shared_lock lock(mutex_);
    auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  /// Null for an object that is not in the table.
  Handle handleOf(const std::shared_ptr<T> &object) const {
    std::shared_lock lock(mutex_);
    for (const auto &[handle, candidate] : objects_)
      if (candidate == object)
        return handle;
    return nullptr;
  }
  /// Takes the object out; null as above.
  std::shared_ptr<T> remove(Handle handle) {
    std::unique_lock lock(mutex_);
    auto found = objects_.find(handle);
    if (found == objects_.end())
      return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }
  /// Takes the object out unless the handle stands for another one by now.
  void remove(Handle handle, const std::shared_ptr<T> &object) {
    std::unique_lock lock(mutex_);
    if (auto found = objects_.find(handle); found != objects_.end() && found->second == object)
      objects_.erase(found); // the caller's reference outlives the lock
  }
  /// Takes out all objects that match, and hands them over so that they die outside of the lock.
  template <typename Predicate> std::vector<std::shared_ptr<T>> removeIf(Predicate matches) {
    std::vector<std::shared_ptr<T>> removed;
    std::unique_lock lock(mutex_);
    for (auto entry = objects_.begin(); entry != objects_.end();) {
      if (matches(*entry->second)) {
        removed.push_back(std::move(entry->second));
        entry = objects_.erase(entry);
      } else {
        ++entry;
      }
    }
    return removed;
  }
  template <typename Visitor> void forEach(Visitor visit) const {
    std::shared_lock lock(mutex_);
    for (const auto &entry : objects_)
      visit(entry.second);
  }

private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Handle, std::shared_ptr<T>> objects_;
};

} // namespace tessera::sim::driver
