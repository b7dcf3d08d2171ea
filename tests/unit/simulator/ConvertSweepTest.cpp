// cvt between all pairs of types: every rounding, saturation and packed form, against one rounding of the exact value
// and against the toolkit's headers, which convert on the host too.
#include "tests/unit/simulator/Harness.h"
#include "tests/unit/simulator/Rounding.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <fmt/format.h>

using namespace tessera::sim::test;

namespace {

struct IntegerType {
  const char *name;
  unsigned bits;
  bool isSigned;
  char width; ///< of the register
};
constexpr IntegerType integers[] = {{"u8", 8, false, '2'},   {"s8", 8, true, '2'},    {"u16", 16, false, '2'},
                                    {"s16", 16, true, '2'},  {"u32", 32, false, '4'}, {"s32", 32, true, '4'},
                                    {"u64", 64, false, '8'}, {"s64", 64, true, '8'}};
using Wide = __int128;

Wide least(const IntegerType &t) { return t.isSigned ? -(Wide(1) << (t.bits - 1)) : Wide(0); }
Wide most(const IntegerType &t) { return (Wide(1) << (t.isSigned ? t.bits - 1 : t.bits)) - 1; }
uint64_t registerBits(char width) { return width == '2' ? 16 : width == '4' ? 32 : 64; }
uint64_t truncate(Wide x, uint64_t bits) {
  return bits == 64 ? static_cast<uint64_t>(x) : static_cast<uint64_t>(x) & ((uint64_t(1) << bits) - 1);
}
Wide interpret(uint64_t bits, const IntegerType &t) {
  Wide v = truncate(static_cast<Wide>(bits), t.bits);
  return t.isSigned && (v >> (t.bits - 1) & 1) ? v - (Wide(1) << t.bits) : v;
}
/// A value of `t` as its register holds it: extended.
uint64_t inRegister(Wide x, const IntegerType &t) {
  return truncate(interpret(truncate(x, t.bits), t), registerBits(t.width));
}

std::vector<uint64_t> edges(const IntegerType &t) {
  std::vector<uint64_t> all;
  for (Wide x : {Wide(0), Wide(1), Wide(100), most(t), least(t), most(t) / 2 + 1, Wide(-1), Wide(0x123456789abcdefb),
                 Wide(0x81)})
    all.push_back(truncate(x, registerBits(t.width)));
  return all;
}

struct FloatType {
  const char *name;
  char width;
  const Grid &grid;
  std::vector<uint64_t> values;
  long double value(uint64_t bits) const {
    return width == '8'         ? static_cast<long double>(std::bit_cast<double>(bits))
           : width == '4'       ? static_cast<long double>(std::bit_cast<float>(static_cast<uint32_t>(bits)))
           : &grid == &gridHalf ? widenHalf(static_cast<uint16_t>(bits))
                                : widenBfloat(static_cast<uint16_t>(bits));
  }
  uint64_t bits(long double x) const {
    return width == '8'         ? std::bit_cast<uint64_t>(static_cast<double>(x))
           : width == '4'       ? singleBits(x)
           : &grid == &gridHalf ? halfBits(x)
                                : bfloatBits(x);
  }
};
const FloatType half16{"f16",
                       '2',
                       gridHalf,
                       {0, 0x8000, 1, 0x83ff, 0x3c00, 0xbc00, 0x3800, 0x4100, 0xc300, 0x7bff, 0xfbff, 0x7c00, 0xfc00,
                        0x7e00, 0x5bf8, 0xb800}};
const FloatType bfloat16{"bf16",
                         '2',
                         gridBfloat,
                         {0, 0x8000, 1, 0x807f, 0x3f80, 0xbf80, 0x3f00, 0x4020, 0xc060, 0x7f7f, 0xff7f, 0x7f80, 0xff80,
                          0x7fc0, 0x4f00, 0xbf00}};
const FloatType single{
    "f32", '4', gridSingle, {0,          0x80000000, 1,          0x807fffff, 0x00800000, 0x3f800000, 0xbf800000,
                             0x3f000000, 0xbf000000, 0x40200000, 0xc0600000, 0x3fc00000, 0x7f7fffff, 0xff7fffff,
                             0x7f800000, 0xff800000, 0x7fc00000, 0x4f000000, 0xcf000000, 0x4effffff, 0x4f7fffff,
                             0x5f000000, 0xdf000000, 0x42fe0000, 0x42ff0000, 0xc3000000, 0x437f8000, 0x33800001,
                             0x38800000, 0x387fe000, 0x477fefff, 0x477ff000, 0x3f7fffff, 0x3effffff, 0x00008000,
                             0x00018000, 0x33000000, 0x33000001, 0x3f801000, 0x3f803000, 0x7f7f8000, 0xbf7fffff}};
const FloatType wide{"f64",
                     '8',
                     gridDouble,
                     {0,
                      1ull << 63,
                      1,
                      f64(1.0),
                      f64(-1.0),
                      f64(0.5),
                      f64(-2.5),
                      f64(3.5),
                      f64(1e300),
                      f64(-1e300),
                      f64(1.0 / 0.0),
                      f64(-1.0 / 0.0),
                      0x7ff8ull << 48,
                      f64(2147483647.5),
                      f64(-2147483648.5),
                      f64(4294967295.5),
                      f64(9223372036854775807.0),
                      f64(18446744073709551615.0),
                      f64(127.5),
                      f64(-128.5),
                      f64(255.5),
                      f64(65519.999),
                      f64(65520.0),
                      f64(0x1p-149),
                      f64(0x1.8p-150),
                      f64(0x1p-25),
                      f64(1 + 0x1p-24 + 0x1p-50),
                      f64(1 + 0x1p-24),
                      f64(0x1p-14 - 0x1p-40),
                      f64(1e-40),
                      f64(-1e-60)}};

const char *const modes[] = {"rn", "rz", "rm", "rp"};
const char *const integerModes[] = {"rni", "rzi", "rmi", "rpi"};
long double saturate(long double x) { return x >= 1 ? 1.0L : x > 0 ? x : 0.0L; }
long double flush(long double x) { return fabsl(x) < 0x1p-126L ? copysignl(0, x) : x; }
bool isSingle(const FloatType &t) { return &t.grid == &gridSingle; }
bool isBfloat(const FloatType &t) { return &t.grid == &gridBfloat; }

} // namespace

TEST(SimulatorConvertSweep, IntegersOfAllPairs) {
  for (const IntegerType &to : integers)
    for (const IntegerType &from : integers) {
      bool clamps = least(from) < least(to) || most(from) > most(to);
      std::vector<Case> plain, clamped;
      for (uint64_t x : edges(from)) {
        Wide v = interpret(x, from);
        plain.push_back({{x}, inRegister(v, to)});
        clamped.push_back({{x}, inRegister(v > most(to) ? most(to) : v < least(to) ? least(to) : v, to)});
      }
      std::string types = fmt::format("{}.{} %d, %a;", to.name, from.name),
                  shape = fmt::format("{}:{}", to.width, from.width);
      expectResults("cvt." + types, shape, plain);
      if (clamps)
        expectResults("cvt.sat." + types, shape, clamped);
      else
        EXPECT_NE(instructionError(fmt::format("cvt.sat.{}.{} %h1, %h2;", to.name, from.name)), "");
    }
  // Wider registers: results extend, sources count by their low bits.
  expectResults("cvt.s8.s32 %d, %a;", "4:4", {{{0x180}, 0xffffff80}, {{0x7f}, 0x7f}});
  expectResults("cvt.u8.s32 %d, %a;", "4:4", {{{0x1ff}, 0xff}});
  expectResults("cvt.u64.s8 %d, %a;", "8:4", {{{0xffffff80}, 0xffffffffffffff80}});
  expectResults("cvt.s32.u16 %d, %a;", "4:4", {{{0x1ffff}, 0xffff}});
}

TEST(SimulatorConvertSweep, FloatsToIntegers) {
  for (const FloatType *from : {&half16, &single, &wide, &bfloat16})
    for (const IntegerType &to : integers)
      for (const char *mode : integerModes)
        for (bool ftz : {false, true}) {
          if ((ftz && !isSingle(*from)) || (isBfloat(*from) && to.bits == 8))
            continue;
          std::vector<Case> cases;
          for (uint64_t x : from->values) {
            long double v = from->value(x);
            if (v != v) { // zero, or the top bit alone where 64 bits take part
              uint64_t expected = to.bits == 64 || from->width == '8' ? inRegister(Wide(1) << (to.bits - 1), to) : 0;
              cases.push_back({{x}, expected});
              continue;
            }
            long double r = roundUnits(ftz ? flush(v) : v, mode);
            long double low = static_cast<long double>(least(to)), high = static_cast<long double>(most(to));
            Wide integer = r >= high ? most(to) : r <= low ? least(to) : static_cast<Wide>(r);
            cases.push_back({{x}, inRegister(integer, to)});
          }
          for (const char *sat : {"", ".sat"})
            if (!*sat || !isBfloat(*from))
              expectResults(fmt::format("cvt.{}{}{}.{}.{} %d, %a;", mode, ftz ? ".ftz" : "", sat, to.name, from->name),
                            fmt::format("{}:{}", to.width, from->width), cases, isBfloat(*from) ? "sm_90" : "sm_80");
        }
}

TEST(SimulatorConvertSweep, IntegersToFloats) {
  for (const FloatType *to : {&half16, &single, &wide, &bfloat16})
    for (const IntegerType &from : integers)
      for (const char *mode : modes)
        for (bool sat : {false, true}) {
          if (isBfloat(*to) && (sat || from.bits == 8))
            continue;
          std::vector<Case> cases;
          auto values = edges(from);
          for (uint64_t extra :
               {2049ull, 2051ull, 16777217ull, 16777219ull, 70000ull, (1ull << 53) + 1, (1ull << 63) + 1025})
            if (Wide(extra) <= most(from))
              values.push_back(extra);
          for (uint64_t x : values) {
            auto v = static_cast<long double>(interpret(x, from));
            long double r = roundTo(to->grid, v, mode);
            cases.push_back({{x}, to->bits(sat ? saturate(r) : r)});
          }
          std::string suffix = fmt::format("{}.{}.{} %d, %a;", sat ? ".sat" : "", to->name, from.name),
                      shape = fmt::format("{}:{}", to->width, from.width);
          expectResults(fmt::format("cvt.{}{}", mode, suffix), shape, cases, isBfloat(*to) ? "sm_90" : "sm_80");
          if (isSingle(*to))
            expectResults(fmt::format("cvt.{}.ftz{}", mode, suffix), shape, cases);
        }
}

TEST(SimulatorConvertSweep, FloatsOfAllPairs) {
  for (const FloatType *to : {&half16, &single, &wide, &bfloat16})
    for (const FloatType *from : {&half16, &single, &wide, &bfloat16}) {
      bool same = to == from, bfloats = isBfloat(*to) || isBfloat(*from);
      bool narrows = to->grid.precision < from->grid.precision || (isBfloat(*to) && from == &half16) ||
                     (isBfloat(*from) && to == &half16);
      bool old = (isBfloat(*to) && from == &single) || (isBfloat(*from) && to == &single);
      const char *target = bfloats && !old ? "sm_90" : "sm_80";
      for (const char *mode : {"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", ""}) {
        bool integer = std::string(mode).size() == 3, none = !*mode;
        if (same ? !(none || integer) : integer || (none == narrows && !(none && bfloats && to == &half16)))
          continue;
        for (bool ftz : {false, true})
          for (bool sat : {false, true}) {
            if ((ftz && !isSingle(*to) && !isSingle(*from)) || (sat && bfloats))
              continue;
            std::vector<Case> cases;
            for (uint64_t x : from->values) {
              long double v = from->value(x);
              if (v != v && to == &wide)
                continue; // the bits of a NaN of f64 are not specified
              if (ftz && isSingle(*from))
                v = flush(v);
              long double r = integer ? copysignl(roundUnits(v, mode), v) : v;
              if (std::isinf(v))
                r = v;
              r = roundTo(to->grid, r, none || integer ? "rn" : mode);
              if (ftz && isSingle(*to))
                r = flush(r);
              if (same && none && !ftz && !sat && v != v)
                continue; // a copy keeps what it likes of a NaN
              cases.push_back({{x}, to->bits(sat ? saturate(r) : r)});
            }
            expectResults(fmt::format("cvt{}{}{}{}.{}.{} %d, %a;", none ? "" : ".", mode, ftz ? ".ftz" : "",
                                      sat ? ".sat" : "", to->name, from->name),
                          fmt::format("{}:{}", to->width, from->width), cases,
                          bfloats && ftz && from == &bfloat16 ? "sm_90" : target);
          }
      }
    }
}

TEST(SimulatorConvertSweep, HalvesLimitedAndRectified) {
  for (const FloatType *to : {&half16, &bfloat16})
    for (const char *mode : {"rn", "rz"})
      for (bool relu : {false, true})
        for (bool finite : {false, true}) {
          std::vector<Case> cases, pairs;
          auto convert = [&](uint64_t x) {
            long double v = single.value(x);
            if (relu)
              v = v > 0 || v != v ? v : 0.0L;
            return to->bits(roundTo(to->grid, v, mode, finite));
          };
          for (size_t i = 0; i < single.values.size(); ++i) {
            uint64_t a = single.values[i], b = single.values[i * 5 % single.values.size()];
            cases.push_back({{a}, convert(a)});
            pairs.push_back({{a, b}, convert(a) << 16 | convert(b)}); // the first source goes up
          }
          std::string flags = fmt::format("{}{}{}", mode, relu ? ".relu" : "", finite ? ".satfinite" : "");
          expectResults(fmt::format("cvt.{}.{}.f32 %d, %a;", flags, to->name), "2:4", cases);
          expectResults(fmt::format("cvt.{}.{}x2.f32 %d, %a, %b;", flags, to->name), "4:44", pairs);
        }
}

TEST(SimulatorConvertSweep, Tf32) {
  struct Form {
    const char *text, *mode, *target;
    bool relu, finite;
  };
  for (const Form &form :
       {Form{"rna", "rna", "sm_80", false, false}, Form{"rna.satfinite", "rna", "sm_80", false, true},
        Form{"rn", "rn", "sm_90", false, false}, Form{"rz", "rz", "sm_90", false, false},
        Form{"rn.relu", "rn", "sm_90", true, false}, Form{"rz.relu", "rz", "sm_90", true, false},
        Form{"rn.satfinite", "rn", "sm_100", false, true}, Form{"rz.satfinite.relu", "rz", "sm_100", true, true}}) {
    std::vector<Case> cases;
    for (uint64_t x : single.values) {
      long double v = single.value(x);
      if (form.relu)
        v = v > 0 || v != v ? v : 0.0L;
      cases.push_back({{x}, singleBits(roundTo(gridTf32, v, form.mode, form.finite))});
    }
    expectResults(fmt::format("cvt.{}.tf32.f32 %d, %a;", form.text), "4:4", cases, form.target);
  }
}

TEST(SimulatorConvertSweep, EightBitFloatsAgreeWithTheToolkit) {
  std::vector<uint64_t> floats = single.values;
  for (float x : {448.0f, 464.0f, 463.9f, 480.0f, 57344.0f, 61440.0f, 61439.0f, 0x1p-9f, 0x1p-10f, 0x1.8p-10f, 0x1p-16f,
                  0x1p-17f, -0.0875f, 3.14159f, 1.0625f, 1.1875f, 1.125f})
    floats.push_back(f32(x));
  for (bool e5m2 : {false, true}) {
    const char *name = e5m2 ? "e5m2x2" : "e4m3x2";
    auto kind = e5m2 ? __NV_E5M2 : __NV_E4M3;
    auto fromFloat = [&](uint64_t x, bool relu) -> uint64_t {
      float v = std::bit_cast<float>(static_cast<uint32_t>(x));
      uint64_t bits = __nv_cvt_float_to_fp8(relu && v <= 0 ? 0.0f : v, __NV_SATFINITE, kind);
      return v != v ? 0x7f : bits; // a NaN loses its sign
    };
    std::vector<Case> plain, rectified;
    for (size_t i = 0; i < floats.size(); ++i) {
      uint64_t a = floats[i], b = floats[i * 7 % floats.size()];
      plain.push_back({{a, b}, fromFloat(a, false) << 8 | fromFloat(b, false)});
      rectified.push_back({{a, b}, fromFloat(a, true) << 8 | fromFloat(b, true)});
    }
    expectResults(fmt::format("cvt.rn.satfinite.{}.f32 %d, %a, %b;", name), "2:44", plain, "sm_89");
    expectResults(fmt::format("cvt.rn.satfinite.relu.{}.f32 %d, %a, %b;", name), "2:44", rectified, "sm_89");
    // All halves: two at a time.
    std::vector<Case> halves, halvesRectified;
    for (uint64_t h = 0; h < 0x10000; h += 3) {
      uint64_t other = (h * 40503) & 0xffff;
      auto fromHalf = [&](uint64_t bits, bool relu) -> uint64_t {
        __half_raw raw;
        raw.x = static_cast<uint16_t>(bits);
        float v = widenHalf(raw.x);
        if (relu && v <= 0)
          raw.x = 0;
        return v != v ? 0x7f : __nv_cvt_halfraw_to_fp8(raw, __NV_SATFINITE, kind);
      };
      halves.push_back({{other << 16 | h}, fromHalf(other, false) << 8 | fromHalf(h, false)});
      halvesRectified.push_back({{other << 16 | h}, fromHalf(other, true) << 8 | fromHalf(h, true)});
    }
    expectResults(fmt::format("cvt.rn.satfinite.{}.f16x2 %d, %a;", name), "2:4", halves, "sm_89");
    expectResults(fmt::format("cvt.rn.satfinite.relu.{}.f16x2 %d, %a;", name), "2:4", halvesRectified, "sm_89");
    std::vector<Case> back, backRectified;
    for (uint64_t x = 0; x < 256; ++x) {
      auto widen = [&](uint64_t bits, bool relu) -> uint64_t {
        uint16_t raw = __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits), kind).x;
        float v = widenHalf(raw);
        return v != v ? 0x7fff : relu && v <= 0 ? 0 : raw;
      };
      uint64_t other = 255 - x;
      back.push_back({{other << 8 | x}, widen(other, false) << 16 | widen(x, false)});
      backRectified.push_back({{other << 8 | x}, widen(other, true) << 16 | widen(x, true)});
    }
    expectResults(fmt::format("cvt.rn.f16x2.{} %d, %a;", name), "4:2", back, "sm_89");
    expectResults(fmt::format("cvt.rn.relu.f16x2.{} %d, %a;", name), "4:2", backRectified, "sm_89");
  }
}

TEST(SimulatorConvertSweep, HalvesAgreeWithTheToolkit) {
  std::vector<Case> toHalf, toBfloat, fromHalf, fromBfloat, zeroHalf, upBfloat;
  uint32_t state = 99;
  for (int i = 0; i < 4000; ++i) {
    state = state * 1664525 + 1013904223;
    uint64_t x = i < 42 ? single.values[static_cast<size_t>(i)] : i & 1 ? state : (state & 0x8fffffff) | 0x30000000;
    float v = std::bit_cast<float>(static_cast<uint32_t>(x));
    if (v != v)
      continue;
    toHalf.push_back({{x}, static_cast<__half_raw>(__float2half_rn(v)).x});
    zeroHalf.push_back({{x}, static_cast<__half_raw>(__float2half_rz(v)).x});
    toBfloat.push_back({{x}, static_cast<__nv_bfloat16_raw>(__float2bfloat16_rn(v)).x});
    upBfloat.push_back({{x}, static_cast<__nv_bfloat16_raw>(__float2bfloat16_ru(v)).x});
  }
  for (uint32_t h = 0; h < 0x10000; h += 5) {
    __half_raw raw;
    raw.x = static_cast<uint16_t>(h);
    __nv_bfloat16_raw braw;
    braw.x = raw.x;
    float v = __half2float(__half(raw)), b = __bfloat162float(__nv_bfloat16(braw));
    fromHalf.push_back({{h}, v != v ? nan32 : f32(v)});
    fromBfloat.push_back({{h}, b != b ? nan32 : f32(b)});
  }
  expectResults("cvt.rn.f16.f32 %d, %a;", "2:4", toHalf);
  expectResults("cvt.rz.f16.f32 %d, %a;", "2:4", zeroHalf);
  expectResults("cvt.rn.bf16.f32 %d, %a;", "2:4", toBfloat);
  expectResults("cvt.rp.bf16.f32 %d, %a;", "2:4", upBfloat);
  expectResults("cvt.f32.f16 %d, %a;", "4:2", fromHalf);
  expectResults("cvt.f32.bf16 %d, %a;", "4:2", fromBfloat);
}

TEST(SimulatorConvertSweep, PackedIntegersOfEveryWidth) {
  for (unsigned bits : {2u, 4u, 8u, 16u})
    for (bool isSigned : {false, true}) {
      std::vector<Case> cases;
      int64_t high = (int64_t(1) << (isSigned ? bits - 1 : bits)) - 1, low = isSigned ? -high - 1 : 0;
      auto part = [&](int64_t x) {
        return static_cast<uint64_t>(std::min(std::max(x, low), high)) & ((1ull << bits) - 1);
      };
      for (int64_t a : {0l, 1l, -1l, 5l, 200l, -200l, 70000l, -70000l, 2147483647l, -2147483648l})
        for (int64_t b : {-3l, 1l, 100000l}) {
          uint64_t c = 0x8765abcd, pair = part(a) << bits | part(b);
          std::vector<uint64_t> in{static_cast<uint32_t>(a), static_cast<uint32_t>(b), c};
          if (bits == 16)
            in.pop_back();
          cases.push_back({in, bits == 16 ? pair : static_cast<uint32_t>(c << (2 * bits) | pair)});
        }
      expectResults(fmt::format("cvt.pack.sat.{}{}.s32{} %d, %a, %b{};", isSigned ? 's' : 'u', bits,
                                bits == 16 ? "" : ".b32", bits == 16 ? "" : ", %c"),
                    bits == 16 ? "4:44" : "4:444", cases);
    }
}
