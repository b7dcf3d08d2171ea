// A program of somebody who has never heard of Tessera: plain driver API, linked against -lcuda. Prints "passed" and
// ends with 0 when every result is right.
#include "Kernels.h"

#include <cuda.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    if (CUresult result = (call); result != CUDA_SUCCESS) {                                                            \
      const char *name = "?";                                                                                          \
      cuGetErrorName(result, &name);                                                                                   \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, name);                                                 \
      std::exit(1);                                                                                                    \
    }                                                                                                                  \
  } while (false)
#define EXPECT(condition)                                                                                              \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                              \
      std::exit(1);                                                                                                    \
    }                                                                                                                  \
  } while (false)

namespace {

constexpr unsigned Count = 1000;

CUmodule module;
CUfunction add, reduce, meet;

void launchAdd(CUdeviceptr out, CUdeviceptr a, CUdeviceptr b, CUstream stream) {
  unsigned n = Count;
  void *parameters[] = {&out, &a, &b, &n};
  CHECK(cuLaunchKernel(add, (Count + 127) / 128, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr));
}

void vectorAddition() {
  std::vector<float> a(Count), b(Count), out(Count);
  for (unsigned i = 0; i < Count; ++i) {
    a[i] = float(i);
    b[i] = float(2 * i);
  }
  CUdeviceptr deviceA, deviceB, deviceOut, bias;
  size_t biasBytes;
  CHECK(cuMemAlloc(&deviceA, 4 * Count));
  CHECK(cuMemAlloc(&deviceB, 4 * Count));
  CHECK(cuMemAlloc(&deviceOut, 4 * Count));
  CHECK(cuMemcpyHtoD(deviceA, a.data(), 4 * Count));
  CHECK(cuMemcpyHtoD(deviceB, b.data(), 4 * Count));
  launchAdd(deviceOut, deviceA, deviceB, nullptr);
  CHECK(cuMemcpyDtoH(out.data(), deviceOut, 4 * Count));
  for (unsigned i = 0; i < Count; ++i)
    EXPECT(out[i] == float(3 * i) + 0.5f);

  CHECK(cuModuleGetGlobal(&bias, &biasBytes, module, "bias"));
  EXPECT(biasBytes == 4);
  float seven = 7;
  CHECK(cuMemcpyHtoD(bias, &seven, 4));
  // The other form of parameters, in two streams that an event orders.
  CUstream first, second;
  CUevent begin, done;
  CHECK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreateWithPriority(&second, CU_STREAM_NON_BLOCKING, -1));
  CHECK(cuEventCreate(&begin, CU_EVENT_DEFAULT));
  CHECK(cuEventCreate(&done, CU_EVENT_DEFAULT));
  struct {
    CUdeviceptr out, a, b;
    unsigned n;
  } packed = {deviceOut, deviceA, deviceB, Count};
  size_t packedBytes = sizeof(packed);
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &packedBytes,
                   CU_LAUNCH_PARAM_END};
  CHECK(cuEventRecord(begin, first));
  CHECK(cuLaunchKernel(add, (Count + 127) / 128, 1, 1, 128, 1, 1, 0, first, nullptr, extra));
  CHECK(cuEventRecord(done, first));
  CHECK(cuStreamWaitEvent(second, done, 0));
  CHECK(cuMemcpyDtoHAsync(out.data(), deviceOut, 4 * Count, second));
  CHECK(cuStreamSynchronize(second));
  EXPECT(out[10] == 37.0f);
  float milliseconds = -1;
  CHECK(cuEventSynchronize(done));
  CHECK(cuEventElapsedTime(&milliseconds, begin, done));
  EXPECT(milliseconds > 0 && milliseconds < 1000);
  CHECK(cuStreamDestroy(first));
  CHECK(cuStreamDestroy(second));
  CHECK(cuEventDestroy(begin));
  CHECK(cuEventDestroy(done));
  CHECK(cuMemFree(deviceA));
  CHECK(cuMemFree(deviceB));
  CHECK(cuMemFree(deviceOut));
}

void reductionInManagedMemory() {
  CUdeviceptr numbers, sum;
  CHECK(cuMemAllocManaged(&numbers, 4 * Count, CU_MEM_ATTACH_GLOBAL));
  CHECK(cuMemAllocManaged(&sum, 4, CU_MEM_ATTACH_GLOBAL));
  auto *in = reinterpret_cast<unsigned *>(numbers);
  for (unsigned i = 0; i < Count; ++i)
    in[i] = i + 1;
  auto *total = reinterpret_cast<volatile unsigned *>(sum);
  *total = 0;
  unsigned n = Count;
  void *parameters[] = {&sum, &numbers, &n};
  CHECK(cuLaunchKernel(reduce, (Count + 255) / 256, 1, 1, 256, 1, 1, 0, nullptr, parameters, nullptr));
  CHECK(cuCtxSynchronize());
  EXPECT(*total == Count * (Count + 1) / 2);
  CHECK(cuMemFree(numbers));
  CHECK(cuMemFree(sum));
}

void pageLockedMemory() {
  float *host;
  CUdeviceptr address;
  CHECK(cuMemHostAlloc(reinterpret_cast<void **>(&host), 12 * Count, CU_MEMHOSTALLOC_DEVICEMAP));
  CHECK(cuMemHostGetDevicePointer(&address, host, 0));
  for (unsigned i = 0; i < 2 * Count; ++i)
    host[i] = 1;
  launchAdd(address + 8 * Count, address, address + 4 * Count, nullptr);
  CHECK(cuCtxSynchronize());
  EXPECT(host[2 * Count] == 9.0f);
  EXPECT(host[3 * Count - 1] == 9.0f);
  CHECK(cuMemFreeHost(host));
}

void capturedGraph() {
  CUstream stream;
  CUdeviceptr a, out;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAllocAsync(&a, 4 * Count, stream));
  CHECK(cuMemAllocAsync(&out, 4 * Count, stream));
  CUgraph graph;
  CUgraphExec executable;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(cuMemsetD32Async(a, 0x3f800000, Count, stream)); // 1.0f
  launchAdd(out, a, a, stream);
  launchAdd(a, out, out, stream);
  CHECK(cuStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  CHECK(cuGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 3);
  CHECK(cuGraphInstantiate(&executable, graph, 0));
  for (int round = 0; round < 3; ++round)
    CHECK(cuGraphLaunch(executable, stream));
  float value = 0;
  CHECK(cuMemcpyDtoHAsync(&value, a + 4 * (Count - 1), 4, stream));
  CHECK(cuStreamSynchronize(stream));
  EXPECT(value == 25.0f); // 2 * (1 + 1 + 7) + 7
  CHECK(cuGraphExecDestroy(executable));
  CHECK(cuGraphDestroy(graph));
  CHECK(cuMemFreeAsync(a, stream));
  CHECK(cuMemFreeAsync(out, stream));
  CHECK(cuStreamDestroy(stream));
}

void cooperativeGrid() {
  constexpr unsigned Blocks = 6;
  CUdeviceptr counter;
  CHECK(cuMemAlloc(&counter, 4));
  CHECK(cuMemsetD32(counter, 0, 1));
  void *parameters[] = {&counter};
  CHECK(cuLaunchCooperativeKernel(meet, Blocks, 1, 1, 1, 1, 1, 0, nullptr, parameters));
  unsigned value = 0;
  CHECK(cuMemcpyDtoH(&value, counter, 4));
  EXPECT(value == Blocks);
  CHECK(cuMemFree(counter));
}

} // namespace

int main() {
  int devices = 0, version = 0, blocks = 0;
  char name[256];
  CUdevice device;
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDriverGetVersion(&version));
  CHECK(cuDeviceGetCount(&devices));
  EXPECT(devices >= 1);
  for (int i = 0; i < devices; ++i) {
    CHECK(cuDeviceGet(&device, i));
    CHECK(cuDeviceGetName(name, sizeof(name), device));
    std::printf("device %d of driver %d: %s\n", i, version, name);
  }
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuCtxCreate(&context, nullptr, 0, device));
  CHECK(cuModuleLoadData(&module, Kernels));
  CHECK(cuModuleGetFunction(&add, module, "add"));
  CHECK(cuModuleGetFunction(&reduce, module, "reduce"));
  CHECK(cuModuleGetFunction(&meet, module, "meet"));
  CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reduce, 256, 0));
  EXPECT(blocks >= 1);
  vectorAddition();
  reductionInManagedMemory();
  pageLockedMemory();
  capturedGraph();
  cooperativeGrid();
  CHECK(cuModuleUnload(module));
  CHECK(cuCtxDestroy(context));
  std::puts("passed");
}
