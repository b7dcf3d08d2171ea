// The C functions of kernels.
#include "runtime/engine/c/Conversions.h"
#include "runtime/engine/c/Handles.h"
#include "runtime/engine/c/LastError.h"
#include "runtime/engine/c/SizedStruct.h"

using namespace tessera;
using namespace tessera::c;

namespace {

int32_t sourceNumber(Source source) {
  switch (source) {
  case Source::Compiler:
    return TESSERA_SOURCE_COMPILER;
  case Source::Memory:
    return TESSERA_SOURCE_MEMORY;
  case Source::Disk:
    return TESSERA_SOURCE_DISK;
  case Source::Bundle:
    return TESSERA_SOURCE_BUNDLE;
  case Source::Image:
    break;
  }
  return TESSERA_SOURCE_IMAGE;
}

int32_t orUnknown(const std::optional<uint32_t> &number) { return number ? int32_t(*number) : -1; }

const tessera_kernel::Texts &textsOf(const tessera_kernel &kernel) {
  std::call_once(kernel.once, [&] {
    KernelInfo info = kernel.kernel.info();
    std::string text = info.text(), spec = info.spec.text(), schedule = info.schedule.text();
    kernel.texts.emplace(std::move(info), std::move(text), std::move(spec), std::move(schedule));
  });
  return *kernel.texts;
}

} // namespace

tessera_code tessera_kernel_load(const void *image, size_t bytes, const tessera_device *device,
                                 tessera_kernel **kernel) noexcept {
  return makeHandle(kernel, "kernel", {{"image", image}, {"device", device}},
                    [&]() -> Result<std::unique_ptr<tessera_kernel>> {
                      Result<KernelImage> parsed = KernelImage::parse({static_cast<const char *>(image), bytes});
                      if (!parsed)
                        return parsed.status();
                      Result<Kernel> loaded = Kernel::load(*parsed, device->device);
                      if (!loaded)
                        return loaded.status();
                      return std::make_unique<tessera_kernel>(*std::move(loaded));
                    });
}

void tessera_kernel_destroy(tessera_kernel *kernel) noexcept { delete kernel; }

tessera_code tessera_kernel_launch(const tessera_kernel *kernel, const tessera_launch_arguments *arguments,
                                   tessera_stream stream) noexcept {
  return guarded([&]() -> Status {
    if (Status status = required({{"kernel", kernel}, {"arguments", arguments}}); !status) [[unlikely]]
      return status;
    tessera_launch_arguments own;
    if (Status status = readSized(*arguments, "tessera_launch_arguments", own); !status) [[unlikely]]
      return status;
    LaunchArguments views;
    if (Status status = toView(own.q, "q", views.q); !status) [[unlikely]]
      return status;
    if (Status status = toView(own.k, "k", views.k); !status) [[unlikely]]
      return status;
    if (Status status = toView(own.v, "v", views.v); !status) [[unlikely]]
      return status;
    if (Status status = toView(own.o, "o", views.o); !status) [[unlikely]]
      return status;
    if (own.lse)
      views.lse = toView(*own.lse);
    views.rescues = own.rescues;
    return kernel->kernel.launch(views, stream);
  });
}

tessera_code tessera_kernel_get_info(const tessera_kernel *kernel, tessera_kernel_info *info) noexcept {
  return guarded([&]() -> Status {
    if (Status status = required({{"kernel", kernel}, {"info", info}}); !status)
      return status;
    const tessera_kernel::Texts &texts = textsOf(*kernel);
    const KernelInfo &facts = texts.info;
    tessera_kernel_info own{};
    own.text = texts.text.c_str();
    own.spec = texts.spec.c_str();
    own.schedule = texts.schedule.c_str();
    own.schedule_reason = facts.scheduleReason.c_str();
    own.target = facts.target.c_str();
    own.device = facts.device.c_str();
    own.bundle = facts.bundle.c_str();
    own.entry = facts.entry.c_str();
    own.code = facts.code.c_str();
    own.assembler = facts.assembler.c_str();
    own.warnings = facts.warnings.c_str();
    own.source = sourceNumber(facts.source);
    own.ptx_version = facts.ptxVersion;
    own.registers = orUnknown(facts.registers);
    own.spill_bytes = orUnknown(facts.spillBytes);
    own.shared_bytes = facts.sharedBytes;
    own.block_threads = facts.blockThreads;
    own.blocks_per_sm = orUnknown(facts.blocksPerSm);
    own.origin = sourceNumber(facts.origin);
    own.compile_ms = facts.compileMs;
    own.read_ms = facts.readMs;
    own.load_ms = facts.loadMs;
    return writeSized(*info, "tessera_kernel_info", own);
  });
}
