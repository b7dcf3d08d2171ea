// The allocation table of GlobalMemory and its checked host copies.
#include "runtime/simulator/Memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <mutex>
#include <sys/mman.h>

namespace tessera::sim {

namespace {

constexpr uint64_t lastAddress = 0x7fff'0000'0000;
/// Between two allocations lie at least this many bytes that belong to none.
constexpr uint64_t redZone = 1 << 20;

/// Pages that are zero until touched: an allocation costs what is used of it.
std::byte *mapPages(uint64_t bytes) {
  void *pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return pages == MAP_FAILED ? nullptr : static_cast<std::byte *>(pages);
}

void unmapStorage(Allocation &allocation) {
  if (allocation.data)
    munmap(allocation.data, allocation.size);
  if (allocation.shadow)
    munmap(allocation.shadow, allocation.size);
  allocation.data = nullptr;
  allocation.shadow = nullptr;
}

} // namespace

GlobalMemory::GlobalMemory(uint64_t capacity, uint64_t base) : capacity_(capacity), next_(base) {}

GlobalMemory::~GlobalMemory() {
  for (auto &[base, allocation] : table_)
    unmapStorage(*allocation);
}

Result<uint64_t> GlobalMemory::allocate(uint64_t bytes, uint64_t alignment, std::string name) {
  if (bytes == 0)
    return Status(Code::InvalidArgument, "cannot allocate 0 bytes");
  if (!std::has_single_bit(alignment) || alignment > (1 << 20))
    return Status(Code::InvalidArgument, fmt::format("alignment {} is not a power of two up to 1 MiB", alignment));
  alignment = std::max<uint64_t>(alignment, 256);
  std::unique_lock lock(mutex_);
  if (bytes > capacity_ - inUse_)
    return Status(Code::DriverError,
                  fmt::format("out of memory: {} bytes asked for, {} of {} in use", bytes, inUse_, capacity_));
  uint64_t base = (next_ + redZone + alignment - 1) & ~(alignment - 1);
  if (base > lastAddress || bytes > lastAddress - base)
    return Status(Code::DriverError, fmt::format("out of device addresses after {} allocations", serial_));
  auto allocation = std::make_unique<Allocation>();
  allocation->base = base;
  allocation->size = bytes;
  allocation->name = name.empty() ? fmt::format("allocation {}", serial_) : std::move(name);
  allocation->data = mapPages(bytes);
  allocation->shadow = reinterpret_cast<uint8_t *>(mapPages(bytes));
  if (!allocation->data || !allocation->shadow) {
    unmapStorage(*allocation);
    return Status(Code::DriverError, fmt::format("out of memory: the host has no {} bytes", bytes));
  }
  ++serial_;
  inUse_ += bytes;
  next_ = base + bytes;
  table_.emplace(base, std::move(allocation));
  return base;
}

Status GlobalMemory::free(uint64_t address) {
  std::unique_lock lock(mutex_);
  auto it = table_.find(address);
  if (it == table_.end())
    return Status(Code::InvalidArgument, fmt::format("no allocation begins at {:#x}", address));
  if (!it->second->live)
    return Status(Code::InvalidArgument, fmt::format("{} at {:#x} is freed already", it->second->name, address));
  it->second->live = false;
  inUse_ -= it->second->size;
  freed_.push_back(address);
  reclaim();
  return {};
}

/// Gives back the pages of freed allocations; their table entries stay, so that later uses can name them.
void GlobalMemory::reclaim() {
  if (pins_)
    return;
  for (uint64_t base : freed_)
    unmapStorage(*table_.at(base));
  freed_.clear();
}

Allocation *GlobalMemory::lookup(uint64_t address) const {
  std::shared_lock lock(mutex_);
  auto it = table_.upper_bound(address);
  if (it == table_.begin())
    return nullptr;
  Allocation *allocation = std::prev(it)->second.get();
  return address - allocation->base < allocation->size ? allocation : nullptr;
}

std::optional<Allocation> GlobalMemory::find(uint64_t address) const {
  if (const Allocation *allocation = lookup(address))
    return *allocation;
  return std::nullopt;
}

std::optional<Allocation> GlobalMemory::nearest(uint64_t address) const {
  std::shared_lock lock(mutex_);
  if (table_.empty())
    return std::nullopt;
  auto above = table_.upper_bound(address);
  if (above == table_.begin())
    return *above->second;
  auto below = std::prev(above);
  if (above == table_.end() || address - (below->first + below->second->size) <= above->first - address)
    return *below->second;
  return *above->second;
}

Result<Allocation *> GlobalMemory::range(uint64_t address, uint64_t bytes, const char *what) const {
  auto it = table_.upper_bound(address);
  Allocation *allocation = it == table_.begin() ? nullptr : std::prev(it)->second.get();
  if (!allocation || address - allocation->base > allocation->size)
    return Status(Code::InvalidArgument,
                  fmt::format("{} of {} bytes at {:#x}: no allocation is there", what, bytes, address));
  if (!allocation->live)
    return Status(Code::InvalidArgument,
                  fmt::format("{} of {} bytes at {:#x}: {} is freed", what, bytes, address, allocation->name));
  uint64_t offset = address - allocation->base;
  if (bytes > allocation->size - offset)
    return Status(Code::InvalidArgument, fmt::format("{} of {} bytes at {:#x}: {} ends after {} bytes", what, bytes,
                                                     address, allocation->name, allocation->size - offset));
  return allocation;
}

Status GlobalMemory::write(uint64_t address, const void *source, uint64_t bytes) {
  if (bytes == 0)
    return {};
  std::shared_lock lock(mutex_);
  auto allocation = range(address, bytes, "write");
  if (!allocation)
    return allocation.status();
  uint64_t offset = address - (*allocation)->base;
  std::memcpy((*allocation)->data + offset, source, bytes);
  std::memset((*allocation)->shadow + offset, 1, bytes);
  return {};
}

Status GlobalMemory::read(uint64_t address, void *destination, uint64_t bytes) const {
  if (bytes == 0)
    return {};
  std::shared_lock lock(mutex_);
  auto allocation = range(address, bytes, "read");
  if (!allocation)
    return allocation.status();
  std::memcpy(destination, (*allocation)->data + (address - (*allocation)->base), bytes);
  return {};
}

Status GlobalMemory::copy(uint64_t destination, uint64_t source, uint64_t bytes) {
  if (bytes == 0)
    return {};
  std::shared_lock lock(mutex_);
  auto from = range(source, bytes, "copy from");
  if (!from)
    return from.status();
  auto to = range(destination, bytes, "copy to");
  if (!to)
    return to.status();
  uint64_t fromOffset = source - (*from)->base, toOffset = destination - (*to)->base;
  std::memmove((*to)->data + toOffset, (*from)->data + fromOffset, bytes);
  if ((*from)->tracked)
    std::memmove((*to)->shadow + toOffset, (*from)->shadow + fromOffset, bytes);
  else
    std::memset((*to)->shadow + toOffset, 1, bytes);
  return {};
}

Status GlobalMemory::fill(uint64_t address, uint32_t pattern, unsigned patternBytes, uint64_t count) {
  if (patternBytes != 1 && patternBytes != 2 && patternBytes != 4)
    return Status(Code::InvalidArgument, fmt::format("a fill pattern of {} bytes is not 1, 2 or 4", patternBytes));
  if (count == 0)
    return {};
  if (count > capacity_)
    return Status(Code::InvalidArgument, fmt::format("fill of {} elements exceeds the device memory", count));
  std::shared_lock lock(mutex_);
  auto allocation = range(address, count * patternBytes, "fill");
  if (!allocation)
    return allocation.status();
  uint64_t offset = address - (*allocation)->base;
  std::byte *out = (*allocation)->data + offset;
  if (patternBytes == 1)
    std::memset(out, static_cast<int>(pattern & 0xff), count);
  else
    for (uint64_t i = 0; i < count; ++i)
      std::memcpy(out + i * patternBytes, &pattern, patternBytes);
  std::memset((*allocation)->shadow + offset, 1, count * patternBytes);
  return {};
}

Result<uint64_t> GlobalMemory::uninitialisedBytes(uint64_t address, uint64_t bytes) const {
  std::shared_lock lock(mutex_);
  auto allocation = range(address, bytes, "read");
  if (!allocation)
    return allocation.status();
  if (!(*allocation)->tracked)
    return uint64_t(0);
  const uint8_t *shadow = (*allocation)->shadow + (address - (*allocation)->base);
  return static_cast<uint64_t>(std::count(shadow, shadow + bytes, uint8_t(0)));
}

uint64_t GlobalMemory::bytesInUse() const {
  std::shared_lock lock(mutex_);
  return inUse_;
}

void GlobalMemory::forgetInitialisation() {
  std::unique_lock lock(mutex_);
  for (auto &[base, allocation] : table_)
    allocation->tracked = false;
}

GlobalMemory::Pin::Pin(GlobalMemory &memory) : memory_(memory) {
  std::unique_lock lock(memory_.mutex_);
  ++memory_.pins_;
}

GlobalMemory::Pin::~Pin() {
  std::unique_lock lock(memory_.mutex_);
  --memory_.pins_;
  memory_.reclaim();
}

} // namespace tessera::sim
