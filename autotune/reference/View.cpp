// Shapes of host tensors and the checks that q, k and v describe one attention.
#include "autotune/reference/View.h"

#include <fmt/format.h>

namespace tessera::reference {

View View::dense(const void *data, DType type, std::array<int64_t, 4> shape) {
  return {data, type, shape, {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1}};
}

std::optional<int64_t> elementCount(const std::array<int64_t, 4> &shape) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0)
      return std::nullopt;
    if (extent == 0)
      empty = true;
    else if (__builtin_mul_overflow(count, extent, &count) || count >> 62 != 0)
      return std::nullopt;
  }
  return empty ? 0 : count;
}

Result<Sizes> sizesOf(const View &q, const View &k, const View &v) {
  const auto refuse = [](std::string text) { return Status(Code::InvalidArgument, std::move(text)); };
  for (const View *view : {&q, &k, &v})
    if (!elementCount(view->shape))
      return refuse(fmt::format("the shape ({}, {}, {}, {}) is negative or too large", view->shape[0], view->shape[1],
                                view->shape[2], view->shape[3]));
  if (q.batch() != k.batch() || k.batch() != v.batch())
    return refuse(fmt::format("q, k and v differ in batch: {}, {} and {}", q.batch(), k.batch(), v.batch()));
  if (k.length() != v.length())
    return refuse(fmt::format("k holds {} keys and v holds {} values", k.length(), v.length()));
  if (k.heads() != v.heads())
    return refuse(fmt::format("k has {} heads and v has {}", k.heads(), v.heads()));
  if (q.dim() != k.dim())
    return refuse(fmt::format("q has head dim {} and k has {}", q.dim(), k.dim()));
  if (q.heads() > 0 && (k.heads() == 0 || q.heads() % k.heads() != 0))
    return refuse(fmt::format("{} query heads cannot be shared out over {} key/value heads", q.heads(), k.heads()));
  return Sizes{q.batch(), q.length(), k.length(), q.heads(), k.heads(), q.dim(), v.dim()};
}

} // namespace tessera::reference
