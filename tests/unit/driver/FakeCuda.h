// What the tests of the driver layer on a fake driver start from: a fresh record, and contexts of its devices.
#pragma once

#include "runtime/driver/DeviceBuffer.h"
#include "runtime/driver/DriverSymbols.h"
#include "runtime/driver/Module.h"
#include "tests/unit/engine/FakeDriver.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace tessera::test {

inline constexpr std::string_view Ptx = ".version 8.3\n.target sm_80\n.address_size 64\n";
inline constexpr std::string_view Cubin{"\x7f"
                                        "ELF\x02\x01\x01\0\0\0\0\0",
                                        12};

class FakeCuda : public testing::Test {
protected:
  FakeCuda() : state(find()) {
    state.~FakeDriverState();
    new (&state) FakeDriverState();
  }
  ~FakeCuda() override {
    EXPECT_EQ(state.unloadsWhilePending, 0);
    EXPECT_EQ(state.unloadsOfNothing, 0);
    EXPECT_EQ(state.usesAfterUnload, 0);
    EXPECT_EQ(state.foreignContext, 0);
    EXPECT_EQ(state.callsAfterFork, 0);
  }

  static std::shared_ptr<const Context> context(int ordinal = 0) {
    return value(Context::open({value(Driver::open(FAKE_CUDA)), ordinal}));
  }
  static Function kernel(const std::shared_ptr<const Context> &context) {
    return value(value(Module::load(context, Ptx))->function("attention"));
  }
  template <typename T> static T value(Result<T> result) {
    if (!result)
      throw std::runtime_error(result.status().text());
    return *std::move(result);
  }

  FakeDriverState &state;

private:
  static FakeDriverState &find() {
    void *library = dlopen(FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      throw std::runtime_error(dlerror());
    return *reinterpret_cast<FakeDriverState *(*)()>(dlsym(library, "fake_driver_state"))();
  }
};

} // namespace tessera::test
