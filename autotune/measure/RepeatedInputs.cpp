// A million normal values for each input, and the rows that they make.
#include "autotune/measure/RepeatedInputs.h"

#include "autotune/reference/Random.h"

#include <cstring>

namespace tessera::tune {

constexpr size_t period = 1'000'003;

RepeatedInputs RepeatedInputs::make(DType type, uint64_t seed) {
  RepeatedInputs made;
  made.type_ = type;
  for (Input input : inputs)
    made.values_[unsigned(input)] = reference::normalValues(type, period, seed, uint64_t(input));
  return made;
}

Status RepeatedInputs::upload(const LaunchTensors &tensors) const {
  for (Input input : inputs)
    if (Status status = tensors.uploadRepeated(input, values_[unsigned(input)]); !status)
      return status;
  return {};
}

std::vector<std::byte> RepeatedInputs::rows(Input input, const std::array<int64_t, 4> &shape, int64_t batch,
                                            int64_t head, int64_t begin, int64_t end) const {
  const auto [b, length, heads, dim] = shape;
  const size_t width = byteSize(type_);
  const std::vector<std::byte> &values = values_[unsigned(input)];
  std::vector<std::byte> rows(size_t((end - begin) * dim) * width);
  for (int64_t row = begin; row < end; ++row) {
    const size_t first = size_t(((batch * length + row) * heads + head) * dim);
    for (size_t c = 0; c < size_t(dim); ++c)
      std::memcpy(rows.data() + (size_t(row - begin) * size_t(dim) + c) * width,
                  values.data() + (first + c) % period * width, width);
  }
  return rows;
}

} // namespace tessera::tune
