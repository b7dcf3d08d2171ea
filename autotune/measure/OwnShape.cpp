// The launch at the task's own shape, against the naive kernel or a sample of rows in f64.
#include "autotune/measure/Verify.h"

#include "autotune/measure/CheckedLaunch.h"
#include "autotune/measure/RepeatedInputs.h"
#include "autotune/measure/Verdict.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>

namespace tessera::tune {
namespace {

constexpr int64_t kSampledHeads = 8, kSampledRows = 16; ///< without the naive kernel

struct OwnShape {
  const AttentionSpec &spec;
  const Problem &problem;
  const RepeatedInputs &values;
  const LaunchTensors &tensors;
  const LaunchOutputs &outputs;

  int64_t heads() const { return problem.batch * problem.heads; }
  int64_t sampleStep() const { return (problem.seqlenQ + kSampledRows - 1) / kSampledRows; }
  int64_t sampledRows() const { return (problem.seqlenQ + sampleStep() - 1) / sampleStep(); }

  /// O of rows of one head: (1, rows, 1, value dim).
  reference::View out(int64_t batch, int64_t head, int64_t row, int64_t rows, int64_t step) const {
    const int64_t dim = spec.valueDim, stride = problem.heads * dim;
    const size_t first = size_t((batch * problem.seqlenQ + row) * stride + head * dim);
    return {outputs.out.data() + first * byteSize(spec.outputType()),
            spec.outputType(),
            {1, rows, 1, dim},
            {rows * step * stride, step * stride, dim, 1}};
  }
  reference::LseView lse(int64_t batch, int64_t head, int64_t row, int64_t step) const {
    return {outputs.lse.data() + size_t((batch * problem.heads + head) * problem.seqlenQ + row), {0, 0, step}};
  }

  reference::Comparison judge(int64_t batch, int64_t head, int64_t row, int64_t step, const reference::Answer &exact,
                              const reference::Answer &plain, const reference::Problem &what) const {
    const reference::LseView lseView = lse(batch, head, row, step);
    return reference::compare(out(batch, head, row, exact.sizes.queryLength, step),
                              contains(spec.outputs, Output::LSE) ? &lseView : nullptr, exact, plain, what, spec.dtype,
                              spec.precision);
  }

  /// Every so many-th row of one head in f64. A row sees one run of keys, so it is an attention of one query without a
  /// mask.
  Result<reference::Comparison> sampled(int64_t batch, int64_t head) const {
    const int64_t step = sampleStep(), rows = sampledRows(), kvHead = head / (problem.heads / problem.kvHeads);
    reference::Problem what = reference::Problem::of(spec);
    const Mask mask = std::exchange(what.mask, Mask::full());
    what.scale = spec.effectiveScale();
    reference::Answer exact{{1, rows, 0, 1, 1, int64_t(spec.headDim), int64_t(spec.valueDim)}, {}, {}}, plain = exact;
    for (int64_t n = 0; n < rows; ++n) {
      const int64_t row = n * step;
      const reference::KeyRange keys = reference::visibleKeys(mask, row, problem.seqlenQ, problem.seqlenKv);
      // The verdict groups rows by what they see, not by what there is.
      exact.sizes.keyLength = std::max(exact.sizes.keyLength, keys.end - keys.begin);
      const auto view = [&](Input input, const std::vector<std::byte> &bytes, int64_t length) {
        return reference::View::dense(bytes.data(), spec.dtype,
                                      {1, length, 1, input == Input::V ? spec.valueDim : spec.headDim});
      };
      const auto slice = [&](Input input, int64_t ofHead, int64_t begin, int64_t end) {
        return values.rows(input, shapeOf(input, spec, problem), batch, ofHead, begin, end);
      };
      const std::vector<std::byte> q = slice(Input::Q, head, row, row + 1),
                                   k = slice(Input::K, kvHead, keys.begin, keys.end),
                                   v = slice(Input::V, kvHead, keys.begin, keys.end);
      const reference::View views[] = {view(Input::Q, q, 1), view(Input::K, k, keys.end - keys.begin),
                                       view(Input::V, v, keys.end - keys.begin)};
      const Result<reference::Answer> one = reference::attention(views[0], views[1], views[2], what),
                                      plainOne = reference::plainAttention(views[0], views[1], views[2], what,
                                                                           spec.outputType(), spec.precision);
      if (!one || !plainOne)
        return !one ? one.status() : plainOne.status();
      for (auto [all, part] : {std::pair(&exact, &*one), {&plain, &*plainOne}}) {
        all->out.insert(all->out.end(), part->out.begin(), part->out.end());
        all->lse.insert(all->lse.end(), part->lse.begin(), part->lse.end());
      }
    }
    return judge(batch, head, 0, step, exact, plain, what);
  }

  Result<reference::Comparison> whole(const NaiveAttention &naive, int64_t batch, int64_t head) const {
    const Result<NaiveAnswers> answers = naive.answer(tensors.arguments(), batch, head);
    if (!answers)
      return answers.status();
    return judge(batch, head, 0, 1, answers->exact, answers->plain, reference::Problem::of(spec));
  }
};

} // namespace

Result<Verification> verifyOwnShape(const Kernel &kernel, const Device &device, const Task &task,
                                    const Result<NaiveAttention> &naive, double mostFlops, double mostSeconds) {
  const AttentionSpec &spec = kernel.image().spec;
  const Problem &problem = task.problem;
  Verification verdict;
  verdict.right = true;
  verdict.against =
      fmt::format("nothing at {}x{}x{}x{}", problem.batch, problem.heads, problem.seqlenQ, problem.seqlenKv);
  if (problem.batch * problem.heads * problem.seqlenQ == 0)
    return verdict;
  Result<LaunchTensors> tensors =
      LaunchTensors::allocate(device, kernel.image(), problem, MemoryOrder::SequenceFirst, CheckedLaunch::guardBytes);
  if (!tensors)
    return tensors.status();
  const RepeatedInputs values = RepeatedInputs::make(spec.dtype, /*seed=*/3);
  if (Status status = values.upload(*tensors); !status)
    return status;
  const Result<CheckedLaunch> launch = CheckedLaunch::run(kernel, device, *tensors);
  if (!launch)
    return launch.status();
  for (const std::string &complaint : {launch->fault, launch->stray})
    if (!complaint.empty()) {
      verdict.right = false;
      verdict.complaint = complaint;
      return verdict;
    }

  const OwnShape shape{spec, problem, values, *tensors, launch->outputs};
  const double affordable = std::floor(mostFlops / NaiveAttention::flopsPerHead(spec, problem));
  const std::string why = !naive           ? naive.status().message()
                          : affordable < 1 ? "one head is too much for the naive kernel"
                                           : "";
  const int64_t all = shape.heads();
  int64_t heads = int64_t(std::clamp(why.empty() ? affordable : double(kSampledHeads), 1.0, double(all)));
  const std::string sizes = verdict.against.substr(verdict.against.find("at "));
  const auto start = std::chrono::steady_clock::now();
  for (int64_t n = 0; n < heads && verdict.right; ++n) {
    const int64_t index = n * all / heads, batch = index / problem.heads, head = index % problem.heads;
    const Result<reference::Comparison> comparison =
        why.empty() ? shape.whole(*naive, batch, head) : shape.sampled(batch, head);
    if (!comparison)
      return comparison.status();
    enter(verdict, *comparison, fmt::format("{}, head {} of batch element {}", sizes, head, batch));
    if (n == 0) { // and spread the rest over as many as there is time for
      const std::chrono::duration<double> each = std::chrono::steady_clock::now() - start;
      heads = std::clamp<int64_t>(int64_t(std::min(1e9, mostSeconds / each.count())), 1, heads);
    }
  }
  verdict.against =
      why.empty()
          ? fmt::format("naive kernel {}{}", sizes, heads < all ? fmt::format(", {} of {} heads", heads, all) : "")
          : fmt::format("f64 {}, {} rows in each of {} of {} heads ({})", sizes, shape.sampledRows(), heads, all, why);
  return verdict;
}

} // namespace tessera::tune
