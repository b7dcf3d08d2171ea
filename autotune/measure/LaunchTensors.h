// LaunchTensors: the device memory of one launch: q, k, v, o, lse and the rescue counter, with what is in it before.
#pragma once

#include "runtime/engine/Device.h"
#include "runtime/engine/LaunchValues.h"

#include <array>
#include <optional>
#include <vector>

namespace tessera::tune {

/// In which order the dimensions of a dense (batch, sequence, head, dim) tensor lie in memory.
enum class MemoryOrder : uint8_t { SequenceFirst, HeadFirst };

enum class Input : uint8_t { Q, K, V };
constexpr Input inputs[] = {Input::Q, Input::K, Input::V};

/// (batch, sequence, head, dim) of an input, or of O.
std::array<int64_t, 4> shapeOf(Input input, const AttentionSpec &spec, const Problem &problem);
std::array<int64_t, 4> outputShape(const AttentionSpec &spec, const Problem &problem);
/// Bytes of dense q, k, v, o and lse together.
uint64_t tensorBytes(const AttentionSpec &spec, const Problem &problem);

/// What a launch left, in the order of the tensors' memory.
struct LaunchOutputs {
  std::vector<std::byte> out;
  std::vector<float> lse;          ///< (batch, head, sequence); empty where the outputs do not hold it
  std::optional<uint32_t> rescues; ///< query tiles done again; absent where the schedule is not anchored
};

/// Owns the memory; movable; thread-compatible. Every tensor has an allocation of its own.
class LaunchTensors {
public:
  /// Dense tensors for launches of the image; nothing is in them yet but NaN in `guardBytes` (a multiple of 16) before
  /// and behind each. DriverError with the sizes where the device has no room.
  static Result<LaunchTensors> allocate(const Device &device, const KernelImage &image, const Problem &problem,
                                        MemoryOrder order = MemoryOrder::SequenceFirst, size_t guardBytes = 0);

  const LaunchArguments &arguments() const { return arguments_; }

  /// All bytes of an input, in the order of its memory.
  Status upload(Input input, const std::vector<std::byte> &bytes) const;
  /// `bytes` again and again until the input is full.
  Status uploadRepeated(Input input, const std::vector<std::byte> &bytes) const;
  /// The inputs of another set of the same sizes; ordered in the stream.
  Status copyInputs(const LaunchTensors &from, StreamHandle stream) const;
  /// NaN into every byte of O and LSE, 0 into the rescue counter: what a kernel leaves out then shows.
  Status poisonOutputs() const;
  /// Waits for the device.
  Result<LaunchOutputs> download() const;
  /// The first guard byte that is not as it was, as text; empty: none.
  Result<std::string> strayWrite() const;

private:
  struct Tensor {
    const char *name = nullptr;
    std::optional<DeviceBuffer> buffer; ///< guard, tensor, guard
    size_t bytes = 0;                   ///< of the tensor
  };
  Status place(const Device &device, Tensor &tensor, const char *name, uint64_t bytes);
  void *address(const Tensor &tensor) const;

  std::array<Tensor, 3> inputs_;
  Tensor out_, lse_, rescues_; // the latter two empty where there is none
  size_t guardBytes_ = 0;
  LaunchArguments arguments_;
};

} // namespace tessera::tune
