// Op: one decoded PTX instruction, with operands as byte offsets into a warp's register frame.
#pragma once

#include "runtime/simulator/Counters.h"
#include "runtime/simulator/ptx/Syntax.h"

#include <cstdint>

namespace tessera::sim {

namespace machine {
struct Warp;
}

namespace program {

using ptx::Space;
using ptx::Type;

struct Op;
/// Executes one op for the active lanes of a warp; returns the op to run next, or null when the warp stops running.
using Handler = const Op *(*)(machine::Warp &, const Op &);

/// What an op does; `type` and the other fields complete it.
enum class Opcode : uint16_t {
  // Integer and logic.
  Add,
  Sub,
  AddCC,
  AddC,
  SubCC,
  SubC,
  MulLo,
  MulHi,
  MulWide,
  MadLo,
  MadHi,
  MadWide,
  MadLoCC,
  MadHiCC,
  MadCLo,
  MadCHi,
  Mul24Lo,
  Mul24Hi,
  Mad24Lo,
  Mad24Hi,
  Sad,
  Div,
  Rem,
  Abs,
  Neg,
  Min,
  Max,
  Popc,
  Clz,
  Bfind,
  Brev,
  Bfe,
  Bfi,
  Fns,
  Szext,
  Bmsk,
  Dp4a,
  Dp2a,
  And,
  Or,
  Xor,
  Not,
  CNot,
  Lop3,
  Shl,
  Shr,
  ShfL,
  ShfR,
  Prmt,
  // Floating point.
  FAdd,
  FSub,
  FMul,
  FFma,
  FDiv,
  FAbs,
  FNeg,
  FMin,
  FMax,
  FRcp,
  FSqrt,
  FRsqrt,
  FSin,
  FCos,
  FLg2,
  FEx2,
  FTanh,
  Copysign,
  Testp,
  // Selection, comparison, moves, conversions.
  Set,
  Setp,
  Selp,
  Slct,
  Mov,
  MovFrame,
  MovSpecial,
  Pack,
  Unpack,
  Cvt,
  CvtPack,
  PredLogic,
  Cvta,
  IsSpacep,
  // Memory.
  Ld,
  St,
  LdParam,
  Prefetch,
  Atom,
  Red,
  CpAsync,
  CpAsyncCommit,
  CpAsyncWait,
  CpAsyncWaitAll,
  // Warp and matrix.
  Shfl,
  Vote,
  Match,
  Redux,
  ActiveMask,
  Elect,
  Ldmatrix,
  Stmatrix,
  Movmatrix,
  Mma,
  WarpSync,
  // Block and control.
  BarSync,
  BarArrive,
  BarRed,
  Fence,
  Bra,
  BrxIdx,
  Call,
  CallIndirect,
  Return,
  Exit,
  Trap,
  Brkpt,
  Nanosleep,
  Join,
  Nop,
  Printf,
  AssertFail,
  // mbarrier.
  MbarInit,
  MbarInval,
  MbarArrive,
  MbarTestWait,
  MbarExpectTx,
  MbarCompleteTx,
  MbarPendingCount,
  CpAsyncMbarArrive,
  // wmma (wmma.mma is Mma).
  WmmaLoad,
  WmmaStore,
};

enum class Rounding : uint8_t { None, RN, RZ, RM, RP, RNA, RNI, RZI, RMI, RPI, RS };

enum class Compare : uint8_t { EQ, NE, LT, LE, GT, GE, LO, LS, HI, HS, EQU, NEU, LTU, LEU, GTU, GEU, NUM, NAN_ };

enum class BoolOp : uint8_t { None, And, Or, Xor };

/// Memory ordering of an access or fence. Volatile accesses are relaxed at system scope.
enum class Order : uint8_t { Weak, Relaxed, Acquire, Release, AcqRel, Sc };
/// Those among whom an ordered access or fence counts.
enum class Scope : uint8_t { Block, Cluster, Device, System };

enum Flag : uint32_t {
  Ftz = 1 << 0,
  Sat = 1 << 1,
  NanFlag = 1 << 2, ///< .NaN
  AbsFlag = 1 << 3, ///< .abs
  XorSign = 1 << 4, ///< .xorsign
  Relu = 1 << 5,
  Approx = 1 << 6,
  Full = 1 << 7,
  Wrap = 1 << 8,             ///< shf.wrap (else clamp)
  ShiftAmount = 1 << 9,      ///< bfind.shiftamt
  NegatePredicate = 1 << 10, ///< the source predicate is !p
  Oob = 1 << 11,             ///< fma.oob
  SecondSigned = 1 << 12,    ///< dp4a: b is signed
  High = 1 << 13,            ///< dp2a.hi, mma layouts
  Aligned = 1 << 14,         ///< .aligned: the whole warp must be converged
  Uniform = 1 << 15,         ///< bra.uni, call.uni
  Trans = 1 << 17,
  Satfinite = 1 << 18,
  Noftz = 1 << 19,
  ToSpace = 1 << 20,      ///< cvta.to
  AddressIs32 = 1 << 21,  ///< the address register has 32 bits
  FrameBase = 1 << 22,    ///< the address is relative to the local frame
  IgnoreSource = 1 << 23, ///< cp.async with an ignore-src predicate
  HasSourceSize = 1 << 24,
  HasCount = 1 << 25,    ///< barrier with a thread count; vote etc. otherwise unused
  ShiftedMode = 1 << 26, ///< bmsk.wrap
  Synthetic = 1 << 28,   ///< added by the decoder; not an instruction of the text
};

/// How the checked interpreter derives the definedness of the results.
enum class Flow : uint8_t {
  Handler, ///< the handler does it
  Compute, ///< undefined where any source is, and then computed
  Copy,    ///< as the source `a`
  Select,  ///< selp: as the chosen source
  None,    ///< no register result
};

/// 128 bytes. Register fields are byte offsets into the frame once Registers.cpp has placed them; before that,
/// virtual register numbers, or constantBit | constant number. Unused fields are `unusedRegister` and then 0, which
/// holds zeros.
struct alignas(64) Op {
  Handler run = nullptr; ///< resolves the guard, then body
  Handler body = nullptr;
  uint32_t dst, dst2, a, b, c, d;
  uint32_t guard;
  uint32_t flags = 0;
  int64_t imm = 0;               ///< immediate, address offset, constant of the opcode
  const uint32_t *ext = nullptr; ///< further registers: extResults results, then sources
  const Op *target = nullptr;    ///< branch, or op after a guarded skip
  Opcode code = Opcode::Nop;
  Type type = Type::None, type2 = Type::None;
  Type type3 = Type::None; ///< mma: of C (type: of A, type2: of D)
  Rounding rounding = Rounding::None;
  Compare compare = Compare::EQ;
  BoolOp boolOp = BoolOp::None;
  Space space = Space::Generic;
  uint8_t vector = 1;        ///< elements of ld, st; matrices of ldmatrix
  uint8_t guardKind = 0;     ///< 0 none, 1 @p, 2 @!p
  uint8_t registerBytes = 0; ///< width of the data registers of ld, st, mov, cvt results
  uint8_t sourceBytes = 0;   ///< width of the source registers
  uint8_t variant = 0;       ///< kind within the opcode: shfl mode, vote mode, atomic operation, mma shape …
  Flow flow = Flow::Handler;
  Order order = Order::Weak; ///< accesses, atomics, fences, mbarrier operations
  Scope scope = Scope::Device;
  uint8_t extResults = 0, extSources = 0;
  uint32_t instruction = 0;  ///< index into Program::instructions
  uint32_t join = ptx::none; ///< branches: index of the reconvergence op in the function, none: at exit
};

constexpr uint32_t constantBit = 1u << 31;
constexpr uint32_t unusedRegister = 0x7fffffff;

} // namespace program
} // namespace tessera::sim
