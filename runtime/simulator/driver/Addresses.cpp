// Whose an address is: device allocations, and the host memory that every device has adopted.
#include "runtime/simulator/driver/State.h"

#include <fmt/format.h>

namespace tessera::sim::driver {

namespace {

/// The devices there are now; they stay for good.
std::vector<Device *> allDevices() {
  std::vector<Device *> devices;
  std::shared_lock lock(state().devicesMutex);
  for (const auto &device : state().devices)
    devices.push_back(device.get());
  return devices;
}

} // namespace

std::pair<Device *, Allocation> findAllocation(Device &preferred, CUdeviceptr address) {
  // Unified addressing: the address alone tells its device, whatever context is current.
  if (std::optional<Allocation> found = preferred.memory.find(address); found && found->live)
    return {&preferred, std::move(*found)};
  for (Device *device : allDevices())
    if (device != &preferred)
      if (std::optional<Allocation> found = device->memory.find(address); found && found->live)
        return {device, std::move(*found)};
  return {nullptr, {}};
}

bool isDeviceAddress(CUdeviceptr address) {
  for (Device *device : allDevices())
    if (device->memory.isDeviceAddress(address))
      return true;
  return false;
}

std::string hostRangeName(const HostRange &range) {
  static constexpr const char *kinds[] = {"page-locked host memory", "registered host memory", "managed memory"};
  return fmt::format("{} {}", kinds[unsigned(range.kind)], range.id);
}

CUresult adoptHostRange(void *begin, HostRange range) {
  static std::atomic<uint64_t> nextId{1};
  range.id = nextId++;
  auto address = reinterpret_cast<uintptr_t>(begin);
  std::shared_lock devices(state().devicesMutex); // a device that is being added waits, and adopts it then
  {
    std::lock_guard lock(state().hostMutex);
    auto above = state().hostRanges.lower_bound(address);
    if (above != state().hostRanges.end() && above->first - address < range.bytes)
      return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (above != state().hostRanges.begin() && address - std::prev(above)->first < std::prev(above)->second.bytes)
      return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    state().hostRanges[address] = range;
  }
  bool adopted = true;
  for (const auto &device : state().devices)
    adopted &= device->memory.adopt(begin, range.bytes, hostRangeName(range), range.pages).ok();
  if (adopted)
    return CUDA_SUCCESS;
  for (const auto &device : state().devices)
    (void)device->memory.free(address);
  std::lock_guard lock(state().hostMutex);
  state().hostRanges.erase(address);
  return CUDA_ERROR_INVALID_VALUE;
}

bool releaseHostRange(void *begin, HostKind kind) {
  auto address = reinterpret_cast<uintptr_t>(begin);
  HostRange range; // its pages go when the last device lets go of them
  std::shared_lock devices(state().devicesMutex);
  {
    std::lock_guard lock(state().hostMutex);
    auto found = state().hostRanges.find(address);
    if (found == state().hostRanges.end() || found->second.kind != kind)
      return false;
    range = std::move(found->second);
    state().hostRanges.erase(found);
  }
  for (const auto &device : state().devices)
    (void)device->memory.free(address);
  return true;
}

std::optional<std::pair<uintptr_t, HostRange>> findHostRange(uintptr_t address) {
  std::lock_guard lock(state().hostMutex);
  auto above = state().hostRanges.upper_bound(address);
  if (above == state().hostRanges.begin())
    return std::nullopt;
  const auto &[begin, range] = *std::prev(above);
  if (address - begin >= range.bytes)
    return std::nullopt;
  return std::pair{begin, range};
}

CUresult freeMemory(CUdeviceptr address) {
  if (releaseHostRange(reinterpret_cast<void *>(address), HostKind::Managed))
    return CUDA_SUCCESS;
  {
    std::lock_guard lock(state().poolMutex);
    if (auto found = state().poolAllocations.find(address); found != state().poolAllocations.end()) {
      auto [pool, bytes] = std::move(found->second);
      state().poolAllocations.erase(found);
      {
        std::lock_guard counting(pool->mutex);
        pool->used -= bytes;
      }
      return pool->device.memory.free(address).ok() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
  }
  // An allocation may be freed from any context of its device, and by unified addressing from that of another device.
  std::shared_ptr<Context> owner;
  state().contexts.forEach([&](const std::shared_ptr<Context> &candidate) {
    std::lock_guard lock(candidate->mutex);
    if (candidate->allocations.erase(address))
      owner = candidate;
  });
  if (!owner)
    return CUDA_ERROR_INVALID_VALUE;
  return owner->device.memory.free(address).ok() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

} // namespace tessera::sim::driver
