// SimulatorFlags: the flags of the simulated GPU, and the options that they amount to.
#pragma once

#include "runtime/spec/Result.h"

#include <CLI/App.hpp>
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace tessera::cli {

struct SimulatorFlags {
  std::optional<bool> checks, races;
  std::optional<std::string> schedule; ///< late, eager, random
  std::optional<std::string> mma;      ///< exact, hardware, stress
  std::optional<uint64_t> seed;
  std::optional<int64_t> threads, maxFindings, instructionLimit;
  std::optional<float> clockMHz;

  /// Declares the flags on a command.
  void addTo(CLI::App &app);
  /// The first flag given, as written; empty where none is.
  std::string given() const;
  /// InvalidArgument where a seed is given and nothing draws from it.
  Status check() const;
  /// Those given, with the names of SimulatorApi.h.
  nlohmann::json options() const;
};

} // namespace tessera::cli
