// The roofline of modelled times, from a launch's clocks and the device's profile.
#include "runtime/simulator/driver/Model.h"

#include <algorithm>

namespace tessera::sim::driver {

double launchNanoseconds(const DeviceProfile &profile, const LaunchReport &report) {
  const DeviceRates &rates = profile.rates;
  double clocks = std::max(report.clocks.most(), double(rates.latencyMemory));
  return rates.launchMicroseconds * 1e3 + clocks * 1e3 / rates.clockMHz;
}

double copyNanoseconds(const DeviceProfile &profile, uint64_t bytes, bool insideDevice) {
  // Inside the device every byte is read and written; over the link a copy engine starts within some microseconds.
  if (insideDevice)
    return profile.rates.launchMicroseconds * 1e3 + 2 * double(bytes) / profile.rates.memoryGBps;
  return profile.rates.copyMicroseconds * 1e3 + double(bytes) / profile.rates.hostLinkGBps;
}

} // namespace tessera::sim::driver
