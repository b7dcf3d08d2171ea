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

/// Freed allocations that reports can still name.
constexpr size_t quarantineLength = 4096;
/// Between two allocations lie at least this many bytes that belong to none.
constexpr uint64_t redZone = 1 << 20;

/// Pages that are zero until touched: an allocation costs what is used of it.
std::byte *mapPages(uint64_t bytes) {
  void *pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return pages == MAP_FAILED ? nullptr : static_cast<std::byte *>(pages);
}

void unmapStorage(Allocation &allocation) {
  if (allocation.data && !allocation.adopted)
    munmap(allocation.data, allocation.size);
  if (allocation.shadow)
    munmap(allocation.shadow, allocation.size);
  allocation.data = nullptr;
  allocation.shadow = nullptr;
  allocation.owner = nullptr;
}

} // namespace

GlobalMemory::GlobalMemory(uint64_t capacity, uint64_t base, uint64_t limit)
    : capacity_(capacity), base_(base), limit_(std::max(base, limit)), next_(base) {}

GlobalMemory::~GlobalMemory() {
  for (auto &[base, allocation] : table_)
    unmapStorage(*allocation);
}

/// The first gap behind the youngest allocation, and when there is none, behind no allocation but live ones.
std::optional<uint64_t> GlobalMemory::placeFor(uint64_t bytes, uint64_t alignment) {
  auto behind = [&](uint64_t end) { return (end + redZone + alignment - 1) & ~(alignment - 1); };
  auto search = [&](uint64_t from) -> std::optional<uint64_t> {
    uint64_t address = behind(from);
    auto it = table_.upper_bound(from);
    if (it != table_.begin())
      if (const Allocation &before = *std::prev(it)->second; before.base >= base_)
        address = std::max(address, behind(before.base + before.size));
    for (; it != table_.end() && it->first < limit_; ++it) {
      if (address < it->first && it->first - address >= redZone && bytes <= it->first - address - redZone)
        return address;
      address = behind(it->first + it->second->size);
    }
    return address <= limit_ && bytes <= limit_ - address ? std::optional(address) : std::nullopt;
  };
  if (std::optional<uint64_t> place = search(next_))
    return place;
  forgetFreed(0);
  return search(base_);
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
  std::optional<uint64_t> place = placeFor(bytes, alignment);
  if (!place)
    return Status(Code::DriverError, fmt::format("out of device addresses after {} allocations", serial_));
  uint64_t base = *place;
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
  if (!it->second->adopted)
    inUse_ -= it->second->size;
  freed_.push_back(address);
  reclaim();
  return {};
}

/// Gives back the pages of freed allocations; their table entries stay, so that later uses can name them.
void GlobalMemory::reclaim() {
  if (pins_)
    return;
  buried_.clear();
  for (uint64_t base : freed_) {
    unmapStorage(*table_.at(base));
    quarantine_.push_back(base);
  }
  freed_.clear();
  forgetFreed(quarantineLength);
}

/// Drops the table entries of all but the youngest `keep` freed allocations. A running launch may still look at one.
void GlobalMemory::forgetFreed(size_t keep) {
  while (quarantine_.size() > keep) {
    bury(table_.find(quarantine_.front()));
    quarantine_.pop_front();
  }
}

GlobalMemory::Table::iterator GlobalMemory::bury(Table::iterator entry) {
  if (pins_)
    buried_.push_back(std::move(entry->second));
  return table_.erase(entry);
}

Status GlobalMemory::adopt(void *pointer, uint64_t bytes, std::string name, std::shared_ptr<void> owner) {
  auto base = reinterpret_cast<uintptr_t>(pointer);
  if (!base || bytes == 0 || bytes > UINT64_MAX - base)
    return Status(Code::InvalidArgument, fmt::format("{} bytes of host memory at {:#x} are no range", bytes, base));
  if (base < limit_ && base + bytes > base_)
    return Status(Code::InvalidArgument,
                  fmt::format("{} bytes of host memory at {:#x} lie among the device's addresses", bytes, base));
  std::unique_lock lock(mutex_);
  auto it = table_.upper_bound(base);
  if (it != table_.begin() && base - std::prev(it)->first < std::prev(it)->second->size)
    --it;
  while (it != table_.end() && it->first < base + bytes) {
    const Allocation &other = *it->second;
    if (other.live || (other.data && !other.adopted))
      return Status(Code::InvalidArgument,
                    fmt::format("{} bytes of host memory at {:#x} overlap {} ({} bytes at {:#x})", bytes, base,
                                other.name, other.size, other.base));
    std::erase(quarantine_, it->first); // the host uses the addresses again
    std::erase(freed_, it->first);
    it = bury(it);
  }
  auto allocation = std::make_unique<Allocation>();
  allocation->base = base;
  allocation->size = bytes;
  allocation->name = std::move(name);
  allocation->data = static_cast<std::byte *>(pointer);
  allocation->tracked = false;
  allocation->adopted = true;
  allocation->owner = std::move(owner);
  table_.emplace(base, std::move(allocation));
  return {};
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
  std::shared_lock lock(mutex_);
  auto it = table_.upper_bound(address);
  if (it == table_.begin())
    return std::nullopt;
  const Allocation &allocation = *std::prev(it)->second;
  if (address - allocation.base >= allocation.size)
    return std::nullopt;
  return allocation;
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
  std::memmove((*allocation)->data + offset, source, bytes); // the source may be adopted memory too
  if ((*allocation)->shadow)
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
  std::memmove(destination, (*allocation)->data + (address - (*allocation)->base), bytes);
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
  if (!(*to)->shadow)
    return {};
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
  if (count > UINT64_MAX / patternBytes)
    return Status(Code::InvalidArgument, fmt::format("fill of {} elements exceeds the address space", count));
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
  if ((*allocation)->shadow)
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
