// What launch refuses: every message names the tensor and the value, and nothing reaches the driver.
#include "tests/unit/engine/Fakes.h"

#include <limits>

namespace tessera {
namespace {

void *at(uintptr_t address) { return reinterpret_cast<void *>(address); }

struct LaunchChecks : fakes::Test {
  static LaunchArguments good() {
    LaunchArguments a;
    a.q = TensorView::contiguous(at(0x10000), DType::BF16, 2, 30, 8, 128);
    a.k = TensorView::contiguous(at(0x20000), DType::BF16, 2, 50, 2, 128);
    a.v = TensorView::contiguous(at(0x30000), DType::BF16, 2, 50, 2, 64);
    a.o = TensorView::contiguous(at(0x40000), DType::F32, 2, 30, 8, 64);
    a.lse = RowView::contiguous(static_cast<float *>(at(0x50000)), 2, 8, 30);
    return a;
  }

  static AttentionSpec spec() {
    AttentionSpec spec;
    spec.valueDim = 64;
    spec.outDType = DType::F32;
    spec.outputs = Output::O | Output::LSE;
    return spec;
  }

  /// Launches the good arguments after `change` and expects a refusal that holds all of `parts`.
  template <typename Change> void refused(Change change, std::initializer_list<std::string_view> parts) {
    LaunchArguments a = good();
    change(a);
    Status status = kernel.launch(a, nullptr);
    EXPECT_EQ(status.code(), Code::InvalidArgument) << status.text();
    for (std::string_view part : parts)
      EXPECT_NE(status.text().find(part), std::string::npos) << status.text();
    EXPECT_EQ(fakes::driver().launches, 0);
  }

  Kernel kernel = *Kernel::load(fakes::image(spec()), fakes::device());
};

TEST_F(LaunchChecks, GoodArgumentsPass) {
  Status status = kernel.launch(good(), nullptr);
  EXPECT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(fakes::driver().launches, 1);
}

TEST_F(LaunchChecks, ElementTypes) {
  refused([](auto &a) { a.k.dtype = DType::F16; }, {"k holds f16", "prepared for bf16"});
  refused([](auto &a) { a.o.dtype = DType::BF16; }, {"o holds bf16", "prepared for f32"});
}

TEST_F(LaunchChecks, Shapes) {
  refused([](auto &a) { a.q.shape[3] = 64; }, {"q has shape (2, 30, 8, 64), expected (2, 30, 8, 128)"});
  refused([](auto &a) { a.k.shape[0] = 3; }, {"k has shape (3, 50, 2, 128), expected (2, 50, 2, 128)"});
  refused([](auto &a) { a.v.shape[1] = 49; }, {"v has shape (2, 49, 2, 64), expected (2, 50, 2, 64)"});
  refused([](auto &a) { a.v.shape[2] = 1; }, {"v has shape (2, 50, 1, 64)"});
  refused([](auto &a) { a.o.shape[3] = 128; }, {"o has shape (2, 30, 8, 128), expected (2, 30, 8, 64)"});
  refused([](auto &a) { a.lse.shape = {2, 30, 8}; },
          {"lse has shape (2, 30, 8), expected (2, 8, 30) (batch, head, sequence)"});
  refused([](auto &a) { a.q.shape[1] = -1; }, {"seqlen_q", "-1"});
}

TEST_F(LaunchChecks, N9_HeadsDivisibleByKvHeads) {
  refused([](auto &a) { a.k.shape[2] = a.v.shape[2] = 3; }, {"heads must be a multiple of kv_heads, got 8 and 3"});
}

TEST_F(LaunchChecks, NullPointers) {
  refused([](auto &a) { a.q.data = nullptr; }, {"q of shape (2, 30, 8, 128) is null"});
  refused([](auto &a) { a.v.data = nullptr; }, {"v of shape", "null"});
  refused([](auto &a) { a.o.data = nullptr; }, {"o of shape", "null"});
  refused([](auto &a) { a.lse.data = nullptr; }, {"lse is null", "Output::LSE"});
}

TEST_F(LaunchChecks, N13_Strides) {
  refused([](auto &a) { a.q.strides[3] = 2; }, {"last dimension of q must be contiguous, its stride is 2"});
  refused([](auto &a) { a.k.strides[0] = -6400; }, {"stride 0 of k is negative: -6400"});
  refused([](auto &a) { a.lse.strides[1] = -30; }, {"stride 1 of lse is negative: -30"});
  refused([](auto &a) { a.v.strides[1] = int64_t(1) << 31; },
          {"row stride of v is 2147483648 elements, at most 2147483647"});
  refused([](auto &a) { a.o.strides[2] = 0; }, {"stride 2 of o is 0 with extent 8"});
  refused([](auto &a) { a.lse.strides[2] = 0; }, {"stride 2 of lse is 0 with extent 30"});
  refused([](auto &a) { a.q.strides[0] = std::numeric_limits<int64_t>::max() / 8 * 8; },
          {"q of shape (2, 30, 8, 128) and strides (9223372036854775800, 1024, 128, 1) spans more than 2^63 bytes"});
  refused(
      [](auto &a) {
        a.k.shape[0] = a.q.shape[0] = a.v.shape[0] = a.o.shape[0] = a.lse.shape[0] = 4;
        a.q.strides[0] = std::numeric_limits<int64_t>::max() / 2;
      },
      {"q of shape (4, 30", "2^63 bytes"});
}

TEST_F(LaunchChecks, BroadcastInputsPass) {
  LaunchArguments a = good();
  a.k.strides[0] = a.k.strides[2] = a.v.strides[0] = 0;
  a.q.strides[1] = 0;
  EXPECT_TRUE(kernel.launch(a, nullptr).ok());
}

TEST_F(LaunchChecks, N13_AlignmentComesWithItsRemedy) {
  refused([](auto &a) { a.q.data = at(0x10008); },
          {"q at address 0x10008 is not aligned to the kernel's accesses of 16 bytes", "accessBytesFor"});
  refused([](auto &a) { a.k.strides[1] = 260; },
          {"stride 1 of k is 260 elements of 2 bytes", "16 bytes", "accessBytesFor"});
  refused([](auto &a) { a.o.data = at(0x40004); }, {"o at address 0x40004"});
  refused([](auto &a) { a.lse.data = static_cast<float *>(at(0x50002)); }, {"lse at address 0x50002"});
  refused([](auto &a) { a.rescues = static_cast<uint32_t *>(at(0x50001)); }, {"rescues at address 0x50001"});
}

TEST_F(LaunchChecks, NarrowerAccessTakesWhatItSays) {
  AttentionSpec narrow = spec();
  narrow.accessBytes = 2;
  Kernel kernel = *Kernel::load(fakes::image(narrow), fakes::device());
  LaunchArguments a = good();
  a.q.data = at(0x10002);
  a.k.strides[1] = 257;
  a.o.data = at(0x40004); // f32: aligned to its elements
  EXPECT_TRUE(kernel.launch(a, nullptr).ok());
  a.o.data = at(0x40002);
  Status status = kernel.launch(a, nullptr);
  EXPECT_NE(status.text().find("accesses of 4 bytes"), std::string::npos) << status.text();
  a = good();
  a.q.data = at(0x10001);
  status = kernel.launch(a, nullptr);
  EXPECT_NE(status.text().find("align q to its elements"), std::string::npos) << status.text();
}

TEST_F(LaunchChecks, GridBeyond31Bits) {
  refused(
      [](auto &a) { a.q.shape[0] = a.k.shape[0] = a.v.shape[0] = a.o.shape[0] = a.lse.shape[0] = int64_t(1) << 28; },
      {"1 query tiles x 8 heads x batch 268435456 are more than 2147483647 blocks"});
}

TEST_F(LaunchChecks, LseThatTheKernelDoesNotWriteIsRefusedNotIgnored) {
  AttentionSpec without = spec();
  without.outputs = Output::O;
  Status status = Kernel::load(fakes::image(without), fakes::device())->launch(good(), nullptr);
  EXPECT_EQ(status.code(), Code::InvalidArgument);
  EXPECT_NE(status.text().find("add Output::LSE"), std::string::npos);
}

} // namespace
} // namespace tessera
