// cuLink* on the simulator: PTX goes through, everything else is refused by name.
#include "tests/unit/driver/SimulatorFixture.h"

#include <cstring>
#include <fstream>

using namespace tessera::test;

namespace {

class SimulatorLink : public Simulator {
protected:
  char error[512] = "";
  CUjit_option options[2] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[2] = {error, reinterpret_cast<void *>(sizeof(error))};

  CUlinkState create() {
    CUlinkState link = nullptr;
    EXPECT_EQ(cuLinkCreate(2, options, values, &link), CUDA_SUCCESS);
    return link;
  }
  CUresult add(CUlinkState link, CUjitInputType type, const char *text, const char *name) {
    return cuLinkAddData(link, type, const_cast<char *>(text), std::strlen(text) + 1, name, 0, nullptr, nullptr);
  }
};

TEST_F(SimulatorLink, PtxBecomesAnImageThatLoads) {
  CUlinkState link = create();
  ASSERT_EQ(add(link, CU_JIT_INPUT_PTX, Saxpy, "saxpy.ptx"), CUDA_SUCCESS) << error;
  void *image = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(cuLinkComplete(link, &image, &bytes), CUDA_SUCCESS);
  EXPECT_GT(bytes, 0u);
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, image), CUDA_SUCCESS);
  CUfunction function = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&function, module, "saxpy"), CUDA_SUCCESS);
  EXPECT_EQ(add(link, CU_JIT_INPUT_PTX, Minimal, "late"), CUDA_ERROR_INVALID_VALUE) << "after the end";
  EXPECT_EQ(cuLinkComplete(link, &image, &bytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLinkDestroy(link), CUDA_SUCCESS);
  EXPECT_EQ(cuLinkDestroy(link), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(SimulatorLink, FilesAreRead) {
  std::string path = testing::TempDir() + "simulator-link.ptx";
  std::ofstream(path) << Minimal;
  CUlinkState link = create();
  EXPECT_EQ(cuLinkAddFile(link, CU_JIT_INPUT_PTX, "/no/such/file.ptx", 0, nullptr, nullptr), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(cuLinkAddFile(link, CU_JIT_INPUT_PTX, path.c_str(), 0, nullptr, nullptr), CUDA_SUCCESS) << error;
  std::remove(path.c_str());
}

TEST_F(SimulatorLink, WhatCannotBeLinkedIsNamed) {
  CUlinkState link = create();
  EXPECT_EQ(add(link, CU_JIT_INPUT_PTX, "nonsense", "bad.ptx"), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(std::string(error).find("bad.ptx"), std::string::npos) << error;
  EXPECT_EQ(add(link, CU_JIT_INPUT_OBJECT, "object", "part.o"), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_NE(std::string(error).find("part.o"), std::string::npos) << error;
  EXPECT_EQ(add(link, CU_JIT_INPUT_CUBIN, "cubin", "code.cubin"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  ASSERT_EQ(add(link, CU_JIT_INPUT_PTX, Minimal, "first.ptx"), CUDA_SUCCESS);
  EXPECT_EQ(add(link, CU_JIT_INPUT_PTX, Saxpy, "second.ptx"), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_NE(std::string(error).find("second.ptx"), std::string::npos) << error;
  EXPECT_NE(std::string(error).find("first.ptx"), std::string::npos) << error;
}

TEST_F(SimulatorLink, WrongArgumentsAreRefused) {
  CUlinkState link = create();
  void *image = nullptr;
  char text[] = "x";
  EXPECT_EQ(cuLinkCreate(0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLinkCreate(1, nullptr, nullptr, &link), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLinkComplete(link, &image, nullptr), CUDA_ERROR_INVALID_VALUE) << "nothing to link";
  EXPECT_EQ(cuLinkAddData(link, CU_JIT_INPUT_PTX, nullptr, 4, nullptr, 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLinkAddData(link, CUjitInputType(99), text, 1, nullptr, 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLinkAddData(bogus<CUlinkState>(), CU_JIT_INPUT_PTX, text, 1, nullptr, 0, nullptr, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  CUjit_option wrong = CUjit_option(999);
  void *value = nullptr;
  EXPECT_EQ(cuLinkCreate(1, &wrong, &value, &link), CUDA_ERROR_INVALID_VALUE);
}

} // namespace
