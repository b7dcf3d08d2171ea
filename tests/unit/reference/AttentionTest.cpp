// The reference against hand-made cases, rule by rule (N1 to N10), and against a naive loop.
#include "autotune/reference/Attention.h"
#include "autotune/reference/Random.h"

#include <gtest/gtest.h>

#include <limits>

using namespace tessera;
using namespace tessera::reference;

namespace {

const float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Dense f32 tensors filled by value(b, s, h, c).
struct Tensor {
  std::array<int64_t, 4> shape;
  std::vector<float> values;

  template <typename Fn> Tensor(std::array<int64_t, 4> shape, Fn value) : shape(shape) {
    for (int64_t b = 0; b < shape[0]; ++b)
      for (int64_t s = 0; s < shape[1]; ++s)
        for (int64_t h = 0; h < shape[2]; ++h)
          for (int64_t c = 0; c < shape[3]; ++c)
            values.push_back(float(value(b, s, h, c)));
  }
  View view() const { return View::dense(values.data(), DType::F32, shape); }
};

Tensor normal(std::array<int64_t, 4> shape, uint64_t stream) {
  uint64_t i = 0;
  return Tensor(shape, [&](auto...) { return normalAt(1, stream, i++); });
}

Answer run(const Tensor &q, const Tensor &k, const Tensor &v, const Problem &problem = {}, unsigned threads = 0) {
  Result<Answer> answer = attention(q.view(), k.view(), v.view(), problem, threads);
  EXPECT_TRUE(answer) << answer.status().text();
  return *answer;
}

TEST(Reference, AgreesWithANaiveLoopOnUnevenShapes) {
  const int64_t sq = 131, sk = 77, hq = 6, hk = 2, d = 13, dv = 5;
  const Tensor q = normal({2, sq, hq, d}, 1), k = normal({2, sk, hk, d}, 2), v = normal({2, sk, hk, dv}, 3);
  const Problem problem{Mask::window(40, 7, Align::BottomRight), 0.3, 4.0};
  const Answer one = run(q, k, v, problem, 1), three = run(q, k, v, problem, 3);
  EXPECT_EQ(one.out, three.out);
  EXPECT_EQ(one.lse, three.lse);
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t i = 0; i < sq; ++i)
      for (int64_t h = 0; h < hq; ++h) {
        double sum = 0, weighted[5] = {};
        for (int64_t j = 0; j < sk; ++j) {
          if (j < i + sk - sq - 40 || j > i + sk - sq + 7)
            continue;
          double score = 0;
          for (int64_t c = 0; c < d; ++c)
            score += double(q.view().load(b, i, h, c)) * double(k.view().load(b, j, h / 3, c));
          const double weight = std::exp(4.0 * std::tanh(0.3 * score / 4.0));
          sum += weight;
          for (int64_t c = 0; c < dv; ++c)
            weighted[c] += weight * v.view().load(b, j, h / 3, c);
        }
        for (int64_t c = 0; c < dv; ++c)
          ASSERT_NEAR(one.outAt(b, i, h, c), sum == 0 ? 0 : weighted[c] / sum, 1e-13);
        ASSERT_NEAR(one.lseAt(b, h, i) == -HUGE_VAL ? 0 : one.lseAt(b, h, i), sum == 0 ? 0 : std::log(sum), 1e-13);
      }
}

TEST(Reference, N1_TheDefaultScaleUsesTheRequestedHeadDim) {
  const Tensor q({1, 1, 1, 80}, [](auto...) { return 1; }), v({1, 1, 1, 8}, [](auto...) { return 2; });
  EXPECT_NEAR(run(q, q, v).lse[0], 80 / std::sqrt(80.0), 1e-13); // A4_27: not 1/sqrt(96) nor 1/sqrt(128)
}

TEST(Reference, A8_43_SoftcapBoundsScores) {
  const Tensor q({1, 1, 1, 8}, [](auto...) { return 1; }), v({1, 1, 1, 8}, [](auto...) { return 1; });
  for (double score : {100.0, 1e4, 1e30}) {
    const double capped = run(q, q, v, {Mask::full(), score / 8, 15.0}).lse[0];
    EXPECT_LE(capped, 15.0);
    if (score == 100)
      EXPECT_NEAR(capped, 14.99995, 5e-6);
  }
}

TEST(Reference, N3_CausalSeesEachKeyUpToTheDiagonalOfItsAlignment) {
  const Tensor q({1, 3, 1, 8}, [](auto...) { return 0; }), k({1, 5, 1, 8}, [](auto...) { return 0; });
  const Tensor v({1, 5, 1, 8}, [](auto, auto s, auto, auto) { return 1 << s; });
  const Answer top = run(q, k, v, {Mask::causal(Align::TopLeft), {}, {}});
  const Answer bottom = run(q, k, v, {Mask::causal(Align::BottomRight), {}, {}});
  const double topSums[] = {1, 3, 7}, bottomSums[] = {7, 15, 31};
  for (int i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(top.outAt(0, i, 0, 0) * (i + 1), topSums[i]);
    EXPECT_DOUBLE_EQ(bottom.outAt(0, i, 0, 0) * (i + 3), bottomSums[i]);
    EXPECT_DOUBLE_EQ(top.lseAt(0, 0, i), std::log(i + 1.0));
  }
}

TEST(Reference, A2_11_AWindowOfFourTokensIncludingMyselfSeesFour) {
  for (int64_t i = 0; i < 8; ++i) {
    const KeyRange keys = visibleKeys(Mask::window(3, 0, Align::TopLeft), i, 8, 8);
    EXPECT_EQ(keys.end - keys.begin, std::min<int64_t>(i + 1, 4));
  }
  EXPECT_EQ(visibleKeys(Mask::window(3, 0, Align::TopLeft), 5, 8, 8).begin, 2);
}

TEST(Reference, N4_HugeBoundsNeitherWrapNorHide) {
  const int64_t huge = std::numeric_limits<int64_t>::max();
  for (Align align : {Align::TopLeft, Align::BottomRight}) {
    const KeyRange keys = visibleKeys(Mask::window(huge, huge, align), 3, 5, 9);
    EXPECT_EQ(keys.begin, 0);
    EXPECT_EQ(keys.end, 9);
  }
}

TEST(Reference, A2_10_LeadingRowsWithoutKeysAreZeroAndMinusInfinity) {
  const Tensor q = normal({1, 5, 1, 8}, 1), k = normal({1, 2, 1, 8}, 2), v = normal({1, 2, 1, 8}, 3);
  const Answer answer = run(q, k, v, {Mask::causal(Align::BottomRight), {}, {}});
  for (int i = 0; i < 5; ++i)
    for (int c = 0; c < 8; ++c) {
      EXPECT_EQ(answer.outAt(0, i, 0, c) == 0, i < 3);
      EXPECT_EQ(answer.lseAt(0, 0, i) == -HUGE_VAL, i < 3);
    }
}

TEST(Reference, N5_NoKeysNoQueriesNoBatch) {
  const Tensor q = normal({2, 3, 2, 8}, 1), none = normal({2, 0, 2, 8}, 2);
  const Answer answer = run(q, none, none);
  EXPECT_EQ(answer.out, std::vector<double>(2 * 3 * 2 * 8, 0.0));
  EXPECT_EQ(answer.lse, std::vector<double>(2 * 3 * 2, -HUGE_VAL));
  EXPECT_TRUE(run(none, q, q).out.empty());
  const Tensor nothing = normal({0, 3, 2, 8}, 1);
  EXPECT_TRUE(run(nothing, nothing, nothing).lse.empty());
}

TEST(Reference, N8_NaNReachesItsOwnRowsOnly) {
  Tensor q = normal({1, 4, 1, 8}, 1), k = normal({1, 4, 1, 8}, 2), v = normal({1, 4, 1, 8}, 3);
  k.values[2 * 8] = kNaN;     // key 2
  v.values[3 * 8 + 1] = kNaN; // value 3, component 1
  const Answer answer = run(q, k, v, {Mask::causal(Align::TopLeft), {}, {}});
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(std::isnan(answer.outAt(0, i, 0, 0)), i >= 2) << i;
  k.values[2 * 8] = 0;
  const Answer fewer = run(q, k, v, {Mask::causal(Align::TopLeft), {}, {}});
  for (int c = 0; c < 8; ++c)
    EXPECT_EQ(std::isnan(fewer.outAt(0, 3, 0, c)), c == 1) << c;
}

TEST(Reference, N8_InfiniteScores) {
  Tensor q({1, 1, 1, 8}, [](auto...) { return 1; }), k({1, 2, 1, 8}, [](auto...) { return 0; });
  const Tensor v({1, 2, 1, 8}, [](auto, auto s, auto, auto) { return s + 1; });
  k.values[0] = -HUGE_VALF;
  EXPECT_EQ(run(q, k, v).outAt(0, 0, 0, 0), 2);
  k.values[0] = HUGE_VALF;
  EXPECT_TRUE(std::isnan(run(q, k, v).outAt(0, 0, 0, 0)));
  k.values[0] = k.values[8] = -HUGE_VALF; // all weights 0: like a row that sees nothing
  EXPECT_EQ(run(q, k, v).outAt(0, 0, 0, 0), 0);
  EXPECT_EQ(run(q, k, v).lse[0], -HUGE_VAL);
}

TEST(Reference, A5_28_GroupsShareKeyHeadsByDivision) {
  const Tensor q = normal({1, 1, 4, 8}, 1), k = normal({1, 3, 2, 8}, 2);
  const Tensor v({1, 3, 2, 8}, [](auto, auto, auto h, auto) { return h; });
  const Answer answer = run(q, k, v);
  for (int h = 0; h < 4; ++h)
    EXPECT_DOUBLE_EQ(answer.outAt(0, 0, h, 0), h / 2);
}

TEST(Reference, N13_StridesAreHonoured) {
  // A fused (batch, sequence, 3, heads, dim) buffer, and a key broadcast over heads.
  const int64_t s = 5, h = 2, d = 8;
  std::vector<float> fused;
  for (int64_t i = 0; i < s * 3 * h * d; ++i)
    fused.push_back(normalAt(3, 0, i));
  const auto slice = [&](int64_t part) {
    return View{fused.data() + part * h * d, DType::F32, {1, s, h, d}, {s * 3 * h * d, 3 * h * d, d, 1}};
  };
  const Tensor q({1, s, h, d}, [&](auto, auto i, auto n, auto c) { return fused[((i * 3 + 0) * h + n) * d + c]; });
  const Tensor k({1, s, h, d}, [&](auto, auto i, auto, auto c) { return fused[((i * 3 + 1) * h + 0) * d + c]; });
  const Tensor v({1, s, h, d}, [&](auto, auto i, auto n, auto c) { return fused[((i * 3 + 2) * h + n) * d + c]; });
  View broadcast = slice(1);
  broadcast.strides[2] = 0;
  const Result<Answer> strided = attention(slice(0), broadcast, slice(2), {});
  ASSERT_TRUE(strided);
  EXPECT_EQ(strided->out, run(q, k, v).out);
}

TEST(Reference, ContradictingShapesAreRefusedWithBothValues) {
  const Tensor q = normal({1, 2, 4, 8}, 1), k = normal({1, 2, 3, 8}, 2);
  const Result<Answer> answer = attention(q.view(), k.view(), k.view(), {});
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.status().text().find("4 query heads"), std::string::npos) << answer.status().text();
}

TEST(Reference, ThePlainFrameworkIsNearAndRoundsProbabilities) {
  const Tensor q = normal({1, 64, 2, 64}, 1), k = normal({1, 64, 2, 64}, 2), v = normal({1, 64, 2, 64}, 3);
  std::vector<uint16_t> bits[3];
  View views[3];
  for (int t = 0; t < 3; ++t) {
    const Tensor &from = t == 0 ? q : t == 1 ? k : v;
    for (float value : from.values)
      bits[t].push_back(floatToBfloat(value));
    views[t] = View::dense(bits[t].data(), DType::BF16, from.shape);
  }
  const Result<Answer> exact = attention(views[0], views[1], views[2], {});
  const Result<Answer> plain = plainAttention(views[0], views[1], views[2], {}, DType::BF16, Precision::Tf32);
  double worst = 0;
  for (size_t n = 0; n < exact->out.size(); ++n)
    worst = std::max(worst, std::fabs(exact->out[n] - plain->out[n]));
  EXPECT_GT(worst, 1e-3);
  EXPECT_LT(worst, 3e-2);
  // f32: tf32 operands err by about 2^-11, plain f32 arithmetic by far less.
  for (Precision precision : {Precision::Tf32, Precision::Precise}) {
    const Answer wide = run(q, k, v);
    const Result<Answer> pt = plainAttention(q.view(), k.view(), v.view(), {}, DType::F32, precision);
    worst = 0;
    for (size_t n = 0; n < wide.out.size(); ++n)
      worst = std::max(worst, std::fabs(wide.out[n] - pt->out[n]));
    EXPECT_GT(worst, precision == Precision::Tf32 ? 1e-4 : 1e-8);
    EXPECT_LT(worst, precision == Precision::Tf32 ? 1e-2 : 1e-5);
  }
}

} // namespace
