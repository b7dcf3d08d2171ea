// Retains a primary context, asks the device for its facts, and switches the current context.
#include "runtime/driver/Context.h"

#include "runtime/driver/DriverSymbols.h"

#include <cstring>

namespace tessera {

Result<std::shared_ptr<const Context>> Context::open(const DriverDevice &device) {
  const Driver &driver = *device.driver;
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
  if (handle_)
    (void)symbols().cuDevicePrimaryCtxRelease(ordinal_);
}

Result<int> Context::attribute(int attribute) const {
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

ScopedContext::ScopedContext(const Context &context) : context_(context) {
  const DriverSymbols &symbols = context.symbols();
  status_ = context.driver().check(symbols.cuCtxGetCurrent(&former_), "asking for the current context");
  if (!status_ || former_ == context.handle())
    return;
  status_ = context.driver().check(symbols.cuCtxSetCurrent(context.handle()), "making the context of {} current",
                                   context.info().name);
  changed_ = status_.ok();
}

ScopedContext::~ScopedContext() {
  if (changed_)
    (void)context_.symbols().cuCtxSetCurrent(former_);
}

} // namespace tessera
