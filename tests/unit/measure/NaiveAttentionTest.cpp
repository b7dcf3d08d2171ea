// The naive kernel, executed by the simulator, against the f64 reference and the plain framework's arithmetic.
#include "autotune/measure/NaiveAttention.h"

#include "autotune/measure/HostInputs.h"
#include "autotune/measure/Nvrtc.h"
#include "autotune/reference/Attention.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::tune;

namespace {

struct Feature {
  const char *name;
  AttentionSpec spec;
  Problem problem;
  MemoryOrder order = MemoryOrder::SequenceFirst;
};

AttentionSpec spec(DType type, unsigned dim, unsigned valueDim, const Mask &mask = {}) {
  AttentionSpec spec;
  spec.dtype = type;
  spec.headDim = dim;
  spec.valueDim = valueDim;
  spec.mask = mask;
  spec.outputs = Output::O | Output::LSE;
  return spec;
}

std::vector<Feature> features() {
  constexpr auto bf16 = DType::BF16, f16 = DType::F16, f32 = DType::F32;
  std::vector<Feature> all{
      {"Bf16Full", spec(bf16, 64, 64), {1, 1, 1, 19, 77}},
      {"F16CausalBottomRight", spec(f16, 64, 64, Mask::causal(Align::BottomRight)), {1, 1, 1, 40, 77}},
      {"Bf16CausalTopLeft", spec(bf16, 64, 64, Mask::causal(Align::TopLeft)), {1, 1, 1, 40, 33}},
      {"Window", spec(bf16, 64, 64, Mask::window(20, 5, Align::BottomRight)), {1, 1, 1, 50, 90}},
      {"WindowOneSided", spec(f16, 32, 32, Mask::window(std::nullopt, 7, Align::TopLeft)), {1, 1, 1, 30, 50}},
      {"WindowWiderThanInt", spec(bf16, 32, 32, Mask::window(INT64_MAX, 0, Align::TopLeft)), {1, 1, 1, 30, 50}},
      {"RowsThatSeeNothing", spec(bf16, 32, 32, Mask::causal(Align::BottomRight)), {1, 1, 1, 40, 12}},
      {"NoKeys", spec(bf16, 32, 32), {1, 1, 1, 5, 0}},
      {"OneQuery", spec(f16, 128, 128), {1, 1, 1, 1, 100}},
      {"GroupedHeads", spec(bf16, 32, 32), {2, 6, 2, 11, 40}},
      {"HeadFirst", spec(bf16, 32, 32), {2, 4, 2, 11, 40}, MemoryOrder::HeadFirst},
      {"OddDims", spec(bf16, 72, 40), {1, 1, 1, 11, 40}},
      {"WideDims", spec(f16, 256, 256), {1, 1, 1, 9, 35}},
      {"Tf32", spec(f32, 64, 64), {1, 1, 1, 19, 77}},
      {"Precise", spec(f32, 64, 64), {1, 1, 1, 19, 77}},
      {"Softcap", spec(bf16, 64, 64), {1, 1, 1, 19, 77}},
      {"Scale", spec(bf16, 64, 64), {1, 1, 1, 19, 77}},
      {"ScoresNearZero", spec(bf16, 64, 64), {1, 1, 1, 19, 77}}, // the probabilities' rounding rules the plain error
  };
  for (Feature &feature : all) {
    const std::string_view name = feature.name;
    if (name == "Precise")
      feature.spec.precision = Precision::Precise;
    if (name == "Softcap")
      feature.spec.softcap = 1.5f;
    if (name == "Scale")
      feature.spec.scale = -0.5f;
    if (name == "ScoresNearZero") {
      feature.spec.scale = 1e-4f;
      feature.spec.outDType = f32;
    }
  }
  return all;
}

class Naive : public testing::TestWithParam<Feature> {};

double largest(const std::vector<double> &a, const std::vector<double> &b) {
  double most = 0;
  EXPECT_EQ(a.size(), b.size());
  for (size_t n = 0; n < std::min(a.size(), b.size()); ++n)
    most = std::isfinite(b[n]) ? std::max(most, std::fabs(a[n] - b[n])) : a[n] == b[n] ? most : HUGE_VAL;
  return most;
}

TEST_P(Naive, GivesTheReferencesAnswers) {
  const Feature &feature = GetParam();
  if (const auto nvrtc = Nvrtc::open(); !nvrtc)
    GTEST_SKIP() << "skipped: " << nvrtc.status().text();
  const Result<Device> device = Device::open("sim:a100");
  ASSERT_TRUE(device) << device.status().text();
  const Result<NaiveAttention> naive = NaiveAttention::create(*device, feature.spec);
  ASSERT_TRUE(naive) << naive.status().text();
  KernelImage image; // only what a launch's tensors depend on
  image.spec = feature.spec;
  const auto tensors = LaunchTensors::allocate(*device, image, feature.problem, feature.order, /*guardBytes=*/64);
  ASSERT_TRUE(tensors) << tensors.status().text();
  const HostInputs host = HostInputs::make(feature.spec, feature.problem, 7);
  for (Input input : inputs) {
    const auto [b, s, h, d] = shapeOf(input, feature.spec, feature.problem);
    std::vector<std::byte> bytes = host.bytes[unsigned(input)];
    if (feature.order == MemoryOrder::HeadFirst) {
      const size_t row = size_t(d) * byteSize(feature.spec.dtype);
      for (int64_t n = 0; n < b * s * h; ++n)
        std::copy_n(host.bytes[unsigned(input)].begin() + n * row, row,
                    bytes.begin() + (n / (s * h) * s * h + n % h * s + n / h % s) * row);
    }
    ASSERT_TRUE(tensors->upload(input, bytes).ok());
  }

  const auto problem = reference::Problem::of(feature.spec);
  const auto q = host.view(Input::Q), k = host.view(Input::K), v = host.view(Input::V);
  const auto exact = reference::attention(q, k, v, problem);
  const auto plain = reference::plainAttention(q, k, v, problem, feature.spec.outputType(), feature.spec.precision);
  ASSERT_TRUE(exact && plain);
  const auto headOf = [&](const reference::Answer &all, int64_t b, int64_t h) {
    reference::Answer one{{1, all.sizes.queryLength, all.sizes.keyLength, 1, 1, 0, all.sizes.valueDim}, {}, {}};
    for (int64_t i = 0; i < all.sizes.queryLength; ++i) {
      for (int64_t c = 0; c < all.sizes.valueDim; ++c)
        one.out.push_back(all.outAt(b, i, h, c));
      one.lse.push_back(all.lseAt(b, h, i));
    }
    return one;
  };
  const double fine = feature.spec.dtype == DType::F32 ? 1e-6 : 1e-5; // f64 sums rounded to f32, and f32 sums
  for (int64_t b = 0; b < feature.problem.batch; ++b)
    for (int64_t h = 0; h < feature.problem.heads; ++h) {
      const Result<NaiveAnswers> answers = naive->answer(tensors->arguments(), b, h);
      ASSERT_TRUE(answers) << answers.status().text();
      const reference::Answer ref = headOf(*exact, b, h), pt = headOf(*plain, b, h);
      EXPECT_LT(largest(answers->exact.out, ref.out), fine) << "batch " << b << ", head " << h;
      EXPECT_LT(largest(answers->exact.lse, ref.lse), fine);
      // A sum in another order may round a score the other way; the error against the answer stays what it is.
      const double error = largest(answers->plain.out, ref.out), expected = largest(pt.out, ref.out);
      EXPECT_LE(error, 1.5 * expected + 1e-7) << "batch " << b << ", head " << h;
      EXPECT_GE(error, 0.5 * expected - 1e-7);
    }
  EXPECT_EQ(*tensors->strayWrite(), "");
}
INSTANTIATE_TEST_SUITE_P(Features, Naive, testing::ValuesIn(features()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
