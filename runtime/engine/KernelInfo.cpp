// KernelInfo as text.
#include "runtime/engine/KernelInfo.h"

#include <fmt/format.h>

namespace tessera {

std::string_view name(Source source) {
  return source == Source::Compiler ? "compiler" : source == Source::Memory ? "memory" : "image";
}

std::string KernelInfo::text() const {
  auto number = [](const std::optional<uint32_t> &value) { return value ? fmt::format("{}", *value) : "unknown"; };
  std::string text;
  auto line = [&](std::string_view label, std::string_view value) { text += fmt::format("{:<14}{}\n", label, value); };
  line("attention", spec.text());
  line("device", device);
  line("target", fmt::format("{}, PTX {}.{}", target, ptxVersion / 10, ptxVersion % 10));
  line("source", source == Source::Image ? std::string(name(source))
                                         : fmt::format("{}, compiled in {:.1f} ms", name(source), compileMs));
  line("schedule", schedule.text());
  line("because", scheduleReason);
  line("code", fmt::format("{}, loaded in {:.1f} ms", code, loadMs));
  line("assembler", assembler.empty() ? "that of the driver" : assembler);
  line("block",
       fmt::format("{} threads, {} bytes of shared memory, {} per SM", blockThreads, sharedBytes, number(blocksPerSm)));
  line("registers", fmt::format("{} per thread, {} bytes spilled", number(registers), number(spillBytes)));
  if (!warnings.empty())
    line("warnings", warnings);
  return text;
}

} // namespace tessera
