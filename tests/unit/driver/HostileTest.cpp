// Hostile callers: handles of the wrong kind, stale ones, nulls and huge numbers are errors everywhere, never a crash.
#include "runtime/simulator/driver/LegacyEntries.h"
#include "tests/unit/driver/SimulatorFixture.h"

#include <dlfcn.h>

#include <vector>

using namespace tessera::test;

namespace {

class SimulatorHostile : public Simulator {
protected:
  /// One live handle of every kind there is, and some that never were.
  std::vector<void *> handles() {
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(cuDeviceGetDefaultMemPool(&pool, device), CUDA_SUCCESS);
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphExec executable = nullptr;
    EXPECT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphAddEmptyNode(&node, graph, nullptr, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
    CUlibrary library = nullptr;
    CUkernel libraryKernel = nullptr;
    EXPECT_EQ(cuLibraryLoadData(&library, Minimal, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuLibraryGetKernel(&libraryKernel, library, "nothing"), CUDA_SUCCESS);
    CUlinkState link = nullptr;
    EXPECT_EQ(cuLinkCreate_v2(0, nullptr, nullptr, &link), CUDA_SUCCESS);
    return {context,
            load(Minimal),
            kernel(Minimal, "nothing"),
            stream(),
            event(),
            pool,
            graph,
            node,
            executable,
            library,
            libraryKernel,
            link,
            nullptr,
            bogus<void *>(),
            reinterpret_cast<void *>(1),
            reinterpret_cast<void *>(~uintptr_t(0)),
            reinterpret_cast<void *>(uintptr_t(allocate(16)))};
  }
};

/// Calls an entry point of one handle with every handle; those of its own kind may succeed.
template <typename Handle>
void callWithAll(CUresult (*entry)(Handle), const std::vector<void *> &handles, const char *what) {
  for (void *handle : handles)
    EXPECT_NE(entry(static_cast<Handle>(handle)), CUDA_ERROR_UNKNOWN) << what << " " << handle;
}

TEST_F(SimulatorHostile, HandlesOfEveryKindAreTriedEverywhere) {
  std::vector<void *> all = handles();
  callWithAll<CUstream>([](CUstream h) { return cuStreamQuery(h); }, all, "cuStreamQuery");
  callWithAll<CUstream>([](CUstream h) { return cuStreamSynchronize(h); }, all, "cuStreamSynchronize");
  callWithAll<CUevent>([](CUevent h) { return cuEventQuery(h); }, all, "cuEventQuery");
  callWithAll<CUevent>([](CUevent h) { return cuEventRecord(h, nullptr); }, all, "cuEventRecord");
  callWithAll<CUevent>([](CUevent h) { return cuStreamWaitEvent(nullptr, h, 0); }, all, "cuStreamWaitEvent");
  callWithAll<CUfunction>(
      [](CUfunction h) { return cuLaunchKernel(h, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr); }, all,
      "cuLaunchKernel");
  callWithAll<CUfunction>(
      [](CUfunction h) {
        int value;
        return cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, h);
      },
      all, "cuFuncGetAttribute");
  callWithAll<CUmodule>(
      [](CUmodule h) {
        CUfunction function;
        return cuModuleGetFunction(&function, h, "nothing");
      },
      all, "cuModuleGetFunction");
  callWithAll<CUlibrary>(
      [](CUlibrary h) {
        CUmodule module;
        return cuLibraryGetModule(&module, h);
      },
      all, "cuLibraryGetModule");
  callWithAll<CUkernel>(
      [](CUkernel h) {
        CUfunction function;
        return cuKernelGetFunction(&function, h);
      },
      all, "cuKernelGetFunction");
  callWithAll<CUgraph>(
      [](CUgraph h) {
        CUgraph clone;
        return cuGraphClone(&clone, h);
      },
      all, "cuGraphClone");
  callWithAll<CUgraphNode>(
      [](CUgraphNode h) {
        CUgraphNodeType type;
        return cuGraphNodeGetType(h, &type);
      },
      all, "cuGraphNodeGetType");
  callWithAll<CUgraphExec>([](CUgraphExec h) { return cuGraphLaunch(h, nullptr); }, all, "cuGraphLaunch");
  callWithAll<CUmemoryPool>([](CUmemoryPool h) { return cuMemPoolTrimTo(h, 0); }, all, "cuMemPoolTrimTo");
  callWithAll<CUcontext>([](CUcontext h) { return cuCtxPushCurrent_v2(h); }, all, "cuCtxPushCurrent");
  callWithAll<CUlinkState>([](CUlinkState h) { return cuLinkDestroy(h); }, all, "cuLinkDestroy");
  callWithAll<CUgraphNode>([](CUgraphNode h) { return cuGraphDestroyNode(h); }, all, "cuGraphDestroyNode");
  callWithAll<CUgraphExec>([](CUgraphExec h) { return cuGraphExecDestroy(h); }, all, "cuGraphExecDestroy");
  callWithAll<CUgraph>([](CUgraph h) { return cuGraphDestroy(h); }, all, "cuGraphDestroy");
  callWithAll<CUlibrary>([](CUlibrary h) { return cuLibraryUnload(h); }, all, "cuLibraryUnload");
  callWithAll<CUmodule>([](CUmodule h) { return cuModuleUnload(h); }, all, "cuModuleUnload");
  callWithAll<CUevent>([](CUevent h) { return cuEventDestroy_v2(h); }, all, "cuEventDestroy");
  callWithAll<CUstream>([](CUstream h) { return cuStreamDestroy_v2(h); }, all, "cuStreamDestroy");
  // All of them are stale now.
  callWithAll<CUgraphExec>([](CUgraphExec h) { return cuGraphLaunch(h, nullptr); }, all, "stale cuGraphLaunch");
  callWithAll<CUstream>([](CUstream h) { return cuStreamQuery(h); }, all, "stale cuStreamQuery");
  callWithAll<CUfunction>(
      [](CUfunction h) { return cuLaunchKernel(h, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr); }, all,
      "stale cuLaunchKernel");
}

TEST_F(SimulatorHostile, ZeroesForAllArgumentsAreSurvived) {
  // Six registers of zeros reach every parameter that is not on the stack; those that are on it are zeros too.
  using Entry = CUresult (*)(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *);
#define ENTRY(name, version)                                                                                           \
  if (auto entry = reinterpret_cast<Entry>(dlsym(RTLD_DEFAULT, #name)))                                                \
    entry(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
#include "runtime/simulator/driver/Entries.def"
#undef ENTRY
  // Some of them were meant: the primary context of device 0 is gone, and the current one is popped.
  CUcontext again = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&again, device), CUDA_SUCCESS);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&again, device), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(device), CUDA_SUCCESS);
}

TEST_F(SimulatorHostile, DeviceAddressesWhereTheHostsBelong) {
  CUdeviceptr memory = allocate(16);
  void *posing = reinterpret_cast<void *>(memory), *beyond = reinterpret_cast<void *>(memory + (1 << 20));
  char bytes[16] = {};
  ASSERT_EQ(cuMemsetD8_v2(memory, 3, 16), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH_v2(bytes, memory, 16), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyHtoD_v2(memory, posing, 16), CUDA_SUCCESS) << "by unified addressing";
  EXPECT_EQ(cuMemcpyHtoD_v2(memory, beyond, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH_v2(beyond, memory, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD_v2(memory, bytes, ~size_t(0)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD32_v2(memory, 0, ~size_t(0)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorHostile, HostFunctionsMayCallNothing) {
  struct Seen {
    CUresult synchronise, destroyGraph, free;
    CUgraph graph;
  } seen = {};
  ASSERT_EQ(cuGraphCreate(&seen.graph, 0), CUDA_SUCCESS);
  auto body = [](void *data) {
    auto *seen = static_cast<Seen *>(data);
    seen->synchronise = cuCtxSynchronize();
    seen->destroyGraph = cuGraphDestroy(seen->graph);
    seen->free = cuMemFree_v2(0);
  };
  ASSERT_EQ(cuLaunchHostFunc(nullptr, body, &seen), CUDA_SUCCESS);
  EXPECT_EQ(seen.synchronise, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(seen.destroyGraph, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(seen.free, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(cuGraphDestroy(seen.graph), CUDA_SUCCESS);
}

} // namespace
