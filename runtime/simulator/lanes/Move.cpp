// mov, packing, special registers and address-space conversions on 32 lanes.
#include "runtime/simulator/lanes/Lanes.h"

namespace tessera::sim::lanes::TESSERA_SIM_ISA {

namespace {

struct Wide128 {
  uint64_t low, high;
};

template <class T> struct MoveF {
  using R = T;
  using A = T;
  static T apply(T a) { return a; }
};

const Op *movePredicate(Warp &w, const Op &op) {
  writePredicate(w, op.dst, w.predicate(op.a));
  return &op + 1;
}

template <class T> const Op *moveFrame(Warp &w, const Op &op) {
  T value = static_cast<T>(w.frame->localBase + static_cast<uint64_t>(op.imm));
  for (uint32_t m = w.active; m; m &= m - 1)
    w.reg<T>(op.dst)[std::countr_zero(m)] = value;
  return &op + 1;
}

/// The parts' definedness decides together: a whole whose parts are all undefined is undefined.
void packUndefined(Warp &w, const Op &op) {
  Undefined u{~0u, ~0u};
  for (unsigned k = 0; k < op.vector; ++k) {
    const Undefined &part = w.undef(op.ext[k]);
    u.lanes &= part.lanes;
    u.computed &= part.lanes ? part.computed : 0;
  }
  u.computed &= u.lanes;
  Undefined &d = w.undef(op.dst);
  d.lanes = (d.lanes & ~w.active) | (u.lanes & w.active);
  d.computed = (d.computed & ~w.active) | (u.computed & w.active);
}

const Op *pack(Warp &w, const Op &op) {
  unsigned part = op.registerBytes / op.vector;
  std::byte out[warpSize * 16];
  for (unsigned k = 0; k < op.vector; ++k) {
    const std::byte *source = w.reg<std::byte>(op.ext[k]);
    for (unsigned i = 0; i < warpSize; ++i)
      std::memcpy(out + i * op.registerBytes + k * part, source + i * op.sourceBytes, part);
  }
  if (w.checks)
    packUndefined(w, op);
  std::byte *d = w.reg<std::byte>(op.dst);
  if (w.active == allLanes)
    std::memcpy(d, out, warpSize * op.registerBytes);
  else
    for (uint32_t m = w.active; m; m &= m - 1) {
      auto i = static_cast<unsigned>(std::countr_zero(m));
      std::memcpy(d + i * op.registerBytes, out + i * op.registerBytes, op.registerBytes);
    }
  return &op + 1;
}

template <class Part, class Whole, unsigned Count> const Op *packFast(Warp &w, const Op &op) {
  if (w.active != allLanes || w.checks)
    return pack(w, op);
  Whole out[warpSize] = {};
  for (unsigned k = 0; k < Count; ++k) {
    const Part *source = w.reg<Part>(op.ext[k]);
    TESSERA_LANES out[i] |= static_cast<Whole>(source[i]) << (8 * sizeof(Part) * k);
  }
  std::memcpy(w.reg<Whole>(op.dst), out, sizeof(out));
  return &op + 1;
}

const Op *unpack(Warp &w, const Op &op) {
  unsigned part = op.sourceBytes / op.vector;
  std::byte in[warpSize * 16];
  std::memcpy(in, w.reg<std::byte>(op.a), warpSize * op.sourceBytes);
  Undefined u = w.checks ? w.undef(op.a) : Undefined{};
  for (unsigned k = 0; k < op.vector; ++k) {
    std::byte *d = w.reg<std::byte>(op.ext[k]);
    for (uint32_t m = w.active; m; m &= m - 1) {
      auto i = static_cast<unsigned>(std::countr_zero(m));
      std::byte value[16] = {};
      std::memcpy(value, in + i * op.sourceBytes + k * part, part);
      std::memcpy(d + i * op.registerBytes, value, op.registerBytes);
    }
    if (w.checks) {
      Undefined &r = w.undef(op.ext[k]);
      r.lanes = (r.lanes & ~w.active) | (u.lanes & w.active);
      r.computed = (r.computed & ~w.active) | (u.computed & w.active);
    }
  }
  return &op + 1;
}

uint64_t specialValue(const Warp &w, Special s, unsigned i) {
  const machine::Block &b = *w.block;
  const LaunchConfig &c = *b.launch->config;
  switch (s) {
  case Special::TidX:
    return w.tid[0][i];
  case Special::TidY:
    return w.tid[1][i];
  case Special::TidZ:
    return w.tid[2][i];
  case Special::NtidX:
    return c.block.x;
  case Special::NtidY:
    return c.block.y;
  case Special::NtidZ:
    return c.block.z;
  case Special::CtaidX:
    return b.index.x;
  case Special::CtaidY:
    return b.index.y;
  case Special::CtaidZ:
    return b.index.z;
  case Special::NctaidX:
    return c.grid.x;
  case Special::NctaidY:
    return c.grid.y;
  case Special::NctaidZ:
    return c.grid.z;
  case Special::LaneId:
    return i;
  case Special::WarpId:
    return w.index;
  case Special::NwarpId:
    return b.launch->warps;
  case Special::SmId:
    return b.linear % b.launch->profile->smCount;
  case Special::NsmId:
    return b.launch->profile->smCount;
  case Special::GridId:
    return c.id;
  case Special::WorkspaceHigh:
    return c.gridWorkspace >> 32;
  case Special::WorkspaceLow:
    return c.gridWorkspace & 0xffffffff;
  case Special::LanemaskEq:
    return uint64_t(1) << i;
  case Special::LanemaskLe:
    return (uint64_t(2) << i) - 1;
  case Special::LanemaskLt:
    return (uint64_t(1) << i) - 1;
  case Special::LanemaskGe:
    return (~uint64_t(0) << i) & 0xffffffff;
  case Special::LanemaskGt:
    return (~uint64_t(1) << i) & 0xffffffff;
  case Special::Clock:
  case Special::Clock64:
    return w.instructions;
  case Special::ClockHi:
    return w.instructions >> 32;
  case Special::GlobalTimer:
    return static_cast<uint64_t>(static_cast<double>(w.instructions) * 1000.0 / b.launch->options->clockMHz);
  case Special::GlobalTimerLo:
    return specialValue(w, Special::GlobalTimer, i) & 0xffffffff;
  case Special::GlobalTimerHi:
    return specialValue(w, Special::GlobalTimer, i) >> 32;
  case Special::DynamicSharedSize:
    return c.dynamicSharedBytes;
  case Special::TotalSharedSize:
  case Special::AggregateSharedSize:
    return b.launch->sharedBytes - w.sharedBegin;
  case Special::ReservedEnd:
  case Special::ReservedCap:
    return w.sharedBegin;
  case Special::ClusterSize:
  case Special::ClusterNctaidX:
  case Special::ClusterNctaidY:
  case Special::ClusterNctaidZ:
    return 1;
  case Special::ClusteridX:
    return b.index.x;
  case Special::ClusteridY:
    return b.index.y;
  case Special::ClusteridZ:
    return b.index.z;
  case Special::NclusteridX:
    return c.grid.x;
  case Special::NclusteridY:
    return c.grid.y;
  case Special::NclusteridZ:
    return c.grid.z;
  default:
    return 0;
  }
}

struct SpecialEach {
  static void apply(Warp &w, const Op &op, unsigned i) {
    uint64_t value = specialValue(w, static_cast<Special>(op.variant), i);
    if (op.registerBytes == 8)
      w.reg<uint64_t>(op.dst)[i] = value;
    else if (op.registerBytes == 4)
      w.reg<uint32_t>(op.dst)[i] = static_cast<uint32_t>(value);
    else
      w.reg<uint16_t>(op.dst)[i] = static_cast<uint16_t>(value);
  }
};

uint64_t windowOf(Space space) {
  return space == Space::Shared  ? machine::sharedWindow
         : space == Space::Local ? machine::localWindow
         : space == Space::Param ? machine::paramWindow
                                 : 0;
}

struct CvtaEach {
  static void apply(Warp &w, const Op &op, unsigned i) {
    uint64_t a = w.reg<uint64_t>(op.a)[i], base = windowOf(op.space);
    w.reg<uint64_t>(op.dst)[i] = op.flags & ToSpace ? a - base : a + base;
  }
};

const Op *isspacep(Warp &w, const Op &op) {
  uint32_t lanes = 0;
  uint64_t base = windowOf(op.space);
  for (unsigned i = 0; i < warpSize; ++i) {
    uint64_t a = w.reg<uint64_t>(op.a)[i];
    bool inWindow = a - machine::sharedWindow < 3 * (machine::localWindow - machine::sharedWindow);
    bool is = base ? a - base < machine::windowBytes : op.space == Space::Const ? false : !inWindow;
    lanes |= uint32_t(is) << i;
  }
  writePredicate(w, op.dst, lanes);
  return &op + 1;
}

} // namespace

Handler selectMove(const Op &op) {
  switch (op.code) {
  case Opcode::Mov:
    switch (op.registerBytes) {
    case 0:
      return movePredicate;
    case 2:
      return map1<MoveF<uint16_t>>;
    case 4:
      return map1<MoveF<uint32_t>>;
    case 8:
      return map1<MoveF<uint64_t>>;
    case 16:
      return map1<MoveF<Wide128>>;
    default:
      return nullptr;
    }
  case Opcode::MovFrame:
    return op.registerBytes == 8 ? moveFrame<uint64_t> : moveFrame<uint32_t>;
  case Opcode::MovSpecial:
    return each<SpecialEach>;
  case Opcode::Pack:
    if (op.vector == 2 && op.registerBytes == 4 && op.sourceBytes == 2)
      return packFast<uint16_t, uint32_t, 2>;
    if (op.vector == 2 && op.registerBytes == 8 && op.sourceBytes == 4)
      return packFast<uint32_t, uint64_t, 2>;
    return pack;
  case Opcode::Unpack:
    return unpack;
  case Opcode::Cvta:
    return each<CvtaEach>;
  case Opcode::IsSpacep:
    return isspacep;
  default:
    return nullptr;
  }
}

} // namespace tessera::sim::lanes::TESSERA_SIM_ISA

TESSERA_SIM_ISA_END
