// DeviceFit: whether a device can run a compiled kernel, judged by facts alone, before anything is loaded.
#pragma once

#include "runtime/spec/CodeTarget.h"
#include "runtime/spec/Target.h"

#include <cstdint>
#include <string>

namespace tessera {

class Device;
struct KernelImage;

/// What is asked of a device; a plain struct, so that tests and tools can ask for devices that are not there.
struct DeviceFacts {
  std::string name;                 ///< the driver's, as in tuning records
  CodeDevice code;                  ///< compute capability and driver
  uint32_t sharedBytesPerBlock = 0; ///< with opt-in
  uint32_t registersPerBlock = 65536;
  uint32_t maxThreadsPerBlock = 1024;
  bool simulated = false; ///< executes PTX, whatever else an image holds
  Target target;          ///< the table's row for it

  static DeviceFacts of(const Device &device);
};

/// What a kernel asks for.
struct KernelNeeds {
  CodeTarget target;
  bool hasCubin = false;
  uint32_t ptxVersion = 0;  ///< 0: no PTX
  uint32_t sharedBytes = 0; ///< dynamic, per block
  uint32_t blockThreads = 0;
  uint32_t registers = 0; ///< per thread; 0: not known
  uint32_t clusterBlocks = 1;

  static KernelNeeds of(const KernelImage &image);
};

/// How the device would run it, or CodeFit::None with every reason: architecture and driver of cubin and PTX, shared
/// memory, threads, registers, clusters.
CodeMatch fitOnDevice(const KernelNeeds &kernel, const DeviceFacts &device);

} // namespace tessera
