// B6.85: a child of a process that opened a driver gets one clear error from everything, and never calls the driver.
#include "tests/unit/driver/Child.h"
#include "tests/unit/driver/FakeCuda.h"

#include <optional>
#include <thread>

using namespace tessera;
using test::expectRefused;
using test::inChild;

namespace {

class Fork : public test::FakeCuda {
protected:
  /// All that can be made of a driver, to be used and destroyed in a child.
  struct Objects {
    explicit Objects(const std::shared_ptr<const Context> &context)
        : context(context), module(value(Module::load(context, test::Ptx))), function(value(module->function("f"))),
          buffer(value(DeviceBuffer::allocate(context, 64))), stream(value(Stream::create(context))),
          event(value(Event::create(context))) {}

    std::string expectAllRefused() const {
      char bytes[64] = {};
      const DriverDevice device{context->sharedDriver(), 0};
      const std::pair<const char *, Status> results[] = {
          {"Driver::open", Driver::open(context->driver().library()).status()},
          {"Driver::usable", context->driver().usable()},
          {"Context::open", Context::open(device).status()},
          {"attribute", context->attribute(16).status()},
          {"synchronize", context->synchronize()},
          {"capturing", context->capturing(nullptr).status()},
          {"unloadRetired", context->unloadRetired()},
          {"load", Module::load(context, test::Ptx).status()},
          {"function", module->function("g").status()},
          {"global", module->global("g").status()},
          {"allowDynamicShared", function.allowDynamicShared(1)},
          {"blocksPerSm", function.blocksPerSm(128, 0).status()},
          {"launch", function.launch({}, nullptr, nullptr)},
          {"allocate", DeviceBuffer::allocate(context, 64).status()},
          {"upload", buffer.upload(bytes, 64)},
          {"download", buffer.download(bytes, 64)},
          {"uploadAsync", buffer.uploadAsync(bytes, 64, nullptr)},
          {"downloadAsync", buffer.downloadAsync(bytes, 64, nullptr)},
          {"fillAsync", buffer.fillAsync(0, nullptr)},
          {"copyFromAsync", buffer.copyFromAsync(buffer, 64, nullptr)},
          {"stream", Stream::create(context).status()},
          {"stream synchronize", stream.synchronize()},
          {"event", Event::create(context).status()},
          {"record", event.record(nullptr)},
          {"event synchronize", event.synchronize()},
          {"makeWait", event.makeWait(nullptr)},
          {"millisecondsTo", event.millisecondsTo(event).status()},
      };
      std::string wrong;
      for (const auto &[call, status] : results)
        wrong += expectRefused(call, status);
      return wrong;
    }

    std::shared_ptr<const Context> context;
    std::shared_ptr<const Module> module;
    Function function;
    DeviceBuffer buffer;
    Stream stream;
    Event event;
  };
};

TEST_F(Fork, B6_85_EveryCallInTheChildIsRefusedAndTheDriverIsLeftAlone) {
  std::optional<Objects> objects(context());
  kernel(objects->context); // retired
  EXPECT_EQ(inChild([&] {
              std::string wrong = objects->expectAllRefused();
              objects.reset();
              if (state.callsAfterFork)
                wrong += std::to_string(state.callsAfterFork) + " calls of the driver";
              return wrong;
            }),
            "");
  EXPECT_TRUE(objects->function.launch({}, nullptr, nullptr).ok()) << "the parent goes on";
  EXPECT_TRUE(objects->context->unloadRetired().ok());
}

TEST_F(Fork, ParentThatLetGoOfTheDriverHasInitialisedItAllTheSame) {
  (void)context();
  EXPECT_EQ(inChild([&] { return expectRefused("Driver::open", Driver::open(FAKE_CUDA).status()); }), "");
}

TEST_F(Fork, GrandchildIsRefusedToo) {
  auto context = this->context();
  EXPECT_EQ(inChild([&] { return inChild([&] { return expectRefused("synchronize", context->synchronize()); }); }), "");
}

TEST_F(Fork, ChildMayOpenWhatTheParentHasNot) {
  auto context = this->context();
  auto open = [] {
    auto driver = Driver::open(FAKE_SIMULATOR), again = Driver::open(FAKE_SIMULATOR);
    return !driver || !again ? driver.status().text() : *driver == *again ? "" : "two drivers";
  };
  // Neither has a child that opened it for itself initialised it in its parent.
  EXPECT_EQ(inChild(open), "");
  EXPECT_EQ(inChild(open), "");
}

TEST_F(Fork, WhatFailedToOpenInTheParentMayBeTriedInTheChild) {
  auto open = [] { return Driver::open(FAKE_DRIVERS "/libfake-driver-no-device.so").status(); };
  EXPECT_EQ(open().code(), Code::NoDevice);
  EXPECT_EQ(inChild([&] { return open().code() == Code::NoDevice ? "" : open().text(); }), "");
}

TEST_F(Fork, B6_85_DriverThatSomebodyElseInitialisedInTheParent) {
  EXPECT_EQ(expectRefused("Driver::open", Driver::open(FAKE_DRIVERS "/libfake-driver-inherited.so").status()), "");
}

TEST_F(Fork, WhileAnotherThreadOpensADriverTheChildDoesNotHang) {
  const std::string slow = FAKE_DRIVERS "/libfake-driver-slow.so";
  void *library = dlopen(slow.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  auto &entered = *static_cast<std::atomic<int> *>(dlsym(library, "fake_entered"));
  auto &go = *static_cast<std::atomic<int> *>(dlsym(library, "fake_go"));
  std::thread opener([&] { EXPECT_TRUE(Driver::open(slow)); });
  while (!entered)
    std::this_thread::yield();
  EXPECT_EQ(inChild([&] {
              std::string wrong = expectRefused("Driver::open", Driver::open(slow).status());
              auto other = Driver::open(FAKE_SIMULATOR);
              return wrong + (other ? "" : other.status().text());
            }),
            "");
  go = 1;
  opener.join();
}

} // namespace
