// f16, bf16 and their pairs on all pairs of edge values, against one rounding of the exact result.
#include "tests/unit/simulator/Harness.h"
#include "tests/unit/simulator/Rounding.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <fmt/format.h>
#include <functional>

using namespace tessera::sim::test;

namespace {

struct Kind {
  const char *name;
  bool bfloat;
  const char *target; ///< that has add, sub and mul
  float widen(uint64_t bits) const {
    return bfloat ? widenBfloat(static_cast<uint16_t>(bits)) : widenHalf(static_cast<uint16_t>(bits));
  }
  uint64_t bits(long double x) const { return bfloat ? bfloatBits(x) : halfBits(x); }
  const Grid &grid() const { return bfloat ? gridBfloat : gridHalf; }
  bool nan(uint64_t bits) const { return widen(bits) != widen(bits); }
  uint64_t flush(uint64_t x) const { return x & (bfloat ? 0x7f80 : 0x7c00) ? x : x & 0x8000; }
  std::vector<uint64_t> values() const {
    if (bfloat)
      return {0,      0x8000, 1,      0x807f, 0x0080, 0x3f80, 0xbf80, 0x3f81, 0x4000, 0xc0a0,
              0x3eab, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0x7e80, 0x3b00, 0x4380, 0x0040};
    return {0,      0x8000, 1,      0x83ff, 0x0400, 0x3c00, 0xbc00, 0x3c01, 0x4000, 0xc500,
            0x3555, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7800, 0x1400, 0x6400, 0x0200};
  }
};
constexpr Kind halfKind{"f16", false, "sm_80"}, bfloatKind{"bf16", true, "sm_90"};

/// What the qualifiers do to the exact result.
struct Ending {
  const char *suffix;
  bool ftz = false, sat = false, relu = false;
};

uint64_t finish(const Kind &kind, long double exact, const Ending &ending) {
  uint64_t r = kind.bits(roundTo(kind.grid(), exact, "rn"));
  if (ending.ftz)
    r = kind.flush(r);
  if (exact != exact)
    return ending.sat ? 0 : 0x7fff;
  if (ending.sat)
    return kind.widen(r) >= 1 ? kind.bits(1) : kind.widen(r) > 0 ? r : 0;
  return ending.relu && (r & 0x8000) ? 0 : r;
}

using Exact = std::function<long double(long double, long double, long double)>;

/// Scalar and pair forms of `op` on all pairs of values (with a third in turn).
void sweep(const Kind &kind, const std::string &op, unsigned sources, const Exact &exact, const Ending &ending,
           std::string_view target) {
  std::vector<Case> scalar, pair;
  auto values = kind.values();
  size_t turn = 0;
  for (uint64_t a : values)
    for (uint64_t b : values) {
      std::vector<uint64_t> in{a, b, values[turn++ * 7 % values.size()]};
      in.resize(sources);
      long double x[3] = {};
      for (size_t i = 0; i < sources; ++i)
        x[i] = kind.widen(ending.ftz ? kind.flush(in[i]) : in[i]);
      scalar.push_back({in, finish(kind, exact(x[0], x[1], x[2]), ending)});
      if (sources == 1)
        break;
    }
  for (size_t i = 0; i < scalar.size(); ++i) { // each case with another one above it
    const Case &low = scalar[i], &high = scalar[(i * 3 + 1) % scalar.size()];
    std::vector<uint64_t> in;
    for (size_t s = 0; s < sources; ++s)
      in.push_back(high.sources[s] << 16 | low.sources[s]);
    pair.push_back({in, high.expected << 16 | low.expected});
  }
  static const char *operands[] = {"", "%d, %a;", "%d, %a, %b;", "%d, %a, %b, %c;"};
  std::string text = op + ending.suffix + "." + kind.name;
  expectResults(text + " " + operands[sources], "2:" + std::string(sources, '2'), scalar, target);
  expectResults(text + "x2 " + operands[sources], "4:" + std::string(sources, '4'), pair, target);
}

/// a·b + c without rounding where the exponents allow it; far-apart terms keep a trace of the smaller one.
long double exactFma(long double a, long double b, long double c) {
  long double p = a * b, s = p + c;
  if (s != s || std::isinf(s))
    return s;
  long double lost = fabsl(p) > fabsl(c) ? c - (s - p) : p - (s - c);
  return lost == 0 ? s : nextafterl(s, lost > 0 ? INFINITY : -INFINITY);
}

} // namespace

TEST(SimulatorHalf, SumsDifferencesProducts) {
  const Exact add = [](long double a, long double b, long double) { return a + b; },
              sub = [](long double a, long double b, long double) { return a - b; },
              mul = [](long double a, long double b, long double) { return a * b; };
  for (const Ending &ending : {Ending{""}, Ending{".rn"}, Ending{".sat", false, true}, Ending{".ftz", true},
                               Ending{".ftz.sat", true, true}, Ending{".rn.ftz.sat", true, true}}) {
    sweep(halfKind, "add", 2, add, ending, halfKind.target);
    sweep(halfKind, "sub", 2, sub, ending, halfKind.target);
    sweep(halfKind, "mul", 2, mul, ending, halfKind.target);
  }
  for (const Ending &ending : {Ending{""}, Ending{".rn"}}) {
    sweep(bfloatKind, "add", 2, [](auto a, auto b, auto) { return exactFma(a, 1, b); }, ending, bfloatKind.target);
    sweep(bfloatKind, "sub", 2, [](auto a, auto b, auto) { return exactFma(a, 1, -b); }, ending, bfloatKind.target);
    sweep(bfloatKind, "mul", 2, mul, ending, bfloatKind.target);
  }
}

TEST(SimulatorHalf, FusedProducts) {
  for (const Ending &ending :
       {Ending{".rn"}, Ending{".rn.ftz", true}, Ending{".rn.sat", false, true}, Ending{".rn.ftz.sat", true, true},
        Ending{".rn.relu", false, false, true}, Ending{".rn.ftz.relu", true, false, true}})
    sweep(halfKind, "fma", 3, exactFma, ending, "sm_80");
  for (const Ending &ending : {Ending{".rn"}, Ending{".rn.relu", false, false, true}})
    sweep(bfloatKind, "fma", 3, exactFma, ending, "sm_80");
  // A tie that a third, far smaller number breaks: 1 + 2^-8 is between 1 and 1 + 2^-7.
  expectResults("fma.rn.bf16 %d, %a, %b, %c;", "2:222",
                {{{0x3f81, 0x3f80, 0x0001}, 0x3f81}, {{0x3b80, 0x3f80, 0x3f80}, 0x3f80}});
  expectResults("fma.rn.f16 %d, %a, %b, %c;", "2:222", // 1 + 2^-11 ± 2^-24
                {{{0x3c00, 0x1000, 0x3c00}, 0x3c00}, {{0x1001, 0x3c00, 0x3c00}, 0x3c01}});
}

TEST(SimulatorHalf, MinimaMaximaSigns) {
  struct Form {
    const char *suffix;
    bool ftz, nan, xorSign;
    const char *target;
  };
  for (const Kind *kind : {&halfKind, &bfloatKind})
    for (bool max : {false, true})
      for (const Form &form :
           {Form{"", false, false, false, "sm_80"}, Form{".NaN", false, true, false, "sm_80"},
            Form{".xorsign.abs", false, false, true, "sm_86"}, Form{".NaN.xorsign.abs", false, true, true, "sm_86"},
            Form{".ftz", true, false, false, "sm_80"}, Form{".ftz.NaN", true, true, false, "sm_80"},
            Form{".ftz.NaN.xorsign.abs", true, true, true, "sm_86"}}) {
        if (form.ftz && kind->bfloat)
          continue;
        std::vector<Case> scalar, pair;
        for (uint64_t a : kind->values())
          for (uint64_t b : kind->values()) {
            uint64_t x = form.ftz ? kind->flush(a) : a, y = form.ftz ? kind->flush(b) : b, sign = (x ^ y) & 0x8000;
            if (form.xorSign) {
              x &= 0x7fff;
              y &= 0x7fff;
            }
            bool xn = kind->nan(x), yn = kind->nan(y);
            // Order of the numbers as integers, -0 below +0.
            auto rank = [](uint64_t v) { return v & 0x8000 ? -int(v & 0x7fff) - 1 : int(v); };
            uint64_t r = xn && yn            ? 0x7fff
                         : xn || yn          ? (form.nan ? 0x7fff
                                                : xn     ? y
                                                         : x)
                         : max               ? (rank(x) > rank(y) ? x : y)
                         : rank(x) < rank(y) ? x
                                             : y;
            if (form.xorSign && r != 0x7fff)
              r = (r & 0x7fff) | sign;
            scalar.push_back({{a, b}, r});
            pair.push_back({{a << 16 | b, b << 16 | a}, r << 16 | r});
          }
        std::string op = fmt::format("{}{}.{}", max ? "max" : "min", form.suffix, kind->name);
        expectResults(op + " %d, %a, %b;", "2:22", scalar, form.target);
        expectResults(op + "x2 %d, %a, %b;", "4:44", pair, form.target);
      }
  for (const Kind *kind : {&halfKind, &bfloatKind}) {
    std::vector<Case> neg, abs, flushed;
    for (uint64_t a : kind->values())
      if (!kind->nan(a)) {
        neg.push_back({{a}, a ^ 0x8000});
        abs.push_back({{a}, a & 0x7fff});
        flushed.push_back({{a}, kind->flush(a) ^ 0x8000});
      }
    expectResults(fmt::format("neg.{} %d, %a;", kind->name), "2:2", neg);
    expectResults(fmt::format("abs.{} %d, %a;", kind->name), "2:2", abs);
    if (!kind->bfloat)
      expectResults("neg.ftz.f16 %d, %a;", "2:2", flushed);
  }
  expectResults("neg.f16x2 %d, %a;", "4:4", {{{0x3c00bc00}, 0xbc003c00}});
  expectResults("abs.f16x2 %d, %a;", "4:4", {{{0xbc00fc00}, 0x3c007c00}});
  expectResults("abs.ftz.f16x2 %d, %a;", "4:4", {{{0x80018400}, 0x00000400}});
  expectResults("neg.bf16x2 %d, %a;", "4:4", {{{0x3f80bf80}, 0xbf803f80}});
  expectResults("abs.bf16x2 %d, %a;", "4:4", {{{0xbf80ff80}, 0x3f807f80}});
}

TEST(SimulatorHalf, ArithmeticAgreesWithTheToolkitOnTheHost) {
  std::vector<Case> add, mul;
  uint32_t state = 12345;
  auto next = [&] { return (state = state * 1664525 + 1013904223) >> 16; };
  for (int i = 0; i < 2000; ++i) {
    uint64_t a = next(), b = next();
    __half_raw ra, rb;
    ra.x = static_cast<uint16_t>(a);
    rb.x = static_cast<uint16_t>(b);
    if (halfKind.nan(a) || halfKind.nan(b))
      continue;
    auto bits = [](__half h) { return static_cast<__half_raw>(h).x; };
    auto keep = [&](std::vector<Case> &out, std::vector<uint64_t> in, __half h) {
      if (!halfKind.nan(bits(h)))
        out.push_back({std::move(in), bits(h)});
    };
    keep(add, {a, b}, __hadd(__half(ra), __half(rb)));
    keep(mul, {a, b}, __hmul(__half(ra), __half(rb)));
  }
  expectResults("add.f16 %d, %a, %b;", "2:22", add);
  expectResults("mul.f16 %d, %a, %b;", "2:22", mul);
}
