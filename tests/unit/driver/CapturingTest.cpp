// B6.83: whether anything may be loaded is asked without disturbing a capture.
#include "tests/unit/driver/FakeCuda.h"

using namespace tessera;

namespace {

using Capturing = test::FakeCuda;

TEST_F(Capturing, StreamAndDefaultStreamAreAsked) {
  auto context = this->context();
  int captured = 0, other = 0;
  auto streamOf = [](int &object) { return reinterpret_cast<StreamHandle>(&object); };
  auto capturing = [&](StreamHandle stream) { return value(context->capturing(stream)); };
  EXPECT_FALSE(capturing(nullptr) || capturing(streamOf(captured)));
  state.capturedStream = &captured;
  EXPECT_TRUE(capturing(streamOf(captured)));
  EXPECT_FALSE(capturing(streamOf(other)) || capturing(nullptr));
  state.captureBlocks = 1; // a blocking stream: the default stream would become part of the capture
  EXPECT_TRUE(capturing(streamOf(captured)) && capturing(streamOf(other)) && capturing(nullptr));
  state.capturedStream = nullptr;
  EXPECT_FALSE(capturing(streamOf(captured)) || capturing(nullptr));
  EXPECT_EQ(state.callsDuringCapture, 0);
}

TEST_F(Capturing, FailuresAreReported) {
  auto context = this->context();
  state.deinitialized = 1;
  EXPECT_EQ(context->capturing(nullptr).status().code(), Code::DriverError);
}

} // namespace
