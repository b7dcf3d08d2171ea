// Attention as a plain framework computes it: materialised scores and probabilities in the input type (N14's pt).
#include "autotune/reference/BlockedRows.h"

#include <cmath>

namespace tessera::reference {
namespace {

struct Plain {
  DType type;    ///< of the inputs, the scores and the probabilities
  DType outType; ///< of the result
  bool tf32;     ///< f32 whose matmuls run on tf32 tensor cores
  float scale;
  std::optional<float> softcap;

  float operand(float value) const { return tf32 ? roundToTf32(value) : value; }

  bool softmax(float *scores, KeyRange keys, double &lse, float &divisor) const {
    divisor = 1; // the probabilities are normalised before the second matmul
    float max = -HUGE_VALF;
    for (int64_t j = keys.begin; j < keys.end; ++j) {
      float score = roundTo(type, scale * scores[j]);
      if (softcap)
        score = roundTo(type, *softcap * std::tanh(score / *softcap));
      scores[j] = score;
      max = std::fmax(max, score);
    }
    float sum = 0;
    for (int64_t j = keys.begin; j < keys.end; ++j) {
      scores[j] = scores[j] == -HUGE_VALF ? 0.0f : std::exp(scores[j] - max);
      sum += scores[j];
    }
    if (sum == 0) {
      lse = -HUGE_VAL;
      return false;
    }
    lse = max + std::log(sum);
    for (int64_t j = keys.begin; j < keys.end; ++j)
      scores[j] = operand(roundTo(type, scores[j] / sum));
    return true;
  }

  double finish(float weighted, float) const { return roundTo(outType, weighted); }
};

} // namespace

Result<Answer> plainAttention(const View &q, const View &k, const View &v, const Problem &problem, DType outType,
                              Precision precision, unsigned threads) {
  const Result<Sizes> sizes = sizesOf(q, k, v);
  if (!sizes)
    return sizes.status();
  Answer answer{*sizes, {}, {}};
  answer.out.resize(sizes->batch * sizes->queryLength * sizes->queryHeads * sizes->valueDim);
  answer.lse.resize(sizes->batch * sizes->queryLength * sizes->queryHeads);
  const Plain arithmetic{q.type, outType, q.type == DType::F32 && precision == Precision::Tf32,
                         float(problem.scale.value_or(1 / std::sqrt(double(sizes->headDim)))),
                         problem.softcap ? std::optional<float>(float(*problem.softcap)) : std::nullopt};
  BlockedRows<float, Plain>(q, k, v, problem, *sizes, answer).run(arithmetic, threads);
  return answer;
}

} // namespace tessera::reference
