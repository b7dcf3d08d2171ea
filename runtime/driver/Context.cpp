// Retains a primary context, asks the device for its facts, switches the current context and unloads what was retired.
#include "runtime/driver/Context.h"

#include "runtime/driver/DriverSymbols.h"

#include <cstring>

namespace tessera {

Result<std::shared_ptr<const Context>> Context::open(const DriverDevice &device) {
  const Driver &driver = *device.driver;
  if (Status status = driver.usable(); !status)
    return status;
  const DriverSymbols &symbols = driver.symbols();
  CUdevice handle = 0;
  if (Status status = driver.check(symbols.cuDeviceGet(&handle, device.ordinal), "opening device {}", device.ordinal);
      !status)
    return status;

  std::shared_ptr<Context> context(new Context);
  context->driver_ = device.driver;
  context->ordinal_ = handle;
  DeviceInfo &info = context->info_;

  char name[256] = {};
  size_t memoryBytes = 0;
  CUuuid uuid = {};
  if (Status status =
          driver.check(symbols.cuDeviceGetName(name, sizeof(name), handle), "asking device {} for its name", handle);
      !status)
    return status;
  if (Status status = driver.check(symbols.cuDeviceTotalMem(&memoryBytes, handle), "asking {} for its memory", name);
      !status)
    return status;
  if (Status status = driver.check(symbols.cuDeviceGetUuid(&uuid, handle), "asking {} for its UUID", name); !status)
    return status;
  info.name = name;
  info.memoryBytes = memoryBytes;
  std::memcpy(info.uuid.data(), uuid.bytes, info.uuid.size());

  const struct {
    CUdevice_attribute attribute;
    uint32_t &value;
  } wanted[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, info.major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, info.minor},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, info.smCount},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, info.sharedBytesPerBlock},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, info.sharedBytesPerSm},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, info.registersPerBlock},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, info.maxThreadsPerBlock},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, info.l2Bytes},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, info.clockKHz},
  };
  for (const auto &want : wanted) {
    Result<int> value = context->attribute(want.attribute);
    if (!value)
      return value.status();
    want.value = uint32_t(*value);
  }
  if (Status status = driver.check(symbols.cuDevicePrimaryCtxRetain(&context->handle_, handle),
                                   "retaining the context of {}", name);
      !status)
    return status;
  return std::shared_ptr<const Context>(context);
}

Context::~Context() {
  if (!handle_ || driver_->inherited())
    return;
  (void)unloadRetired();
  (void)symbols().cuDevicePrimaryCtxRelease(ordinal_);
}

Result<int> Context::attribute(int attribute) const {
  if (Status status = driver_->usable(); !status)
    return status;
  int value = 0;
  if (Status status = driver_->check(symbols().cuDeviceGetAttribute(&value, CUdevice_attribute(attribute), ordinal_),
                                     "asking {} for attribute {}", info_.name, attribute);
      !status)
    return status;
  return value;
}

Status Context::synchronize() const {
  ScopedContext scope(*this);
  if (!scope.status())
    return scope.status();
  return driver_->check(symbols().cuCtxSynchronize(), "waiting for {}", info_.name);
}

Result<bool> Context::capturing(StreamHandle stream) const {
  ScopedContext scope(*this);
  if (!scope.status())
    return scope.status();
  for (StreamHandle asked : {stream, StreamHandle(CU_STREAM_LEGACY)}) {
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    int result = symbols().cuStreamIsCapturing(asked, &capture);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
      return true;
    if (Status status = driver_->check(result, "asking whether a stream is captured"); !status)
      return status;
    if (capture != CU_STREAM_CAPTURE_STATUS_NONE)
      return true;
  }
  return false;
}

void Context::retire(std::list<CUmod_st *> &modules) const noexcept {
  if (driver_->inherited())
    return; // another thread of the parent may have held the lock
  std::lock_guard lock(retiredMutex_);
  retired_.splice(retired_.end(), modules);
}

size_t Context::retired() const {
  if (driver_->inherited())
    return 0;
  std::lock_guard lock(retiredMutex_);
  return retired_.size();
}

Status Context::unloadRetired() const {
  ScopedContext scope(*this);
  if (!scope.status())
    return scope.status();
  // Taken before the wait, which then covers every launch of theirs; what is retired meanwhile is for the next time.
  std::list<CUmod_st *> modules;
  {
    std::lock_guard lock(retiredMutex_);
    modules.swap(retired_);
  }
  if (modules.empty())
    return {};
  if (Status status = driver_->check(symbols().cuCtxSynchronize(), "waiting for {}", info_.name); !status) {
    retire(modules);
    return status;
  }
  for (CUmod_st *module : modules)
    (void)symbols().cuModuleUnload(module);
  return {};
}

ScopedContext::ScopedContext(const Context &context) : context_(context) {
  status_ = context.driver().usable();
  if (!status_) [[unlikely]]
    return;
  const DriverSymbols &symbols = context.symbols();
  status_ = context.driver().check(symbols.cuCtxGetCurrent(&former_), "asking for the current context");
  if (!status_ || former_ == context.handle())
    return;
  status_ = context.driver().check(symbols.cuCtxSetCurrent(context.handle()), "making the context of {} current",
                                   context.info().name);
  changed_ = status_.ok();
}

ScopedContext::~ScopedContext() {
  if (changed_ && !context_.driver().inherited())
    (void)context_.symbols().cuCtxSetCurrent(former_);
}

} // namespace tessera
