// Tensors named on a command line: "q.npy", "layer.safetensors", "layer.safetensors:attn.q".
#pragma once

#include "autotune/cli/files/HostTensor.h"
#include "runtime/spec/Result.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera::files {

/// A path with, for .safetensors, the name of a tensor in it.
struct TensorPath {
  enum class Format { Npy, SafeTensors } format;
  std::string path;
  std::optional<std::string> tensor;
};

/// InvalidArgument where the name ends in neither .npy nor .safetensors.
Result<TensorPath> parseTensorPath(std::string_view argument);

/// Reads a tensor. In a .safetensors file without ":name" it is the only one, or the one called `role` ("q", "lse").
Result<HostTensor> readTensorFile(std::string_view argument, std::string_view role);

/// A tensor to be written, and the name it has in a .safetensors file where the argument gives none.
struct Output {
  std::string argument;
  std::string role;
  const HostTensor *tensor;
};

/// Writes each to its file; those with the same .safetensors path share that file. A file appears whole or not at all.
Status writeTensorFiles(std::span<const Output> outputs);

} // namespace tessera::files
