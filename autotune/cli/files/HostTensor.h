// HostTensor: a dense tensor in host memory, as files hold it.
#pragma once

#include "runtime/spec/DType.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::files {

/// Row-major, last dimension fastest, no gaps; bytes.size() == product(shape) * byteSize(type).
struct HostTensor {
  DType type = DType::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};

/// No file with more dimensions is read.
inline constexpr size_t kMaxRank = 32;

} // namespace tessera::files
