// Handles: what stands behind the opaque types of the C interface.
#pragma once

#include "runtime/engine/Engine.h"
#include "tessera/tessera_c.h"

#include <mutex>
#include <optional>
#include <string>

struct tessera_text {
  std::string string;
};

struct tessera_device {
  tessera::Device device;
  std::string target; ///< ended by a zero byte, which a string_view need not be
};

struct tessera_buffer {
  tessera::DeviceBuffer buffer;
};

struct tessera_engine {
  tessera::Engine engine;
};

struct tessera_kernel {
  explicit tessera_kernel(tessera::Kernel kernel) : kernel(std::move(kernel)) {}

  /// The strings that tessera_kernel_info points to.
  struct Texts {
    tessera::KernelInfo info;
    std::string text, spec, schedule;
  };

  tessera::Kernel kernel;
  mutable std::once_flag once; ///< for texts, made when first asked for
  mutable std::optional<Texts> texts;
};
