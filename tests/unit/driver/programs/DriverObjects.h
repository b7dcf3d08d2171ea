// What of the driver layer a program may keep until it exits.
#pragma once

#include "runtime/driver/DeviceBuffer.h"
#include "runtime/driver/Module.h"
#include "tests/unit/driver/Kernels.h"

#include <optional>

namespace tessera {

struct Objects {
  std::shared_ptr<const Context> context;
  std::optional<Function> held;
  std::optional<DeviceBuffer> buffer;
  std::optional<Stream> stream;
  std::optional<Event> event;

  Status open() {
    auto device = openDriver("sim:a100");
    if (!device)
      return device.status();
    auto opened = Context::open(*device);
    if (!opened)
      return opened.status();
    context = *opened;
    for (int i = 0; i < 2; ++i) { // the first is retired
      auto module = Module::load(context, test::Minimal);
      if (!module)
        return module.status();
      held = *(*module)->function("nothing");
    }
    auto allocated = DeviceBuffer::allocate(context, 64);
    auto made = Stream::create(context);
    auto point = Event::create(context);
    if (!allocated || !made || !point)
      return !allocated ? allocated.status() : !made ? made.status() : point.status();
    buffer = std::move(*allocated);
    stream = std::move(*made);
    event = std::move(*point);
    return held->launch({}, nullptr, stream->handle());
  }
  const Driver &driver() const { return context->driver(); }
};

} // namespace tessera
