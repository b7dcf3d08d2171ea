// KernelInfo: where a prepared kernel came from, what was chosen for it and what it costs.
#pragma once

#include "runtime/spec/Schedule.h"

#include <optional>
#include <string>
#include <string_view>

namespace tessera {

/// Which source answered a prepare.
enum class Source : uint8_t {
  Compiler, ///< compiled by this call
  Memory,   ///< prepared before, or at the same time by another thread, in this engine
  Disk,     ///< read from the disk cache by this call
  Bundle,   ///< read from a bundle by this call
  Image,    ///< loaded from an image that the caller had
};
std::string_view name(Source source); ///< compiler, memory, disk, bundle, image

struct KernelInfo {
  Source source = Source::Compiler;
  AttentionSpec spec;
  Schedule schedule;
  std::string scheduleReason; ///< one sentence: default and why, tuned on what, or given by the caller
  std::string target;         ///< "sm_80"
  std::string device;         ///< "sim:a100 (NVIDIA A100...)"
  std::string bundle;         ///< path of the bundle that it came from; empty: from none
  std::string entry;
  std::string code; ///< what was loaded: cubin, or PTX assembled by the driver or executed by the simulator
  std::optional<uint32_t> registers;  ///< per thread
  std::optional<uint32_t> spillBytes; ///< per thread
  uint32_t sharedBytes = 0;           ///< dynamic, per block
  uint32_t blockThreads = 0;
  std::optional<uint32_t> blocksPerSm; ///< resident at once, as the driver says
  std::string assembler;               ///< "nvJitLink 13.0", or empty where the driver assembled
  uint32_t ptxVersion = 0;             ///< 80 for PTX 8.0
  Source origin = Source::Compiler;    ///< where the image came from first, when `source` is Memory; else `source`
  double compileMs = 0;                ///< of the compile that made the kernel in this process; 0: none did
  double readMs = 0;                   ///< of reading the image from the bundle or the disk; 0: it was not read
  double loadMs = 0;                   ///< of loading it on the device
  std::string warnings;                ///< of the compiler and of the driver's assembler

  /// One fact a line, for people.
  std::string text() const;
  /// "disk, read from the disk cache in 0.41 ms"
  std::string sourceText() const;
};

} // namespace tessera
