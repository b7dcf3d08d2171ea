// Findings: one sentence of what happened, then where, then to what.
#include "runtime/simulator/machine/Report.h"

#include <fmt/format.h>

namespace tessera::sim {

std::string_view toString(FindingKind kind) {
  constexpr std::string_view names[] = {
      "out of bounds",  "misaligned",  "use after free", "uninitialised read", "convergence violation",
      "barrier misuse", "deadlock",    "async hazard",   "data race",          "trap",
      "assertion",      "unsupported", "limit",          "invalid launch"};
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
                                        "assertion",
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

namespace {

/// Adds what `make` makes, unless a finding of that kind at that instruction is there already.
template <class Make> void addOnce(Block &block, FindingKind kind, bool fatal, uint32_t instruction, Make make) {
  auto [entry, isNew] = block.known.try_emplace({kind, instruction}, block.findings.size());
  if (!isNew) {
    if (entry->second < block.findings.size()) {
      ++block.findings[entry->second].repeats;
      block.findings[entry->second].fatal |= fatal;
    } else {
      ++block.suppressed;
    }
    return;
  }
  if (block.findings.size() >= block.launch->options->maxFindings && !fatal) {
    ++block.suppressed;
    entry->second = ~size_t(0);
    return;
  }
  entry->second = block.findings.size();
  block.findings.push_back(make());
}

} // namespace

void report(Warp &warp, const Op &op, Evidence e) {
  Block &block = *warp.block;
  if (e.fatal)
    block.status = BlockStatus::Faulted;
  addOnce(block, e.kind, e.fatal, op.instruction,
          [&] { return makeFinding(*block.launch, std::move(e), op.instruction, block.linear, warp.index); });
}

void addFinding(Block &block, uint32_t instruction, Finding finding) {
  addOnce(block, finding.kind, finding.fatal, instruction, [&] { return std::move(finding); });
}

namespace {

Dim3 coordinates(const Dim3 &extent, uint64_t linear) {
  return {static_cast<uint32_t>(linear % extent.x), static_cast<uint32_t>(linear / extent.x % extent.y),
          static_cast<uint32_t>(linear / extent.x / extent.y)};
}

} // namespace

void describeOther(const LaunchState &launch, Evidence &e, uint64_t block, unsigned warp, unsigned lane,
                   uint32_t instruction) {
  const program::SourceInstruction &source = launch.program->instructions[instruction];
  e.otherLine = source.line;
  e.otherInstruction = source.text;
  e.otherBlock = coordinates(launch.config->grid, block);
  e.otherWarp = warp;
  Dim3 thread = coordinates(launch.config->block, uint64_t(warp) * warpSize + lane);
  e.other = fmt::format("the other access is at line {}: {}\n    by thread ({},{},{}) of block ({},{},{}), lane {} of "
                        "warp {}",
                        source.line, source.text, thread.x, thread.y, thread.z, e.otherBlock.x, e.otherBlock.y,
                        e.otherBlock.z, lane, warp);
}

Finding makeFinding(const LaunchState &launch, Evidence e, uint32_t instruction, uint64_t block, unsigned warp) {
  const program::SourceInstruction &source = launch.program->instructions[instruction];
  Finding f;
  f.kind = e.kind;
  f.fatal = e.fatal;
  f.kernel = launch.kernel->info.name;
  f.line = source.line;
  f.instruction = source.text;
  f.block = coordinates(launch.config->grid, block);
  f.thread = coordinates(launch.config->block, uint64_t(warp) * warpSize + e.lane);
  f.address = e.address;
  f.bytes = e.bytes;
  f.space = std::string(e.space);
  f.object = std::move(e.object);
  f.other = std::move(e.other);
  f.otherLine = e.otherLine;
  f.otherInstruction = std::move(e.otherInstruction);
  f.otherBlock = e.otherBlock;
  f.otherWarp = e.otherWarp;
  f.text = fmt::format(
      "{}: {}\n  at line {}: {}\n  by thread ({},{},{}) of block ({},{},{}), lane {} of warp {}, in kernel {}",
      toString(e.kind), e.message, f.line, f.instruction, f.thread.x, f.thread.y, f.thread.z, f.block.x, f.block.y,
      f.block.z, e.lane, warp, f.kernel);
  if (e.hasAddress)
    f.text += fmt::format("\n  {} bytes at {} address {:#x}: {}", f.bytes, f.space, f.address, f.object);
  if (!f.other.empty())
    f.text += fmt::format("\n  {}", f.other);
  return f;
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
