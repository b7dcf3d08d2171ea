// NVML by dlopen; its entry points are declared here by their signatures.
#include "autotune/measure/Clocks.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace tessera::tune {
namespace {

constexpr unsigned kSmClock = 1; // NVML_CLOCK_SM
// nvmlClocksThrottleReason HwSlowdown, SwThermalSlowdown, HwThermalSlowdown, HwPowerBrakeSlowdown
constexpr unsigned long long kSlowdown = 0x8 | 0x20 | 0x40 | 0x80;

struct Nvml {
  int (*init)() = nullptr;
  int (*deviceByUuid)(const char *, void **) = nullptr;
  int (*clock)(void *, unsigned, unsigned *) = nullptr;
  int (*reasons)(void *, unsigned long long *) = nullptr;

  /// Null where the library is absent, old or does not start.
  static const Nvml *instance() {
    static const Nvml *const opened = []() -> const Nvml * {
      void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
      if (!library)
        return nullptr;
      static Nvml nvml;
      const auto find = [&](const char *name, auto &entry) {
        entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(dlsym(library, name));
        return entry != nullptr;
      };
      return find("nvmlInit_v2", nvml.init) && find("nvmlDeviceGetHandleByUUID", nvml.deviceByUuid) &&
                     find("nvmlDeviceGetClockInfo", nvml.clock) &&
                     find("nvmlDeviceGetCurrentClocksThrottleReasons", nvml.reasons) && nvml.init() == 0
                 ? &nvml
                 : nullptr;
    }();
    return opened;
  }
};

} // namespace

Clocks::Clocks(const DeviceInfo &info) {
  const Nvml *nvml = Nvml::instance();
  if (!nvml)
    return;
  std::string uuid = "GPU";
  for (size_t n = 0; n < info.uuid.size(); ++n)
    uuid += fmt::format("{}{:02x}", n == 0 || n == 4 || n == 6 || n == 8 || n == 10 ? "-" : "", info.uuid[n]);
  if (nvml->deviceByUuid(uuid.c_str(), &device_) != 0)
    device_ = nullptr;
}

std::optional<ClockReading> Clocks::read() const {
  const Nvml *nvml = Nvml::instance();
  unsigned mhz = 0;
  unsigned long long reasons = 0;
  if (!device_ || nvml->clock(device_, kSmClock, &mhz) != 0)
    return std::nullopt;
  if (nvml->reasons(device_, &reasons) != 0)
    reasons = 0;
  return ClockReading{double(mhz), (reasons & kSlowdown) != 0};
}

} // namespace tessera::tune
