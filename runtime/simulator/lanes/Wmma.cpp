// wmma.load and wmma.store: the fragments of Tiles.h from and to memory, one access of the warp per piece that each
// lane finds in one place.
#include <algorithm> // above the pragma of Lanes.h

#include "runtime/simulator/lanes/Lanes.h"
#include "runtime/simulator/lanes/Locate.h"
#include "runtime/simulator/lanes/Tiles.h"

namespace tessera::sim::lanes::TESSERA_SIM_ISA {

namespace {

/// One fragment: which elements of its matrix a lane holds, and where the matrix lies.
struct Fragment {
  WmmaOperand operand;
  unsigned rowTiles, depth; ///< of the shape, and of the element type
  unsigned bits;            ///< per element
  unsigned registerBytes;   ///< 4, or 8 for f64
  unsigned registers;       ///< that differ
  unsigned run;             ///< elements of a lane that neighbour each other along K (C, D: N)
  bool contiguous;          ///< such neighbours are neighbours in memory too
  bool rowMajor;            ///< rows are contiguous in memory
  unsigned rows, columns;

  unsigned perRegister() const { return 8 * registerBytes / bits; }

  /// Row and column of element `index` of lane 4g + q.
  void position(unsigned index, unsigned g, unsigned q, unsigned &row, unsigned &column) const {
    unsigned per = perRegister(), reg = index / per, sub = index % per;
    switch (operand) {
    case WmmaOperand::A:
      row = 8 * (reg % rowTiles) + g;
      column = (reg / rowTiles * 4 + q) * per + sub;
      break;
    case WmmaOperand::B:
      column = 8 * (reg / depth) + g;
      row = (reg % depth * 4 + q) * per + sub;
      break;
    case WmmaOperand::Accumulator: {
      unsigned tile = index / 2;
      row = 8 * (tile % rowTiles) + g;
      column = 8 * (tile / rowTiles) + 2 * q + index % 2;
      break;
    }
    }
  }
};

Fragment fragmentOf(const Op &op) {
  MmaExtent extent = extentOf(static_cast<MmaShape>(op.variant));
  Fragment f{};
  f.operand = static_cast<WmmaOperand>(op.sourceBytes);
  f.rowTiles = extent.m / 8;
  f.rowMajor = !(op.flags & Trans);
  if (f.operand == WmmaOperand::Accumulator) {
    f.bits = 8 * ptx::sizeOf(op.type);
    f.registerBytes = std::max(f.bits / 8, 4u);
    f.rows = extent.m;
    f.columns = extent.n;
    f.run = 2;
    f.contiguous = f.rowMajor;
  } else {
    auto element = static_cast<MmaElement>(op.registerBytes);
    f.bits = bitsOf(element);
    f.registerBytes = f.bits == 64 ? 8 : 4;
    f.depth = depthOf(element, extent.k);
    bool a = f.operand == WmmaOperand::A;
    f.rows = a ? extent.m : extent.k;
    f.columns = a ? extent.k : extent.n;
    f.run = f.perRegister();
    f.contiguous = f.rowMajor == a;
  }
  f.registers = f.rows * f.columns / 32 / f.perRegister();
  return f;
}

/// Address and stride are the same in all lanes, and rows start where the manual wants them. False after a report.
bool checkOperands(Warp &w, const Op &op, const Fragment &f, Intent intent, uint64_t &base, uint64_t &stride) {
  if (w.checks) {
    if (uint32_t bad = w.undef(op.a).lanes)
      machine::reportUndefined(w, op, op.a, bad, "an address");
    if (uint32_t bad = w.undef(op.c).lanes)
      machine::reportUndefined(w, op, op.c, bad, "a stride");
  }
  uint64_t address[warpSize];
  addresses(w, op, address);
  const uint32_t *strides = w.reg<uint32_t>(op.c);
  for (unsigned i = 1; i < warpSize; ++i)
    if (address[i] != address[0] || strides[i] != strides[0]) {
      machine::Evidence e;
      e.kind = FindingKind::Unsupported;
      e.fatal = true;
      e.lane = i;
      e.message = fmt::format("all lanes must give the same address and stride; lane 0 gives {:#x} and {}, this lane "
                              "{:#x} and {}",
                              address[0], strides[0], address[i], strides[i]);
      machine::report(w, op, std::move(e));
      return false;
    }
  base = address[0];
  stride = strides[0];
  unsigned lines = f.rowMajor ? f.rows : f.columns, length = f.rowMajor ? f.columns : f.rows;
  // The manual asks that lines start at multiples of the fragment's bytes in one lane; 16 is what mma.h asks, and what
  // an access can have.
  unsigned alignment = std::min(std::bit_floor(f.registers * f.registerBytes), 16u);
  if (stride * f.bits % 8) {
    machine::Evidence e;
    e.kind = FindingKind::Misaligned;
    e.fatal = true;
    e.lane = 0;
    e.message = fmt::format("a stride of {} elements of {} bits is no number of bytes", stride, f.bits);
    machine::report(w, op, std::move(e));
    return false;
  }
  Place where;
  for (unsigned line = 0; line < std::min(lines, 2u); ++line)
    if (!machine::place(w, op, 0, op.space, base + line * stride * f.bits / 8, length * f.bits / 8, alignment, intent,
                        where))
      return false;
  return true;
}

void observe(Warp &w, const Op &op, const Lanes &lanes, unsigned bytes, Intent intent) {
  bool store = intent == Intent::Store;
  Counters &c = w.block->counters;
  for (Space space : {Space::Global, Space::Shared})
    if (uint32_t in = lanesIn(w, lanes, space)) {
      if (w.counting && space == Space::Global)
        machine::countGlobal(w, op, lanes.address, in, bytes, store ? c.globalStores : c.globalLoads);
      if (w.counting && space == Space::Shared)
        machine::countShared(w, op, lanes.address, in, bytes, store ? c.sharedStores : c.sharedLoads);
      if (w.checks && w.block->races)
        machine::recordAccess(w, op, space, lanes.address, in, bytes, intent);
    }
}

/// The storage of elements index … index + count - 1 of all lanes.
bool locateElements(Warp &w, const Op &op, const Fragment &f, unsigned index, unsigned bytes, uint64_t base,
                    uint64_t stride, Intent intent, Lanes &lanes) {
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    unsigned row = 0, column = 0;
    f.position(index, lane / 4, lane % 4, row, column);
    uint64_t element = f.rowMajor ? row * stride + column : column * stride + row;
    lanes.address[lane] = base + element * f.bits / 8;
  }
  if (!locateAddresses(w, op, bytes, intent, lanes))
    return false;
  observe(w, op, lanes, bytes, intent);
  return true;
}

/// Moves one piece of all lanes between memory and a register: `bytes` at `inMemory` of the access, `inRegister` of the
/// register.
struct Piece {
  uint32_t reg;
  unsigned inMemory, inRegister, bytes;
};

/// Calls move(piece, first) for what one access brings; `first`: nothing of that register came before.
template <class Move> void pieces(const Op &op, const Fragment &f, unsigned index, unsigned bytes, Move move) {
  for (unsigned done = 0; done < bytes;) {
    unsigned at = index * f.bits / 8 + done, part = std::min(bytes - done, f.registerBytes - at % f.registerBytes);
    move(Piece{op.ext[at / f.registerBytes], done, at % f.registerBytes, part}, at % f.registerBytes == 0);
    done += part;
  }
}

/// A register is undefined where one of its elements is.
void markLoad(Warp &w, const Op &op, const Fragment &f, const Lanes &lanes, const Piece &p, bool first) {
  unsigned elementBytes = std::min(std::max(f.bits / 8, 1u), p.bytes);
  Undefined u;
  for (uint32_t m = w.active; m; m &= m - 1) {
    auto lane = static_cast<unsigned>(std::countr_zero(m));
    const uint8_t *shadow = lanes.shadow[lane];
    if (!shadow)
      continue;
    bool plain = true;
    for (unsigned k = 0; k < p.bytes; ++k)
      plain &= shadow[p.inMemory + k] == machine::written;
    if (plain)
      continue;
    uint32_t undefined[4] = {}, computed[4] = {};
    machine::loadShadow(w, op, lane,
                        {lanes.data[lane] + p.inMemory, lanes.shadow[lane] + p.inMemory, spaceOf(lanes, lane),
                         lanes.address[lane] + p.inMemory},
                        p.bytes, elementBytes, p.bytes / elementBytes, undefined, computed);
    for (unsigned e = 0; e < 4; ++e) {
      u.lanes |= undefined[e];
      u.computed |= computed[e];
    }
  }
  Undefined &d = w.undef(p.reg);
  uint32_t kept = first ? ~w.active : allLanes;
  d = {(d.lanes & kept) | u.lanes, (d.computed & kept) | u.computed};
}

const Op *wmmaLoad(Warp &w, const Op &op) {
  if (!machine::checkConverged(w, op))
    return nullptr;
  Fragment f = fragmentOf(op);
  uint64_t base = 0, stride = 0;
  if (!checkOperands(w, op, f, Intent::Load, base, stride))
    return nullptr;
  unsigned step = f.contiguous ? f.run : 1, bytes = step * f.bits / 8;
  for (unsigned index = 0; index < f.registers * f.perRegister(); index += step) {
    Lanes lanes;
    if (!locateElements(w, op, f, index, bytes, base, stride, Intent::Load, lanes))
      return nullptr;
    pieces(op, f, index, bytes, [&](const Piece &p, bool first) {
      auto *reg = w.reg<std::byte>(p.reg) + p.inRegister;
      for (uint32_t m = w.active; m; m &= m - 1) { // without the lanes that a divergent warp lacks
        auto lane = static_cast<unsigned>(std::countr_zero(m));
        std::memcpy(reg + lane * f.registerBytes, lanes.data[lane] + p.inMemory, p.bytes);
      }
      if (w.checks)
        markLoad(w, op, f, lanes, p, first);
    });
  }
  for (unsigned i = f.registers; i < op.extResults; ++i) { // the repeats of Tiles.h
    uint32_t from = op.ext[i % f.registers];
    std::memcpy(w.reg<std::byte>(op.ext[i]), w.reg<std::byte>(from), warpSize * f.registerBytes);
    if (w.checks)
      w.undef(op.ext[i]) = w.undef(from);
  }
  return &op + 1;
}

const Op *wmmaStore(Warp &w, const Op &op) {
  if (!machine::checkConverged(w, op))
    return nullptr;
  Fragment f = fragmentOf(op);
  uint64_t base = 0, stride = 0;
  if (!checkOperands(w, op, f, Intent::Store, base, stride))
    return nullptr;
  ++w.block->effects;
  unsigned step = f.contiguous ? f.run : 1, bytes = step * f.bits / 8;
  for (unsigned index = 0; index < f.registers * f.perRegister(); index += step) {
    Lanes lanes;
    if (!locateElements(w, op, f, index, bytes, base, stride, Intent::Store, lanes))
      return nullptr;
    pieces(op, f, index, bytes, [&](const Piece &p, bool) {
      const auto *reg = w.reg<std::byte>(p.reg) + p.inRegister;
      for (uint32_t m = w.active; m; m &= m - 1) {
        auto lane = static_cast<unsigned>(std::countr_zero(m));
        std::memcpy(lanes.data[lane] + p.inMemory, reg + lane * f.registerBytes, p.bytes);
        if (!w.checks)
          continue;
        const Undefined &u = w.undef(p.reg);
        Place where{lanes.data[lane] + p.inMemory, lanes.shadow[lane] ? lanes.shadow[lane] + p.inMemory : nullptr,
                    spaceOf(lanes, lane), lanes.address[lane] + p.inMemory};
        machine::storeShadow(w, op, lane, where, p.bytes, u.lanes >> lane & 1, u.computed >> lane & 1);
      }
    });
  }
  return &op + 1;
}

} // namespace

Handler selectWmma(const Op &op) {
  return op.code == Opcode::WmmaLoad ? wmmaLoad : op.code == Opcode::WmmaStore ? wmmaStore : nullptr;
}

} // namespace tessera::sim::lanes::TESSERA_SIM_ISA

TESSERA_SIM_ISA_END
