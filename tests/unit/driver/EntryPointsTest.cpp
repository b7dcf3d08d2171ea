// The table of entry points as a whole: every one answers, by symbol and through cuGetProcAddress.
#include "runtime/driver/DriverSymbols.h"
#include "tests/unit/driver/SimulatorFixture.h"

#include <dlfcn.h>

using namespace tessera::test;

namespace {

class SimulatorEntryPoints : public Simulator {
protected:
  void *find(const char *name, int version = CUDA_VERSION) {
    void *address = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    CUresult result = cuGetProcAddress(name, &address, version, 0, &status);
    EXPECT_EQ(result == CUDA_SUCCESS, status == CU_GET_PROC_ADDRESS_SUCCESS) << name;
    EXPECT_EQ(result == CUDA_SUCCESS, address != nullptr) << name;
    return address;
  }
};

TEST_F(SimulatorEntryPoints, TheLoadersTableIsThere) {
#define THERE(member, exported) EXPECT_NE(dlsym(RTLD_DEFAULT, exported), nullptr) << exported;
  TESSERA_DRIVER_SYMBOLS(THERE)
  TESSERA_DRIVER_OPTIONAL_SYMBOLS(THERE)
#undef THERE
}

TEST_F(SimulatorEntryPoints, EveryImplementedOneIsExported) {
#define ENTRY(name) EXPECT_NE(dlsym(RTLD_DEFAULT, #name), nullptr) << #name;
#include "runtime/simulator/driver/Entries.def"
#undef ENTRY
}

TEST_F(SimulatorEntryPoints, NamesWithoutVersionGiveTheNewestForm) {
  EXPECT_EQ(find("cuMemAlloc"), dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
  EXPECT_EQ(find("cuLaunchKernel"), dlsym(RTLD_DEFAULT, "cuLaunchKernel"));
  EXPECT_EQ(find("cuEventElapsedTime"), dlsym(RTLD_DEFAULT, "cuEventElapsedTime_v2"));
  EXPECT_EQ(find("cuCtxCreate"), dlsym(RTLD_DEFAULT, "cuCtxCreate_v4"));
  EXPECT_EQ(find("cuCtxCreate", 11000), dlsym(RTLD_DEFAULT, "cuCtxCreate_v2"));
  EXPECT_EQ(find("cuStreamBeginCapture"), dlsym(RTLD_DEFAULT, "cuStreamBeginCapture_v2"));
  EXPECT_EQ(find("cuNoSuchThing"), nullptr);
  void *address = nullptr;
  EXPECT_EQ(cuGetProcAddress(nullptr, &address, CUDA_VERSION, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetProcAddress("cuInit", nullptr, CUDA_VERSION, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetProcAddress("cuInit", &address, CUDA_VERSION, 1 << 10, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorEntryPoints, EveryOtherOneAnswersNotSupported) {
  unsigned count = 0;
#define ENTRY(name)                                                                                                    \
  {                                                                                                                    \
    void *address = dlsym(RTLD_DEFAULT, #name);                                                                        \
    ASSERT_NE(address, nullptr) << #name;                                                                              \
    EXPECT_EQ(reinterpret_cast<CUresult (*)()>(address)(), CUDA_ERROR_NOT_SUPPORTED) << #name;                         \
    ++count;                                                                                                           \
  }
#include "runtime/simulator/driver/Unsupported.def"
#undef ENTRY
  EXPECT_GT(count, 300u);
}

} // namespace
