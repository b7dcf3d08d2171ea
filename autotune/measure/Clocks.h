// Clocks: how fast a GPU runs right now and whether it is held back, as the management library tells.
#pragma once

#include "runtime/driver/Context.h"

#include <optional>

namespace tessera::tune {

struct ClockReading {
  double smMHz = 0;
  bool slowed = false; ///< by heat, by the board's power brake or by the hardware protecting itself
};

/// Reads the GPU with this UUID through libnvidia-ml.so.1, which is opened at run time. Thread-safe.
class Clocks {
public:
  explicit Clocks(const DeviceInfo &info);

  /// Nothing where there is no such library, or it does not know the GPU: simulated devices, most containers.
  std::optional<ClockReading> read() const;

private:
  void *device_ = nullptr; // of the library, which stays open
};

} // namespace tessera::tune
