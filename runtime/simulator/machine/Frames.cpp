// Calls: frames of registers and local variables, arguments and results.
#include "runtime/simulator/machine/Block.h"
#include "runtime/simulator/machine/Report.h"

#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

namespace tessera::sim::machine {

using program::CallSite;
using program::DecodedFunction;
using program::FormalParameter;

namespace {
/// Registers, then definedness.
uint32_t frameStorage(const DecodedFunction &f) {
  return f.frameBytes + ((f.frameBytes / 64 * uint32_t(sizeof(Undefined)) + 63) & ~63u);
}
} // namespace

Frame *pushFrame(Warp &w, const DecodedFunction &function, Frame *caller, const Op *call) {
  auto *frame = new Frame;
  frame->function = &function;
  uint32_t bytes = frameStorage(function);
  auto pooled = w.block->framePool.find(bytes);
  if (pooled != w.block->framePool.end()) {
    frame->regs = pooled->second;
    w.block->framePool.erase(pooled);
  } else {
    frame->regs = static_cast<std::byte *>(std::aligned_alloc(64, (bytes + 63) & ~63u));
  }
  frame->undefined = reinterpret_cast<Undefined *>(frame->regs + function.frameBytes);
  std::memcpy(frame->regs, function.constants.data(), function.constants.size());
  std::memset(frame->undefined, 0, function.frameBytes / 64 * sizeof(Undefined));
  for (auto [offset, size] : function.undefinedSlots) {
    std::memset(frame->regs + offset, 0, size);
    frame->undefined[offset / 64] = {~0u, 0};
  }
  frame->caller = caller;
  frame->call = call;
  frame->localBase = caller ? caller->localBase + caller->function->localBytes : 0;
  frame->lanes = w.active;
  w.frames.push_back(frame);
  return frame;
}

void releaseFrame(Warp &w, Frame *frame) {
  w.block->framePool.emplace(frameStorage(*frame->function), frame->regs);
  for (size_t i = 0; i < w.frames.size(); ++i)
    if (w.frames[i] == frame) {
      w.frames[i] = w.frames.back();
      w.frames.pop_back();
      break;
    }
  delete frame;
}

namespace {

/// Copies between the variables of two frames, or a register and a variable, for the active lanes.
struct Side {
  const Frame *frame;
  const FormalParameter *formal;
  uint32_t reg; ///< offset, or none
};

void copy(Warp &w, const Side &from, const Side &to, uint32_t lanes) {
  uint32_t bytes = std::min(from.formal->size, to.formal->size);
  for (uint32_t m = lanes; m; m &= m - 1) {
    auto lane = static_cast<unsigned>(__builtin_ctz(m));
    std::byte *storage = w.local + uint64_t(lane) * w.localBytes;
    uint8_t *shadow = w.checks ? w.localShadow + uint64_t(lane) * w.localBytes : nullptr;
    std::byte value[16] = {};
    if (to.reg == ptx::none && from.reg == ptx::none) {
      std::memcpy(storage + to.frame->localBase + to.formal->frameOffset,
                  storage + from.frame->localBase + from.formal->frameOffset, bytes);
      if (shadow)
        std::memcpy(shadow + to.frame->localBase + to.formal->frameOffset,
                    shadow + from.frame->localBase + from.formal->frameOffset, bytes);
      continue;
    }
    if (from.reg != ptx::none)
      std::memcpy(value, from.frame->regs + from.reg + lane * from.formal->registerBytes,
                  std::min<uint32_t>(bytes, from.formal->registerBytes));
    else
      std::memcpy(value, storage + from.frame->localBase + from.formal->frameOffset, bytes);
    if (to.reg != ptx::none) {
      std::memcpy(to.frame->regs + to.reg + lane * to.formal->registerBytes, value, to.formal->registerBytes);
      to.frame->undefined[to.reg / 64].lanes &= ~(1u << lane);
    } else {
      std::memcpy(storage + to.frame->localBase + to.formal->frameOffset, value, bytes);
      if (shadow)
        std::memset(shadow + to.frame->localBase + to.formal->frameOffset, 1, bytes);
    }
  }
}

uint32_t callerRegister(const Op &call, const FormalParameter &formal) {
  return formal.reg == ptx::none ? ptx::none : call.ext[formal.reg];
}

const Op *enter(Warp &w, const Op &op, const DecodedFunction &callee, uint32_t lanes) {
  const CallSite &site = w.frame->function->calls[static_cast<size_t>(op.imm)];
  uint32_t base = w.frame->localBase + w.frame->function->localBytes;
  if (uint64_t(base) + callee.localBytes > w.localBytes) {
    Evidence e;
    e.kind = FindingKind::OutOfBounds;
    e.fatal = true;
    e.lane = static_cast<unsigned>(__builtin_ctz(lanes));
    e.message = fmt::format("the stack of {} bytes per thread overflows in the call of {}", w.localBytes, callee.name);
    report(w, op, std::move(e));
    return nullptr;
  }
  Frame *caller = w.frame;
  uint32_t saved = w.active;
  w.active = lanes;
  Frame *frame = pushFrame(w, callee, caller, &op);
  frame->site = &site;
  w.active = saved;
  if (w.checks && callee.localBytes)
    for (uint32_t m = lanes; m; m &= m - 1)
      std::memset(w.localShadow + uint64_t(__builtin_ctz(m)) * w.localBytes + base, 0, callee.localBytes);
  for (size_t i = 0; i < site.arguments.size() && i < callee.parameters.size(); ++i)
    copy(w, {caller, &site.arguments[i], callerRegister(op, site.arguments[i])},
         {frame, &callee.parameters[i], callee.parameters[i].reg}, lanes);
  w.frame = frame;
  w.regs = frame->regs;
  w.undefined = frame->undefined;
  return callee.ops.data();
}

/// Lanes that do not call go on behind the call later.
const Op *leaveOthers(Warp &w, const Op &op, uint32_t calling) {
  uint32_t others = w.exec & ~calling;
  if (!others)
    return nullptr;
  const Op *after = &op + 1;
  splitOff(w, others, after, w.join, w.frame);
  w.exec = w.active = calling;
  w.splits[w.current].mask = calling;
  return after;
}

} // namespace

const Op *runCall(Warp &w, const Op &op) {
  const CallSite &site = w.frame->function->calls[static_cast<size_t>(op.imm)];
  uint32_t calling = w.active;
  leaveOthers(w, op, calling);
  return enter(w, op, w.block->launch->program->functions[site.targets[0]], calling);
}

const Op *runCallIndirect(Warp &w, const Op &op) {
  const auto &functions = w.block->launch->program->functions;
  uint32_t calling = w.active;
  auto first = static_cast<unsigned>(__builtin_ctz(calling));
  uint64_t address = w.reg<uint64_t>(op.a)[first];
  uint32_t same = 0;
  for (uint32_t m = calling; m; m &= m - 1)
    if (w.reg<uint64_t>(op.a)[__builtin_ctz(m)] == address)
      same |= 1u << __builtin_ctz(m);
  uint64_t index = address - program::functionAddressBase;
  if (index >= functions.size() || functions[index].ops.empty() || functions[index].kernel) {
    Evidence e;
    e.kind = FindingKind::Unsupported;
    e.fatal = true;
    e.lane = first;
    e.message = fmt::format("calls through {:#x}, which is not the address of a function", address);
    report(w, op, std::move(e));
    return nullptr;
  }
  if (same != w.exec) { // lanes that call something else repeat the instruction; those that do not call go on
    if (uint32_t others = w.exec & ~calling)
      splitOff(w, others, &op + 1, w.join, w.frame);
    if (calling & ~same)
      splitOff(w, calling & ~same, &op, w.join, w.frame);
    w.exec = w.active = same;
    w.splits[w.current].mask = same;
  }
  return enter(w, op, functions[index], same);
}

const Op *runReturn(Warp &w, const Op &op) {
  Frame *frame = w.frame, *caller = frame->caller;
  const Op *call = frame->call;
  const CallSite &site = *frame->site;
  for (size_t i = 0; i < site.results.size() && i < frame->function->results.size(); ++i)
    copy(w, {frame, &frame->function->results[i], frame->function->results[i].reg},
         {caller, &site.results[i], callerRegister(*call, site.results[i])}, w.exec);
  frame->lanes &= ~w.exec;
  frame->lanes &= w.live;
  w.frame = caller;
  w.regs = caller->regs;
  w.undefined = caller->undefined;
  if (!frame->lanes)
    releaseFrame(w, frame);
  return call + 1;
}

} // namespace tessera::sim::machine
