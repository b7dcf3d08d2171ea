// The .safetensors format: an index of named tensors as JSON, then their elements.
#pragma once

#include "autotune/cli/files/ByteSource.h"
#include "autotune/cli/files/HostTensor.h"

#include <span>

namespace tessera::files {

/// One tensor of a file, checked: its range lies inside the file. Only F16, BF16 and F32 can be read.
struct SafeTensorsEntry {
  std::string name;
  std::string type; ///< as the file has it: "BF16"
  std::vector<uint64_t> shape;
  uint64_t begin = 0, end = 0; ///< in bytes from the start of the file
};

/// The index of untrusted bytes, sorted by name. Code::File with the reason where anything in it is wrong.
Result<std::vector<SafeTensorsEntry>> readSafeTensorsIndex(const ByteSource &source);

/// The elements of one entry of this source's index.
Result<HostTensor> readSafeTensor(const ByteSource &source, const SafeTensorsEntry &entry);

/// A tensor to be written; the caller keeps it alive.
struct NamedTensor {
  std::string name;
  const HostTensor *tensor;
};

/// Everything that stands before the elements of these tensors, which follow in the order given; put wider element
/// types first to keep every tensor aligned. Names must differ.
std::string safeTensorsHeader(std::span<const NamedTensor> tensors);

} // namespace tessera::files
