// f32 and f64 arithmetic on all pairs of edge values: every rounding, .ftz and .sat, against the exact result.
#include "tests/unit/simulator/Harness.h"
#include "tests/unit/simulator/Rounding.h"

#include <fmt/format.h>
#include <functional>

using namespace tessera::sim::test;

namespace {

const char *const modes[] = {"rn", "rz", "rm", "rp"};

std::vector<uint64_t> singles() {
  return {0,          0x80000000, 1,          0x807fffff, 0x00800000, 0x3f800000, 0xbf800000,
          0x3f800001, 0x3effffff, 0x40400000, 0xc0490fdb, 0x7f7fffff, 0xff7fffff, 0x7f800000,
          0xff800000, 0x7fc00001, 0x4b800001, 0x33000001, 0x3eaaaaab, 0x7e800000};
}

uint64_t flush(uint64_t x) { return x & 0x7f800000 ? x : x & 0x80000000; }
float single(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
double wide(uint64_t bits) { return std::bit_cast<double>(bits); }

/// A sum or fused product without rounding: what does not fit leaves a trace in the last bit.
long double exactFma(long double a, long double b, long double c) {
  long double p = a * b, s = p + c;
  if (s != s || std::isinf(s))
    return s;
  long double v = s - p, lost = (p - (s - v)) + (c - v);
  return lost == 0 ? s : nextafterl(s, lost > 0 ? INFINITY : -INFINITY);
}

/// The sign of an exact zero sum: negative only when rounding down, or when both terms are negative.
long double signedZero(long double exact, bool bothNegative, std::string_view mode) {
  return exact == 0 ? (bothNegative || mode == "rm" ? -0.0L : 0.0L) : exact;
}

enum class Operation { Add, Sub, Mul, Fma };

long double exactly(Operation op, long double a, long double b, long double c, std::string_view mode) {
  auto sum = [&](long double x, long double y) {
    if (std::signbit(x) == std::signbit(y) && x == 0 && y == 0)
      return x;
    return signedZero(exactFma(x, 1, y), false, mode);
  };
  switch (op) {
  case Operation::Add:
    return sum(a, b);
  case Operation::Sub:
    return sum(a, -b);
  case Operation::Mul:
    return a * b;
  default: {
    long double p = a * b;
    if (p == 0 && c == 0)
      return std::signbit(p) == std::signbit(c) ? c : signedZero(0, false, mode);
    long double r = exactFma(a, b, c);
    return r == 0 ? signedZero(r, false, mode) : r;
  }
  }
}

} // namespace

TEST(SimulatorFloatSweep, SinglesInEveryRoundingFlushedAndSaturated) {
  struct {
    Operation operation;
    const char *name;
    unsigned sources;
  } const operations[] = {
      {Operation::Add, "add", 2}, {Operation::Sub, "sub", 2}, {Operation::Mul, "mul", 2}, {Operation::Fma, "fma", 3}};
  auto values = singles();
  for (const auto &op : operations)
    for (const char *mode : modes)
      for (bool ftz : {false, true})
        for (bool sat : {false, true}) {
          std::vector<Case> cases;
          size_t turn = 0;
          for (uint64_t a : values)
            for (uint64_t b : values) {
              uint64_t c = values[turn++ * 7 % values.size()];
              auto in = [&](uint64_t x) { return static_cast<long double>(single(ftz ? flush(x) : x)); };
              long double exact = exactly(op.operation, in(a), in(b), in(c), mode);
              long double rounded = roundTo(gridSingle, exact, mode);
              uint64_t r = singleBits(rounded);
              if (ftz)
                r = flush(r);
              if (sat)
                r = rounded != rounded || single(r) <= 0 ? 0 : single(r) >= 1 ? 0x3f800000 : r;
              std::vector<uint64_t> sources{a, b, c};
              sources.resize(op.sources);
              cases.push_back({sources, r});
            }
          std::string text = fmt::format("{}.{}{}{}.f32 %d, %a, %b{};", op.name, mode, ftz ? ".ftz" : "",
                                         sat ? ".sat" : "", op.sources == 3 ? ", %c" : "");
          expectResults(text, "4:" + std::string(op.sources, '4'), cases);
        }
}

TEST(SimulatorFloatSweep, RoundingToNearestIsTheDefault) {
  expectResults("add.f32 %d, %a, %b;", "4:44",
                {{{0x3f800000, 0x33800000}, 0x3f800000}, {{0x3f800001, 0x33800000}, 0x3f800002}});
  expectResults("mul.ftz.sat.f32 %d, %a, %b;", "4:44", {{{0x3f800001, 0x3f800001}, 0x3f800000}});
  expectResults("sub.f64 %d, %a, %b;", "8:88", {{{f64(1.0), f64(0x1p-54)}, f64(1.0)}});
  expectResults("mad.rz.ftz.sat.f32 %d, %a, %b, %c;", "4:444", {{{f32(0.5f), f32(0.25f), f32(0.125f)}, f32(0.25f)}});
}

TEST(SimulatorFloatSweep, DoublesInEveryRounding) {
  // Values whose sums and products fit 64 bits, so that the host's long double is exact.
  const double values[] = {0.0,     -0.0,           1.0,       -1.0,      3.0, 0x1.8p-5, -0x1.000001p3,
                           0x1p-40, 0x1.fffffffp20, 1.0 / 0.0, -1.0 / 0.0};
  for (const char *mode : modes) {
    std::vector<Case> add, mul, fma;
    for (double a : values)
      for (double b : values) {
        auto keep = [&](std::vector<Case> &out, std::vector<uint64_t> in, long double exact) {
          if (exact == exact) // the bits of a NaN of f64 are not specified
            out.push_back({std::move(in), f64(static_cast<double>(roundTo(gridDouble, exact, mode)))});
        };
        keep(add, {f64(a), f64(b)}, exactly(Operation::Add, a, b, 0, mode));
        keep(mul, {f64(a), f64(b)}, exactly(Operation::Mul, a, b, 0, mode));
        keep(fma, {f64(a), f64(b), f64(3.0)}, exactly(Operation::Fma, a, b, 3.0, mode));
      }
    expectResults(fmt::format("add.{}.f64 %d, %a, %b;", mode), "8:88", add);
    expectResults(fmt::format("mul.{}.f64 %d, %a, %b;", mode), "8:88", mul);
    expectResults(fmt::format("fma.{}.f64 %d, %a, %b, %c;", mode), "8:888", fma);
    expectResults(fmt::format("mad.{}.f64 %d, %a, %b, %c;", mode), "8:888", fma);
  }
}

TEST(SimulatorFloatSweep, QuotientsRootsReciprocalsOfEveryRounding) {
  auto values = singles();
  for (const char *mode : modes)
    for (bool ftz : {false, true}) {
      std::vector<Case> div, rcp, sqrt;
      auto in = [&](uint64_t x) { return static_cast<long double>(single(ftz ? flush(x) : x)); };
      auto out = [&](long double exact) {
        uint64_t r = singleBits(roundTo(gridSingle, exact, mode));
        return ftz ? flush(r) : r;
      };
      // A quotient of two 24-bit numbers is never so near a tie that 64 bits mislead; nor is a root.
      for (uint64_t a : values) {
        for (uint64_t b : values)
          div.push_back({{a, b}, out(in(a) / in(b))});
        rcp.push_back({{a}, out(1.0L / in(a))});
        sqrt.push_back({{a}, out(sqrtl(in(a)))});
      }
      std::string suffix = fmt::format(".{}{}.f32", mode, ftz ? ".ftz" : "");
      expectResults("div" + suffix + " %d, %a, %b;", "4:44", div);
      expectResults("rcp" + suffix + " %d, %a;", "4:4", rcp);
      expectResults("sqrt" + suffix + " %d, %a;", "4:4", sqrt);
    }
  // 1/3 lies between …5555 and …5556; the root of 2 between …3bcc and …3bcd.
  const uint64_t third[] = {0x3fd5555555555555, 0x3fd5555555555555, 0x3fd5555555555555, 0x3fd5555555555556};
  const uint64_t root[] = {0x3ff6a09e667f3bcd, 0x3ff6a09e667f3bcc, 0x3ff6a09e667f3bcc, 0x3ff6a09e667f3bcd};
  for (size_t i = 0; i < 4; ++i) {
    expectResults(fmt::format("div.{}.f64 %d, %a, %b;", modes[i]), "8:88", {{{f64(1.0), f64(3.0)}, third[i]}});
    expectResults(fmt::format("rcp.{}.f64 %d, %a;", modes[i]), "8:8", {{{f64(3.0)}, third[i]}});
    expectResults(fmt::format("sqrt.{}.f64 %d, %a;", modes[i]), "8:8", {{{f64(2.0)}, root[i]}});
  }
}

TEST(SimulatorFloatSweep, MinimaMaximaSigns) {
  struct Form {
    const char *suffix;
    bool ftz, nan, xorSign;
    const char *target;
  };
  for (bool max : {false, true})
    for (const Form &form :
         {Form{"", false, false, false, "sm_80"}, Form{".ftz", true, false, false, "sm_80"},
          Form{".NaN", false, true, false, "sm_80"}, Form{".ftz.NaN", true, true, false, "sm_80"},
          Form{".xorsign.abs", false, false, true, "sm_86"}, Form{".ftz.xorsign.abs", true, false, true, "sm_86"},
          Form{".NaN.xorsign.abs", false, true, true, "sm_86"},
          Form{".ftz.NaN.xorsign.abs", true, true, true, "sm_86"}}) {
      std::vector<Case> cases;
      for (uint64_t a : singles())
        for (uint64_t b : singles()) {
          uint64_t x = form.ftz ? flush(a) : a, y = form.ftz ? flush(b) : b, sign = (x ^ y) & 0x80000000;
          if (form.xorSign) {
            x &= 0x7fffffff;
            y &= 0x7fffffff;
          }
          bool xn = single(x) != single(x), yn = single(y) != single(y);
          auto rank = [](uint64_t v) { return v & 0x80000000 ? -int64_t(v & 0x7fffffff) - 1 : int64_t(v); };
          uint64_t r = xn && yn            ? nan32
                       : xn || yn          ? (form.nan ? nan32
                                              : xn     ? y
                                                       : x)
                       : max               ? (rank(x) > rank(y) ? x : y)
                       : rank(x) < rank(y) ? x
                                           : y;
          if (form.xorSign && r != nan32)
            r = (r & 0x7fffffff) | sign;
          cases.push_back({{a, b}, r});
        }
      expectResults(fmt::format("{}{}.f32 %d, %a, %b;", max ? "max" : "min", form.suffix), "4:44", cases, form.target);
    }
  const double values[] = {0.0, -0.0, 1.0, -1.0, 1e-310, 1.0 / 0.0, -1.0 / 0.0};
  std::vector<Case> least, most;
  for (double a : values)
    for (double b : values) {
      bool first = a < b || (a == b && std::signbit(a));
      least.push_back({{f64(a), f64(b)}, f64(first ? a : b)});
      most.push_back({{f64(a), f64(b)}, f64(first ? b : a)});
    }
  least.push_back({{0x7ff8000000000001, f64(2.0)}, f64(2.0)});
  most.push_back({{f64(-2.0), 0xfff8000000000001}, f64(-2.0)});
  expectResults("min.f64 %d, %a, %b;", "8:88", least);
  expectResults("max.f64 %d, %a, %b;", "8:88", most);
}

TEST(SimulatorFloatSweep, SignsAndClasses) {
  std::vector<Case> abs, neg, absFlushed, negFlushed, copy;
  for (uint64_t a : singles()) {
    if (single(a) != single(a))
      continue;
    abs.push_back({{a}, a & 0x7fffffff});
    neg.push_back({{a}, a ^ 0x80000000});
    absFlushed.push_back({{a}, flush(a) & 0x7fffffff});
    negFlushed.push_back({{a}, flush(a) ^ 0x80000000});
    for (uint64_t b : singles())
      copy.push_back({{a, b}, (b & 0x7fffffff) | (a & 0x80000000)});
  }
  expectResults("abs.f32 %d, %a;", "4:4", abs);
  expectResults("neg.f32 %d, %a;", "4:4", neg);
  expectResults("abs.ftz.f32 %d, %a;", "4:4", absFlushed);
  expectResults("neg.ftz.f32 %d, %a;", "4:4", negFlushed);
  expectResults("copysign.f32 %d, %a, %b;", "4:44", copy);
  expectResults("copysign.f64 %d, %a, %b;", "8:88",
                {{{f64(-0.0), f64(3.0)}, f64(-3.0)}, {{f64(2.0), f64(-3.0)}, f64(3.0)}});
  expectResults("neg.f64 %d, %a;", "8:8", {{{f64(0.0)}, f64(-0.0)}});
  expectResults("abs.f64 %d, %a;", "8:8", {{{f64(-1e-310)}, f64(1e-310)}});
  struct {
    const char *name;
    bool (*holds)(double, bool subnormal);
  } const classes[] = {{"finite", [](double x, bool) { return std::isfinite(x); }},
                       {"infinite", [](double x, bool) { return std::isinf(x); }},
                       {"number", [](double x, bool) { return x == x; }},
                       {"notanumber", [](double x, bool) { return x != x; }},
                       {"normal", [](double x, bool subnormal) { return std::isfinite(x) && !subnormal; }},
                       {"subnormal", [](double, bool subnormal) { return subnormal; }}};
  for (const auto &c : classes) {
    std::vector<Case> narrow, doubles;
    for (uint64_t a : singles())
      narrow.push_back({{a}, c.holds(single(a), !(a & 0x7f800000) && (a & 0x7fffff))});
    for (uint64_t a : {f64(0.0), f64(-1.0), uint64_t(1), uint64_t(0x800fffffffffffff), uint64_t(0x7ff0000000000000),
                       uint64_t(0xfff0000000000001), uint64_t(0x0010000000000000)})
      doubles.push_back({{a}, c.holds(wide(a), std::fpclassify(wide(a)) == FP_SUBNORMAL)});
    expectResults(fmt::format("testp.{}.f32 %d, %a;", c.name), "p:4", narrow);
    expectResults(fmt::format("testp.{}.f64 %d, %a;", c.name), "p:8", doubles);
  }
}
