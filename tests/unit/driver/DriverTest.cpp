// Opening a driver: what is found, what is refused, and in which words.
#include "runtime/driver/Context.h"
#include "runtime/driver/DriverSymbols.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace tessera;

namespace {

std::string fake(const char *variant) { return std::string(FAKE_DRIVERS) + "/libfake-driver-" + variant + ".so"; }

TEST(Driver, ResolvesEveryEntryPointOfTheTable) {
  auto driver = Driver::open(fake("complete"));
  ASSERT_TRUE(driver) << driver.status().text();
  const DriverSymbols &symbols = (*driver)->symbols();
#define RESOLVED(member, exported) EXPECT_NE(symbols.member, nullptr) << exported;
  TESSERA_DRIVER_SYMBOLS(RESOLVED)
#undef RESOLVED
  EXPECT_EQ(symbols.cuLaunchKernelEx, nullptr); // optional, and not in this one
  EXPECT_FALSE((*driver)->simulated());
}

TEST(Driver, SameLibraryGivesTheSameDriver) {
  auto first = Driver::open(fake("complete")), second = Driver::open(fake("complete"));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
}

TEST(Driver, AbsentLibraryIsNoDeviceAndNamesIt) {
  auto driver = Driver::open("libno-such-driver.so.1");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.status().code(), Code::NoDevice);
  EXPECT_NE(driver.status().message().find("no CUDA driver: libno-such-driver.so.1 not found ("), std::string::npos)
      << driver.status().text();
}

TEST(Driver, LibraryWithoutEntryPointsIsRefusedWithTheirNames) {
  auto driver = Driver::open(fake("missing"));
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.status().code(), Code::DriverError);
  EXPECT_NE(driver.status().message().find("cuLaunchKernel"), std::string::npos) << driver.status().text();
  EXPECT_EQ(driver.status().message().find("cuInit,"), std::string::npos) << "cuInit is there";
}

TEST(Driver, DriverWithoutGpuIsNoDevice) {
  auto driver = Driver::open(fake("no-device"));
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.status().code(), Code::NoDevice);
}

TEST(Driver, ResultsAreNamedWithWhatWasBeingDone) {
  auto device = openDriver("sim:a100");
  ASSERT_TRUE(device) << device.status().text();
  Status status = device->driver->check(CUDA_ERROR_OUT_OF_MEMORY, "allocating {} bytes", 42);
  EXPECT_EQ(status.code(), Code::DriverError);
  EXPECT_EQ(status.message(), "allocating 42 bytes: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
  EXPECT_FALSE(status.hint().empty());
  EXPECT_TRUE(device->driver->check(CUDA_SUCCESS, "nothing").ok());
}

TEST(Driver, UnknownResultsAreStillNumbers) {
  auto device = openDriver("sim:a100");
  ASSERT_TRUE(device) << device.status().text();
  EXPECT_NE(device->driver->check(12345, "x").message().find("12345"), std::string::npos);
}

TEST(OpenDriver, SimulatorPosesAsTheNamedGpu) {
  for (auto [name, major, minor] :
       {std::tuple{"sim:a100", 8u, 0u}, {"sim:rtx4090", 8u, 9u}, {"sim:h100", 9u, 0u}, {"sim:a100", 8u, 0u}}) {
    auto device = openDriver(name);
    ASSERT_TRUE(device) << device.status().text();
    EXPECT_TRUE(device->driver->simulated());
    auto context = Context::open(*device);
    ASSERT_TRUE(context) << context.status().text();
    EXPECT_EQ((*context)->info().major, major) << name;
    EXPECT_EQ((*context)->info().minor, minor) << name;
  }
}

TEST(OpenDriver, UnknownGpuListsTheKnownOnes) {
  auto device = openDriver("sim:a1000");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.status().code(), Code::NoDevice);
  EXPECT_NE(device.status().message().find("sim:a1000"), std::string::npos);
  EXPECT_NE(device.status().message().find("rtx5090"), std::string::npos) << device.status().text();
}

TEST(OpenDriver, NamesThatAreNoDevicesAreRefused) {
  for (const char *name : {"", ":", "sim", "sim:", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "gpu:0", "a100"}) {
    auto device = openDriver(name);
    ASSERT_FALSE(device) << name;
    EXPECT_EQ(device.status().code(), Code::InvalidArgument) << name;
    EXPECT_NE(device.status().hint().find("sim:a100"), std::string::npos);
  }
}

TEST(OpenDriver, NoCudaDriverPointsAtTheSimulator) {
  auto device = openDriver("cuda:99"); // no machine has so many, so that this is refused with a driver and without
  ASSERT_FALSE(device);
  EXPECT_EQ(device.status().code(), Code::NoDevice);
  EXPECT_FALSE(device.status().hint().empty()) << device.status().text();
}

TEST(OpenDriver, SimulatorLibraryCanBeNamed) {
  setenv("TESSERA_SIM_LIBRARY", "/no/such/simulator.so", 1);
  auto absent = openDriver("sim:a100");
  setenv("TESSERA_SIM_LIBRARY", fake("complete").c_str(), 1);
  auto foreign = openDriver("sim:a100");
  unsetenv("TESSERA_SIM_LIBRARY");
  ASSERT_FALSE(absent);
  EXPECT_NE(absent.status().message().find("TESSERA_SIM_LIBRARY"), std::string::npos) << absent.status().text();
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.status().message().find("no Tessera simulator"), std::string::npos) << foreign.status().text();
}

} // namespace
