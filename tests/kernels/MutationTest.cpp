// A deliberately wrong fusion pass must be noticed by the same comparison that the right one passes.
#include "tests/kernels/Harness.h"

#include "runtime/engine/CompilerLibrary.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace tessera;
using namespace tessera::kernels;

namespace {

/// Rows that rise and fall by several powers of two from tile to tile, with rows that see nothing in their first tiles.
std::vector<KernelCase> witnesses(Rescale rescale) {
  std::vector<KernelCase> tests;
  for (const Mask &mask : {Mask::causal(Align::TopLeft), Mask::full()})
    for (float sign : {1.0f, -1.0f}) {
      KernelCase test;
      test.spec.headDim = test.spec.valueDim = 64;
      test.spec.mask = mask;
      test.spec.scale = 0.693147181f;
      test.spec.outputs = Output::O | Output::LSE;
      test.problem = {1, 1, 1, 150, 150};
      test.values = [=, ordinary = normal(1)](Role role, int64_t b, int64_t s, int64_t h, int64_t c) {
        if (role == Role::V)
          return ordinary(role, b, s, h, c);
        return c > 0 ? 0.0f : role == Role::Q ? 1.0f : sign * 9.0f * float(s / 32) + 0.25f * float(s % 4);
      };
      test.schedule = defaultFor(test.spec);
      test.schedule->rescale = rescale;
      test.schedule->tileKv = 32;
      test.spec.accessBytes = accessBytesOf(test);
      tests.push_back(test);
    }
  return tests;
}

/// Whether the comparison, or the simulator, objects to a kernel compiled with this mutation on some witness.
bool noticed(const std::string &mutation, Rescale rescale) {
  const auto compiler = CompilerLibrary::open();
  EXPECT_TRUE(compiler) << compiler.status().text();
  bool objected = false;
  for (const KernelCase &test : witnesses(rescale)) {
    CompileRequest request;
    request.spec = test.spec;
    request.schedule = *test.schedule;
    request.target = std::string(device().target().name);
    request.mutate = mutation;
    const Result<CompileOutput> output = (*compiler)->compile(request);
    EXPECT_TRUE(output) << output.status().text();
    if (!output)
      return false;
    const Result<KernelImage> image = KernelImage::parse(output->bytes);
    EXPECT_TRUE(image) << image.status().text();
    const Result<Kernel> kernel = Kernel::load(*image, device());
    EXPECT_TRUE(kernel) << kernel.status().text();
    if (!kernel)
      return false;
    std::vector<std::string> findings;
    const auto outcome = runKernel(test, *kernel, findings);
    objected |= !outcome || !outcome->verdict.ok || !findings.empty();
  }
  return objected;
}

std::string testName(const testing::TestParamInfo<const char *> &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class Every : public testing::TestWithParam<const char *> {};
TEST_P(Every, MutationOfTheFusionIsNoticed) { EXPECT_TRUE(noticed(GetParam(), Rescale::Every)); }
INSTANTIATE_TEST_SUITE_P(FuseOnlineSoftmax, Every,
                         testing::Values("no-rescale-u", "no-rescale-l", "no-guard", "wrong-alpha"), testName);

class Lazy : public testing::TestWithParam<const char *> {};
TEST_P(Lazy, MutationOfTheFusionIsNoticed) { EXPECT_TRUE(noticed(GetParam(), Rescale::Lazy)); }
INSTANTIATE_TEST_SUITE_P(FuseOnlineSoftmax, Lazy, testing::Values("no-rescale-u", "no-rescale-l", "wrong-alpha"),
                         testName);

TEST(NoMutation, ALazyReferenceStartsFiniteAndNeedsNoGuard) { EXPECT_FALSE(noticed("no-guard", Rescale::Lazy)); }

TEST(NoMutation, PassesTheSameWitnesses) {
  for (Rescale rescale : {Rescale::Every, Rescale::Lazy})
    EXPECT_FALSE(noticed("", rescale));
}

} // namespace
