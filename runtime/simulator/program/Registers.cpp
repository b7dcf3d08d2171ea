// Register placement: liveness of virtual registers, then slots in the frame by linear scan.
//
// Slots are shared by registers whose live ranges do not meet, so that the frame of a warp stays in the caches. Ranges
// follow the control flow of one thread; masked writes keep lanes apart, so divergence changes nothing. Registers that
// may be read before they are written keep a slot of their own, which starts undefined.
#include "runtime/simulator/program/ControlFlow.h"
#include "runtime/simulator/program/Decoder.h"

#include <algorithm>
#include <cstring>
#include <queue>

namespace tessera::sim::program {

namespace {

constexpr uint32_t zeroSlot = 0, trashSlot = 512, firstFree = 1024;

unsigned slotClass(uint8_t bytes) { return bytes == 0 ? 0 : bytes <= 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : 4; }
constexpr uint32_t classBytes[] = {64, 64, 128, 256, 512};

bool isVirtual(uint32_t id) { return !(id & constantBit) && id != unusedRegister; }

template <typename F> void forEachUse(const Op &op, F f) {
  for (uint32_t id : {op.a, op.b, op.c, op.d, op.guard})
    if (isVirtual(id))
      f(id);
  for (unsigned i = 0; i < op.extSources; ++i)
    if (uint32_t id = op.ext[op.extResults + i]; isVirtual(id))
      f(id);
}

template <typename F> void forEachDefinition(const Op &op, F f) {
  for (uint32_t id : {op.dst, op.dst2})
    if (isVirtual(id))
      f(id);
  for (unsigned i = 0; i < op.extResults; ++i)
    if (isVirtual(op.ext[i]))
      f(op.ext[i]);
}

using Bits = std::vector<uint64_t>;
bool test(const Bits &bits, uint32_t i) { return bits[i / 64] >> (i % 64) & 1; }
void set(Bits &bits, uint32_t i) { bits[i / 64] |= uint64_t(1) << (i % 64); }
void clear(Bits &bits, uint32_t i) { bits[i / 64] &= ~(uint64_t(1) << (i % 64)); }

template <typename F> void forEachSet(const Bits &bits, F f) {
  for (size_t w = 0; w < bits.size(); ++w)
    for (uint64_t rest = bits[w]; rest; rest &= rest - 1)
      f(static_cast<uint32_t>(w * 64 + static_cast<unsigned>(__builtin_ctzll(rest))));
}

struct Range {
  uint32_t start = ptx::none, end = 0;
  void extend(uint32_t at) {
    start = std::min(start, at);
    end = std::max(end, at);
  }
};

} // namespace

Status placeRegisters(DecodedFunction &function, const std::vector<VirtualRegister> &registers,
                      const ConstantPool &pool) {
  std::vector<BasicBlock> blocks = basicBlocks(function);
  size_t words = (registers.size() + 63) / 64;
  if (words * blocks.size() > (size_t(1) << 24))
    return Status(Code::CompileError,
                  fmt::format("function '{}' has too many registers and blocks to analyse", function.name));
  std::vector<Bits> in(blocks.size(), Bits(words)), out = in, use = in, kill = in;
  for (size_t b = 0; b < blocks.size(); ++b)
    for (uint32_t i = blocks[b].first; i < blocks[b].end; ++i) {
      const Op &op = function.ops[i];
      forEachUse(op, [&](uint32_t id) {
        if (!test(kill[b], id))
          set(use[b], id);
      });
      if (!op.guardKind) // a guarded write leaves the other lanes' values alive
        forEachDefinition(op, [&](uint32_t id) { set(kill[b], id); });
    }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = blocks.size(); b-- > 0;)
      for (size_t w = 0; w < words; ++w) {
        uint64_t live = 0;
        for (uint32_t s : blocks[b].successors)
          live |= in[s][w];
        out[b][w] = live;
        uint64_t before = use[b][w] | (live & ~kill[b][w]);
        changed |= before != in[b][w];
        in[b][w] = before;
      }
  }
  std::vector<Range> ranges(registers.size());
  auto width = [&](uint32_t id) { return registers[id].bytes ? (registers[id].bytes + 3u) / 4 : 0u; };
  for (size_t b = 0; b < blocks.size(); ++b) {
    Bits live = out[b];
    uint32_t pressure = 0;
    forEachSet(in[b], [&](uint32_t id) { ranges[id].extend(blocks[b].first); });
    forEachSet(live, [&](uint32_t id) {
      ranges[id].extend(blocks[b].end - 1);
      pressure += width(id);
    });
    function.registerPressure = std::max(function.registerPressure, pressure);
    for (uint32_t i = blocks[b].end; i-- > blocks[b].first;) {
      const Op &op = function.ops[i];
      forEachDefinition(op, [&](uint32_t id) {
        ranges[id].extend(i);
        if (!op.guardKind && test(live, id)) {
          clear(live, id);
          pressure -= width(id);
        }
      });
      forEachUse(op, [&](uint32_t id) {
        ranges[id].extend(i);
        if (!test(live, id)) {
          set(live, id);
          pressure += width(id);
        }
      });
      function.registerPressure = std::max(function.registerPressure, pressure);
    }
  }

  // Constants, then slots.
  uint32_t next = firstFree;
  std::vector<uint32_t> constantOffset;
  for (auto &[bytes, value] : pool.values) {
    constantOffset.push_back(next);
    next += classBytes[slotClass(bytes)];
  }
  function.constants.assign(next, std::byte(0));
  for (size_t i = 0; i < pool.values.size(); ++i) {
    auto &[bytes, value] = pool.values[i];
    unsigned width = bytes ? bytes : 4, copies = bytes ? 32 : 1;
    for (unsigned lane = 0; lane < copies; ++lane)
      std::memcpy(&function.constants[constantOffset[i] + lane * width], value.data(), width);
  }
  std::vector<uint32_t> byStart, offset(registers.size(), trashSlot);
  for (uint32_t id = 0; id < registers.size(); ++id)
    if (ranges[id].start != ptx::none)
      byStart.push_back(id);
  Bits undefined = blocks.empty() ? Bits(words) : in[0];
  forEachSet(undefined, [&](uint32_t id) { ranges[id] = {0, static_cast<uint32_t>(function.ops.size())}; });
  std::sort(byStart.begin(), byStart.end(), [&](uint32_t a, uint32_t b) {
    return ranges[a].start != ranges[b].start ? ranges[a].start < ranges[b].start : a < b;
  });
  using Active = std::pair<uint32_t, uint32_t>; // end, register
  std::priority_queue<Active, std::vector<Active>, std::greater<>> active;
  std::vector<uint32_t> freeSlots[5];
  for (uint32_t id : byStart) {
    while (!active.empty() && active.top().first < ranges[id].start) {
      uint32_t done = active.top().second;
      active.pop();
      freeSlots[slotClass(registers[done].bytes)].push_back(offset[done]);
    }
    unsigned c = slotClass(registers[id].bytes);
    if (!freeSlots[c].empty()) {
      offset[id] = freeSlots[c].back();
      freeSlots[c].pop_back();
    } else {
      offset[id] = next;
      next += classBytes[c];
    }
    active.push({ranges[id].end, id});
  }
  function.frameBytes = next;
  function.slotNames.assign(next / 64, {});
  for (uint32_t id : byStart)
    function.slotNames[offset[id] / 64] = registers[id].name;
  forEachSet(undefined, [&](uint32_t id) {
    function.undefinedSlots.push_back({offset[id], classBytes[slotClass(registers[id].bytes)]});
  });

  auto placed = [&](uint32_t id, bool result) {
    if (id == unusedRegister)
      return result ? trashSlot : zeroSlot;
    return id & constantBit ? constantOffset[id & ~constantBit] : offset[id];
  };
  for (Op &op : function.ops) {
    op.dst = placed(op.dst, true);
    op.dst2 = placed(op.dst2, true);
    for (uint32_t *field : {&op.a, &op.b, &op.c, &op.d, &op.guard})
      *field = placed(*field, false);
    auto *list = const_cast<uint32_t *>(op.ext);
    for (unsigned i = 0; i < unsigned(op.extResults) + op.extSources; ++i)
      list[i] = placed(list[i], i < op.extResults);
  }
  for (auto *formals : {&function.parameters, &function.results})
    for (FormalParameter &formal : *formals)
      if (formal.reg != ptx::none)
        formal.reg = offset[formal.reg];
  return {};
}

} // namespace tessera::sim::program
