// Integer arithmetic, logic and shifts on 32 lanes.
#include "runtime/simulator/lanes/Lanes.h"

namespace tessera::sim::lanes::TESSERA_SIM_ISA {

namespace {

template <class T> struct Wide;
template <> struct Wide<uint16_t> {
  using T = uint32_t;
};
template <> struct Wide<int16_t> {
  using T = int32_t;
};
template <> struct Wide<uint32_t> {
  using T = uint64_t;
};
template <> struct Wide<int32_t> {
  using T = int64_t;
};
template <> struct Wide<uint64_t> {
  using T = unsigned __int128;
};
template <> struct Wide<int64_t> {
  using T = __int128;
};
template <class T> using Unsigned = std::make_unsigned_t<T>;

template <class T> struct Uniform1 {
  using R = T;
  using A = T;
};
template <class T> struct Uniform2 : Uniform1<T> {
  using B = T;
};
template <class T> struct Uniform3 : Uniform2<T> {
  using C = T;
};

template <class T> T wrapAdd(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
}
template <class T> T wrapSub(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
}
template <class T> T wrapMul(T a, T b) {
  // 16-bit operands promote to int, whose overflow would be undefined.
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

template <class T> struct AddF : Uniform2<T> {
  static T apply(T a, T b) { return wrapAdd(a, b); }
};
template <class T> struct SubF : Uniform2<T> {
  static T apply(T a, T b) { return wrapSub(a, b); }
};
template <class T> struct MulLoF : Uniform2<T> {
  static T apply(T a, T b) { return wrapMul(a, b); }
};
template <class T> struct MulHiF : Uniform2<T> {
  static T apply(T a, T b) {
    using W = typename Wide<T>::T;
    return static_cast<T>((static_cast<W>(a) * static_cast<W>(b)) >> (8 * sizeof(T)));
  }
};
template <class T> struct MulWideF {
  using R = typename Wide<T>::T;
  using A = T;
  using B = T;
  static R apply(T a, T b) { return static_cast<R>(a) * static_cast<R>(b); }
};
template <class T> struct MadLoF : Uniform3<T> {
  static T apply(T a, T b, T c) { return wrapAdd(wrapMul(a, b), c); }
};
template <class T> struct MadHiF : Uniform3<T> {
  static T apply(T a, T b, T c) { return wrapAdd(MulHiF<T>::apply(a, b), c); }
};
template <class T> struct MadWideF {
  using R = typename Wide<T>::T;
  using A = T;
  using B = T;
  using C = R;
  static R apply(T a, T b, R c) { return wrapAdd<R>(static_cast<R>(a) * static_cast<R>(b), c); }
};
template <class T> struct SadF : Uniform3<T> {
  static T apply(T a, T b, T c) { return wrapAdd(c, a < b ? wrapSub(b, a) : wrapSub(a, b)); }
};
/// Division by zero gives all ones on the hardware (unspecified by the manual); the remainder is then the dividend.
template <class T> struct DivF : Uniform2<T> {
  static T apply(T a, T b) {
    if (b == 0)
      return static_cast<T>(~T(0));
    if (std::is_signed_v<T> && b == static_cast<T>(-1))
      return wrapSub<T>(0, a);
    return static_cast<T>(a / b);
  }
};
template <class T> struct RemF : Uniform2<T> {
  static T apply(T a, T b) {
    if (b == 0)
      return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1))
      return 0;
    return static_cast<T>(a % b);
  }
};
template <class T> struct AbsF : Uniform1<T> {
  static T apply(T a) { return a < 0 ? wrapSub<T>(0, a) : a; }
};
template <class T> struct NegF : Uniform1<T> {
  static T apply(T a) { return wrapSub<T>(0, a); }
};
template <class T> struct MinF : Uniform2<T> {
  static T apply(T a, T b) { return a < b ? a : b; }
};
template <class T> struct MaxF : Uniform2<T> {
  static T apply(T a, T b) { return a > b ? a : b; }
};
template <class T> struct AndF : Uniform2<T> {
  static T apply(T a, T b) { return a & b; }
};
template <class T> struct OrF : Uniform2<T> {
  static T apply(T a, T b) { return a | b; }
};
template <class T> struct XorF : Uniform2<T> {
  static T apply(T a, T b) { return a ^ b; }
};
template <class T> struct NotF : Uniform1<T> {
  static T apply(T a) { return static_cast<T>(~a); }
};
template <class T> struct CNotF : Uniform1<T> {
  static T apply(T a) { return a == 0; }
};
template <class T> struct ShlF {
  using R = T;
  using A = T;
  using B = uint32_t;
  static T apply(T a, uint32_t b) { return b >= 8 * sizeof(T) ? T(0) : static_cast<T>(a << b); }
};
template <class T> struct ShrF {
  using R = T;
  using A = T;
  using B = uint32_t;
  static T apply(T a, uint32_t b) {
    uint32_t n = b >= 8 * sizeof(T) ? 8 * sizeof(T) - 1 : b;
    T shifted = static_cast<T>(a >> n);
    return !std::is_signed_v<T> && b >= 8 * sizeof(T) ? T(0) : shifted;
  }
};
template <class T> struct AddSatF : Uniform2<T> {
  static T apply(T a, T b) {
    int64_t s = int64_t(a) + b;
    return static_cast<T>(s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s);
  }
};
template <class T> struct SubSatF : Uniform2<T> {
  static T apply(T a, T b) {
    int64_t s = int64_t(a) - b;
    return static_cast<T>(s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s);
  }
};
struct MadHiSatF : Uniform3<int32_t> {
  static int32_t apply(int32_t a, int32_t b, int32_t c) {
    int64_t s = ((int64_t(a) * b) >> 32) + c;
    return static_cast<int32_t>(s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s);
  }
};
template <class T> T low24(T a) {
  return std::is_signed_v<T> ? static_cast<T>(static_cast<int32_t>(static_cast<uint32_t>(a) << 8) >> 8)
                             : a & T(0xffffff);
}
template <class T, bool Hi> struct Mul24F : Uniform2<T> {
  static T apply(T a, T b) {
    auto p = static_cast<int64_t>(low24(a)) * static_cast<int64_t>(low24(b));
    return static_cast<T>(Hi ? p >> 16 : p);
  }
};
template <class T, bool Hi> struct Mad24F : Uniform3<T> {
  static T apply(T a, T b, T c) { return wrapAdd(Mul24F<T, Hi>::apply(a, b), c); }
};
struct Mad24HiSatF : Uniform3<int32_t> {
  static int32_t apply(int32_t a, int32_t b, int32_t c) {
    int64_t s = int64_t(Mul24F<int32_t, true>::apply(a, b)) + c;
    return static_cast<int32_t>(s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s);
  }
};

// Two 16-bit numbers in a word.
template <class T, template <class> class F> struct PairF : Uniform2<uint32_t> {
  static uint32_t apply(uint32_t a, uint32_t b) {
    auto part = [&](unsigned s) { return uint32_t(uint16_t(F<T>::apply(T(a >> s), T(b >> s)))); };
    return part(0) | part(16) << 16;
  }
};
template <class T, template <class> class F> struct ReluF : Uniform2<T> {
  static T apply(T a, T b) {
    T r = F<T>::apply(a, b);
    return r < 0 ? T(0) : r;
  }
};
template <template <class> class F> struct PairReluF : Uniform2<uint32_t> {
  static uint32_t apply(uint32_t a, uint32_t b) {
    auto part = [&](unsigned s) {
      return uint32_t(uint16_t(ReluF<int16_t, F>::apply(int16_t(a >> s), int16_t(b >> s))));
    };
    return part(0) | part(16) << 16;
  }
};

/// add.cc, addc, sub.cc, subc, mad.cc, madc: with the carry flag of each lane.
template <class T, int Kind> struct CarryF { // 0 add, 1 sub, 2 mad.lo, 3 mad.hi
  static void apply(Warp &w, const Op &op, unsigned i) {
    bool in =
        op.code == Opcode::AddC || op.code == Opcode::SubC || op.code == Opcode::MadCLo || op.code == Opcode::MadCHi;
    bool out = op.variant || op.code == Opcode::AddCC || op.code == Opcode::SubCC;
    T a = w.reg<T>(op.a)[i], b = w.reg<T>(op.b)[i];
    unsigned carry = in ? (w.carry >> i) & 1 : 0;
    using W = unsigned __int128;
    W sum;
    if (Kind == 1) {
      sum = W(a) - W(b) - carry; // borrow
      w.reg<T>(op.dst)[i] = static_cast<T>(sum);
      if (out)
        w.carry = (w.carry & ~(1ull << i)) | (uint64_t((sum >> (8 * sizeof(T))) != 0) << i);
      return;
    }
    if (Kind == 0) {
      sum = W(a) + b + carry;
    } else {
      T c = w.reg<T>(op.c)[i];
      T product;
      if (Kind == 2)
        product = static_cast<T>(W(a) * b);
      else if (isSigned(op.type))
        product = static_cast<T>((static_cast<__int128>(std::make_signed_t<T>(a)) * std::make_signed_t<T>(b)) >>
                                 (8 * sizeof(T)));
      else
        product = static_cast<T>((W(a) * b) >> (8 * sizeof(T)));
      sum = W(product) + c + carry;
    }
    w.reg<T>(op.dst)[i] = static_cast<T>(sum);
    if (out)
      w.carry = (w.carry & ~(1ull << i)) | (uint64_t((sum >> (8 * sizeof(T))) & 1) << i);
  }
};

template <template <class> class F> Handler binary(Type t) {
  switch (t) {
  case Type::U16:
    return map2<F<uint16_t>>;
  case Type::S16:
    return map2<F<int16_t>>;
  case Type::U32:
  case Type::B32:
    return map2<F<uint32_t>>;
  case Type::S32:
    return map2<F<int32_t>>;
  case Type::U64:
  case Type::B64:
    return map2<F<uint64_t>>;
  case Type::S64:
    return map2<F<int64_t>>;
  case Type::B16:
    return map2<F<uint16_t>>;
  default:
    return nullptr;
  }
}
template <template <class> class F> Handler binaryWide(Type t) {
  switch (t) {
  case Type::U16:
    return map2<F<uint16_t>>;
  case Type::S16:
    return map2<F<int16_t>>;
  case Type::U32:
    return map2<F<uint32_t>>;
  case Type::S32:
    return map2<F<int32_t>>;
  default:
    return nullptr;
  }
}
template <template <class> class F> Handler ternary(Type t) {
  switch (t) {
  case Type::U16:
    return map3<F<uint16_t>>;
  case Type::S16:
    return map3<F<int16_t>>;
  case Type::U32:
    return map3<F<uint32_t>>;
  case Type::S32:
    return map3<F<int32_t>>;
  case Type::U64:
    return map3<F<uint64_t>>;
  case Type::S64:
    return map3<F<int64_t>>;
  default:
    return nullptr;
  }
}
template <template <class> class F> Handler ternaryWide(Type t) {
  switch (t) {
  case Type::U16:
    return map3<F<uint16_t>>;
  case Type::S16:
    return map3<F<int16_t>>;
  case Type::U32:
    return map3<F<uint32_t>>;
  case Type::S32:
    return map3<F<int32_t>>;
  default:
    return nullptr;
  }
}
template <template <class> class F> Handler bits1(Type t) {
  switch (ptx::sizeOf(t)) {
  case 2:
    return map1<F<uint16_t>>;
  case 4:
    return map1<F<uint32_t>>;
  case 8:
    return map1<F<uint64_t>>;
  default:
    return nullptr;
  }
}
template <template <class> class F> Handler signed1(Type t) {
  return t == Type::S16 ? map1<F<int16_t>> : t == Type::S32 ? map1<F<int32_t>> : map1<F<int64_t>>;
}
template <int Kind> Handler carry(Type t) {
  return ptx::sizeOf(t) == 8 ? each<CarryF<uint64_t, Kind>> : each<CarryF<uint32_t, Kind>>;
}
template <template <class> class F> Handler minMax(const Op &op) {
  if (op.type == Type::U16x2)
    return map2<PairF<uint16_t, F>>;
  if (op.type == Type::S16x2)
    return op.flags & Relu ? map2<PairReluF<F>> : map2<PairF<int16_t, F>>;
  if (op.flags & Relu)
    return map2<ReluF<int32_t, F>>;
  return binary<F>(op.type);
}
} // namespace

Handler selectInteger(const Op &op) {
  bool isSigned = ptx::isSigned(op.type);
  switch (op.code) {
  case Opcode::Add:
    return op.type == Type::U16x2 || op.type == Type::S16x2 ? map2<PairF<uint16_t, AddF>>
           : op.flags & Sat                                 ? map2<AddSatF<int32_t>>
                                                            : binary<AddF>(op.type);
  case Opcode::Sub:
    return op.type == Type::U16x2 || op.type == Type::S16x2 ? map2<PairF<uint16_t, SubF>>
           : op.flags & Sat                                 ? map2<SubSatF<int32_t>>
                                                            : binary<SubF>(op.type);
  case Opcode::AddCC:
  case Opcode::AddC:
    return carry<0>(op.type);
  case Opcode::SubCC:
  case Opcode::SubC:
    return carry<1>(op.type);
  case Opcode::MadLoCC:
  case Opcode::MadCLo:
    return carry<2>(op.type);
  case Opcode::MadHiCC:
  case Opcode::MadCHi:
    return carry<3>(op.type);
  case Opcode::MulLo:
    return binary<MulLoF>(op.type);
  case Opcode::MulHi:
    return binary<MulHiF>(op.type);
  case Opcode::MulWide:
    return binaryWide<MulWideF>(op.type);
  case Opcode::MadLo:
    return ternary<MadLoF>(op.type);
  case Opcode::MadHi:
    return op.flags & Sat ? map3<MadHiSatF> : ternary<MadHiF>(op.type);
  case Opcode::MadWide:
    return ternaryWide<MadWideF>(op.type);
  case Opcode::Mul24Lo:
    return isSigned ? map2<Mul24F<int32_t, false>> : map2<Mul24F<uint32_t, false>>;
  case Opcode::Mul24Hi:
    return isSigned ? map2<Mul24F<int32_t, true>> : map2<Mul24F<uint32_t, true>>;
  case Opcode::Mad24Lo:
    return isSigned ? map3<Mad24F<int32_t, false>> : map3<Mad24F<uint32_t, false>>;
  case Opcode::Mad24Hi:
    return op.flags & Sat ? map3<Mad24HiSatF> : isSigned ? map3<Mad24F<int32_t, true>> : map3<Mad24F<uint32_t, true>>;
  case Opcode::Sad:
    return ternary<SadF>(op.type);
  case Opcode::Div:
    return binary<DivF>(op.type);
  case Opcode::Rem:
    return binary<RemF>(op.type);
  case Opcode::Abs:
    return signed1<AbsF>(op.type);
  case Opcode::Neg:
    return signed1<NegF>(op.type);
  case Opcode::Min:
    return minMax<MinF>(op);
  case Opcode::Max:
    return minMax<MaxF>(op);
  case Opcode::And:
    return binary<AndF>(op.type);
  case Opcode::Or:
    return binary<OrF>(op.type);
  case Opcode::Xor:
    return binary<XorF>(op.type);
  case Opcode::Not:
    return bits1<NotF>(op.type);
  case Opcode::CNot:
    return bits1<CNotF>(op.type);
  case Opcode::Shl:
    return binary<ShlF>(op.type);
  case Opcode::Shr:
    return binary<ShrF>(op.type);
  default:
    return selectBits(op);
  }
}

} // namespace tessera::sim::lanes::TESSERA_SIM_ISA

TESSERA_SIM_ISA_END
