// Devices, contexts and streams of the process, and how work runs in a stream.
#include "runtime/simulator/driver/State.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tessera::sim::driver {

namespace {

/// Devices are this far apart in the address space, so that an address tells its device.
constexpr uint64_t AddressesPerDevice = uint64_t(1) << 42;
/// The addresses of so many devices lie below those where a process keeps its own code and data.
constexpr size_t MostDevices = 16;

std::atomic<uint64_t> nextContextId{1};

Status tooManyDevices() {
  return Status(Code::InvalidArgument, "a process can have " + std::to_string(MostDevices) + " simulated devices",
                "name fewer devices");
}

/// A device that knows the host memory that the others have adopted. Wants devicesMutex held.
Device *addDevice(const DeviceProfile &profile) {
  auto &devices = state().devices;
  devices.push_back(std::make_unique<Device>(profile, int(devices.size())));
  Device *device = devices.back().get();
  std::lock_guard lock(state().hostMutex);
  for (const auto &[begin, range] : state().hostRanges)
    (void)device->memory.adopt(reinterpret_cast<void *>(begin), range.bytes, hostRangeName(range), range.pages);
  return device;
}

} // namespace

Device::Device(const DeviceProfile &profile, int ordinal)
    : profile(profile), ordinal(ordinal), primaryHandle(reinterpret_cast<CUcontext>(freshHandle())),
      memory(profile.memoryBytes, AddressesPerDevice * uint64_t(ordinal + 1),
             AddressesPerDevice * uint64_t(ordinal + 2)) {}

Context::Context(Device &device, CUcontext handle, unsigned flags)
    : device(device), handle(handle), id(nextContextId++), flags(flags) {}

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
  if (devices.size() >= MostDevices)
    return tooManyDevices();
  return addDevice(**profile);
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
  if (devices.size() + profiles.size() > MostDevices)
    return tooManyDevices();
  for (const DeviceProfile *profile : profiles)
    addDevice(*profile);
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

bool &perThreadDefault() {
  thread_local bool perThread = false;
  return perThread;
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
  auto context = std::make_shared<Context>(device, handle, flags);
  context->legacy = std::make_shared<Stream>();
  context->legacy->context = context;
  context->legacy->legacy = true;
  context->legacy->id = 1;
  state().contexts.addAs(handle, context);
  return context;
}

void destroyContext(const std::shared_ptr<Context> &context) {
  state().contexts.remove(context->handle, context);
  // Keeps what was removed until after the tables are unlocked; modules give their variables back to the device here.
  auto ownedBy = [&](const auto &object) { return object.context.lock() == context; };
  auto functions = state().functions.removeIf(ownedBy);
  auto modules = state().modules.removeIf(ownedBy);
  auto streams = state().streams.removeIf(ownedBy);
  auto events = state().events.removeIf(ownedBy);
  for (const std::shared_ptr<Stream> &stream : streams)
    abandonCapture(*stream);
  std::vector<std::pair<void *, HostKind>> ranges;
  {
    std::lock_guard lock(state().hostMutex);
    for (const auto &[begin, range] : state().hostRanges)
      if (range.contextId == context->id)
        ranges.push_back({reinterpret_cast<void *>(begin), range.kind});
  }
  for (auto [begin, kind] : ranges)
    releaseHostRange(begin, kind);
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
  if (handle == CU_STREAM_LEGACY || (handle == nullptr && !perThreadDefault()))
    return context.legacy;
  if (handle != nullptr && handle != CU_STREAM_PER_THREAD)
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
  for (const std::shared_ptr<Capture> &capture : state().captures) {
    bool ours = capture->thread == std::this_thread::get_id();
    bool forbids = ours ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                        : own == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!forbids)
      continue;
    capture->invalidated = true;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

CUresult refuseImplicitDependency(Stream &stream, bool invalidate) {
  if (!stream.legacy)
    return CUDA_SUCCESS;
  std::vector<std::shared_ptr<Capture>> captures;
  {
    std::lock_guard lock(state().capturesMutex);
    captures = state().captures;
  }
  CUresult result = CUDA_SUCCESS;
  for (const std::shared_ptr<Capture> &capture : captures) {
    std::vector<std::weak_ptr<Stream>> streams;
    {
      std::lock_guard lock(capture->mutex);
      streams = capture->joined;
    }
    streams.push_back(capture->origin);
    for (const std::weak_ptr<Stream> &entry : streams) {
      std::shared_ptr<Stream> other = entry.lock();
      if (!other || (other->flags & CU_STREAM_NON_BLOCKING) || other->context.lock() != stream.context.lock())
        continue;
      if (invalidate)
        capture->invalidated = true;
      result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
  }
  return result;
}

Work makeWork(Context &context, decltype(Work::what) what) {
  return {std::move(what), context.handle, &context.device};
}

CUresult enqueue(Stream &stream, Work work) {
  if (CUresult result = refuseImplicitDependency(stream); result != CUDA_SUCCESS)
    return result;
  std::lock_guard running(stream.mutex);
  if (stream.capture) {
    if (stream.capture->invalidated)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    std::lock_guard lock(state().graphsMutex);
    stream.tail = {addNode(stream.capture->graph, std::move(work), stream.tail)};
    return CUDA_SUCCESS;
  }
  stream.time = perform(work, stream.time);
  return CUDA_SUCCESS;
}

CUresult waitFor(Context &context, Stream &stream) {
  if (CUresult result = refuseImplicitDependency(stream); result != CUDA_SUCCESS)
    return result;
  std::lock_guard running(stream.mutex);
  if (stream.capture) {
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
