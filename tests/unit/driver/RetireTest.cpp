// B6.86, B6.87: code is unloaded when no launch of it can be pending, never twice, and not at all when it never loaded.
#include "tests/unit/driver/FakeCuda.h"

#include <thread>
#include <vector>

using namespace tessera;

namespace {

using Retire = test::FakeCuda;

TEST_F(Retire, B6_86_ModuleWithPendingLaunchesIsNotUnloadedByItsDestructor) {
  auto context = this->context();
  EXPECT_TRUE(kernel(context).launch({}, nullptr, nullptr).ok());
  EXPECT_EQ(state.modulesUnloaded, 0);
  EXPECT_EQ(state.synchronisations, 0) << "a destructor must not wait";
  EXPECT_EQ(context->retired(), 1u);
  Status unloaded = context->unloadRetired();
  EXPECT_TRUE(unloaded.ok()) << unloaded.text();
  EXPECT_EQ(state.modulesUnloaded, 1);
  EXPECT_EQ(state.synchronisations, 1);
  EXPECT_EQ(context->retired(), 0u);
}

TEST_F(Retire, ModulesInUseStay) {
  auto context = this->context();
  Function kept = kernel(context);
  {
    Function dropped = kernel(context), copy = kept;
  }
  EXPECT_EQ(context->retired(), 1u);
  EXPECT_TRUE(context->unloadRetired().ok());
  EXPECT_TRUE(kept.launch({}, nullptr, nullptr).ok());
}

TEST_F(Retire, NothingRetiredIsNoWait) {
  auto context = this->context();
  EXPECT_TRUE(context->unloadRetired().ok());
  EXPECT_EQ(state.synchronisations, 0);
}

TEST_F(Retire, B6_83_CaptureIsLeftAloneAndTheListStays) {
  auto context = this->context();
  int stream = 0;
  {
    Function dropped = kernel(context);
    state.capturedStream = &stream;
  }
  EXPECT_EQ(state.callsDuringCapture, 0) << "a destructor during a capture must not disturb it";
  Status refused = context->unloadRetired();
  EXPECT_EQ(refused.code(), Code::DriverError);
  EXPECT_EQ(context->retired(), 1u);
  state.capturedStream = nullptr;
  EXPECT_TRUE(context->unloadRetired().ok());
  EXPECT_EQ(state.modulesUnloaded, 1);
}

TEST_F(Retire, WhatIsRetiredDuringTheWaitIsForTheNextTime) {
  static std::shared_ptr<const Context> context;
  context = this->context();
  kernel(context);
  state.afterSynchronise = [] { EXPECT_TRUE(kernel(context).launch({}, nullptr, nullptr).ok()); };
  EXPECT_TRUE(context->unloadRetired().ok());
  state.afterSynchronise = nullptr;
  EXPECT_EQ(state.modulesUnloaded, 1);
  EXPECT_EQ(context->retired(), 1u);
  context.reset();
}

TEST_F(Retire, FailedWaitIsReportedAndTheListStays) {
  auto context = this->context();
  kernel(context);
  state.failSynchronise = CUDA_ERROR_ILLEGAL_ADDRESS;
  Status failed = context->unloadRetired();
  EXPECT_EQ(failed.code(), Code::DriverError);
  EXPECT_NE(failed.message().find("700"), std::string::npos) << failed.text();
  EXPECT_EQ(state.modulesUnloaded, 0);
  EXPECT_EQ(context->retired(), 1u);
  state.failSynchronise = 0;
}

TEST_F(Retire, ContextUnloadsWhatIsLeftAndIsReleased) {
  kernel(context());
  EXPECT_EQ(state.modulesLive, 0);
  EXPECT_EQ(state.synchronisations, 1);
  EXPECT_EQ(state.contextsRetained, 1);
  EXPECT_EQ(state.contextsReleased, 1);
}

TEST_F(Retire, ContextWithoutModulesDoesNotWait) {
  (void)context();
  EXPECT_EQ(state.contextsReleased, 1);
  EXPECT_EQ(state.synchronisations, 0);
}

TEST_F(Retire, B6_87_DriverThatHasShutDownIsIgnored) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  {
    auto context = this->context();
    Function held = kernel(context);
    auto buffer = value(DeviceBuffer::allocate(context, 100));
    auto stream = value(Stream::create(context));
    auto event = value(Event::create(context));
    state.deinitialized = 1;
    EXPECT_EQ(held.launch({}, nullptr, nullptr).code(), Code::DriverError);
    EXPECT_EQ(context->unloadRetired().code(), Code::DriverError);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr() + testing::internal::GetCapturedStdout(), "");
}

TEST_F(Retire, B6_87_WhatNeverLoadedIsNeverUnloaded) {
  auto context = this->context();
  state.failPtx = CUDA_ERROR_INVALID_PTX;
  struct Unwinding {
    const std::shared_ptr<const Context> &context;
    ~Unwinding() { EXPECT_FALSE(Module::load(context, test::Ptx)); }
  };
  try {
    Unwinding load{context};
    throw std::runtime_error("of the application");
  } catch (const std::runtime_error &) {
  }
  EXPECT_EQ(context->retired(), 0u);
  context.reset();
  EXPECT_EQ(state.modulesUnloaded, 0);
}

TEST_F(Retire, ThreadsRetireAndUnloadAtOnce) {
  auto context = this->context();
  constexpr int Threads = 4, Rounds = 200;
  std::vector<std::thread> threads;
  for (int i = 0; i < Threads; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < Rounds; ++round) {
        EXPECT_TRUE(kernel(context).launch({}, nullptr, nullptr).ok());
        if (round % 8 == 0)
          EXPECT_TRUE(context->unloadRetired().ok());
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_TRUE(context->unloadRetired().ok());
  EXPECT_EQ(state.modulesUnloaded, Threads * Rounds);
  EXPECT_EQ(state.modulesLive, 0);
}

} // namespace
