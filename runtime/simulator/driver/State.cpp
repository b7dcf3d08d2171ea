// Devices, contexts and streams of the process, and how work runs in a stream.
#include "runtime/simulator/driver/State.h"

#include <algorithm>
#include <utility>

namespace tessera::sim::driver {

namespace {

/// Devices are this far apart in the address space, so that an address tells its device.
constexpr uint64_t AddressesPerDevice = uint64_t(1) << 42;

} // namespace

Device::Device(const DeviceProfile &profile, int ordinal)
    : profile(profile), ordinal(ordinal), primaryHandle(reinterpret_cast<CUcontext>(freshHandle())),
      memory(profile.memoryBytes, AddressesPerDevice * uint64_t(ordinal + 1)) {}

Context::~Context() {
  for (CUdeviceptr address : allocations)
    (void)device.memory.free(address);
}

void Context::raise(CUresult fault) {
  int none = 0;
  if (fault != CUDA_SUCCESS)
    pending_.compare_exchange_strong(none, fault);
}

CUresult Context::observe() {
  int fault = pending_.load();
  if (fault == 0)
    return CUresult(sticky_.load());
  if (state().currentSettings().sticky) {
    int none = 0;
    sticky_.compare_exchange_strong(none, fault);
  } else {
    pending_.compare_exchange_strong(fault, 0);
  }
  return CUresult(fault);
}

void Context::clearErrors() {
  pending_ = 0;
  sticky_ = 0;
}

State &state() {
  static State *instance = new State;
  return *instance;
}

Device *findDevice(int ordinal) {
  std::shared_lock lock(state().devicesMutex);
  return ordinal >= 0 && size_t(ordinal) < state().devices.size() ? state().devices[ordinal].get() : nullptr;
}

Result<Device *> deviceOfProfile(std::string_view name) {
  Result<const DeviceProfile *> profile = DeviceProfile::find(name);
  if (!profile)
    return profile.status();
  std::unique_lock lock(state().devicesMutex);
  auto &devices = state().devices;
  for (const auto &device : devices)
    if (&device->profile == *profile)
      return device.get();
  devices.push_back(std::make_unique<Device>(**profile, int(devices.size())));
  return devices.back().get();
}

Status addDevices(std::string_view list) {
  std::vector<const DeviceProfile *> profiles;
  while (!list.empty()) {
    std::string_view name = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), name.size() + 1));
    Result<const DeviceProfile *> profile = DeviceProfile::find(name);
    if (!profile)
      return profile.status();
    profiles.push_back(*profile);
  }
  std::unique_lock lock(state().devicesMutex);
  auto &devices = state().devices;
  for (const DeviceProfile *profile : profiles)
    devices.push_back(std::make_unique<Device>(*profile, int(devices.size())));
  return {};
}

std::vector<CUcontext> &contextStack() {
  // An application's static destructors run after the main thread's thread_locals and may still call the driver: only
  // the pointer has to outlive them, and a stack that is asked for after the first has gone starts empty.
  thread_local std::vector<CUcontext> *stack = nullptr;
  struct Cleaner {
    ~Cleaner() { delete std::exchange(stack, nullptr); }
  };
  thread_local Cleaner cleaner;
  (void)cleaner;
  if (!stack)
    stack = new std::vector<CUcontext>;
  return *stack;
}

bool &insideHostFunction() {
  thread_local bool inside = false;
  return inside;
}

CUresult currentContext(std::shared_ptr<Context> *context) {
  if (!state().initialised)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (insideHostFunction())
    return CUDA_ERROR_NOT_PERMITTED; // it would wait for the stream that it runs in
  const std::vector<CUcontext> &stack = contextStack();
  if (stack.empty() || !stack.back())
    return CUDA_ERROR_INVALID_CONTEXT;
  *context = state().contexts.find(stack.back());
  return *context ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

std::shared_ptr<Context> makeContext(Device &device, CUcontext handle, unsigned flags) {
  auto context = std::make_shared<Context>(device);
  context->handle = handle;
  context->flags = flags;
  context->legacy = std::make_shared<Stream>();
  context->legacy->context = context;
  state().contexts.addAs(handle, context);
  return context;
}

void destroyContext(CUcontext handle) {
  std::shared_ptr<Context> context = state().contexts.remove(handle);
  if (!context)
    return;
  // Keeps what was removed until after the tables are unlocked; modules give their variables back to the device here.
  auto ownedBy = [&](const auto &object) { return object.context.lock() == context; };
  auto functions = state().functions.removeIf(ownedBy);
  auto modules = state().modules.removeIf(ownedBy);
  auto streams = state().streams.removeIf(ownedBy);
  auto events = state().events.removeIf(ownedBy);
}

std::shared_ptr<Stream> makeStream(const std::shared_ptr<Context> &context, unsigned flags, int priority) {
  static std::atomic<uint64_t> nextId{3}; // below are the ids of the default streams
  auto stream = std::make_shared<Stream>();
  stream->context = context;
  stream->flags = flags;
  stream->priority = priority;
  stream->id = nextId++;
  return stream;
}

std::shared_ptr<Stream> findStream(Context &context, CUstream handle) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY)
    return context.legacy;
  if (handle != CU_STREAM_PER_THREAD)
    return state().streams.find(handle);
  std::lock_guard lock(context.mutex);
  std::shared_ptr<Stream> &stream = context.perThread[std::this_thread::get_id()];
  if (!stream) {
    stream = std::make_shared<Stream>();
    stream->context = context.legacy->context;
    stream->id = 2;
  }
  return stream;
}

CUresult enqueue(Context &context, Stream &stream, Work work) {
  std::lock_guard running(stream.mutex);
  if (stream.capture) {
    std::lock_guard lock(stream.capture->mutex);
    if (stream.capture->invalidated)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    stream.capture->works.push_back(std::move(work));
    ++stream.capture->frontiers[&stream][&stream];
    return CUDA_SUCCESS;
  }
  if (context.faulted())
    return CUDA_SUCCESS; // queued behind the fault, where it never runs
  Outcome outcome = work();
  context.raise(outcome.fault);
  std::lock_guard lock(context.device.mutex);
  double start = std::max(stream.time, context.device.hostTime);
  if (outcome.kernel)
    start = std::max(start, context.device.busyUntil);
  stream.time = start + outcome.nanoseconds;
  if (outcome.kernel)
    context.device.busyUntil = stream.time;
  return CUDA_SUCCESS;
}

CUstreamCaptureMode &threadCaptureMode() {
  thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

CUresult refuseDuringCapture() {
  CUstreamCaptureMode own = threadCaptureMode();
  if (own == CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  std::lock_guard lock(state().capturesMutex);
  for (const std::shared_ptr<Graph> &capture : state().captures) {
    bool ours = capture->thread == std::this_thread::get_id();
    bool forbids = ours ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                        : own == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!forbids)
      continue;
    std::lock_guard lock(capture->mutex);
    capture->invalidated = true;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

CUresult waitFor(Context &context, Stream &stream) {
  std::lock_guard running(stream.mutex);
  if (stream.capture) {
    std::lock_guard lock(stream.capture->mutex);
    stream.capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  {
    std::lock_guard lock(context.device.mutex);
    context.device.hostTime = std::max(context.device.hostTime, stream.time);
  }
  return context.observe();
}

} // namespace tessera::sim::driver
