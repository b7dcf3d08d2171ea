// Host memory that kernels reach at its own address: page-locked, registered and managed.
#include "tests/unit/driver/SimulatorFixture.h"

#include <cstdlib>
#include <cstring>
#include <vector>

using namespace tessera::test;

namespace {

class SimulatorHostMemory : public Simulator {
protected:
  /// Runs copy_word: *to = *from + 1, both through generic addresses as a kernel sees them.
  CUresult copyWord(CUdeviceptr to, CUdeviceptr from) {
    void *parameters[] = {&to, &from};
    EXPECT_EQ(launch(kernel(CopyWord, "copy_word"), nullptr, parameters), CUDA_SUCCESS);
    return cuCtxSynchronize();
  }
  static CUdeviceptr addressOf(const void *pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
};

TEST_F(SimulatorHostMemory, KernelsReachPageLockedMemoryAtItsAddress) {
  unsigned *words = nullptr;
  ASSERT_EQ(cuMemHostAlloc(reinterpret_cast<void **>(&words), 8, CU_MEMHOSTALLOC_DEVICEMAP), CUDA_SUCCESS);
  CUdeviceptr address = 0;
  ASSERT_EQ(cuMemHostGetDevicePointer(&address, words, 0), CUDA_SUCCESS);
  EXPECT_EQ(address, addressOf(words));
  words[0] = 41;
  EXPECT_EQ(copyWord(address + 4, address), CUDA_SUCCESS);
  EXPECT_EQ(words[1], 42u);
  unsigned flags = 0;
  EXPECT_EQ(cuMemHostGetFlags(&flags, words), CUDA_SUCCESS);
  EXPECT_EQ(flags, unsigned(CU_MEMHOSTALLOC_DEVICEMAP));
  EXPECT_EQ(cuMemFreeHost(words), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(words), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostGetDevicePointer(&address, words, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorHostMemory, RegisteredMemoryIsReachedUntilItIsUnregistered) {
  std::vector<unsigned> words(1000, 7);
  ASSERT_EQ(cuMemHostRegister(words.data(), 4000, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostRegister(words.data() + 10, 4, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(cuMemHostRegister(words.data() - 10, 4000, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(copyWord(addressOf(&words[999]), addressOf(&words[0])), CUDA_SUCCESS);
  EXPECT_EQ(words[999], 8u);
  EXPECT_EQ(cuMemFreeHost(words.data()), CUDA_ERROR_INVALID_VALUE) << "not allocated";
  EXPECT_EQ(cuMemHostUnregister(words.data()), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostUnregister(words.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  ASSERT_EQ(cuMemHostRegister(words.data(), 2000, CU_MEMHOSTREGISTER_PORTABLE), CUDA_SUCCESS) << "again, and shorter";
  EXPECT_EQ(copyWord(addressOf(&words[0]), addressOf(&words[500])), CUDA_ERROR_ILLEGAL_ADDRESS) << "beyond the range";
  ASSERT_EQ(tessera_sim_reset(), 0);
  EXPECT_EQ(cuMemHostUnregister(words.data()), CUDA_SUCCESS);
}

TEST_F(SimulatorHostMemory, UseAfterUnregisterIsNamed) {
  std::vector<unsigned> words(16, 7);
  CUdeviceptr memory = allocate(4);
  ASSERT_EQ(cuMemHostRegister(words.data(), 64, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemHostUnregister(words.data()), CUDA_SUCCESS);
  EXPECT_EQ(copyWord(memory, addressOf(words.data())), CUDA_ERROR_ILLEGAL_ADDRESS);
  std::string report = tessera_sim_report();
  EXPECT_NE(report.find("registered host memory"), std::string::npos) << report;
  EXPECT_NE(report.find("freed"), std::string::npos) << report;
}

TEST_F(SimulatorHostMemory, OverrunOfPageLockedMemoryIsFoundToTheByte) {
  unsigned *words = nullptr;
  ASSERT_EQ(cuMemAllocHost(reinterpret_cast<void **>(&words), 12), CUDA_SUCCESS);
  words[0] = 1;
  EXPECT_EQ(copyWord(addressOf(words + 2), addressOf(words)), CUDA_SUCCESS);
  EXPECT_EQ(copyWord(addressOf(words + 3), addressOf(words)), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(SimulatorHostMemory, OrdinaryHostMemoryIsOutOfReach) {
  static unsigned word = 1;
  CUdeviceptr memory = allocate(4);
  EXPECT_EQ(copyWord(memory, addressOf(&word)), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(SimulatorHostMemory, ManagedMemoryIsSharedByHostKernelsAndCopies) {
  CUdeviceptr managed = 0, memory = allocate(4);
  ASSERT_EQ(cuMemAllocManaged(&managed, 8, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  auto *words = reinterpret_cast<volatile unsigned *>(managed);
  words[0] = 5;
  EXPECT_EQ(copyWord(managed + 4, managed), CUDA_SUCCESS);
  EXPECT_EQ(words[1], 6u);
  ASSERT_EQ(cuMemcpyDtoD(memory, managed + 4, 4), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD32(managed, 9, 2), CUDA_SUCCESS);
  EXPECT_EQ(words[1], 9u);
  ASSERT_EQ(cuMemcpy(managed, memory, 4), CUDA_SUCCESS);
  EXPECT_EQ(words[0], 6u);
  bool isManaged = false;
  EXPECT_EQ(cuPointerGetAttribute(&isManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed), CUDA_SUCCESS);
  EXPECT_TRUE(isManaged);
  EXPECT_EQ(cuMemFree(managed), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(managed), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorHostMemory, AdviceAboutManagedMemoryIsRemembered) {
  CUdeviceptr managed = 0;
  ASSERT_EQ(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, device}, nowhere = {CU_MEM_LOCATION_TYPE_DEVICE, 999};
  EXPECT_EQ(cuMemAdvise(managed, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, here), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAdvise(managed, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, here), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAdvise(managed, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, here), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAdvise(managed, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, nowhere), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuMemAdvise(managed, 4097, CU_MEM_ADVISE_SET_READ_MOSTLY, here), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAdvise(allocate(64), 64, CU_MEM_ADVISE_SET_READ_MOSTLY, here), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPrefetchAsync(managed, 4096, {CU_MEM_LOCATION_TYPE_HOST, 0}, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPrefetchAsync(managed, 4096, here, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  int readMostly = 0, accessed[3] = {}, prefetched = 0;
  void *data[] = {&readMostly, accessed, &prefetched};
  size_t bytes[] = {4, 12, 4};
  CUmem_range_attribute attributes[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY,
                                        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION};
  ASSERT_EQ(cuMemRangeGetAttributes(data, bytes, attributes, 3, managed, 4096), CUDA_SUCCESS);
  EXPECT_EQ(readMostly, 1);
  EXPECT_EQ(accessed[0], device);
  EXPECT_EQ(accessed[1], CU_DEVICE_INVALID);
  EXPECT_EQ(prefetched, CU_DEVICE_CPU);
  EXPECT_EQ(cuMemRangeGetAttribute(&readMostly, 3, attributes[0], managed, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(managed), CUDA_SUCCESS);
}

TEST_F(SimulatorHostMemory, PointersSayWhatTheyAre) {
  void *pinned = nullptr;
  ASSERT_EQ(cuMemAllocHost(&pinned, 100), CUDA_SUCCESS);
  unsigned type = 0;
  int ordinal = -1;
  CUcontext owner = nullptr;
  size_t bytes = 0;
  CUdeviceptr base = 0;
  void *host = nullptr;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                      CU_POINTER_ATTRIBUTE_CONTEXT,          CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_HOST_POINTER};
  void *data[] = {&type, &ordinal, &owner, &bytes, &base, &host};
  ASSERT_EQ(cuPointerGetAttributes(6, attributes, data, addressOf(pinned) + 7), CUDA_SUCCESS);
  EXPECT_EQ(type, unsigned(CU_MEMORYTYPE_HOST));
  EXPECT_EQ(ordinal, device);
  EXPECT_EQ(owner, context);
  EXPECT_EQ(bytes, 100u);
  EXPECT_EQ(base, addressOf(pinned));
  EXPECT_EQ(host, static_cast<char *>(pinned) + 7);
  static int ordinary;
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, addressOf(&ordinary)),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuPointerGetAttributes(6, attributes, data, addressOf(&ordinary)), CUDA_SUCCESS);
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(ordinal, CU_DEVICE_INVALID);
  EXPECT_EQ(host, nullptr);
  EXPECT_EQ(cuMemFreeHost(pinned), CUDA_SUCCESS);
}

TEST_F(SimulatorHostMemory, EveryDeviceReachesItWhicheverCameFirst) {
  for (const char *profile : {"rtx4090", "rtx3090"}) {
    int other = -1;
    unsigned *before = nullptr, *after = nullptr;
    ASSERT_EQ(cuMemAllocHost(reinterpret_cast<void **>(&before), 8), CUDA_SUCCESS);
    ASSERT_EQ(tessera_sim_find_device(profile, &other), 0);
    ASSERT_EQ(cuMemAllocHost(reinterpret_cast<void **>(&after), 8), CUDA_SUCCESS);
    CUcontext second = nullptr;
    ASSERT_EQ(cuCtxCreate(&second, nullptr, 0, other), CUDA_SUCCESS);
    for (unsigned *words : {before, after}) {
      words[0] = 1;
      EXPECT_EQ(copyWord(addressOf(words + 1), addressOf(words)), CUDA_SUCCESS);
      EXPECT_EQ(words[1], 2u);
    }
    ASSERT_EQ(cuCtxDestroy(second), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFreeHost(before), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFreeHost(after), CUDA_SUCCESS);
  }
}

TEST_F(SimulatorHostMemory, EndsWithItsContext) {
  CUcontext own = nullptr;
  ASSERT_EQ(cuCtxCreate(&own, nullptr, 0, device), CUDA_SUCCESS);
  std::vector<char> bytes(64);
  void *pinned = nullptr;
  CUdeviceptr managed = 0;
  ASSERT_EQ(cuMemAllocHost(&pinned, 64), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  ASSERT_EQ(cuMemHostRegister(bytes.data(), 64, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxDestroy(own), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(managed), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostUnregister(bytes.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST_F(SimulatorHostMemory, WrongArgumentsAreRefused) {
  void *pointer = nullptr;
  CUdeviceptr address = 0;
  char byte = 0;
  EXPECT_EQ(cuMemHostAlloc(nullptr, 4, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostAlloc(&pointer, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostAlloc(&pointer, 4, 0x80), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostAlloc(&pointer, size_t(1) << 62, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemHostAlloc(&pointer, ~size_t(0), 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAllocManaged(&address, 4, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocManaged(&address, 4, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocManaged(nullptr, 4, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocManaged(&address, ~size_t(0), CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemHostRegister(nullptr, 4, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister(&byte, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister(&byte, 1, 0x100), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister(&byte, ~size_t(0), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister(reinterpret_cast<void *>(0x1000), 4, 0), CUDA_ERROR_INVALID_VALUE) << "nothing there";
  EXPECT_EQ(cuMemHostRegister(reinterpret_cast<void *>(allocate(64)), 64, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister(&byte, 1, CU_MEMHOSTREGISTER_IOMEMORY), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuMemHostUnregister(nullptr), CUDA_ERROR_INVALID_VALUE);
}

} // namespace
