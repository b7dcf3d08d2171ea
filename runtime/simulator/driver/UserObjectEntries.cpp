// cuUserObject*: things of the caller's that live as long as graphs refer to them.
#include "runtime/simulator/driver/State.h"

using namespace tessera::sim::driver;

namespace {

bool isCount(unsigned count) { return count > 0 && count <= INT32_MAX; }

template <typename Body> CUresult withGraph(CUgraph handle, CUuserObject object, unsigned count, Body body) {
  return initialised([&]() -> CUresult {
    std::lock_guard lock(state().graphsMutex);
    std::shared_ptr<Graph> graph = state().graphs.find(handle);
    std::shared_ptr<UserObject> user = state().userObjects.find(object);
    return graph && user && isCount(count) ? body(*graph, *user) : CUDA_ERROR_INVALID_VALUE;
  });
}

} // namespace

namespace tessera::sim::driver {

std::map<CUuserObject, unsigned> retainUserObjects(const std::map<CUuserObject, unsigned> &held) {
  for (const auto &[handle, count] : held)
    if (std::shared_ptr<UserObject> user = state().userObjects.find(handle))
      user->references += count;
  return held;
}

void releaseUserObjects(std::map<CUuserObject, unsigned> &held) {
  for (const auto &[handle, count] : std::exchange(held, {}))
    releaseUserObject(handle, count);
}

bool releaseUserObject(CUuserObject handle, unsigned count) {
  std::shared_ptr<UserObject> user = state().userObjects.find(handle);
  if (!user)
    return false;
  unsigned held = user->references.load();
  do {
    if (held < count)
      return false;
  } while (!user->references.compare_exchange_weak(held, held - count));
  if (held == count && state().userObjects.remove(handle)) {
    HostFunctionScope scope; // it may call nothing of the driver
    user->destroy(user->object);
  }
  return true;
}

} // namespace tessera::sim::driver

extern "C" {

CUresult cuUserObjectCreate(CUuserObject *handle, void *object, CUhostFn destroy, unsigned references, unsigned flags) {
  return initialised([&]() -> CUresult {
    if (!handle || !destroy || !isCount(references) || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
      return CUDA_ERROR_INVALID_VALUE;
    auto user = std::make_shared<UserObject>();
    user->object = object;
    user->destroy = destroy;
    user->references = references;
    *handle = state().userObjects.add(std::move(user));
    return CUDA_SUCCESS;
  });
}

CUresult cuUserObjectRetain(CUuserObject handle, unsigned count) {
  return initialised([&]() -> CUresult {
    std::shared_ptr<UserObject> object = state().userObjects.find(handle);
    if (!object || !isCount(count))
      return CUDA_ERROR_INVALID_VALUE;
    object->references += count;
    return CUDA_SUCCESS;
  });
}

CUresult cuUserObjectRelease(CUuserObject handle, unsigned count) {
  return initialised([&]() -> CUresult {
    return isCount(count) && releaseUserObject(handle, count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphRetainUserObject(CUgraph handle, CUuserObject object, unsigned count, unsigned flags) {
  return withGraph(handle, object, count, [&](Graph &graph, UserObject &user) -> CUresult {
    if (flags & ~unsigned(CU_GRAPH_USER_OBJECT_MOVE))
      return CUDA_ERROR_INVALID_VALUE;
    if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
      user.references += count;
    graph.userObjects[object] += count;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphReleaseUserObject(CUgraph handle, CUuserObject object, unsigned count) {
  return withGraph(handle, object, count, [&](Graph &graph, UserObject &) -> CUresult {
    auto held = graph.userObjects.find(object);
    if (held == graph.userObjects.end() || held->second < count)
      return CUDA_ERROR_INVALID_VALUE;
    held->second -= count;
    if (held->second == 0)
      graph.userObjects.erase(held);
    return releaseUserObject(object, count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

} // extern "C"
