// SimulatorControl: the options, findings and counters of the simulator behind a device.
#pragma once

#include "runtime/engine/Device.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace tessera::tune {

/// The private entry points of libtessera-sim.so. The simulator's state is one per process.
class SimulatorControl {
public:
  /// Nothing where the device is a GPU; Unsupported where the simulator lacks the entry points.
  static Result<std::optional<SimulatorControl>> of(const Device &device);

  /// Options for later launches, see SimulatorApi.h; InvalidArgument with the simulator's reason.
  Status configure(const nlohmann::json &options) const;

  /// The options in force.
  nlohmann::ordered_json options() const;

  /// The profiles that a device can pose as, for "sim:NAME", oldest first.
  std::vector<std::string> profiles() const;

  /// What the checks found in the last launch, each a text for people; empty when it was clean.
  std::vector<std::string> findings() const;
  /// The report of the last launch (SimulatorApi.h); an empty object before the first.
  nlohmann::ordered_json report() const;
  /// The counters of the last launch; an empty object before the first.
  nlohmann::ordered_json counters() const;

private:
  int (*configure_)(const char *) = nullptr;
  const char *(*options_)() = nullptr;
  const char *(*profiles_)() = nullptr;
  const char *(*report_)() = nullptr;
  const char *(*counters_)() = nullptr;
  const char *(*lastError_)() = nullptr;
};

/// Options of the simulator for a scope; the former ones are in force again at its end.
class ScopedSimulatorOptions {
public:
  ScopedSimulatorOptions(const SimulatorControl &control, const nlohmann::json &options);
  ~ScopedSimulatorOptions();
  ScopedSimulatorOptions(const ScopedSimulatorOptions &) = delete;
  ScopedSimulatorOptions &operator=(const ScopedSimulatorOptions &) = delete;

  /// Why the options are not in force.
  const Status &status() const { return status_; }

private:
  const SimulatorControl &control_;
  std::string former_; ///< as JSON
  Status status_;
};

} // namespace tessera::tune
