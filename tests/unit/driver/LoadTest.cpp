// B5: what a driver refuses to load is told apart from what is broken, and PTX that is too new names what it needs.
#include "tests/unit/driver/FakeCuda.h"

using namespace tessera;

namespace {

class Load : public test::FakeCuda {
protected:
  Status refused(std::string_view code) {
    auto module = Module::load(context(), code, &fits);
    EXPECT_FALSE(module);
    return module.status();
  }
  bool fits = false;
};

TEST_F(Load, CubinThatTheDriverCannotReadMayHaveOtherCode) {
  for (int result : {CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_INVALID_SOURCE,
                     CUDA_ERROR_UNSUPPORTED_PTX_VERSION}) {
    state.failCubins = result;
    Status status = refused(test::Cubin);
    EXPECT_FALSE(fits) << result;
    EXPECT_NE(status.message().find(std::to_string(result)), std::string::npos) << status.text();
  }
  for (int result : {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_LAUNCH_FAILED}) {
    state.failCubins = result;
    (void)refused(test::Cubin);
    EXPECT_TRUE(fits) << result << " is no matter of the code";
  }
}

TEST_F(Load, BrokenPtxIsNoMatterOfTheGpu) {
  for (int result : {CUDA_ERROR_INVALID_PTX, CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_INVALID_SOURCE}) {
    state.failPtx = result;
    (void)refused(test::Ptx);
    EXPECT_TRUE(fits) << result;
  }
}

TEST_F(Load, PtxTooNewForTheDriverNamesWhatItNeeds) {
  state.driverVersion = 12020;
  state.failPtx = CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  Status status = refused("// .version 7.0 is what this is not\n\t.version\t8.3\n.target sm_80\n");
  EXPECT_FALSE(fits);
  EXPECT_NE(status.message().find(
                "; this is PTX 8.3, which needs a driver for CUDA 12.3 or newer; the driver is for CUDA 12.2"),
            std::string::npos)
      << status.text();
  EXPECT_NE(status.hint().find("update the driver"), std::string::npos);
}

TEST_F(Load, PtxOfAnUnknownVersionStillNamesTheDriver) {
  state.driverVersion = 12020;
  state.failPtx = CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  EXPECT_NE(refused(".version 99.9\n").message().find("; this is PTX 99.9; the driver is for CUDA 12.2"),
            std::string::npos);
  for (const char *text : {".version", ".version x.y\n", ".version 8\n", ".target sm_80\n", ".version 8.30"})
    EXPECT_EQ(refused(text).message().find("this is PTX"), std::string::npos) << text;
}

} // namespace
