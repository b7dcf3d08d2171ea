// What of the engine a program may keep until it exits.
#pragma once

#include "tessera/tessera.h"

#include <optional>

namespace tessera {

struct Objects {
  std::optional<Kernel> kernel;
  std::optional<DeviceBuffer> buffer;
  std::optional<Stream> stream;
  std::optional<Event> event;
  std::optional<Engine> engine;
  std::optional<Device> device;

  Status open() {
    Result<Device> opened = Device::open("sim:a100");
    if (!opened)
      return opened.status();
    device = *opened;
    EngineOptions options;
    options.cache.mode = CacheMode::Off;
    options.maxKernels = 1;
    Result<Engine> created = Engine::create(options);
    if (!created)
      return created.status();
    engine = *created;
    for (unsigned headDim : {64u, 128u}) { // the first is evicted, and its code retired
      AttentionSpec spec;
      spec.headDim = spec.valueDim = headDim;
      Result<Kernel> prepared = engine->prepare(spec, {}, *device);
      if (!prepared)
        return prepared.status();
      kernel = *prepared;
    }
    auto allocated = device->allocate(64);
    auto made = Stream::create(device->context());
    auto point = Event::create(device->context());
    if (!allocated || !made || !point)
      return !allocated ? allocated.status() : !made ? made.status() : point.status();
    buffer = std::move(*allocated);
    stream = std::move(*made);
    event = std::move(*point);
    return {};
  }
  const Driver &driver() const { return device->context()->driver(); }
};

} // namespace tessera
