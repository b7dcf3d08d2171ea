// Older forms of entry points, each in terms of the one that took its place.
#include "runtime/simulator/driver/LegacyEntries.h"

#include "runtime/simulator/driver/State.h"

using namespace tessera::sim::driver;

extern "C" CUresult cuCtxCreate_v2(CUcontext *handle, unsigned flags, CUdevice ordinal);

namespace {

/// Locations were devices, and the host's was a number of its own.
CUmemLocation locationOf(CUdevice device) {
  return device == CU_DEVICE_CPU ? CUmemLocation{CU_MEM_LOCATION_TYPE_HOST, 0}
                                 : CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, device};
}

CUDA_KERNEL_NODE_PARAMS fromOlder(const CUDA_KERNEL_NODE_PARAMS_v1 &k) {
  return {k.func,      k.gridDimX,       k.gridDimY,     k.gridDimZ, k.blockDimX, k.blockDimY,
          k.blockDimZ, k.sharedMemBytes, k.kernelParams, k.extra,    nullptr,     nullptr};
}

CUresult instantiate(CUgraphExec *executable, CUgraph graph, CUgraphNode *errorNode, char *log, size_t bytes) {
  if (errorNode)
    *errorNode = nullptr;
  if (log && bytes)
    *log = '\0';
  return cuGraphInstantiateWithFlags(executable, graph, 0);
}

} // namespace

extern "C" {

CUresult cuCtxCreate(CUcontext *handle, unsigned flags, CUdevice ordinal) {
  return cuCtxCreate_v2(handle, flags, ordinal);
}
CUresult cuCtxDestroy(CUcontext handle) { return cuCtxDestroy_v2(handle); }
CUresult cuCtxPopCurrent(CUcontext *handle) { return cuCtxPopCurrent_v2(handle); }
CUresult cuCtxPushCurrent(CUcontext handle) { return cuCtxPushCurrent_v2(handle); }
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice ordinal) { return cuDeviceGetUuid_v2(uuid, ordinal); }
CUresult cuDevicePrimaryCtxRelease(CUdevice ordinal) { return cuDevicePrimaryCtxRelease_v2(ordinal); }
CUresult cuDevicePrimaryCtxReset(CUdevice ordinal) { return cuDevicePrimaryCtxReset_v2(ordinal); }
CUresult cuDevicePrimaryCtxSetFlags(CUdevice ordinal, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(ordinal, flags);
}
CUresult cuEventDestroy(CUevent handle) { return cuEventDestroy_v2(handle); }
CUresult cuStreamDestroy(CUstream handle) { return cuStreamDestroy_v2(handle); }

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count) {
  return cuGraphAddDependencies_v2(graph, from, to, nullptr, count);
}
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count) {
  return cuGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count) {
  return cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count) {
  return cuGraphNodeGetDependencies_v2(node, nodes, nullptr, count);
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count) {
  return cuGraphNodeGetDependentNodes_v2(node, nodes, nullptr, count);
}
CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                        CUgraphNodeParams *parameters) {
  return cuGraphAddNode_v2(node, graph, dependencies, nullptr, count, parameters);
}
CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS_v1 *parameters) {
  if (!parameters)
    return CUDA_ERROR_INVALID_VALUE;
  CUDA_KERNEL_NODE_PARAMS newer = fromOlder(*parameters);
  return cuGraphAddKernelNode_v2(node, graph, dependencies, count, &newer);
}
CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *parameters) {
  CUDA_KERNEL_NODE_PARAMS k;
  CUresult result = parameters ? cuGraphKernelNodeGetParams_v2(node, &k) : CUDA_ERROR_INVALID_VALUE;
  if (result != CUDA_SUCCESS)
    return result;
  // What was called a function here may be the kernel of a library, which launches take for one.
  *parameters = {k.func ? k.func : reinterpret_cast<CUfunction>(k.kern),
                 k.gridDimX,
                 k.gridDimY,
                 k.gridDimZ,
                 k.blockDimX,
                 k.blockDimY,
                 k.blockDimZ,
                 k.sharedMemBytes,
                 k.kernelParams,
                 k.extra};
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *parameters) {
  if (!parameters)
    return CUDA_ERROR_INVALID_VALUE;
  CUDA_KERNEL_NODE_PARAMS newer = fromOlder(*parameters);
  return cuGraphKernelNodeSetParams_v2(node, &newer);
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1 *parameters) {
  if (!parameters)
    return CUDA_ERROR_INVALID_VALUE;
  CUDA_KERNEL_NODE_PARAMS newer = fromOlder(*parameters);
  return cuGraphExecKernelNodeSetParams_v2(executable, node, &newer);
}
CUresult cuGraphExecUpdate(CUgraphExec executable, CUgraph graph, CUgraphNode *errorNode,
                           CUgraphExecUpdateResult *why) {
  CUgraphExecUpdateResultInfo info = {};
  if (!why)
    return CUDA_ERROR_INVALID_VALUE;
  CUresult result = cuGraphExecUpdate_v2(executable, graph, &info);
  *why = info.result;
  if (errorNode)
    *errorNode = info.errorNode;
  return result;
}
CUresult cuGraphInstantiate(CUgraphExec *executable, CUgraph graph, CUgraphNode *errorNode, char *log, size_t bytes) {
  return instantiate(executable, graph, errorNode, log, bytes);
}
CUresult cuGraphInstantiate_v2(CUgraphExec *executable, CUgraph graph, CUgraphNode *errorNode, char *log,
                               size_t bytes) {
  return instantiate(executable, graph, errorNode, log, bytes);
}

CUresult cuLinkCreate(unsigned count, CUjit_option *options, void **values, CUlinkState *state) {
  return cuLinkCreate_v2(count, options, values, state);
}
CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t bytes, const char *name,
                       unsigned count, CUjit_option *options, void **values) {
  return cuLinkAddData_v2(state, type, data, bytes, name, count, options, values);
}
CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path, unsigned count, CUjit_option *options,
                       void **values) {
  return cuLinkAddFile_v2(state, type, path, count, options, values);
}

CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device) {
  return cuMemAdvise_v2(address, bytes, advice, locationOf(device));
}
CUresult cuMemAllocHost(void **pointer, unsigned bytes) { return cuMemAllocHost_v2(pointer, bytes); }
CUresult cuMemHostRegister(void *pointer, size_t bytes, unsigned flags) {
  return cuMemHostRegister_v2(pointer, bytes, flags);
}
CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream) {
  return cuMemPrefetchAsync_v2(address, bytes, locationOf(device), 0, stream);
}
CUresult cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
                            CUmemcpyAttributes *attributes, size_t *indices, size_t attributeCount, size_t *failed,
                            CUstream stream) {
  CUresult result = cuMemcpyBatchAsync_v2(to, from, bytes, count, attributes, indices, attributeCount, stream);
  if (failed && result != CUDA_SUCCESS)
    *failed = SIZE_MAX; // no single copy is named
  return result;
}

CUresult cuStreamBeginCapture(CUstream stream) {
  return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, nullptr, nullptr, nullptr, nullptr);
}
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **nodes, size_t *count) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, nullptr, count);
}
CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *nodes, size_t count, unsigned flags) {
  return cuStreamUpdateCaptureDependencies_v2(stream, nodes, nullptr, count, flags);
}

} // extern "C"
