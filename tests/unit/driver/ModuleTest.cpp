// Modules and kernels of the simulator: what loads, what does not, and the attributes.
#include "tests/unit/driver/SimulatorFixture.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

using namespace tessera::test;

namespace {

class SimulatorModule : public Simulator {
protected:
  int attribute(CUfunction function, CUfunction_attribute which) {
    int value = -1;
    EXPECT_EQ(cuFuncGetAttribute(&value, which, function), CUDA_SUCCESS) << which;
    return value;
  }
};

TEST_F(SimulatorModule, MachineCodeIsForNoSimulator) {
  CUmodule module = bogus<CUmodule>();
  for (auto load : {&cuModuleLoadData, &cuModuleLoadFatBinary})
    EXPECT_EQ(load(&module, "\x7f"
                            "ELF"),
              CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_F(SimulatorModule, MalformedTextIsInvalidPtx) {
  CUmodule module = nullptr;
  for (const char *text : {"", "\x7f",
                           "\x7f"
                           "EL",
                           "hello", ".version", ".version 8.0\n.target sm_80\n.visible .entry k() { frobnicate; }"})
    EXPECT_EQ(cuModuleLoadData(&module, text), CUDA_ERROR_INVALID_PTX) << text;
  EXPECT_EQ(module, nullptr);
  EXPECT_EQ(cuModuleLoadData(nullptr, Minimal), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleLoadData(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleLoadDataEx(&module, Minimal, 1, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorModule, PtxForANewerGpuDoesNotLoad) {
  std::string text = Minimal;
  text.replace(text.find("sm_80"), 5, "sm_90");
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, text.c_str()), CUDA_ERROR_INVALID_PTX);
}

TEST_F(SimulatorModule, LogsGoWhereTheOptionsSay) {
  CUmodule module = nullptr;
  char error[256] = "untouched", info[256] = "untouched";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_OPTIMIZATION_LEVEL,
                            CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {error, reinterpret_cast<void *>(sizeof(error)), reinterpret_cast<void *>(4), info,
                    reinterpret_cast<void *>(sizeof(info))};
  EXPECT_EQ(cuModuleLoadDataEx(&module, "nonsense", 5, options, values), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(std::string(error), "");
  EXPECT_NE(std::string(error), "untouched");
  EXPECT_EQ(size_t(values[1]), std::string(error).size() + 1) << "the size tells what was written";

  values[1] = reinterpret_cast<void *>(5);
  error[5] = 'x';
  EXPECT_EQ(cuModuleLoadDataEx(&module, "nonsense", 5, options, values), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(error[4], '\0');
  EXPECT_EQ(error[5], 'x') << "never beyond the buffer";

  values[1] = reinterpret_cast<void *>(sizeof(error)), values[4] = reinterpret_cast<void *>(sizeof(info));
  EXPECT_EQ(cuModuleLoadDataEx(&module, Minimal, 5, options, values), CUDA_SUCCESS);
  EXPECT_STREQ(error, "");
  EXPECT_NE(std::string(info).find("a100"), std::string::npos) << info;
}

TEST_F(SimulatorModule, FilesLoadToo) {
  std::string path = testing::TempDir() + "/tessera-module-test.ptx";
  std::ofstream(path) << Minimal;
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoad(&module, path.c_str()), CUDA_SUCCESS);
  std::remove(path.c_str());
  EXPECT_EQ(cuModuleLoad(&module, path.c_str()), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(cuModuleLoad(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorModule, KernelsAreFoundByName) {
  CUmodule module = load(Saxpy), owner = nullptr;
  CUfunction function = nullptr, again = nullptr;
  ASSERT_EQ(cuModuleGetFunction(&function, module, "saxpy"), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&again, module, "saxpy"), CUDA_SUCCESS);
  EXPECT_EQ(function, again);
  EXPECT_EQ(cuModuleGetFunction(&again, module, "absent"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuModuleGetFunction(&again, bogus<CUmodule>(), "saxpy"), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleGetFunction(nullptr, module, "saxpy"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleGetFunction(&again, module, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncGetModule(&owner, function), CUDA_SUCCESS);
  EXPECT_EQ(owner, module);
  const char *name = nullptr;
  EXPECT_EQ(cuFuncGetName(&name, function), CUDA_SUCCESS);
  EXPECT_STREQ(name, "saxpy");
  unsigned count = 0;
  EXPECT_EQ(cuModuleGetFunctionCount(&count, module), CUDA_SUCCESS);
  EXPECT_EQ(count, 4u);
  CUfunction all[4] = {};
  EXPECT_EQ(cuModuleEnumerateFunctions(all, 4, module), CUDA_SUCCESS);
  EXPECT_NE(std::find(std::begin(all), std::end(all), function), std::end(all));
}

TEST_F(SimulatorModule, ParametersTellTheirPlaces) {
  CUfunction function = kernel(Saxpy, "saxpy");
  size_t offsets[] = {0, 8, 16, 20}, sizes[] = {8, 8, 4, 4};
  for (size_t i = 0; i < 4; ++i) {
    size_t offset = 99, size = 99;
    EXPECT_EQ(cuFuncGetParamInfo(function, i, &offset, &size), CUDA_SUCCESS);
    EXPECT_EQ(offset, offsets[i]);
    EXPECT_EQ(size, sizes[i]);
  }
  size_t offset = 0;
  EXPECT_EQ(cuFuncGetParamInfo(function, 4, &offset, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorModule, VariablesHaveAddressSizeAndContent) {
  CUmodule module = load(Saxpy);
  CUdeviceptr address = 0;
  size_t bytes = 0;
  ASSERT_EQ(cuModuleGetGlobal(&address, &bytes, module, "counter"), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 4u);
  unsigned value = 0;
  ASSERT_EQ(cuMemcpyDtoH(&value, address, 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 7u);
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE) << "it belongs to the module";
  EXPECT_EQ(cuModuleGetGlobal(&address, &bytes, module, "absent"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuModuleGetGlobal(&address, &bytes, module, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleGetGlobal(&address, &bytes, bogus<CUmodule>(), "counter"), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(&value, address, 4), CUDA_ERROR_INVALID_VALUE) << "gone with the module";
}

TEST_F(SimulatorModule, UnloadedKernelsAreInvalid) {
  CUmodule module = load(Minimal);
  CUfunction function = nullptr;
  ASSERT_EQ(cuModuleGetFunction(&function, module, "nothing"), CUDA_SUCCESS);
  EXPECT_EQ(launch(function), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(launch(function), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
  int value = 0;
  EXPECT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(SimulatorModule, AttributesDescribeTheKernel) {
  EXPECT_EQ(attribute(kernel(Saxpy, "shared16k"), CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 16384);
  EXPECT_EQ(attribute(kernel(Saxpy, "shared16k"), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 32768);
  EXPECT_EQ(attribute(kernel(Saxpy, "bounded"), CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 128);
  EXPECT_EQ(attribute(kernel(Saxpy, "exact"), CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 128);
  CUfunction saxpy = kernel(Saxpy, "saxpy");
  EXPECT_EQ(attribute(saxpy, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
  EXPECT_GT(attribute(saxpy, CU_FUNC_ATTRIBUTE_NUM_REGS), 0);
  EXPECT_EQ(attribute(saxpy, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), 0);
  EXPECT_EQ(attribute(saxpy, CU_FUNC_ATTRIBUTE_BINARY_VERSION), 80);
  EXPECT_EQ(attribute(saxpy, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 0);
  int value = 0;
  EXPECT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX, saxpy), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_NUM_REGS, saxpy), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, bogus<CUfunction>()), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(SimulatorModule, DynamicSharedMemoryIsAllowedUpToTheLimit) {
  CUfunction function = kernel(Saxpy, "shared16k");
  constexpr auto Most = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  EXPECT_EQ(cuFuncSetAttribute(function, Most, 147 * 1024), CUDA_SUCCESS);
  EXPECT_EQ(attribute(function, Most), 147 * 1024);
  EXPECT_EQ(cuFuncSetAttribute(function, Most, 147 * 1024 + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(function, Most, -1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(bogus<CUfunction>(), Most, 1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuFuncSetCacheConfig(function, CU_FUNC_CACHE_PREFER_SHARED), CUDA_SUCCESS);
}

TEST_F(SimulatorModule, OccupancyCountsBlocks) {
  CUfunction function = kernel(Minimal, "nothing");
  int blocks = -1;
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 1024, 0), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 2);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 32, 60 * 1024), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 0) << "without permission";
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, function, 32, 0), CUDA_ERROR_INVALID_VALUE);
  size_t bytes = 0;
  EXPECT_EQ(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, function, 2, 128), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 81u * 1024);
  EXPECT_EQ(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, function, 33, 32), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorModule, NewerPtxIsTriedAndTheLogSaysSo) {
  std::string text = Minimal;
  text.replace(text.find("8.0"), 3, "99.9");
  CUmodule module = nullptr;
  char info[512] = "";
  CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {info, reinterpret_cast<void *>(sizeof(info))};
  EXPECT_EQ(cuModuleLoadDataEx(&module, text.c_str(), 2, options, values), CUDA_SUCCESS);
  EXPECT_NE(std::string(info).find("warning"), std::string::npos) << info;
  EXPECT_NE(std::string(info).find("99.9"), std::string::npos) << info;
}

TEST_F(SimulatorModule, JitOptionsAnswerAndBind) {
  CUmodule module = nullptr;
  std::string text = manyRegisters(150);
  CUjit_option options[] = {CU_JIT_WALL_TIME, CU_JIT_MAX_REGISTERS, CU_JIT_TARGET, CU_JIT_GENERATE_LINE_INFO};
  void *values[] = {nullptr, reinterpret_cast<void *>(64), reinterpret_cast<void *>(CU_TARGET_COMPUTE_80),
                    reinterpret_cast<void *>(1)};
  ASSERT_EQ(cuModuleLoadDataEx(&module, text.c_str(), 4, options, values), CUDA_SUCCESS);
  float milliseconds = 0;
  std::memcpy(&milliseconds, &values[0], sizeof(milliseconds));
  EXPECT_GT(milliseconds, 0);
  CUfunction function = nullptr;
  ASSERT_EQ(cuModuleGetFunction(&function, module, "many"), CUDA_SUCCESS);
  EXPECT_EQ(attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS), 64);
  EXPECT_EQ(attribute(function, CU_FUNC_ATTRIBUTE_PTX_VERSION), 80);
  values[2] = reinterpret_cast<void *>(CU_TARGET_COMPUTE_90);
  EXPECT_EQ(cuModuleLoadDataEx(&module, Minimal, 4, options, values), CUDA_ERROR_NO_BINARY_FOR_GPU);
  options[2] = CU_JIT_GLOBAL_SYMBOL_NAMES;
  EXPECT_EQ(cuModuleLoadDataEx(&module, Minimal, 4, options, values), CUDA_ERROR_NOT_SUPPORTED);
  options[2] = CUjit_option(1000);
  EXPECT_EQ(cuModuleLoadDataEx(&module, Minimal, 4, options, values), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorModule, FunctionsAreLoadedWhateverTheModeIsCalled) {
  CUfunction function = kernel(Minimal, "nothing");
  CUfunctionLoadingState loading = CU_FUNCTION_LOADING_STATE_UNLOADED;
  EXPECT_EQ(cuFuncIsLoaded(&loading, function), CUDA_SUCCESS);
  EXPECT_EQ(loading, CU_FUNCTION_LOADING_STATE_LOADED);
  EXPECT_EQ(cuFuncLoad(function), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncLoad(bogus<CUfunction>()), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuFuncIsLoaded(nullptr, function), CUDA_ERROR_INVALID_VALUE);
}

} // namespace
