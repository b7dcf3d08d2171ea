// Every wait, commit and barrier of the attention kernels is needed, and they suffice: kernels are clean under the
// late, the eager and fifty random schedules, and without any one of those lines the simulator objects.
#include "tests/kernels/Harness.h"

#include "runtime/engine/CompilerLibrary.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::kernels;

namespace {

constexpr unsigned randomSchedules = 50;

struct Variant {
  const char *name;
  DType dtype;
  int64_t headDim;
  Rescale rescale;
  bool causal;
  int64_t seqlen;
  /// Persistent blocks with so many stages, a few of which have a second query tile; 0: the default schedule.
  unsigned persistentStages = 0;
};

void PrintTo(const Variant &variant, std::ostream *out) { *out << variant.name; }

KernelCase caseOf(const Variant &variant) {
  KernelCase test = kernels::caseOf(variant.dtype, unsigned(variant.headDim), {1, 1, 1, variant.seqlen, variant.seqlen},
                                    variant.causal ? Mask::causal(Align::BottomRight) : Mask::full());
  test.schedule = defaultFor(test.spec);
  test.schedule->rescale = variant.rescale;
  if (variant.persistentStages) {
    // One block fits on an SM. Their first tiles see no keys and leave copies under way, the second ones see some.
    test.problem.seqlenQ = 64 * (int64_t(device().info().smCount) + 3);
    test.schedule->tileQ = 64;
    test.schedule->tileKv = 256 / variant.persistentStages;
    test.schedule->stages = variant.persistentStages;
    test.schedule->order = TileOrder::FirstFirst;
    test.schedule->persistent = true;
  }
  test.spec.accessBytes = accessBytesOf(test);
  return test;
}

std::optional<KernelImage> compile(const KernelCase &test) {
  const auto compiler = CompilerLibrary::open();
  EXPECT_TRUE(compiler) << compiler.status().text();
  CompileRequest request;
  request.spec = test.spec;
  request.schedule = *test.schedule;
  request.target = std::string(device().target().name);
  const Result<CompileOutput> output = (*compiler)->compile(request);
  EXPECT_TRUE(output) << output.status().text();
  if (!output)
    return std::nullopt;
  Result<KernelImage> image = KernelImage::parse(output->bytes);
  EXPECT_TRUE(image) << image.status().text();
  return image ? std::optional(*std::move(image)) : std::nullopt;
}

/// What the simulator says of the image's PTX; empty: nothing.
std::vector<std::string> findingsOf(const KernelCase &test, const KernelImage &image, bool &right) {
  KernelImage fromText = image;
  fromText.cubin.clear(); // it would belong to another text
  const Result<Kernel> kernel = Kernel::load(fromText, device());
  EXPECT_TRUE(kernel) << kernel.status().text();
  std::vector<std::string> findings;
  if (!kernel)
    return findings;
  const std::optional<Outcome> outcome = runKernel(test, *kernel, findings);
  right = outcome && outcome->verdict.ok;
  return findings;
}

struct Mutation {
  size_t at, length;
  std::string replacement;
  std::string what;
};

/// One for each line that synchronises; waits are also made one group too lenient. A commit that no copy precedes, as
/// behind the last tile, closes an empty group and is left alone.
std::vector<Mutation> mutationsOf(const std::string &ptx) {
  std::vector<Mutation> mutations;
  size_t line = 1;
  bool copied = false; // the last instruction, labels apart, was a copy
  for (size_t at = 0; at < ptx.size(); ++line) {
    const size_t end = std::min(ptx.find('\n', at), ptx.size());
    const std::string text = ptx.substr(at, end - at);
    const auto add = [&](std::string replacement) {
      mutations.push_back({at, end - at, replacement, fmt::format("line {}: {} -> {}", line, text, replacement)});
    };
    const size_t wait = text.find("cp.async.wait_group");
    if (wait != std::string::npos) {
      add("");
      const int groups = std::stoi(text.substr(text.find_first_of("0123456789", wait)));
      add(fmt::format("cp.async.wait_group {};", groups + 1));
    }
    for (const char *name : {"bar.sync", "barrier.sync", "cp.async.wait_all"})
      if (text.find(name) != std::string::npos)
        add("");
    if (text.find("cp.async.commit_group") != std::string::npos && copied)
      add("");
    if (text.find(';') != std::string::npos)
      copied = text.find("cp.async.c") != std::string::npos && text.find("commit") == std::string::npos;
    at = end + 1;
  }
  return mutations;
}

std::string nameOf(const testing::TestParamInfo<Variant> &info) { return info.param.name; }

class Synchronisation : public testing::TestWithParam<Variant> {
protected:
  void TearDown() override { configureSimulator(R"({"schedule": "late", "seed": 0})"); }
};

TEST_P(Synchronisation, SufficesUnderEverySchedule) {
  const KernelCase test = caseOf(GetParam());
  const std::optional<KernelImage> image = compile(test);
  ASSERT_TRUE(image);
  for (unsigned i = 0; i < randomSchedules + 2; ++i) {
    configureSimulator(i == 0   ? R"({"schedule": "late"})"
                       : i == 1 ? R"({"schedule": "eager"})"
                                : fmt::format(R"({{"schedule": "random", "seed": {}}})", i));
    bool right = false;
    for (const std::string &finding : findingsOf(test, *image, right))
      ADD_FAILURE() << finding;
    EXPECT_TRUE(right);
    if (HasFailure())
      FAIL() << "in schedule " << i;
  }
}

TEST_P(Synchronisation, IsNeededLineByLine) {
  const KernelCase test = caseOf(GetParam());
  const std::optional<KernelImage> image = compile(test);
  ASSERT_TRUE(image);
  const std::vector<Mutation> mutations = mutationsOf(image->ptx);
  EXPECT_GE(mutations.size(), 4u);
  for (const Mutation &mutation : mutations) {
    KernelImage changed = *image;
    changed.ptx.replace(mutation.at, mutation.length, mutation.replacement);
    bool right = false;
    EXPECT_FALSE(findingsOf(test, changed, right).empty())
        << mutation.what << " (answer " << (right ? "right" : "wrong") << ")";
  }
}

INSTANTIATE_TEST_SUITE_P(Attention, Synchronisation,
                         testing::Values(Variant{"bf16_d64_full", DType::BF16, 64, Rescale::Lazy, false, 200},
                                         Variant{"f16_d64_causal", DType::F16, 64, Rescale::Lazy, true, 200},
                                         Variant{"bf16_d64_anchored", DType::BF16, 64, Rescale::Anchored, true, 200},
                                         Variant{"bf16_d128_causal", DType::BF16, 128, Rescale::Lazy, true, 200},
                                         Variant{"f16_d32_every", DType::F16, 32, Rescale::Every, false, 200},
                                         Variant{"f32_d64_full", DType::F32, 64, Rescale::Every, false, 200},
                                         Variant{"bf16_d128_persistent", DType::BF16, 128, Rescale::Lazy, true, 300, 1},
                                         Variant{"f16_d128_persistent_ring", DType::F16, 128, Rescale::Lazy, true, 300,
                                                 2}),
                         nameOf);

} // namespace
