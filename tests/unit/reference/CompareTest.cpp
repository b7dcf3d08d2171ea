// The verdict catches what N14 says it must: a single wrong element, NaN against a number, a key lost among many, a
// wrong LSE.
#include "autotune/reference/Compare.h"
#include "autotune/reference/Random.h"

#include <gtest/gtest.h>

#include <limits>

using namespace tessera;
using namespace tessera::reference;

namespace {

/// One bf16 causal head whose "kernel" is the f64 answer rounded to bf16.
class Compare : public testing::Test {
protected:
  static constexpr int64_t length = 200, dim = 64;
  const Problem problem{Mask::causal(Align::BottomRight), {}, {}};
  const std::array<int64_t, 4> shape{1, length, 1, dim};
  std::vector<std::byte> q, k, v;
  Answer exact, plain;
  std::vector<float> out, lse;

  void SetUp() override {
    q = normalValues(DType::BF16, length * dim, 1, 0);
    k = normalValues(DType::BF16, length * dim, 1, 1);
    v = normalValues(DType::BF16, length * dim, 1, 2);
    const View qv = View::dense(q.data(), DType::BF16, shape), kv = View::dense(k.data(), DType::BF16, shape),
               vv = View::dense(v.data(), DType::BF16, shape);
    exact = *attention(qv, kv, vv, problem);
    plain = *plainAttention(qv, kv, vv, problem, DType::BF16, Precision::Tf32);
    for (double value : exact.out)
      out.push_back(roundTo(DType::BF16, float(value)));
    lse.assign(exact.lse.begin(), exact.lse.end());
  }

  Comparison judge() {
    std::vector<uint16_t> bits;
    for (float value : out)
      bits.push_back(floatToBfloat(value));
    const LseView lseView{lse.data(), {length, length, 1}};
    return compare(View::dense(bits.data(), DType::BF16, shape), &lseView, exact, plain, problem, DType::BF16,
                   Precision::Tf32);
  }
};

TEST_F(Compare, N14_TheRoundedAnswerPasses) {
  const Comparison verdict = judge();
  EXPECT_TRUE(verdict.ok) << verdict.complaint;
  EXPECT_GT(verdict.bound, verdict.error);
  EXPECT_LT(verdict.lseError, 1e-6);
}

TEST_F(Compare, N14_OneWrongElementFailsWithItsPlace) {
  out[150 * dim + 17] += 0.1f;
  const Comparison verdict = judge();
  EXPECT_FALSE(verdict.ok);
  EXPECT_EQ(verdict.beyond, 1);
  EXPECT_NE(verdict.complaint.find("row 150, head 0, component 17"), std::string::npos) << verdict.complaint;
}

TEST_F(Compare, N14_NaNAgainstANumberFailsEitherWay) {
  out[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(judge().mismatched, 1);
  SetUp();
  exact.out[7] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(judge().ok);
}

TEST_F(Compare, N14_ALostKeyAmongManyFailsThoughTheFirstRowsWouldHideIt) {
  // A late row without its last key, one of ordinary weight: the error is below the rounding error of row 0, which sees
  // one key.
  const auto lastWeight = [&](int64_t row) {
    double score = 0;
    for (int64_t c = 0; c < dim; ++c)
      score += double(loadElement(q.data() + (row * dim + c) * 2, DType::BF16)) *
               loadElement(k.data() + (row * dim + c) * 2, DType::BF16);
    return std::exp(score / 8 - exact.lseAt(0, 0, row));
  };
  int64_t row = length - 1;
  while (lastWeight(row) < 0.008 || lastWeight(row) > 0.0105)
    --row;
  ASSERT_GE(row, 128);
  for (int64_t c = 0; c < dim; ++c) {
    const double value = loadElement(v.data() + (row * dim + c) * 2, DType::BF16), weight = lastWeight(row);
    out[row * dim + c] = float((exact.out[row * dim + c] - weight * value) / (1 - weight));
  }
  const Comparison verdict = judge();
  EXPECT_FALSE(verdict.ok);
  EXPECT_LT(verdict.error, verdict.bound) << "the bound of the whole tensor alone does not see this";
}

TEST_F(Compare, N14_ASmallErrorInEveryLateRowFailsThoughNoElementIsBeyondItsBound) {
  for (int64_t n = 128 * dim; n < length * dim; ++n)
    out[n] += (n % 2 ? 1 : -1) * 0.008f;
  const Comparison verdict = judge();
  EXPECT_FALSE(verdict.ok);
  EXPECT_EQ(verdict.beyond, 0);
  EXPECT_EQ(verdict.noisyGroups, 1) << verdict.complaint;
}

TEST_F(Compare, N6_ALseInBaseTwoFails) {
  for (float &value : lse)
    value /= 0.6931472f;
  const Comparison verdict = judge();
  EXPECT_FALSE(verdict.ok);
  EXPECT_EQ(verdict.beyond, 0);
  EXPECT_GT(verdict.lseBeyond, 150);
}

TEST_F(Compare, N5_AFiniteStandInForMinusInfinityFails) {
  exact.lse[0] = -HUGE_VAL;
  lse[0] = -1e30f;
  EXPECT_EQ(judge().lseBeyond, 1);
}

TEST(CompareOneKey, N14_ARowErrsByTheRoundingOfItsScoreAndNoMore) {
  // A plain framework gives v itself here; exp2(s*c - m*c) with an unrounded product does not quite.
  constexpr int64_t rows = 16, dim = 64;
  const std::array<int64_t, 4> queries{1, rows, 1, dim}, one{1, 1, 1, dim};
  const Problem problem{Mask::full(), 1.0, {}};
  for (const double score : {1.0, 150.0}) {
    std::vector<float> q(rows * dim), k(dim), v(dim, 3.0f);
    k[0] = 1;
    for (int64_t row = 0; row < rows; ++row)
      q[row * dim] = float(row % 2 ? -score : score);
    const View qv = View::dense(q.data(), DType::F32, queries), kv = View::dense(k.data(), DType::F32, one),
               vv = View::dense(v.data(), DType::F32, one);
    const Answer exact = *attention(qv, kv, vv, problem);
    const Answer plain = *plainAttention(qv, kv, vv, problem, DType::F32, Precision::Tf32);
    const auto judge = [&](double relative) {
      const std::vector<float> out(rows * dim, float(3 * (1 + relative)));
      return compare(View::dense(out.data(), DType::F32, queries), nullptr, exact, plain, problem, DType::BF16,
                     Precision::Tf32);
    };
    const Comparison right = judge(score * 0x1p-24);
    EXPECT_TRUE(right.ok) << score << ": " << right.complaint;
    EXPECT_GE(right.bound, right.error) << "what is shown agrees with the verdict";
    EXPECT_FALSE(judge((8 + 4 * score) * 0x1p-24).ok) << score;
  }
}

} // namespace
