// The last error: kept per thread, cleared by success, untouched by what returns no code, usable until the thread is
// gone.
#include "tests/unit/capi/Capi.h"

#include <fmt/format.h>
#include <latch>
#include <thread>
#include <vector>

namespace tessera::capi {
namespace {

using CLastError = fakes::Test;

/// Fails with a message that holds the name.
tessera_code fail(const char *name) {
  tessera_device *device = nullptr;
  return tessera_device_open(name, &device);
}

TEST_F(CLastError, StartsEmpty) {
  std::thread([] {
    EXPECT_STREQ(tessera_last_error(), "");
    EXPECT_STREQ(tessera_last_hint(), "");
  }).join();
}

TEST_F(CLastError, IsClearedBySuccessAndKeptByWhatReturnsNoCode) {
  EXPECT_EQ(fail("cuda:77"), TESSERA_NO_DEVICE);
  const std::string message = tessera_last_error();
  EXPECT_NE(message.find("cuda:77"), std::string::npos) << message;
  tessera_device_destroy(nullptr);
  tessera_buffer_data(nullptr);
  tessera_version();
  EXPECT_EQ(tessera_last_error(), message);
  const tessera_spec spec = bf16Spec();
  EXPECT_EQ(tessera_spec_validate(&spec), TESSERA_OK);
  EXPECT_STREQ(tessera_last_error(), "");
  EXPECT_STREQ(tessera_last_hint(), "");
}

TEST_F(CLastError, HoldsTheRemedy) {
  const tessera_spec spec = bf16Spec(100);
  EXPECT_EQ(tessera_spec_validate(&spec), TESSERA_UNSUPPORTED);
  EXPECT_STREQ(tessera_last_error(), "head_dim must be a multiple of 8, got 100");
  EXPECT_STREQ(tessera_last_hint(), "pad the tensors with zeros to 104 and state the scale 1/sqrt(100)");
}

TEST_F(CLastError, BelongsToItsThread) {
  constexpr int count = 8;
  const tessera_spec spec = bf16Spec();
  EXPECT_EQ(tessera_spec_validate(&spec), TESSERA_OK);
  std::latch failed(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&failed, i] {
      const std::string name = fmt::format("cuda:{}", 100 + i);
      EXPECT_EQ(fail(name.c_str()), TESSERA_NO_DEVICE);
      failed.arrive_and_wait();
      EXPECT_NE(std::string(tessera_last_error()).find(name), std::string::npos) << tessera_last_error();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_STREQ(tessera_last_error(), "") << "this thread's own";
}

/// Calls the library while the thread's objects are destroyed.
struct LateCaller {
  bool armed = false;
  ~LateCaller() {
    EXPECT_STREQ(tessera_last_error(), "") << "what was kept is gone";
    EXPECT_EQ(fail("cuda:78"), TESSERA_NO_DEVICE);
    EXPECT_NE(std::string(tessera_last_error()).find("cuda:78"), std::string::npos) << tessera_last_error();
    const std::string longName(1000, 'x'); // a message longer than what is kept then
    EXPECT_EQ(fail(longName.c_str()), TESSERA_INVALID_ARGUMENT);
    EXPECT_NE(std::string(tessera_last_error()).find("xxx"), std::string::npos) << tessera_last_error();
    const tessera_spec spec = bf16Spec(100);
    EXPECT_EQ(tessera_spec_validate(&spec), TESSERA_UNSUPPORTED);
    EXPECT_STREQ(tessera_last_hint(), "pad the tensors with zeros to 104 and state the scale 1/sqrt(100)");
  }
};

TEST_F(CLastError, MayBeUsedWhileTheThreadEnds) {
  std::thread([] {
    thread_local LateCaller caller;
    caller.armed = true; // made before what the library keeps, therefore destroyed after it
    EXPECT_EQ(fail("cuda:79"), TESSERA_NO_DEVICE);
  }).join();
}

} // namespace
} // namespace tessera::capi
