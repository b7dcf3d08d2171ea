// GlobalMemory: the simulated device memory, an allocation table with red zones and an initialisation shadow.
#pragma once

#include "runtime/spec/Result.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

namespace tessera::sim {

/// One allocation. Stays readable (as "freed") while it is quarantined, so that a use after free can name it.
struct Allocation {
  uint64_t base = 0;           ///< device address; of adopted memory the host address
  uint64_t size = 0;           ///< bytes
  std::string name;            ///< what reports call it, e.g. "allocation 3" or the name of a module variable
  bool live = true;            ///< false once freed
  bool tracked = true;         ///< false once a launch without checks may have written it: its shadow says nothing then
  std::byte *data = nullptr;   ///< host storage of `size` bytes, zero when fresh; owned by GlobalMemory unless adopted
  uint8_t *shadow = nullptr;   ///< one byte per byte, non-zero where written; owned by GlobalMemory; null if adopted
  bool adopted = false;        ///< host memory at its own address, never tracked
  std::shared_ptr<void> owner; ///< of adopted memory: kept until no launch can reach it any more
};

/// Device memory of one simulated GPU. Device addresses are 64 bit, are not host pointers, and are not given out twice
/// until the range of the device is used up, so that a stale pointer does not hit a younger allocation. Host memory
/// that kernels may reach (page-locked, managed) is adopted and keeps its address. All members are thread-safe; host
/// copies are not ordered against a running launch (the driver layer orders them by streams).
class GlobalMemory {
public:
  /// Where no host memory lies by itself, and no window of generic addresses.
  static constexpr uint64_t defaultBase = 0x0400'0000'0000;
  static constexpr uint64_t defaultLimit = 0x0800'0000'0000;
  /// `capacity`: bytes that may be allocated at one time; [`base`, `limit`): the addresses given out, so that devices
  /// need not share addresses. Host memory that is adopted must lie outside.
  explicit GlobalMemory(uint64_t capacity, uint64_t base = defaultBase, uint64_t limit = defaultLimit);
  ~GlobalMemory();
  GlobalMemory(const GlobalMemory &) = delete;
  GlobalMemory &operator=(const GlobalMemory &) = delete;

  /// A new, uninitialised block of `bytes` > 0, aligned to `alignment` (a power of two, at least 256 is used).
  /// Fails with Code::DriverError, "out of memory", when the capacity is exhausted.
  Result<uint64_t> allocate(uint64_t bytes, uint64_t alignment = 256, std::string name = {});
  /// Frees the allocation that begins at `address`; InvalidArgument when none does, or twice.
  Status free(uint64_t address);
  /// Lets kernels reach `bytes` > 0 of host memory at the host's own address until free(). It takes no capacity, and
  /// counts as initialised, since the host writes it unseen. `owner` is released when the last launch that may still
  /// reach it has ended. InvalidArgument when the range overlaps a live allocation or the device's own addresses.
  Status adopt(void *pointer, uint64_t bytes, std::string name, std::shared_ptr<void> owner = nullptr);

  /// The allocation, live or freed, that contains `address`; nullopt in a red zone or outside.
  std::optional<Allocation> find(uint64_t address) const;
  /// The allocation nearest to `address`, for reports about addresses that hit none.
  std::optional<Allocation> nearest(uint64_t address) const;

  /// Host copies; InvalidArgument when a byte of the range is outside one live allocation.
  Status write(uint64_t address, const void *source, uint64_t bytes);
  Status read(uint64_t address, void *destination, uint64_t bytes) const;
  Status copy(uint64_t destination, uint64_t source, uint64_t bytes);
  /// Repeats a pattern of 1, 2 or 4 bytes `count` times.
  Status fill(uint64_t address, uint32_t pattern, unsigned patternBytes, uint64_t count);
  /// Bytes of the range that nothing has written yet.
  Result<uint64_t> uninitialisedBytes(uint64_t address, uint64_t bytes) const;

  uint64_t capacity() const { return capacity_; }
  /// Whether an address is one of those that the device gives out, whatever is there.
  bool isDeviceAddress(uint64_t address) const { return address - base_ < limit_ - base_; }
  uint64_t bytesInUse() const;

  /// For the interpreter: the table entry that contains `address`, valid while a Pin is held; null when there is none.
  Allocation *lookup(uint64_t address) const;
  /// For the interpreter: while pins exist, freed storage stays mapped.
  class Pin {
  public:
    explicit Pin(GlobalMemory &memory);
    ~Pin();
    Pin(const Pin &) = delete;
    Pin &operator=(const Pin &) = delete;

  private:
    GlobalMemory &memory_;
  };
  /// A launch without checks writes without marking: from here on every allocation counts as initialised.
  void forgetInitialisation();

private:
  using Table = std::map<uint64_t, std::unique_ptr<Allocation>>;

  Result<Allocation *> range(uint64_t address, uint64_t bytes, const char *what) const;
  void reclaim();
  void forgetFreed(size_t keep);
  Table::iterator bury(Table::iterator entry);
  std::optional<uint64_t> placeFor(uint64_t bytes, uint64_t alignment);

  const uint64_t capacity_, base_, limit_;
  mutable std::shared_mutex mutex_;
  Table table_;                                     ///< by base, live and freed
  std::vector<uint64_t> freed_;                     ///< bases whose storage waits for the last pin
  std::deque<uint64_t> quarantine_;                 ///< bases of freed entries without storage, oldest first
  std::vector<std::unique_ptr<Allocation>> buried_; ///< out of the table, kept for the last pin
  uint64_t next_;
  uint64_t inUse_ = 0;
  uint64_t serial_ = 0;
  unsigned pins_ = 0;
};

} // namespace tessera::sim
