// Findings: one sentence of what happened, then where, then to what.
#include "runtime/simulator/machine/Report.h"

#include <fmt/format.h>

namespace tessera::sim {

std::string_view toString(FindingKind kind) {
  constexpr std::string_view names[] = {
      "out of bounds",  "misaligned", "use after free", "uninitialised read", "convergence violation",
      "barrier misuse", "deadlock",   "async hazard",   "data race",          "trap",
      "unsupported",    "limit",      "invalid launch"};
  return names[static_cast<unsigned>(kind)];
}

std::string_view toString(LaunchStatus status) {
  constexpr std::string_view names[] = {"success",
                                        "invalid configuration",
                                        "out of resources",
                                        "illegal address",
                                        "misaligned address",
                                        "illegal instruction",
                                        "trap",
                                        "timeout"};
  return names[static_cast<unsigned>(status)];
}

namespace machine {

Dim3 threadOf(const Warp &warp, unsigned lane) { return {warp.tid[0][lane], warp.tid[1][lane], warp.tid[2][lane]}; }

uint32_t lineOf(const Block &block, const Op &op) { return block.launch->program->instructions[op.instruction].line; }

std::string describeGlobal(const GlobalMemory &memory, uint64_t address) {
  auto found = memory.find(address);
  bool inside = found.has_value();
  if (!inside)
    found = memory.nearest(address);
  if (!found)
    return "no allocation exists";
  std::string what =
      fmt::format("{} ({} bytes at {:#x}{})", found->name, found->size, found->base, found->live ? "" : ", freed");
  if (inside)
    return fmt::format("byte {} of {}", address - found->base, what);
  if (address >= found->base)
    return fmt::format("{} bytes after the end of {}", address - found->base - found->size, what);
  return fmt::format("{} bytes before {}", found->base - address, what);
}

std::string describeShared(const Block &block, uint32_t address) {
  const program::DecodedKernel &kernel = *block.launch->kernel;
  for (const program::PlacedVariable &variable : kernel.shared)
    if (address - variable.offset < variable.size)
      return fmt::format("byte {} of shared variable {} ({} bytes)", address - variable.offset, variable.name,
                         variable.size);
  if (address >= kernel.dynamicSharedBase && address < block.launch->sharedBytes)
    return fmt::format("byte {} of dynamic shared memory ({} bytes)", address - kernel.dynamicSharedBase,
                       block.launch->sharedBytes - kernel.dynamicSharedBase);
  return fmt::format("outside the block's shared memory [{:#x}, {:#x})", kernel.sharedBase, block.launch->sharedBytes);
}

void report(Warp &warp, const Op &op, Evidence e) {
  Block &block = *warp.block;
  if (e.fatal)
    block.status = BlockStatus::Faulted;
  auto [entry, isNew] = block.known.try_emplace({e.kind, op.instruction}, block.findings.size());
  if (!isNew) {
    if (entry->second < block.findings.size()) {
      ++block.findings[entry->second].repeats;
      block.findings[entry->second].fatal |= e.fatal;
    } else {
      ++block.suppressed;
    }
    return;
  }
  if (block.findings.size() >= block.launch->options->maxFindings && !e.fatal) {
    ++block.suppressed;
    entry->second = ~size_t(0);
    return;
  }
  entry->second = block.findings.size();
  const program::SourceInstruction &source = block.launch->program->instructions[op.instruction];
  Finding f;
  f.kind = e.kind;
  f.fatal = e.fatal;
  f.kernel = block.launch->kernel->info.name;
  f.line = source.line;
  f.instruction = source.text;
  f.block = block.index;
  f.thread = threadOf(warp, e.lane);
  f.address = e.address;
  f.bytes = e.bytes;
  f.space = std::string(e.space);
  f.object = std::move(e.object);
  f.other = std::move(e.other);
  f.otherLine = e.otherLine;
  f.text = fmt::format(
      "{}: {}\n  at line {}: {}\n  by thread ({},{},{}) of block ({},{},{}), lane {} of warp {}, in kernel {}",
      toString(e.kind), e.message, f.line, f.instruction, f.thread.x, f.thread.y, f.thread.z, f.block.x, f.block.y,
      f.block.z, e.lane, warp.index, f.kernel);
  if (e.hasAddress)
    f.text += fmt::format("\n  {} bytes at {} address {:#x}: {}", f.bytes, f.space, f.address, f.object);
  if (!f.other.empty())
    f.text += fmt::format("\n  {}", f.other);
  block.findings.push_back(std::move(f));
}

void reportUndefined(Warp &warp, const Op &op, uint32_t offset, uint32_t lanes, std::string_view what) {
  auto lane = static_cast<unsigned>(__builtin_ctz(lanes));
  Evidence e;
  e.kind = FindingKind::UninitialisedRead;
  e.lane = lane;
  const auto &names = warp.frame->function->slotNames;
  std::string name = offset / 64 < names.size() ? names[offset / 64] : std::string();
  e.message =
      fmt::format("an undefined value reaches {}{}: it comes from a register or memory that nothing has written", what,
                  name.empty() ? "" : fmt::format(" through {}", name));
  report(warp, op, std::move(e));
  warp.undef(offset).lanes &= ~lanes; // once per origin is enough
  warp.undef(offset).computed &= ~lanes;
}

} // namespace machine
} // namespace tessera::sim
