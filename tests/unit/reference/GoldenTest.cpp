// The reference against answers that numpy computed (golden.py).
#include "autotune/cli/files/TensorFile.h"
#include "autotune/reference/Attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace tessera;
using namespace tessera::reference;

namespace {

files::HostTensor read(const std::string &name) {
  Result<files::HostTensor> tensor = files::readTensorFile(std::string(GOLDEN_FILE) + ":" + name, name);
  EXPECT_TRUE(tensor) << tensor.status().text();
  return tensor ? *std::move(tensor) : files::HostTensor{};
}

View view(const files::HostTensor &tensor) {
  std::array<int64_t, 4> shape{};
  std::copy(tensor.shape.begin(), tensor.shape.end(), shape.begin());
  return View::dense(tensor.bytes.data(), tensor.type, shape);
}

void expectSame(const files::HostTensor &expected, const std::vector<double> &got) {
  ASSERT_EQ(expected.bytes.size(), got.size() * sizeof(float));
  for (size_t n = 0; n < got.size(); ++n) {
    const double value = loadElement(expected.bytes.data() + n * sizeof(float), DType::F32);
    if (std::isinf(value))
      EXPECT_EQ(got[n], value);
    else
      EXPECT_NEAR(got[n], value, 1e-6);
  }
}

void expectAnswer(const char *name, const Result<Answer> &answer) {
  SCOPED_TRACE(name);
  ASSERT_TRUE(answer) << answer.status().text();
  expectSame(read(std::string(name) + ".out"), answer->out);
  expectSame(read(std::string(name) + ".lse"), answer->lse);
}

TEST(Golden, TheReferenceAgreesWithNumPy) {
  const files::HostTensor q = read("q"), k = read("k"), v = read("v");
  expectAnswer("full", attention(view(q), view(k), view(v), {}));
  expectAnswer("causal", attention(view(q), view(k), view(v), {Mask::causal(Align::BottomRight), {}, {}}));
  expectAnswer("topleft", attention(view(q), view(k), view(v), {Mask::window(3, 0, Align::TopLeft), {}, {}}));
  expectAnswer("window", attention(view(q), view(k), view(v), {Mask::window(2, 1, Align::BottomRight), 0.7, 1.5}));
}

TEST(Golden, RowsThatSeeNothingAgreeWithNumPy) {
  // There row i sees keys i + 8 and i + 9: the diagonal of the keys from 8 on, which rows 5 to 8 miss.
  const files::HostTensor q = read("q"), k = read("k"), v = read("v");
  View keys = view(k), values = view(v);
  keys.data = keys.at(0, 8, 0, 0);
  values.data = values.at(0, 8, 0, 0);
  keys.shape[1] = values.shape[1] = keys.shape[1] - 8;
  expectAnswer("empty", attention(view(q), keys, values, {Mask::window(0, 1, Align::TopLeft), {}, {}}));
}

} // namespace
