// set, setp, selp, slct on 32 lanes.
#include "runtime/simulator/lanes/Lanes.h"

namespace tessera::sim::lanes::TESSERA_SIM_ISA {

namespace {

/// Ordered and unordered comparisons of floating-point values; folds to one comparison where c is a constant.
template <class T> inline __attribute__((always_inline)) bool compareFloat(Compare c, T a, T b) {
  bool nan = a != a || b != b;
  switch (c) {
  case Compare::EQ:
    return a == b;
  case Compare::NE:
    return !nan && a != b;
  case Compare::LT:
    return a < b;
  case Compare::LE:
    return a <= b;
  case Compare::GT:
    return a > b;
  case Compare::GE:
    return a >= b;
  case Compare::EQU:
    return nan || a == b;
  case Compare::NEU:
    return nan || a != b;
  case Compare::LTU:
    return !(a >= b);
  case Compare::LEU:
    return !(a > b);
  case Compare::GTU:
    return !(a <= b);
  case Compare::GEU:
    return !(a < b);
  case Compare::NUM:
    return !nan;
  case Compare::NAN_:
    return nan;
  default:
    return false;
  }
}

template <Compare C, class T> bool compare(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return compareFloat(C, a, b);
  } else {
    switch (C) {
    case Compare::EQ:
      return a == b;
    case Compare::NE:
      return a != b;
    case Compare::LT:
    case Compare::LO:
      return a < b;
    case Compare::LE:
    case Compare::LS:
      return a <= b;
    case Compare::GT:
    case Compare::HI:
      return a > b;
    case Compare::GE:
    case Compare::HS:
      return a >= b;
    default:
      return false;
    }
  }
}

template <Compare C, class T, bool Ftz> uint32_t compareLanes(const T *a, const T *b) {
  uint32_t lanes = 0;
  TESSERA_LANES {
    T x = a[i], y = b[i];
    if constexpr (Ftz && std::is_same_v<T, float>) {
      x = flush(x);
      y = flush(y);
    }
    lanes |= compare<C>(x, y) ? 1u << i : 0u;
  }
  return lanes;
}

uint32_t combine(Warp &w, const Op &op, uint32_t lanes) {
  if (op.boolOp == BoolOp::None)
    return lanes;
  uint32_t c = w.predicate(op.c) ^ (op.flags & NegatePredicate ? ~0u : 0);
  return op.boolOp == BoolOp::And ? lanes & c : op.boolOp == BoolOp::Or ? lanes | c : lanes ^ c;
}

template <Compare C, class T, bool Ftz> const Op *setp(Warp &w, const Op &op) {
  uint32_t lanes = compareLanes<C, T, Ftz>(w.reg<T>(op.a), w.reg<T>(op.b));
  uint32_t first = combine(w, op, lanes), second = combine(w, op, ~lanes);
  writePredicate(w, op.dst, first);
  if (op.variant)
    writePredicate(w, op.dst2, second);
  return &op + 1;
}

template <class T, bool Ftz> Handler byCompare(const Op &op) {
  switch (op.compare) {
  case Compare::EQ:
    return setp<Compare::EQ, T, Ftz>;
  case Compare::NE:
    return setp<Compare::NE, T, Ftz>;
  case Compare::LT:
  case Compare::LO:
    return setp<Compare::LT, T, Ftz>;
  case Compare::LE:
  case Compare::LS:
    return setp<Compare::LE, T, Ftz>;
  case Compare::GT:
  case Compare::HI:
    return setp<Compare::GT, T, Ftz>;
  case Compare::GE:
  case Compare::HS:
    return setp<Compare::GE, T, Ftz>;
  default:
    break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (op.compare) {
    case Compare::EQU:
      return setp<Compare::EQU, T, Ftz>;
    case Compare::NEU:
      return setp<Compare::NEU, T, Ftz>;
    case Compare::LTU:
      return setp<Compare::LTU, T, Ftz>;
    case Compare::LEU:
      return setp<Compare::LEU, T, Ftz>;
    case Compare::GTU:
      return setp<Compare::GTU, T, Ftz>;
    case Compare::GEU:
      return setp<Compare::GEU, T, Ftz>;
    case Compare::NUM:
      return setp<Compare::NUM, T, Ftz>;
    case Compare::NAN_:
      return setp<Compare::NAN_, T, Ftz>;
    default:
      break;
    }
  }
  return nullptr;
}

bool compareInteger(Compare c, Type type, uint64_t a, uint64_t b) {
  unsigned bits = 8 * ptx::sizeOf(type);
  if (isSigned(type)) {
    auto x = static_cast<int64_t>(a << (64 - bits)) >> (64 - bits),
         y = static_cast<int64_t>(b << (64 - bits)) >> (64 - bits);
    return c == Compare::EQ   ? x == y
           : c == Compare::NE ? x != y
           : c == Compare::LT ? x < y
           : c == Compare::LE ? x <= y
           : c == Compare::GT ? x > y
                              : x >= y;
  }
  switch (c) {
  case Compare::EQ:
    return a == b;
  case Compare::NE:
    return a != b;
  case Compare::LT:
  case Compare::LO:
    return a < b;
  case Compare::LE:
  case Compare::LS:
    return a <= b;
  case Compare::GT:
  case Compare::HI:
    return a > b;
  default:
    return a >= b;
  }
}

/// One number of `type` at lane i; halves are exact in double.
double floatValue(const Op &op, Type type, uint64_t bits) {
  auto half = static_cast<uint16_t>(bits);
  float f;
  switch (type) {
  case Type::F64:
    return doubleOf(bits);
  case Type::F32:
    f = floatOf(static_cast<uint32_t>(bits));
    return op.flags & Ftz ? flush(f) : f;
  case Type::BF16:
  case Type::BF16x2:
    return bfloatToFloat(half);
  default:
    if ((op.flags & Ftz) && (half & 0x7c00) == 0)
      half &= 0x8000;
    return halfToFloat(half);
  }
}

uint64_t rawValue(Warp &w, uint32_t offset, unsigned bytes, unsigned i) {
  return bytes == 2 ? w.reg<uint16_t>(offset)[i] : bytes == 4 ? w.reg<uint32_t>(offset)[i] : w.reg<uint64_t>(offset)[i];
}

bool compareOne(const Op &op, uint64_t a, uint64_t b) {
  if (ptx::isFloat(op.type))
    return compareFloat(op.compare, floatValue(op, op.type, a), floatValue(op, op.type, b));
  return compareInteger(op.compare, op.type, a, b);
}

bool isPair(Type t) { return t == Type::F16x2 || t == Type::BF16x2; }

/// Lanes where the comparison holds, for the low and the high half of pairs.
void compareSlow(Warp &w, const Op &op, uint32_t &low, uint32_t &high) {
  low = high = 0;
  unsigned bytes = ptx::sizeOf(op.type);
  for (unsigned i = 0; i < warpSize; ++i) {
    uint64_t a = rawValue(w, op.a, bytes, i), b = rawValue(w, op.b, bytes, i);
    low |= uint32_t(compareOne(op, a, b)) << i;
    if (isPair(op.type))
      high |= uint32_t(compareOne(op, a >> 16, b >> 16)) << i;
  }
}

const Op *setpSlow(Warp &w, const Op &op) {
  uint32_t low, high;
  compareSlow(w, op, low, high);
  uint32_t first = combine(w, op, low), second = combine(w, op, isPair(op.type) ? high : ~low);
  writePredicate(w, op.dst, first);
  if (op.variant)
    writePredicate(w, op.dst2, second);
  return &op + 1;
}

const Op *set(Warp &w, const Op &op) {
  uint32_t low, high;
  compareSlow(w, op, low, high);
  low = combine(w, op, low);
  high = combine(w, op, high);
  for (uint32_t m = w.active; m; m &= m - 1) {
    int i = std::countr_zero(m);
    bool l = low >> i & 1, h = high >> i & 1;
    switch (op.type2) {
    case Type::F32:
      w.reg<uint32_t>(op.dst)[i] = l ? 0x3f800000 : 0;
      break;
    case Type::F16:
      w.reg<uint16_t>(op.dst)[i] = l ? 0x3c00 : 0;
      break;
    case Type::BF16:
      w.reg<uint16_t>(op.dst)[i] = l ? 0x3f80 : 0;
      break;
    case Type::F16x2:
      w.reg<uint32_t>(op.dst)[i] = (l ? 0x3c00 : 0) | (h ? 0x3c000000 : 0);
      break;
    case Type::BF16x2:
      w.reg<uint32_t>(op.dst)[i] = (l ? 0x3f80 : 0) | (h ? 0x3f800000 : 0);
      break;
    case Type::U16:
    case Type::S16:
      w.reg<uint16_t>(op.dst)[i] = l ? 0xffff : 0;
      break;
    default: // with pairs of halves as source: one mask of 16 bits per half
      w.reg<uint32_t>(op.dst)[i] = isPair(op.type) ? (l ? 0xffff : 0) | (h ? 0xffff0000 : 0) : l ? ~0u : 0;
    }
  }
  return &op + 1;
}

template <class T> const Op *selp(Warp &w, const Op &op) {
  uint32_t p = w.predicate(op.c) ^ (op.flags & NegatePredicate ? ~0u : 0);
  T *d = w.reg<T>(op.dst);
  const T *a = w.reg<T>(op.a), *b = w.reg<T>(op.b);
  if (w.active == allLanes) {
    TESSERA_LANES d[i] = (p & (1u << i)) ? a[i] : b[i];
  } else {
    for (uint32_t m = w.active; m; m &= m - 1) {
      int i = std::countr_zero(m);
      d[i] = p >> i & 1 ? a[i] : b[i];
    }
  }
  return &op + 1;
}

template <class T> struct SlctEach {
  static void apply(Warp &w, const Op &op, unsigned i) {
    bool first;
    if (op.type2 == Type::S32) {
      first = w.reg<int32_t>(op.c)[i] >= 0;
    } else {
      float c = w.reg<float>(op.c)[i];
      first = (op.flags & Ftz ? flush(c) : c) >= 0.0f;
    }
    w.reg<T>(op.dst)[i] = first ? w.reg<T>(op.a)[i] : w.reg<T>(op.b)[i];
  }
};

} // namespace

Handler selectCompare(const Op &op) {
  unsigned bytes = ptx::sizeOf(op.type);
  if (op.code == Opcode::Selp)
    return bytes == 2 ? selp<uint16_t> : bytes == 4 ? selp<uint32_t> : selp<uint64_t>;
  if (op.code == Opcode::Slct)
    return bytes == 2 ? each<SlctEach<uint16_t>> : bytes == 4 ? each<SlctEach<uint32_t>> : each<SlctEach<uint64_t>>;
  if (op.code == Opcode::Set)
    return set;
  switch (op.type) {
  case Type::F32:
    return op.flags & Ftz ? byCompare<float, true>(op) : byCompare<float, false>(op);
  case Type::F64:
    return byCompare<double, false>(op);
  case Type::U16:
  case Type::B16:
    return byCompare<uint16_t, false>(op);
  case Type::S16:
    return byCompare<int16_t, false>(op);
  case Type::U32:
  case Type::B32:
    return byCompare<uint32_t, false>(op);
  case Type::S32:
    return byCompare<int32_t, false>(op);
  case Type::U64:
  case Type::B64:
    return byCompare<uint64_t, false>(op);
  case Type::S64:
    return byCompare<int64_t, false>(op);
  default:
    return setpSlow;
  }
}

} // namespace tessera::sim::lanes::TESSERA_SIM_ISA

TESSERA_SIM_ISA_END
