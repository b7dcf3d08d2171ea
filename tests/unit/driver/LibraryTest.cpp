// Libraries and their kernels on the simulator, in more than one context.
#include "tests/unit/driver/SimulatorFixture.h"

using namespace tessera::test;

namespace {

class SimulatorLibrary : public Simulator {};

CUfunction asFunction(CUkernel kernel) { return reinterpret_cast<CUfunction>(kernel); }

TEST_F(SimulatorLibrary, KernelsLaunchInEveryContext) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr, again = nullptr;
  ASSERT_EQ(cuLibraryLoadData(&library, Faults, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "store"), CUDA_SUCCESS);
  ASSERT_EQ(cuLibraryGetKernel(&again, library, "store"), CUDA_SUCCESS);
  EXPECT_EQ(kernel, again);
  auto store = [&] {
    CUdeviceptr memory = allocate(4);
    void *parameters[] = {&memory};
    unsigned value = 0;
    EXPECT_EQ(launch(asFunction(kernel), nullptr, parameters), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyDtoH(&value, memory, 4), CUDA_SUCCESS);
    EXPECT_EQ(value, 5u);
  };
  store();
  CUcontext own = nullptr;
  ASSERT_EQ(cuCtxCreate(&own, nullptr, 0, device), CUDA_SUCCESS);
  store();
  ASSERT_EQ(cuCtxDestroy(own), CUDA_SUCCESS);
  EXPECT_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
  EXPECT_EQ(launch(asFunction(kernel)), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(SimulatorLibrary, FactsAndErrors) {
  CUlibrary library = nullptr, owner = nullptr;
  CUkernel kernel = nullptr;
  CUmodule module = nullptr;
  CUdeviceptr address = 0;
  size_t bytes = 0, offset = 0;
  unsigned count = 0;
  int value = 0;
  const char *name = nullptr;
  ASSERT_EQ(cuLibraryLoadData(&library, Saxpy, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuLibraryGetModule(&module, library), CUDA_SUCCESS);
  EXPECT_EQ(cuLibraryGetKernelCount(&count, library), CUDA_SUCCESS);
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(cuLibraryGetGlobal(&address, &bytes, library, "counter"), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(cuLibraryGetKernel(&kernel, library, "absent"), CUDA_ERROR_NOT_FOUND);
  ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "saxpy"), CUDA_SUCCESS);
  EXPECT_EQ(cuKernelGetName(&name, kernel), CUDA_SUCCESS);
  EXPECT_STREQ(name, "saxpy");
  EXPECT_EQ(cuKernelGetLibrary(&owner, kernel), CUDA_SUCCESS);
  EXPECT_EQ(owner, library);
  EXPECT_EQ(cuKernelGetParamInfo(kernel, 2, &offset, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(offset, 16u);
  EXPECT_EQ(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000, kernel, device),
            CUDA_SUCCESS);
  EXPECT_EQ(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, device),
            CUDA_SUCCESS);
  EXPECT_EQ(value, 100000);
  EXPECT_EQ(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 999), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuKernelGetName(&name, bogus<CUkernel>()), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLibraryGetKernel(&kernel, bogus<CUlibrary>(), "saxpy"), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLibraryLoadData(nullptr, Saxpy, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLibraryLoadData(&library, "nonsense", nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(cuLibraryLoadFromFile(&library, "/no/such/file", nullptr, nullptr, 0, nullptr, nullptr, 0),
            CUDA_ERROR_FILE_NOT_FOUND);
}

TEST_F(SimulatorLibrary, NeedsNoContextUntilItsCodeIsUsed) {
  ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  CUlibrary library = nullptr;
  ASSERT_EQ(cuLibraryLoadData(&library, Saxpy, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  CUkernel kernels[8] = {};
  EXPECT_EQ(cuLibraryEnumerateKernels(kernels, 8, library), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  unsigned count = 0;
  ASSERT_EQ(cuLibraryGetKernelCount(&count, library), CUDA_SUCCESS);
  ASSERT_EQ(cuLibraryEnumerateKernels(kernels, 8, library), CUDA_SUCCESS);
  for (unsigned i = 0; i < 8; ++i)
    EXPECT_EQ(kernels[i] != nullptr, i < count);
  const char *name = nullptr;
  EXPECT_EQ(cuKernelGetName(&name, kernels[0]), CUDA_SUCCESS);
  CUkernel byName = nullptr;
  EXPECT_EQ(cuLibraryGetKernel(&byName, library, name), CUDA_SUCCESS);
  EXPECT_EQ(byName, kernels[0]);
  CUdeviceptr managed = 0;
  size_t bytes = 0;
  EXPECT_EQ(cuLibraryGetManaged(&managed, &bytes, library, "counter"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuKernelSetCacheConfig(kernels[0], CU_FUNC_CACHE_PREFER_L1, device), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
  EXPECT_EQ(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
}

} // namespace
