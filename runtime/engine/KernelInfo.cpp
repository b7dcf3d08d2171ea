// KernelInfo as text.
#include "runtime/engine/KernelInfo.h"

#include <fmt/format.h>

namespace tessera {

std::string_view name(Source source) {
  constexpr std::string_view names[] = {"compiler", "memory", "disk", "bundle", "image"};
  return names[unsigned(source)];
}

std::string KernelInfo::sourceText() const {
  if (source == Source::Image)
    return "image";
  const std::string how = origin == Source::Compiler ? fmt::format("compiled in {:.1f} ms", compileMs)
                          : origin == Source::Bundle ? fmt::format("read from {} in {:.2f} ms", bundle, readMs)
                                                     : fmt::format("read from the disk cache in {:.2f} ms", readMs);
  return fmt::format("{}, {}", name(source), how);
}

std::string KernelInfo::text() const {
  auto number = [](const std::optional<uint32_t> &value) { return value ? fmt::format("{}", *value) : "unknown"; };
  std::string text;
  auto line = [&](std::string_view label, std::string_view value) { text += fmt::format("{:<14}{}\n", label, value); };
  line("attention", spec.text());
  line("device", device);
  line("target", fmt::format("{}, PTX {}.{}", target, ptxVersion / 10, ptxVersion % 10));
  line("source", sourceText());
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
