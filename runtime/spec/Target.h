// Target: one GPU architecture and its limits, as a table.
#pragma once

#include "runtime/spec/Result.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

/// A row of the table. Static storage; compare by name.
struct Target {
  std::string_view name;        ///< "sm_80"
  unsigned major, minor;        ///< compute capability
  uint32_t sharedBytesPerBlock; ///< opt-in limit of dynamic shared memory of one block
  uint32_t sharedBytesPerSm;
  unsigned maxWarpsPerSm;
  unsigned maxBlocksPerSm;
  unsigned ptxVersion; ///< lowest PTX ISA that has what our kernels use there, e.g. 80 for 8.0

  /// All known targets, in ascending order: sm_80, sm_86, sm_89, sm_90, sm_120.
  static std::span<const Target> all();
  /// By name; NotFound lists the known ones.
  static Result<Target> parse(std::string_view name);
  /// The newest known target whose code runs on a device of this compute capability (same major, minor not above), else
  /// the newest whose PTX does; NotFound below 8.0.
  static Result<Target> forDevice(unsigned major, unsigned minor);

  friend bool operator==(const Target &a, const Target &b) { return a.name == b.name; }
};

} // namespace tessera
