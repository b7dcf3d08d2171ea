// How the structures of the driver API are filled with arguments.
#include "tests/fuzz/Session.h"

#include <algorithm>
#include <iterator>

namespace tessera::fuzz {

namespace {

template <typename Kernel> void fillKernel(Session &session, Call &call, Kernel &kernel) {
  kernel.func = session.handle<CUfunction>(call);
  kernel.gridDimX = extent(call);
  kernel.blockDimX = extent(call);
  kernel.kernelParams = kernelParameters(session, call);
  kernel.extra = extraParameters(session, call);
  kernel.gridDimY = extent(call);
  kernel.gridDimZ = extent(call);
  kernel.blockDimY = extent(call);
  kernel.blockDimZ = extent(call);
  kernel.sharedMemBytes = static_cast<unsigned>(session.number(call));
}

/// One side of a copy. Where host memory can be meant, extents stay within what there is.
struct Side {
  CUmemorytype type;
  void *host;
  CUdeviceptr device;

  Side(Session &session, Call &call) {
    uint8_t choice = call.draw();
    static constexpr unsigned types[] = {
        CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_ARRAY, 0, 77};
    type = static_cast<CUmemorytype>(types[choice % std::size(types)]);
    host = session.host(call);
    device = session.address(call, type == CU_MEMORYTYPE_UNIFIED);
    if (type == CU_MEMORYTYPE_UNIFIED && choice >= 128)
      device = reinterpret_cast<CUdeviceptr>(host);
  }
};

size_t small(Call &call) { return call.draw() % 17; }

/// A number that may be anything when `wild`.
size_t extentOf(Session &session, Call &call, bool wild) { return wild ? session.number(call) : small(call); }

template <typename Copy> void fillBox(Session &session, Call &call, Copy &copy, const Side &from, const Side &to) {
  bool wild = from.type == CU_MEMORYTYPE_DEVICE && to.type == CU_MEMORYTYPE_DEVICE;
  copy.srcMemoryType = from.type;
  copy.srcHost = from.host;
  copy.srcDevice = from.device;
  copy.dstMemoryType = to.type;
  copy.dstHost = to.host;
  copy.dstDevice = to.device;
  copy.WidthInBytes = extentOf(session, call, wild);
  copy.Height = extentOf(session, call, wild);
  copy.srcPitch = extentOf(session, call, wild);
  copy.dstPitch = extentOf(session, call, wild);
  copy.srcXInBytes = extentOf(session, call, wild);
  copy.dstXInBytes = extentOf(session, call, wild);
  copy.srcY = extentOf(session, call, wild);
  copy.dstY = extentOf(session, call, wild);
  if constexpr (requires { copy.Depth; }) {
    copy.Depth = extentOf(session, call, wild);
    copy.srcHeight = extentOf(session, call, wild);
    copy.dstHeight = extentOf(session, call, wild);
    copy.srcZ = extentOf(session, call, wild);
    copy.dstZ = extentOf(session, call, wild);
  }
}

} // namespace

void fill(Session &session, Call &call, CUDA_KERNEL_NODE_PARAMS_v1 &value) { fillKernel(session, call, value); }
void fill(Session &session, Call &call, CUDA_KERNEL_NODE_PARAMS &value) {
  fillKernel(session, call, value);
  value.kern = session.handle<CUkernel>(call);
  value.ctx = session.handle<CUcontext>(call);
  if (call.draw() % 4)
    value.kern = nullptr;
}
void fill(Session &session, Call &call, CUDA_MEMCPY2D &value) {
  Side from(session, call), to(session, call);
  fillBox(session, call, value, from, to);
}
void fill(Session &session, Call &call, CUDA_MEMCPY3D &value) {
  Side from(session, call), to(session, call);
  fillBox(session, call, value, from, to);
}
void fill(Session &session, Call &call, CUDA_MEMCPY3D_PEER &value) {
  Side from(session, call), to(session, call);
  value.srcContext = session.handle<CUcontext>(call);
  value.dstContext = session.handle<CUcontext>(call);
  fillBox(session, call, value, from, to);
}
void fill(Session &session, Call &call, CUDA_MEMSET_NODE_PARAMS &value) {
  value.dst = session.address(call);
  value.width = session.number(call);
  value.height = session.number(call);
  value.elementSize = static_cast<unsigned>(call.draw() % 9);
  value.pitch = session.number(call);
  value.value = static_cast<unsigned>(session.number(call));
}
void fill(Session &session, Call &call, CUDA_HOST_NODE_PARAMS &value) {
  value.fn = hostFunction(call);
  value.userData = session.host(call);
}
void fill(Session &session, Call &call, CUgraphNodeParams &value) {
  value.type = static_cast<CUgraphNodeType>(call.draw() % 16);
  switch (value.type) {
  case CU_GRAPH_NODE_TYPE_KERNEL: {
    CUDA_KERNEL_NODE_PARAMS kernel = {};
    fill(session, call, kernel);
    std::memcpy(&value.kernel, &kernel, std::min(sizeof value.kernel, sizeof kernel));
    break;
  }
  case CU_GRAPH_NODE_TYPE_MEMCPY:
    fill(session, call, value.memcpy.copyParams);
    value.memcpy.copyCtx = session.handle<CUcontext>(call);
    break;
  case CU_GRAPH_NODE_TYPE_MEMSET: {
    CUDA_MEMSET_NODE_PARAMS set = {};
    fill(session, call, set);
    std::memcpy(&value.memset, &set, sizeof set);
    value.memset.ctx = session.handle<CUcontext>(call);
    break;
  }
  case CU_GRAPH_NODE_TYPE_HOST:
    value.host.fn = hostFunction(call);
    value.host.userData = session.host(call);
    break;
  case CU_GRAPH_NODE_TYPE_GRAPH:
    value.graph.graph = session.handle<CUgraph>(call);
    break;
  case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    value.eventWait.event = session.handle<CUevent>(call);
    break;
  case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    value.eventRecord.event = session.handle<CUevent>(call);
    break;
  default:
    break;
  }
}
void fill(Session &session, Call &call, CUlaunchConfig &value) {
  value.gridDimX = extent(call);
  value.blockDimX = extent(call);
  value.hStream = session.handle<CUstream>(call);
  value.sharedMemBytes = static_cast<unsigned>(session.number(call));
  value.gridDimY = extent(call);
  value.gridDimZ = extent(call);
  value.blockDimY = extent(call);
  value.blockDimZ = extent(call);
  uint8_t attributes = call.draw();
  value.numAttrs = attributes % 5;
  value.attrs = attributes == 255 ? nullptr : call.array<CUlaunchAttribute>(4);
  for (unsigned i = 0; value.attrs && i < value.numAttrs; ++i) {
    value.attrs[i].id = static_cast<CUlaunchAttributeID>(call.draw() % 24);
    fill(session, call, value.attrs[i].value);
  }
}
void fill(Session &session, Call &call, CUlaunchAttributeValue &value) {
  uint8_t choice = call.draw();
  if (choice == 1) {
    value.programmaticEvent.event = session.handle<CUevent>(call);
    return;
  }
  int numbers[4];
  for (int &number : numbers)
    number = static_cast<int>(session.number(call));
  std::memcpy(&value, numbers, sizeof numbers);
}
void fill(Session &session, Call &call, CUmemPoolProps &value) {
  uint8_t choice = call.draw();
  value.allocType = choice & 1 ? CU_MEM_ALLOCATION_TYPE_INVALID : CU_MEM_ALLOCATION_TYPE_PINNED;
  value.handleTypes = static_cast<CUmemAllocationHandleType>(choice & 2);
  fill(session, call, value.location);
  value.maxSize = choice & 4 ? session.number(call) : 0;
}
void fill(Session &session, Call &call, CUmemAccessDesc &value) {
  fill(session, call, value.location);
  value.flags = static_cast<CUmemAccess_flags>(call.draw() % 5);
}
void fill(Session &, Call &call, CUmemLocation &value) {
  static constexpr unsigned types[] = {
      CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_INVALID, 3, 4, 99};
  value.type = static_cast<CUmemLocationType>(types[call.draw() % std::size(types)]);
  value.id = static_cast<int8_t>(call.draw());
}
void fill(Session &session, Call &call, CUmemcpyAttributes &value) {
  value.srcAccessOrder = static_cast<CUmemcpySrcAccessOrder>(call.draw() % 5);
  fill(session, call, value.srcLocHint);
  fill(session, call, value.dstLocHint);
  value.flags = call.draw() % 3;
}
void fill(Session &session, Call &call, CUDA_GRAPH_INSTANTIATE_PARAMS &value) {
  value.flags = call.draw();
  value.hUploadStream = session.handle<CUstream>(call);
}
void fill(Session &session, Call &call, CUctxCreateParams &value) {
  uint8_t choice = call.draw();
  value.numExecAffinityParams = choice % 3;
  value.execAffinityParams = choice % 3 || choice & 64 ? call.array<CUexecAffinityParam>(2) : nullptr;
  value.cigParams = choice >= 192 ? call.array<CUctxCigParam>(1) : nullptr;
}

} // namespace tessera::fuzz
