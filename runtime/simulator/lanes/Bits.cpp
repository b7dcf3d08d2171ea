// Bit counts, bit fields, permutes, funnel shifts, truth tables and dot products on 32 lanes.
#include "runtime/simulator/lanes/Lanes.h"

namespace tessera::sim::lanes::TESSERA_SIM_ISA {

namespace {

template <class T> using Unsigned = std::make_unsigned_t<T>;

template <class T> struct Uniform1 {
  using R = T;
  using A = T;
};
template <class T> struct Uniform3 : Uniform1<T> {
  using B = T;
  using C = T;
};

template <class T> struct PopcF {
  using R = uint32_t;
  using A = T;
  static R apply(T a) { return static_cast<R>(std::popcount(a)); }
};
template <class T> struct ClzF {
  using R = uint32_t;
  using A = T;
  static R apply(T a) { return static_cast<R>(std::countl_zero(a)); }
};
template <class T> struct BrevF : Uniform1<T> {
  static T apply(T a) {
    T r = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i)
      r |= ((a >> i) & 1) << (8 * sizeof(T) - 1 - i);
    return r;
  }
};
/// Position of the most significant bit that is not a sign bit; all ones when there is none.
template <class T, bool Shift> struct BfindF {
  using R = uint32_t;
  using A = T;
  static R apply(T a) {
    using U = Unsigned<T>;
    U v = a < 0 ? static_cast<U>(~a) : static_cast<U>(a);
    if (v == 0)
      return ~0u;
    auto leading = static_cast<R>(std::countl_zero(v));
    return Shift ? leading : static_cast<R>(8 * sizeof(T) - 1 - leading);
  }
};
template <class T> struct BfeF {
  using R = T;
  using A = T;
  using B = uint32_t;
  using C = uint32_t;
  static T apply(T a, uint32_t b, uint32_t c) {
    using U = Unsigned<T>;
    constexpr uint32_t width = 8 * sizeof(T), top = width - 1;
    uint32_t pos = b & 0xff, len = c & 0xff;
    uint32_t last = pos + len - 1 < top ? pos + len - 1 : top;
    U sign = std::is_signed_v<T> && len ? (static_cast<U>(a) >> last) & 1 : U(0);
    U fill = sign ? ~U(0) : U(0);
    U body = pos > top ? U(0) : static_cast<U>(a) >> pos;
    uint32_t have = pos > top ? 0 : width - pos; // bits of the field inside the word
    uint32_t keep = len < have ? len : have;
    U mask = keep >= width ? ~U(0) : (U(1) << keep) - 1;
    return static_cast<T>(len == 0 ? U(0) : (body & mask) | (fill & ~mask));
  }
};
template <class T> struct Dp4aValue {
  static int32_t byte(uint32_t v, unsigned i) {
    return std::is_signed_v<T> ? int32_t(int8_t(v >> (8 * i))) : int32_t(uint8_t(v >> (8 * i)));
  }
  static int32_t half(uint32_t v, unsigned i) {
    return std::is_signed_v<T> ? int32_t(int16_t(v >> (16 * i))) : int32_t(uint16_t(v >> (16 * i)));
  }
};
template <class TA, class TB> struct Dp4aF : Uniform3<uint32_t> {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t c) {
    for (unsigned i = 0; i < 4; ++i)
      c += static_cast<uint32_t>(Dp4aValue<TA>::byte(a, i) * Dp4aValue<TB>::byte(b, i));
    return c;
  }
};
template <class TA, class TB, bool Hi> struct Dp2aF : Uniform3<uint32_t> {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t c) {
    for (unsigned i = 0; i < 2; ++i)
      c += static_cast<uint32_t>(int64_t(Dp4aValue<TA>::half(a, i)) * Dp4aValue<TB>::byte(b, Hi ? 2 + i : i));
    return c;
  }
};
template <bool WrapMode, bool Left> struct FunnelF : Uniform3<uint32_t> {
  static uint32_t apply(uint32_t low, uint32_t high, uint32_t c) {
    uint32_t n = WrapMode ? c & 31 : c > 32 ? 32 : c;
    uint64_t both = uint64_t(high) << 32 | low;
    return Left ? static_cast<uint32_t>((both << n) >> 32) : static_cast<uint32_t>(both >> n);
  }
};
template <class T> struct BfiEach {
  static void apply(Warp &w, const Op &op, unsigned i) {
    T a = w.reg<T>(op.a)[i], b = w.reg<T>(op.b)[i];
    uint32_t pos = w.reg<uint32_t>(op.c)[i] & 0xff, len = w.reg<uint32_t>(op.d)[i] & 0xff;
    constexpr uint32_t width = 8 * sizeof(T);
    T field = len >= width ? ~T(0) : (T(1) << len) - 1;
    T mask = pos >= width ? T(0) : field << pos;
    w.reg<T>(op.dst)[i] = (b & ~mask) | ((pos >= width ? T(0) : a << pos) & mask);
  }
};

struct FnsEach {
  static void apply(Warp &w, const Op &op, unsigned i) {
    uint32_t mask = w.reg<uint32_t>(op.a)[i], base = w.reg<uint32_t>(op.b)[i];
    int32_t offset = w.reg<int32_t>(op.c)[i];
    uint32_t result = ~0u;
    if (base < 32) {
      if (offset == 0) {
        if (mask >> base & 1)
          result = base;
      } else {
        int32_t position = static_cast<int32_t>(base), step = offset > 0 ? 1 : -1;
        int64_t count = offset > 0 ? int64_t(offset) - 1 : -int64_t(offset) - 1;
        // The bit at `base` counts as the first one.
        while (position >= 0 && position < 32) {
          if (mask >> position & 1) {
            if (count == 0) {
              result = static_cast<uint32_t>(position);
              break;
            }
            --count;
          }
          position += step;
        }
      }
    }
    w.reg<uint32_t>(op.dst)[i] = result;
  }
};

struct SzextEach {
  static void apply(Warp &w, const Op &op, unsigned i) {
    uint32_t a = w.reg<uint32_t>(op.a)[i], n = w.reg<uint32_t>(op.b)[i], r;
    if (op.flags & ShiftedMode)
      n &= 31;
    if (op.code == Opcode::Bmsk) { // a: position, b: width
      uint32_t pos = a, width = w.reg<uint32_t>(op.b)[i];
      if (op.flags & ShiftedMode) {
        pos &= 31;
        width &= 31;
      }
      uint32_t field = width >= 32 ? ~0u : (1u << width) - 1;
      r = pos >= 32 ? 0 : field << pos;
    } else if (n >= 32) {
      r = a;
    } else if (n == 0) {
      r = 0;
    } else if (op.type == Type::S32) {
      r = static_cast<uint32_t>(static_cast<int32_t>(a << (32 - n)) >> (32 - n));
    } else {
      r = a & ((1u << n) - 1);
    }
    w.reg<uint32_t>(op.dst)[i] = r;
  }
};

uint32_t permute(uint32_t a, uint32_t b, uint32_t c, unsigned mode) {
  uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t r = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned s = c & 3, selector;
    bool sign = false;
    switch (mode) {
    case 1: // .f4e
      selector = s + i;
      break;
    case 2: // .b4e
      selector = (s + 8 - i) & 7;
      break;
    case 3: // .rc8
      selector = s;
      break;
    case 4: // .ecl
      selector = i > s ? i : s;
      break;
    case 5: // .ecr
      selector = i < s ? i : s;
      break;
    case 6: // .rc16
      selector = (s & 1) * 2 + (i & 1);
      break;
    default:
      selector = (c >> (4 * i)) & 7;
      sign = (c >> (4 * i)) & 8;
    }
    auto byte = static_cast<uint8_t>(bytes >> (8 * selector));
    r |= uint32_t(sign ? (byte & 0x80 ? 0xff : 0) : byte) << (8 * i);
  }
  return r;
}

const Op *prmt(Warp &w, const Op &op) {
  uint32_t out[warpSize];
  const uint32_t *a = w.reg<uint32_t>(op.a), *b = w.reg<uint32_t>(op.b), *c = w.reg<uint32_t>(op.c);
  uint32_t *d = w.reg<uint32_t>(op.dst);
  if (op.variant == 0) {
    for (unsigned i = 0; i < warpSize; ++i)
      out[i] = permute(a[i], b[i], c[i], 0);
  } else {
    for (unsigned i = 0; i < warpSize; ++i)
      out[i] = permute(a[i], b[i], c[i], op.variant);
  }
  for (uint32_t m = w.active; m; m &= m - 1) {
    int i = std::countr_zero(m);
    d[i] = out[i];
  }
  return &op + 1;
}

const Op *lop3(Warp &w, const Op &op) {
  uint32_t *d = w.reg<uint32_t>(op.dst);
  const uint32_t *a = w.reg<uint32_t>(op.a), *b = w.reg<uint32_t>(op.b), *c = w.reg<uint32_t>(op.c);
  uint32_t out[warpSize];
  uint32_t nonzero = 0, table[8];
  for (unsigned k = 0; k < 8; ++k)
    table[k] = (op.imm >> k) & 1 ? ~0u : 0;
  TESSERA_LANES {
    uint32_t x = a[i], y = b[i], z = c[i];
    out[i] = (table[0] & ~x & ~y & ~z) | (table[1] & ~x & ~y & z) | (table[2] & ~x & y & ~z) | (table[3] & ~x & y & z) |
             (table[4] & x & ~y & ~z) | (table[5] & x & ~y & z) | (table[6] & x & y & ~z) | (table[7] & x & y & z);
  }
  for (uint32_t m = w.active; m; m &= m - 1) {
    int i = std::countr_zero(m);
    d[i] = out[i];
    nonzero |= (out[i] != 0) << i;
  }
  if (op.boolOp != BoolOp::None) {
    uint32_t q = w.predicate(op.d) ^ (op.flags & NegatePredicate ? ~0u : 0);
    writePredicate(w, op.dst2, op.boolOp == BoolOp::Or ? nonzero | q : nonzero & q);
  }
  return &op + 1;
}

const Op *predicateLogic(Warp &w, const Op &op) {
  uint32_t a = w.predicate(op.a), b = w.predicate(op.b);
  writePredicate(w, op.dst, op.variant == 0 ? a & b : op.variant == 1 ? a | b : op.variant == 2 ? a ^ b : ~a);
  return &op + 1;
}

template <template <class> class F> Handler bits1Wide(Type t) {
  return ptx::sizeOf(t) == 8 ? map1<F<uint64_t>> : map1<F<uint32_t>>;
}
template <bool Shift> Handler bfind(Type t) {
  switch (t) {
  case Type::U32:
    return map1<BfindF<uint32_t, Shift>>;
  case Type::S32:
    return map1<BfindF<int32_t, Shift>>;
  case Type::U64:
    return map1<BfindF<uint64_t, Shift>>;
  default:
    return map1<BfindF<int64_t, Shift>>;
  }
}
Handler dotProduct(const Op &op) {
  bool a = op.type == Type::S32, b = op.type2 == Type::S32, hi = op.flags & High;
  if (op.code == Opcode::Dp4a)
    return a   ? (b ? map3<Dp4aF<int, int>> : map3<Dp4aF<int, unsigned>>)
           : b ? map3<Dp4aF<unsigned, int>>
               : map3<Dp4aF<unsigned, unsigned>>;
  if (hi)
    return a   ? (b ? map3<Dp2aF<int, int, true>> : map3<Dp2aF<int, unsigned, true>>)
           : b ? map3<Dp2aF<unsigned, int, true>>
               : map3<Dp2aF<unsigned, unsigned, true>>;
  return a   ? (b ? map3<Dp2aF<int, int, false>> : map3<Dp2aF<int, unsigned, false>>)
         : b ? map3<Dp2aF<unsigned, int, false>>
             : map3<Dp2aF<unsigned, unsigned, false>>;
}

} // namespace

Handler selectBits(const Op &op) {
  switch (op.code) {
  case Opcode::Popc:
    return bits1Wide<PopcF>(op.type);
  case Opcode::Clz:
    return bits1Wide<ClzF>(op.type);
  case Opcode::Brev:
    return bits1Wide<BrevF>(op.type);
  case Opcode::Bfind:
    return op.flags & ShiftAmount ? bfind<true>(op.type) : bfind<false>(op.type);
  case Opcode::Bfe:
    return op.type == Type::U32   ? map3<BfeF<uint32_t>>
           : op.type == Type::S32 ? map3<BfeF<int32_t>>
           : op.type == Type::U64 ? map3<BfeF<uint64_t>>
                                  : map3<BfeF<int64_t>>;
  case Opcode::Bfi:
    return ptx::sizeOf(op.type) == 8 ? each<BfiEach<uint64_t>> : each<BfiEach<uint32_t>>;
  case Opcode::Fns:
    return each<FnsEach>;
  case Opcode::Szext:
  case Opcode::Bmsk:
    return each<SzextEach>;
  case Opcode::Dp4a:
  case Opcode::Dp2a:
    return dotProduct(op);
  case Opcode::Lop3:
    return lop3;
  case Opcode::ShfL:
    return op.flags & Wrap ? map3<FunnelF<true, true>> : map3<FunnelF<false, true>>;
  case Opcode::ShfR:
    return op.flags & Wrap ? map3<FunnelF<true, false>> : map3<FunnelF<false, false>>;
  case Opcode::Prmt:
    return prmt;
  case Opcode::PredLogic:
    return predicateLogic;
  default:
    return nullptr;
  }
}

} // namespace tessera::sim::lanes::TESSERA_SIM_ISA

TESSERA_SIM_ISA_END
