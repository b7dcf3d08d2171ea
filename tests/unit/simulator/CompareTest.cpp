// set, setp, selp, slct: every comparison, type, combination with a predicate and result.
#include "tests/unit/simulator/Harness.h"
#include "tests/unit/simulator/Rounding.h"

#include <fmt/format.h>

using namespace tessera::sim::test;

namespace {

struct Compared {
  const char *name;
  char kind; ///< 'u', 's', 'b', 'f' (floating point)
  unsigned bits;
  const char *target;
  std::vector<uint64_t> values;
  char width() const { return bits == 16 ? '2' : bits == 32 ? '4' : '8'; }
};

const Compared types[] = {
    {"u16", 'u', 16, "sm_80", {0, 1, 0x7fff, 0x8000, 0xffff}},
    {"s16", 's', 16, "sm_80", {0, 1, 0x7fff, 0x8000, 0xffff}},
    {"b16", 'b', 16, "sm_80", {0, 1, 0x8000}},
    {"u32", 'u', 32, "sm_80", {0, 1, 0x7fffffff, 0x80000000, 0xffffffff}},
    {"s32", 's', 32, "sm_80", {0, 1, 0x7fffffff, 0x80000000, 0xffffffff}},
    {"b32", 'b', 32, "sm_80", {0, 1, 0x80000000}},
    {"u64", 'u', 64, "sm_80", {0, 1, ~0ull >> 1, 1ull << 63, ~0ull, 1ull << 32}},
    {"s64", 's', 64, "sm_80", {0, 1, ~0ull >> 1, 1ull << 63, ~0ull, 1ull << 32}},
    {"b64", 'b', 64, "sm_80", {0, 1, 1ull << 63}},
    {"f16", 'f', 16, "sm_80", {0, 0x8000, 1, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00}},
    {"bf16", 'f', 16, "sm_90", {0, 0x8000, 1, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0}},
    {"f32", 'f', 32, "sm_80", {0, 0x80000000, 1, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000}},
    {"f64",
     'f',
     64,
     "sm_80",
     {0, 1ull << 63, 1, f64(1.0), f64(-1.0), f64(1.0 / 0.0), f64(-1.0 / 0.0), 0x7ff8ull << 48}},
};

double number(const Compared &t, uint64_t bits) {
  if (t.kind == 'f')
    return t.bits == 64                   ? std::bit_cast<double>(bits)
           : t.bits == 32                 ? std::bit_cast<float>(static_cast<uint32_t>(bits))
           : std::string(t.name) == "f16" ? widenHalf(static_cast<uint16_t>(bits))
                                          : widenBfloat(static_cast<uint16_t>(bits));
  return 0;
}

/// The manual's table of comparisons.
bool holds(const std::string &op, const Compared &t, uint64_t a, uint64_t b, bool ftz = false) {
  if (t.kind == 'f') {
    double x = number(t, a), y = number(t, b);
    if (ftz) {
      double least = t.bits == 32 ? 0x1p-126 : 0x1p-14;
      x = std::fabs(x) < least ? 0 : x;
      y = std::fabs(y) < least ? 0 : y;
    }
    bool unordered = x != x || y != y;
    if (op == "num" || op == "nan")
      return unordered == (op == "nan");
    if (unordered)
      return op.size() == 3;
    std::string base = op.substr(0, 2);
    return base == "eq"   ? x == y
           : base == "ne" ? x != y
           : base == "lt" ? x < y
           : base == "le" ? x <= y
           : base == "gt" ? x > y
                          : x >= y;
  }
  __int128 x = a, y = b;
  if (t.kind == 's') {
    x -= a >> (t.bits - 1) & 1 ? __int128(1) << t.bits : 0;
    y -= b >> (t.bits - 1) & 1 ? __int128(1) << t.bits : 0;
  }
  return op == "eq"                 ? x == y
         : op == "ne"               ? x != y
         : op == "lt" || op == "lo" ? x < y
         : op == "le" || op == "ls" ? x <= y
         : op == "gt" || op == "hi" ? x > y
                                    : x >= y;
}

std::vector<std::string> comparisons(const Compared &t) {
  std::vector<std::string> ops{"eq", "ne"};
  if (t.kind != 'b')
    ops.insert(ops.end(), {"lt", "le", "gt", "ge"});
  if (t.kind == 'u')
    ops.insert(ops.end(), {"lo", "ls", "hi", "hs"});
  if (t.kind == 'f')
    ops.insert(ops.end(), {"equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
  return ops;
}

std::vector<std::vector<uint64_t>> pairs(const Compared &t) {
  std::vector<std::vector<uint64_t>> all;
  for (uint64_t a : t.values)
    for (uint64_t b : t.values)
      all.push_back({a, b});
  return all;
}

} // namespace

TEST(SimulatorCompare, PredicatesOfEveryComparisonAndType) {
  for (const Compared &t : types)
    for (const std::string &op : comparisons(t))
      for (bool ftz : {false, true}) {
        if (ftz && std::string(t.name) != "f32" && std::string(t.name) != "f16")
          continue;
        std::vector<Case> cases;
        for (const auto &in : pairs(t))
          cases.push_back({in, holds(op, t, in[0], in[1], ftz)});
        expectResults(fmt::format("setp.{}{}.{} %d, %a, %b;", op, ftz ? ".ftz" : "", t.name),
                      fmt::format("p:{0}{0}", t.width()), cases, t.target);
      }
}

TEST(SimulatorCompare, SecondPredicatesAndCombinations) {
  for (const Compared &t : types)
    for (const char *boolean : {"and", "or", "xor"})
      for (bool negated : {false, true})
        for (uint64_t c : {0, 1}) {
          bool q = negated ? !c : c;
          auto combine = [&](bool x) { return boolean[0] == 'a' ? x && q : boolean[0] == 'o' ? x || q : x != q; };
          bool single = t.kind == 'f' && t.bits == 16;
          std::string op = t.kind == 'b' ? "ne" : "lt";
          std::vector<std::vector<uint64_t>> in = pairs(t);
          for (auto &values : in)
            values.push_back(c);
          auto results = evaluate(fmt::format("setp.{}.{}.{} %d{}, %a, %b, {}%c;", op, boolean, t.name,
                                              single ? "" : "|%q", negated ? "!" : ""),
                                  fmt::format("{1}:{0}{0}p", t.width(), single ? "p" : "pp"), in, t.target);
          for (size_t i = 0; i < in.size(); ++i) {
            bool comparison = holds(op, t, in[i][0], in[i][1]);
            EXPECT_EQ(results[i][0], combine(comparison)) << t.name << boolean << negated << i;
            if (!single) {
              EXPECT_EQ(results[i][1], combine(!comparison)) << t.name << boolean << negated << i;
            }
          }
        }
}

TEST(SimulatorCompare, PairsGiveOnePredicateEach) {
  for (const Compared *t : {&types[9], &types[10]})
    for (const std::string &op : comparisons(*t)) {
      std::vector<std::vector<uint64_t>> in;
      for (const auto &p : pairs(*t))
        in.push_back({p[0] | p[1] << 16, p[1] | p[0] << 16, p[0] & 1});
      std::string text = fmt::format("setp.{}.{}x2 %d|%q, %a, %b;", op, t->name),
                  with = fmt::format("setp.{}.xor.{}x2 %d|%q, %a, %b, %c;", op, t->name);
      auto plain = evaluate(text, "pp:44p", in, t->target), combined = evaluate(with, "pp:44p", in, t->target);
      for (size_t i = 0; i < in.size(); ++i) {
        bool low = holds(op, *t, in[i][0] & 0xffff, in[i][1] & 0xffff),
             high = holds(op, *t, in[i][0] >> 16, in[i][1] >> 16);
        EXPECT_EQ(plain[i], (std::vector<uint64_t>{low, high})) << text << i;
        bool c = in[i][2];
        EXPECT_EQ(combined[i], (std::vector<uint64_t>{low != c, high != c})) << with << i;
      }
    }
}

TEST(SimulatorCompare, ResultsOfSet) {
  struct Result {
    const char *name;
    char width;
    uint64_t yes;
    bool bfloat;
  };
  const Result results[] = {{"u32", '4', 0xffffffff, false}, {"s32", '4', 0xffffffff, false},
                            {"f32", '4', 0x3f800000, false}, {"f16", '2', 0x3c00, false},
                            {"bf16", '2', 0x3f80, true},     {"u16", '2', 0xffff, false},
                            {"s16", '2', 0xffff, false}};
  for (const Compared &t : types) {
    bool half = t.kind == 'f' && t.bits == 16;
    for (const Result &r : results) {
      bool narrow = std::string(r.name) == "u16" || std::string(r.name) == "s16";
      bool exists =
          half ? std::string(r.name) != "f32" && !(std::string(r.name) == "f16" && t.name[0] == 'b') : !narrow;
      if (!exists)
        continue;
      std::vector<Case> plain, combined;
      for (const auto &in : pairs(t)) {
        bool yes = holds("ne", t, in[0], in[1]);
        plain.push_back({in, yes ? r.yes : 0});
        combined.push_back({{in[0], in[1], in[0] & 1}, yes && !(in[0] & 1) ? r.yes : 0});
      }
      const char *target = r.bfloat ? "sm_90" : t.target;
      expectResults(fmt::format("set.ne.{}.{} %d, %a, %b;", r.name, t.name),
                    fmt::format("{1}:{0}{0}", t.width(), r.width), plain, target);
      expectResults(fmt::format("set.ne.and.{}.{} %d, %a, %b, !%c;", r.name, t.name),
                    fmt::format("{1}:{0}{0}p", t.width(), r.width), combined, target);
    }
  }
  expectResults("set.lt.f16x2.f16x2 %d, %a, %b;", "4:44", {{{0x3c00bc00, 0x3c003c00}, 0x00003c00}});
  expectResults("set.ltu.u32.f16x2 %d, %a, %b;", "4:44",
                {{{0x7e00bc00, 0x3c003c00}, 0xffffffff}, {{0x3c00bc00, 0x3c003c00}, 0xffff}});
  expectResults("set.ge.bf16x2.bf16x2 %d, %a, %b;", "4:44", {{{0x3f80bf80, 0x3f803f80}, 0x3f800000}}, "sm_90");
  expectResults("set.eq.ftz.u32.f32 %d, %a, %b;", "4:44", {{{1, 0x80000000}, 0xffffffff}});
  expectResults("set.eq.ftz.f16.f16 %d, %a, %b;", "2:22", {{{1, 0x8000}, 0x3c00}});
}

TEST(SimulatorCompare, Selections) {
  for (const char *type : {"b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"}) {
    std::string name = type;
    char width = name.ends_with("16") ? '2' : name.ends_with("32") ? '4' : '8';
    uint64_t mask = width == '2' ? 0xffff : width == '4' ? 0xffffffff : ~0ull;
    uint64_t a = 0x8123456789abcdef & mask, b = 0x7fedcba987654321 & mask;
    expectResults("selp." + name + " %d, %a, %b, %c;", fmt::format("{0}:{0}{0}p", width),
                  {{{a, b, 1}, a}, {{a, b, 0}, b}});
    expectResults("selp." + name + " %d, %a, %b, !%c;", fmt::format("{0}:{0}{0}p", width),
                  {{{a, b, 1}, b}, {{a, b, 0}, a}});
    expectResults("slct." + name + ".s32 %d, %a, %b, %c;", fmt::format("{0}:{0}{0}4", width),
                  {{{a, b, 0}, a}, {{a, b, 0x7fffffff}, a}, {{a, b, 0xffffffff}, b}, {{a, b, 0x80000000}, b}});
    expectResults(
        "slct." + name + ".f32 %d, %a, %b, %c;", fmt::format("{0}:{0}{0}4", width),
        {{{a, b, 0}, a}, {{a, b, 0x80000000}, a}, {{a, b, f32(-1e-40f)}, b}, {{a, b, nan32}, b}, {{a, b, inf32}, a}});
    expectResults("slct.ftz." + name + ".f32 %d, %a, %b, %c;", fmt::format("{0}:{0}{0}4", width),
                  {{{a, b, f32(-1e-40f)}, a}, {{a, b, f32(-1.0f)}, b}});
  }
}
