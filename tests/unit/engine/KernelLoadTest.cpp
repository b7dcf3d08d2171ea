// Loading an image: cubin where it runs, PTX where not, and refusals before the driver would fail.
#include "tests/unit/engine/Fakes.h"

namespace tessera {
namespace {

using KernelLoad = fakes::Test;

TEST_F(KernelLoad, GpuTakesTheCubin) {
  Result<Kernel> kernel = Kernel::load(fakes::image(), fakes::device());
  ASSERT_TRUE(kernel.ok()) << kernel.status().text();
  EXPECT_EQ(fakes::driver().cubinsLoaded, 1);
  EXPECT_EQ(fakes::driver().ptxLoaded, 0);
  EXPECT_EQ(fakes::driver().allowedShared, 65536u);
  KernelInfo info = kernel->info();
  EXPECT_EQ(info.source, Source::Image);
  EXPECT_EQ(info.code, "cubin");
  EXPECT_EQ(info.registers, 200u);
  EXPECT_EQ(info.spillBytes, 4u);
  EXPECT_EQ(info.assembler, "fake 1.0");
  EXPECT_EQ(info.blocksPerSm, 2u);
  EXPECT_NE(info.text().find("200 per thread, 4 bytes spilled"), std::string::npos) << info.text();
}

TEST_F(KernelLoad, ImageWithoutCubinLoadsItsPtx) {
  fakes::compiler().cubin = false;
  Result<Kernel> kernel = Kernel::load(fakes::image(), fakes::device());
  ASSERT_TRUE(kernel.ok()) << kernel.status().text();
  EXPECT_EQ(fakes::driver().ptxLoaded, 1);
  EXPECT_EQ(kernel->info().registers, 77u); // of the driver
  EXPECT_EQ(kernel->info().code, "PTX, assembled by the driver");
}

TEST_F(KernelLoad, CubinThatDoesNotFitGivesWayToThePtx) {
  fakes::driver().refuseCubins = 1;
  Result<Kernel> kernel = Kernel::load(fakes::image(), fakes::device("cuda:4")); // compute capability 10.0
  ASSERT_TRUE(kernel.ok()) << kernel.status().text();
  EXPECT_EQ(fakes::driver().cubinsLoaded, 0);
  EXPECT_EQ(fakes::driver().ptxLoaded, 1);
}

TEST_F(KernelLoad, SimulatorGetsPtxOnly) {
  Result<Kernel> kernel = Kernel::load(fakes::image(), fakes::device("sim:a100"));
  ASSERT_TRUE(kernel.ok()) << kernel.status().text();
  EXPECT_EQ(fakes::driver(true).cubinsLoaded, 0);
  EXPECT_EQ(fakes::driver(true).ptxLoaded, 1);
  EXPECT_EQ(fakes::driver(false).ptxLoaded, 0);
  EXPECT_EQ(kernel->info().device, "sim:a100 (a100)");
}

TEST_F(KernelLoad, B5_79_ImageForANewerGpuIsRefused) {
  Result<Kernel> kernel = Kernel::load(fakes::image({}, "sm_90"), fakes::device());
  EXPECT_EQ(kernel.status().code(), Code::Unsupported);
  EXPECT_NE(kernel.status().message().find(
                "the kernel for sm_90 cannot run on cuda:0 (a100): a cubin for sm_90 runs on compute "
                "capability 9.x only, and the device has 8.0; PTX for sm_90 needs compute capability "
                "9.0, and the device has 8.0"),
            std::string::npos);
}

TEST_F(KernelLoad, MoreSharedMemoryThanTheDeviceHasIsRefused) {
  AttentionSpec wide;
  wide.headDim = wide.valueDim = 256;
  Result<Kernel> kernel = Kernel::load(fakes::image(wide), fakes::device("cuda:2"));
  EXPECT_EQ(kernel.status().code(), Code::Unsupported);
  EXPECT_NE(kernel.status().message().find("131072 bytes of shared memory per block; rtx4090 has 101376"),
            std::string::npos);
}

TEST_F(KernelLoad, MoreThreadsThanItsRegistersAllowIsRefused) {
  fakes::driver().maxThreads = 64;
  Result<Kernel> kernel = Kernel::load(fakes::image(), fakes::device());
  EXPECT_NE(kernel.status().message().find("needs 128 threads per block; cuda:0 (a100) allows 64"), std::string::npos);
}

TEST_F(KernelLoad, MissingEntryAndContradictionsAreStatuses) {
  KernelImage image = fakes::image();
  image.entry = "missing";
  EXPECT_EQ(Kernel::load(image, fakes::device()).status().code(), Code::NotFound);
  image.entry = "";
  EXPECT_EQ(Kernel::load(image, fakes::device()).status().code(), Code::InvalidArgument);
}

TEST_F(KernelLoad, B6_86_CodeIsUnloadedWithTheLastHandle) {
  {
    Result<Kernel> kernel = Kernel::load(fakes::image(), fakes::device());
    Kernel copy = *kernel;
    kernel = Status(Code::NotFound, "gone");
    EXPECT_EQ(fakes::driver().modulesUnloaded, 0);
  }
  EXPECT_EQ(fakes::driver().modulesUnloaded, 1);
}

TEST_F(KernelLoad, DeviceNamesAndTooOldGpusAreRefused) {
  EXPECT_EQ(Device::open("cuda:3").status().code(), Code::Unsupported); // compute capability 7.5
  EXPECT_EQ(Device::open("sim:nothing").status().code(), Code::NoDevice);
  EXPECT_EQ(Device::open("gpu").status().code(), Code::InvalidArgument);
  EXPECT_EQ(std::string(fakes::device("cuda:1").target().name), "sm_90");
  EXPECT_TRUE(fakes::device("cuda:1").runsCubins());
  EXPECT_FALSE(fakes::device("cuda:4").runsCubins());
  EXPECT_FALSE(fakes::device("sim:a100").runsCubins());
}

} // namespace
} // namespace tessera
