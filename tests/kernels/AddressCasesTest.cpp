// 64-bit offsets (N13, cases A7): rows, batches and heads whose elements lie gigabytes apart. Only the elements
// themselves are ever touched, so the space between them costs no memory.
#include "tests/kernels/Harness.h"

#include "autotune/reference/Random.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::kernels;

namespace {

constexpr int64_t kParts = 3, kDim = 64;
constexpr size_t kSpacer = size_t(3) << 30; // the offset of the third part is beyond 2^31 elements and 2^32 bytes

/// kParts equal pieces of device memory at equal distances.
struct Spread {
  std::vector<DeviceBuffer> pieces, spacers;
  int64_t strideBytes = 0;
};

Result<Spread> spread(size_t bytes) {
  Spread made;
  for (int64_t part = 0; part < kParts; ++part) {
    for (const auto &[size, into] : {std::pair(bytes, &made.pieces), {kSpacer, &made.spacers}}) {
      Result<DeviceBuffer> buffer = device().allocate(size);
      if (!buffer)
        return buffer.status();
      into->push_back(*std::move(buffer));
    }
  }
  made.strideBytes = int64_t(made.pieces[1].address() - made.pieces[0].address());
  if (int64_t(made.pieces[2].address() - made.pieces[1].address()) != made.strideBytes)
    return Status(Code::Internal, "allocations do not lie at equal distances");
  return made;
}

enum class Axis { Batch, Sequence, Head };

/// One bf16 attention whose q, k, v and o have kParts parts along `axis`, gigabytes apart.
void expectRightAcross(Axis axis) {
  const int64_t along = int64_t(axis);
  std::array<int64_t, 4> shape{1, 1, 1, kDim};
  shape[along] = kParts;
  if (axis != Axis::Sequence)
    shape[1] = 5;
  const int64_t part = shape[1] / (axis == Axis::Sequence ? kParts : 1) * kDim; // elements of one tensor in one piece
  const Result<Spread> memory = spread(size_t(part) * 2 * 4);
  ASSERT_TRUE(memory) << memory.status().text();
  ASSERT_GT(2 * memory->strideBytes / 2, int64_t(1) << 31);
  std::vector<std::byte> dense[3];
  LaunchArguments arguments;
  TensorView *const views[] = {&arguments.q, &arguments.k, &arguments.v, &arguments.o};
  for (int t = 0; t < 4; ++t) {
    *views[t] = {reinterpret_cast<void *>(memory->pieces[0].address() + uint64_t(t * part * 2)),
                 DType::BF16,
                 shape,
                 {part, kDim, kDim, 1}};
    views[t]->strides[along] = memory->strideBytes / 2;
    const std::vector<std::byte> values = reference::normalValues(DType::BF16, size_t(part * kParts), 1, uint64_t(t));
    if (t < 3)
      dense[t] = values;
    for (int64_t n = 0; n < kParts; ++n) // the dense order of the parts is their order in memory for all three axes
      ASSERT_TRUE(memory->pieces[n].upload(values.data() + n * part * 2, size_t(part) * 2, size_t(t * part) * 2));
  }
  // With heads apart, a part is one head: (head, sequence, dim) in memory.
  const std::array<int64_t, 4> denseStrides = axis == Axis::Head
                                                  ? std::array<int64_t, 4>{part * kParts, kDim, part, 1}
                                                  : std::array<int64_t, 4>{shape[1] * kDim, kDim, kDim, 1};
  AttentionSpec spec;
  spec.headDim = spec.valueDim = kDim;
  const Result<Kernel> kernel = engine().prepare(spec, problemOf(arguments.q, arguments.k), device());
  ASSERT_TRUE(kernel) << kernel.status().text();
  const Status launched = kernel->launch(arguments, nullptr);
  ASSERT_TRUE(launched) << launched.text();
  const Status finished = device().synchronize();
  ASSERT_TRUE(finished) << finished.text();
  std::vector<std::byte> out(size_t(part * kParts) * 2);
  for (int64_t n = 0; n < kParts; ++n)
    ASSERT_TRUE(memory->pieces[n].download(out.data() + n * part * 2, size_t(part) * 2, size_t(3 * part) * 2));
  const auto view = [&](const std::vector<std::byte> &bytes) {
    return reference::View{bytes.data(), DType::BF16, shape, denseStrides};
  };
  const reference::Problem problem = reference::Problem::of(spec);
  const auto exact = reference::attention(view(dense[0]), view(dense[1]), view(dense[2]), problem);
  const auto plain =
      reference::plainAttention(view(dense[0]), view(dense[1]), view(dense[2]), problem, DType::BF16, Precision::Tf32);
  ASSERT_TRUE(exact && plain);
  const reference::Comparison verdict =
      reference::compare(view(out), nullptr, *exact, *plain, problem, DType::BF16, Precision::Tf32);
  EXPECT_TRUE(verdict.ok) << verdict.complaint;
}

TEST(AddressCases, A7_37_BatchesGigabytesApart) { expectRightAcross(Axis::Batch); }
TEST(AddressCases, A7_38_RowsGigabytesApart) { expectRightAcross(Axis::Sequence); }
TEST(AddressCases, A7_38_HeadsGigabytesApart) { expectRightAcross(Axis::Head); }

} // namespace
