// Compiles, launches and reads back the naive kernel, one head at a time.
#include "autotune/measure/NaiveAttention.h"

#include "autotune/measure/Nvrtc.h"
#include "autotune/reference/Numbers.h"

#include <algorithm>
#include <fmt/format.h>

namespace tessera::tune {
namespace {

constexpr unsigned kRows = 8; ///< of a block, as in the source

/// The parameter of the kernel: `Head` of the source, member by member.
struct Head {
  const void *q, *k, *v;
  void *out, *lse;
  long long qRow, kRow, vRow;
  long long queries, keys;
  long long left, right, offset;
  float scale, softcap;
  int dim, valueDim, tf32;
};

const void *at(const TensorView &view, int64_t batch, int64_t head) {
  return static_cast<const std::byte *>(view.data) +
         (batch * view.strides[0] + head * view.strides[2]) * int64_t(byteSize(view.dtype));
}

/// A bound that reaches past every key is none; larger ones could overflow a sum with an index.
long long bound(const std::optional<int64_t> &given, int64_t queries, int64_t keys) {
  return given && *given < queries + keys ? *given : -1;
}

} // namespace

Result<NaiveAttention> NaiveAttention::create(const Device &device, const AttentionSpec &spec) {
  const Result<const Nvrtc *> nvrtc = Nvrtc::open();
  if (!nvrtc)
    return nvrtc.status();
  const int type = spec.dtype == DType::F16 ? 0 : spec.dtype == DType::BF16 ? 1 : 2;
  const Result<std::string> code = (*nvrtc)->compile(naiveSource, {fmt::format("-DTYPE={}", type)}, device);
  if (!code)
    return code.status();
  const Result<std::shared_ptr<const Module>> module = Module::load(device.context(), *code);
  if (!module)
    return module.status();
  Result<Function> exact = (*module)->function("naive_exact"), plain = (*module)->function("naive_plain");
  if (!exact || !plain)
    return !exact ? exact.status() : plain.status();
  return NaiveAttention(device, spec, *std::move(exact), *std::move(plain));
}

double NaiveAttention::flopsPerHead(const AttentionSpec &spec, const Problem &problem) {
  // Three passes over the scores and one over the values, each for both answers.
  return 2 * 2.0 * double(problem.seqlenQ) * double(problem.seqlenKv) * (3.0 * spec.headDim + spec.valueDim);
}

Result<reference::Answer> NaiveAttention::run(const Function &function, const LaunchArguments &arguments, int64_t batch,
                                              int64_t head, bool roundOutput) const {
  const auto &[q, k, v, o, unusedLse, unusedRescues] = arguments;
  const int64_t queries = q.shape[1], keys = k.shape[1], kvHead = head / (q.shape[2] / k.shape[2]);
  reference::Answer answer{{1, queries, keys, 1, 1, int64_t(spec_.headDim), int64_t(spec_.valueDim)}, {}, {}};
  const size_t elements = size_t(queries) * spec_.valueDim;
  const Result<DeviceBuffer> out = device_.allocate(elements * sizeof(float)),
                             lse = device_.allocate(size_t(queries) * sizeof(float));
  if (!out || !lse)
    return !out ? out.status() : lse.status();
  const bool bottomRight = !spec_.mask.isFull() && spec_.mask.align == Align::BottomRight;
  Head parameter{at(q, batch, head),
                 at(k, batch, kvHead),
                 at(v, batch, kvHead),
                 out->pointer(),
                 lse->pointer(),
                 q.strides[1],
                 k.strides[1],
                 v.strides[1],
                 queries,
                 keys,
                 bound(spec_.mask.left, queries, keys),
                 bound(spec_.mask.right, queries, keys),
                 bottomRight ? keys - queries : 0,
                 spec_.effectiveScale(),
                 spec_.softcap.value_or(0.0f),
                 int(spec_.headDim),
                 int(spec_.valueDim),
                 spec_.dtype == DType::F32 && spec_.precision == Precision::Tf32};
  void *parameters[] = {&parameter};
  const int64_t blocks = (queries + kRows - 1) / kRows;
  if (blocks > 0)
    if (Status status =
            function.launch({.grid = {unsigned(blocks), 1, 1}, .block = {kRows * 32, 1, 1}}, parameters, nullptr);
        !status)
      return status;
  if (Status status = device_.synchronize(); !status)
    return Status(status.code(), "the naive kernel: " + status.message(), status.hint());
  std::vector<float> values(std::max(elements, size_t(queries)));
  if (Status status = lse->download(values.data(), lse->bytes()); !status)
    return status;
  answer.lse.assign(values.begin(), values.begin() + queries);
  if (Status status = out->download(values.data(), out->bytes()); !status)
    return status;
  answer.out.resize(elements);
  std::transform(values.begin(), values.begin() + int64_t(elements), answer.out.begin(),
                 [&](float value) { return roundOutput ? reference::roundTo(spec_.outputType(), value) : value; });
  return answer;
}

Result<NaiveAnswers> NaiveAttention::answer(const LaunchArguments &arguments, int64_t batch, int64_t head) const {
  Result<reference::Answer> exact = run(exact_, arguments, batch, head, false);
  if (!exact)
    return exact.status();
  Result<reference::Answer> plain = run(plain_, arguments, batch, head, true);
  if (!plain)
    return plain.status();
  return NaiveAnswers{*std::move(exact), *std::move(plain)};
}

} // namespace tessera::tune
