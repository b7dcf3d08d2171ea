// Integer instructions of every type on pairs of edge values, against the manual's definitions in wide arithmetic.
#include "tests/unit/simulator/Harness.h"

#include <fmt/format.h>
#include <functional>

using namespace tessera::sim::test;

namespace {

using Wide = __int128;

struct IntegerType {
  const char *name;
  unsigned bits;
  bool isSigned;
  char width; ///< for evaluate()
};
constexpr IntegerType types[] = {{"u16", 16, false, '2'}, {"s16", 16, true, '2'},  {"u32", 32, false, '4'},
                                 {"s32", 32, true, '4'},  {"u64", 64, false, '8'}, {"s64", 64, true, '8'}};

uint64_t truncate(Wide x, unsigned bits) {
  return bits == 64 ? static_cast<uint64_t>(x) : static_cast<uint64_t>(x) & ((uint64_t(1) << bits) - 1);
}
Wide interpret(uint64_t bits, const IntegerType &type) {
  Wide value = truncate(static_cast<Wide>(bits), type.bits);
  return type.isSigned && (bits >> (type.bits - 1) & 1) ? value - (Wide(1) << type.bits) : value;
}
Wide clamp32(Wide x) { return x > INT32_MAX ? Wide(INT32_MAX) : x < INT32_MIN ? Wide(INT32_MIN) : x; }

std::vector<uint64_t> edges(const IntegerType &type) {
  uint64_t top = uint64_t(1) << (type.bits - 1), all = truncate(-1, type.bits);
  return {0, 1, 2, 7, top - 1, top, top + 1, all - 1, all, truncate(Wide(0x123456789abcdef0), type.bits), 100};
}

/// `text` with # for the type, on all pairs (and a third value); `f` gives the result before truncation to `bits`.
void sweep(std::string text, const IntegerType &type, unsigned sources, char resultWidth, unsigned resultBits,
           const std::function<Wide(Wide, Wide, Wide)> &f, bool wideThird = false) {
  for (size_t at; (at = text.find('#')) != std::string::npos;)
    text.replace(at, 1, type.name);
  std::string shape = std::string(1, resultWidth) + ":" + std::string(sources, type.width);
  if (wideThird)
    shape.back() = resultWidth;
  IntegerType third = type;
  if (wideThird)
    third.bits *= 2;
  std::vector<Case> cases;
  auto values = edges(type), thirds = edges(third);
  size_t turn = 0;
  for (uint64_t a : values)
    for (uint64_t b : values) {
      uint64_t c = thirds[turn++ % thirds.size()];
      std::vector<uint64_t> in{a, b, c};
      in.resize(sources);
      cases.push_back({in, truncate(f(interpret(a, type), interpret(b, type), interpret(c, third)), resultBits)});
      if (sources == 1)
        break;
    }
  expectResults(text, shape, cases);
}

} // namespace

TEST(SimulatorIntegerSweep, ArithmeticOfEveryType) {
  for (const IntegerType &t : types) {
    auto two = [&](const char *text, auto f) { sweep(text, t, 2, t.width, t.bits, f); };
    auto three = [&](const char *text, auto f) { sweep(text, t, 3, t.width, t.bits, f); };
    two("add.# %d, %a, %b;", [](Wide a, Wide b, Wide) { return a + b; });
    two("sub.# %d, %a, %b;", [](Wide a, Wide b, Wide) { return a - b; });
    two("mul.lo.# %d, %a, %b;", [](Wide a, Wide b, Wide) { return a * b; });
    two("min.# %d, %a, %b;", [](Wide a, Wide b, Wide) { return a < b ? a : b; });
    two("max.# %d, %a, %b;", [](Wide a, Wide b, Wide) { return a < b ? b : a; });
    unsigned bits = t.bits;
    bool isSigned = t.isSigned;
    // The full product of two 64-bit numbers needs 128 bits; unsigned ones a bit more than Wide has.
    auto high = [=](Wide a, Wide b) {
      return isSigned
                 ? (a * b) >> bits
                 : static_cast<Wide>((static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b)) >> bits);
    };
    two("mul.hi.# %d, %a, %b;", [=](Wide a, Wide b, Wide) { return high(a, b); });
    three("mad.lo.# %d, %a, %b, %c;", [](Wide a, Wide b, Wide c) { return a * b + c; });
    three("mad.hi.# %d, %a, %b, %c;", [=](Wide a, Wide b, Wide c) { return high(a, b) + c; });
    three("sad.# %d, %a, %b, %c;", [](Wide a, Wide b, Wide c) { return c + (a < b ? b - a : a - b); });
    if (t.isSigned) {
      sweep("abs.# %d, %a;", t, 1, t.width, t.bits, [](Wide a, Wide, Wide) { return a < 0 ? -a : a; });
      sweep("neg.# %d, %a;", t, 1, t.width, t.bits, [](Wide a, Wide, Wide) { return -a; });
    }
    if (t.bits < 64) {
      char wide = t.bits == 16 ? '4' : '8';
      sweep("mul.wide.# %d, %a, %b;", t, 2, wide, 2 * t.bits, [](Wide a, Wide b, Wide) { return a * b; });
      sweep(
          "mad.wide.# %d, %a, %b, %c;", t, 3, wide, 2 * t.bits, [](Wide a, Wide b, Wide c) { return a * b + c; }, true);
    }
  }
}

TEST(SimulatorIntegerSweep, QuotientsAndRemainders) {
  // Quotients by zero are unspecified; the divisor is made odd.
  for (const IntegerType &t : types) {
    std::string odd = fmt::format("or.b{} %b, %b, 1; ", t.bits);
    auto divisor = [&](Wide b) { return interpret(truncate(b, t.bits) | 1, t); };
    sweep(odd + "div.# %d, %a, %b;", t, 2, t.width, t.bits, [=](Wide a, Wide b, Wide) { return a / divisor(b); });
    sweep(odd + "rem.# %d, %a, %b;", t, 2, t.width, t.bits, [=](Wide a, Wide b, Wide) { return a % divisor(b); });
  }
}

TEST(SimulatorIntegerSweep, SaturationAnd24Bits) {
  const IntegerType &s32 = types[3], &u32 = types[2];
  auto low24 = [](Wide a, bool isSigned) {
    Wide v = a & 0xffffff;
    return isSigned && (v >> 23 & 1) ? v - (1 << 24) : v;
  };
  sweep("add.sat.# %d, %a, %b;", s32, 2, '4', 32, [](Wide a, Wide b, Wide) { return clamp32(a + b); });
  sweep("sub.sat.# %d, %a, %b;", s32, 2, '4', 32, [](Wide a, Wide b, Wide) { return clamp32(a - b); });
  sweep("mad.hi.sat.# %d, %a, %b, %c;", s32, 3, '4', 32,
        [](Wide a, Wide b, Wide c) { return clamp32(((a * b) >> 32) + c); });
  for (const IntegerType *t : {&s32, &u32}) {
    auto product = [=](Wide a, Wide b) { return low24(a, t->isSigned) * low24(b, t->isSigned); };
    sweep("mul24.lo.# %d, %a, %b;", *t, 2, '4', 32, [=](Wide a, Wide b, Wide) { return product(a, b); });
    sweep("mul24.hi.# %d, %a, %b;", *t, 2, '4', 32, [=](Wide a, Wide b, Wide) { return product(a, b) >> 16; });
    sweep("mad24.lo.# %d, %a, %b, %c;", *t, 3, '4', 32, [=](Wide a, Wide b, Wide c) { return product(a, b) + c; });
    sweep("mad24.hi.# %d, %a, %b, %c;", *t, 3, '4', 32,
          [=](Wide a, Wide b, Wide c) { return (product(a, b) >> 16) + c; });
  }
  sweep("mad24.hi.sat.# %d, %a, %b, %c;", s32, 3, '4', 32,
        [=](Wide a, Wide b, Wide c) { return clamp32(((low24(a, true) * low24(b, true)) >> 16) + c); });
}

TEST(SimulatorIntegerSweep, CarriesInEveryWidth) {
  // One chain of two words is one operation on twice the width.
  for (const IntegerType &t : {types[2], types[3], types[4], types[5]}) {
    unsigned bits = t.bits;
    auto whole = [=](Wide low, Wide high) {
      return (static_cast<unsigned __int128>(truncate(high, bits)) << bits) + truncate(low, bits);
    };
    auto top = [=](unsigned __int128 x) { return static_cast<Wide>(x >> bits); };
    sweep("add.cc.# %d, %a, %b; addc.# %d, %c, %a;", t, 3, t.width, bits,
          [=](Wide a, Wide b, Wide c) { return top(whole(a, c) + whole(b, a)); });
    sweep("sub.cc.# %d, %a, %b; subc.# %d, %c, %a;", t, 3, t.width, bits,
          [=](Wide a, Wide b, Wide c) { return top(whole(a, c) - whole(b, a)); });
    // The carry itself: addc.cc gives it to the next word, a plain add leaves it alone.
    sweep("add.cc.# %d, %a, %b; addc.cc.# %d, %a, %b; add.# %c, %c, %c; addc.# %d, 0, 0;", t, 3, t.width, bits,
          [=](Wide a, Wide b, Wide) {
            Wide x = truncate(a, bits), y = truncate(b, bits), first = (x + y) >> bits;
            return (x + y + first) >> bits;
          });
    sweep("sub.cc.# %d, %a, %b; subc.cc.# %d, %a, %b; subc.# %d, 0, 0;", t, 2, t.width, bits,
          [=](Wide a, Wide b, Wide) {
            Wide x = truncate(a, bits), y = truncate(b, bits), first = x < y;
            return x - y - first < 0 ? Wide(-1) : Wide(0);
          });
    if (bits == 32) {
      bool isSigned = t.isSigned;
      sweep("mad.lo.cc.# %d, %a, %b, %c; madc.hi.# %d, %a, %b, %c;", t, 3, t.width, bits, [=](Wide a, Wide b, Wide c) {
        Wide carry = (Wide(truncate(a * b, 32)) + Wide(truncate(c, 32))) >> 32;
        return (isSigned ? (a * b) >> 32 : (Wide(truncate(a, 32)) * Wide(truncate(b, 32))) >> 32) + c + carry;
      });
      sweep("mad.hi.cc.# %d, %a, %b, %c; madc.lo.cc.# %d, %a, %b, %c; addc.# %d, 0, 0;", t, 3, t.width, bits,
            [=](Wide a, Wide b, Wide c) {
              Wide high = truncate((a * b) >> 32, 32), low = truncate(a * b, 32), add = truncate(c, 32);
              return (low + add + ((high + add) >> 32)) >> 32;
            });
    }
  }
}

TEST(SimulatorIntegerSweep, ShiftsByAnyAmount) {
  for (const IntegerType &t : types) {
    std::vector<Case> left, right;
    std::string leftText = fmt::format("shl.b{} %d, %a, %b;", t.bits),
                rightText = fmt::format("shr.{} %d, %a, %b;", t.name);
    for (uint64_t a : edges(t))
      for (uint32_t n : {0u, 1u, 15u, 16u, 31u, 32u, 33u, 63u, 64u, 65u, 0x80000000u, ~0u}) {
        Wide x = interpret(a, t);
        left.push_back({{a, n}, n >= t.bits ? 0 : truncate(x << n, t.bits)});
        right.push_back({{a, n}, truncate(n >= t.bits ? (x < 0 ? -1 : 0) : x >> n, t.bits)});
      }
    std::string shape = fmt::format("{0}:{0}4", t.width);
    expectResults(leftText, shape, left);
    expectResults(rightText, shape, right);
    if (!t.isSigned)
      expectResults(fmt::format("shr.b{} %d, %a, %b;", t.bits), shape, right);
  }
}

TEST(SimulatorIntegerSweep, FunnelShifts) {
  std::vector<Case> cases[4];
  for (uint64_t low : {0x12345678ull, 0x80000001ull, 0ull, 0xffffffffull})
    for (uint64_t high : {0x9abcdef0ull, 0x7fffffffull, 0xffffffffull})
      for (uint64_t n : {0, 1, 16, 31, 32, 33, 64, 255}) {
        unsigned __int128 both = high << 32 | low;
        uint64_t wrap = n & 31, clamp = n > 32 ? 32 : n;
        cases[0].push_back({{low, high, n}, static_cast<uint32_t>((both << wrap) >> 32)});
        cases[1].push_back({{low, high, n}, static_cast<uint32_t>((both << clamp) >> 32)});
        cases[2].push_back({{low, high, n}, static_cast<uint32_t>(both >> wrap)});
        cases[3].push_back({{low, high, n}, static_cast<uint32_t>(both >> clamp)});
      }
  const char *texts[] = {"shf.l.wrap.b32 %d, %a, %b, %c;", "shf.l.clamp.b32 %d, %a, %b, %c;",
                         "shf.r.wrap.b32 %d, %a, %b, %c;", "shf.r.clamp.b32 %d, %a, %b, %c;"};
  for (size_t i = 0; i < 4; ++i)
    expectResults(texts[i], "4:444", cases[i]);
}

TEST(SimulatorIntegerSweep, BitFieldsBitByBit) {
  // The manual's loops, one bit at a time.
  for (const IntegerType &t : {types[2], types[3], types[4], types[5]}) {
    std::vector<Case> extract, insert;
    unsigned top = t.bits - 1;
    for (uint64_t a : {0x8123456789abcdefull, 0x7fffffff80000000ull, ~0ull})
      for (uint32_t pos : {0u, 1u, 8u, 28u, 31u, 32u, 60u, 63u, 64u, 200u, 256u + 4})
        for (uint32_t len : {0u, 1u, 4u, 16u, 31u, 32u, 33u, 64u, 255u, 256u}) {
          uint64_t in = truncate(Wide(a), t.bits), out = 0, into = truncate(Wide(0x5a5a5a5a5a5a5a5a), t.bits);
          uint32_t p = pos & 255, n = len & 255;
          bool sign = t.isSigned && n && (in >> std::min(p + n - 1, top) & 1);
          for (unsigned i = 0; i <= top; ++i)
            out |= uint64_t(i < n && p + i <= top ? in >> (p + i) & 1 : sign) << i;
          extract.push_back({{in, pos, len}, out});
          uint64_t merged = into;
          for (unsigned i = 0; i < n && p + i <= top; ++i)
            merged = (merged & ~(1ull << (p + i))) | (in >> i & 1) << (p + i);
          insert.push_back({{in, into, pos, len}, merged});
        }
    expectResults(fmt::format("bfe.{} %d, %a, %b, %c;", t.name), fmt::format("{0}:{0}44", t.width), extract);
    if (!t.isSigned)
      expectResults(fmt::format("bfi.b{} %d, %a, %b, %c, %e;", t.bits), fmt::format("{0}:{0}{0}44", t.width), insert);
  }
}

TEST(SimulatorIntegerSweep, ExtensionsAndMasks) {
  std::vector<Case> cases[6];
  for (uint64_t a : {0xffull, 0x80000000ull, 0x7fffffffull, 0x12345678ull, 0x80ull})
    for (uint64_t n : {0, 1, 7, 8, 31, 32, 33, 40, 64, 255}) {
      auto extend = [&](uint64_t bits, bool isSigned) -> uint64_t {
        uint64_t v = 0;
        for (unsigned i = 0; i < 32; ++i)
          v |= (i < bits ? a >> i & 1 : uint64_t(isSigned && bits && (a >> (bits - 1) & 1))) << i;
        return v;
      };
      cases[0].push_back({{a, n}, extend(n >= 32 ? 32 : n, false)});
      cases[1].push_back({{a, n}, extend(n >= 32 ? 32 : n, true)});
      cases[2].push_back({{a, n}, extend(n % 32, false)});
      cases[3].push_back({{a, n}, extend(n % 32, true)});
    }
  for (uint64_t pos : {0, 1, 5, 31, 32, 33, 63})
    for (uint64_t width : {0, 1, 4, 31, 32, 33, 63}) {
      uint64_t clamp = 0, wrap = 0;
      for (uint64_t i = 0; i < 32; ++i) {
        clamp |= uint64_t(i >= pos && i < pos + width) << i;
        wrap |= uint64_t(i >= pos % 32 && i < pos % 32 + width % 32) << i;
      }
      cases[4].push_back({{pos, width}, clamp});
      cases[5].push_back({{pos, width}, wrap});
    }
  const char *texts[] = {"szext.clamp.u32 %d, %a, %b;", "szext.clamp.s32 %d, %a, %b;", "szext.wrap.u32 %d, %a, %b;",
                         "szext.wrap.s32 %d, %a, %b;",  "bmsk.clamp.b32 %d, %a, %b;",  "bmsk.wrap.b32 %d, %a, %b;"};
  for (size_t i = 0; i < 6; ++i)
    expectResults(texts[i], "4:44", cases[i]);
}

TEST(SimulatorIntegerSweep, CountsOfBits) {
  for (const IntegerType &t : {types[2], types[3], types[4], types[5]}) {
    std::vector<Case> popc, clz, brev, find, shift;
    std::vector<uint64_t> values = edges(t);
    for (unsigned i = 0; i < t.bits; ++i)
      values.push_back(uint64_t(1) << i);
    for (uint64_t a : values) {
      uint64_t ones = 0, zeros = 0, reversed = 0, position = 0xffffffff;
      bool leading = true, negative = t.isSigned && (a >> (t.bits - 1) & 1);
      for (unsigned i = t.bits; i-- > 0;) {
        bool bit = a >> i & 1;
        ones += bit;
        leading &= !bit;
        zeros += leading;
        reversed |= uint64_t(bit) << (t.bits - 1 - i);
        if (position == 0xffffffff && bit != negative)
          position = i;
      }
      popc.push_back({{a}, ones});
      clz.push_back({{a}, zeros});
      brev.push_back({{a}, reversed});
      find.push_back({{a}, position});
      shift.push_back({{a}, position == 0xffffffff ? position : t.bits - 1 - position});
    }
    std::string shape = fmt::format("4:{}", t.width);
    expectResults(fmt::format("bfind.{} %d, %a;", t.name), shape, find);
    expectResults(fmt::format("bfind.shiftamt.{} %d, %a;", t.name), shape, shift);
    if (t.isSigned)
      continue;
    expectResults(fmt::format("popc.b{} %d, %a;", t.bits), shape, popc);
    expectResults(fmt::format("clz.b{} %d, %a;", t.bits), shape, clz);
    expectResults(fmt::format("brev.b{} %d, %a;", t.bits), fmt::format("{0}:{0}", t.width), brev);
  }
  std::vector<Case> nth;
  for (uint64_t mask : {0xf0f0ull, 0ull, 0x80000001ull, 0xffffffffull})
    for (uint64_t base : {0, 4, 15, 31})
      for (int offset : {0, 1, 2, 5, -1, -2, -5, 40, INT32_MIN, INT32_MAX}) {
        uint64_t result = 0xffffffff;
        if (offset == 0) {
          result = mask >> base & 1 ? base : 0xffffffff;
        } else {
          int64_t left = std::abs(int64_t(offset));
          for (int64_t at = static_cast<int64_t>(base); at >= 0 && at < 32; at += offset > 0 ? 1 : -1)
            if ((mask >> at & 1) && --left == 0) {
              result = static_cast<uint64_t>(at);
              break;
            }
        }
        nth.push_back({{mask, base, static_cast<uint32_t>(offset)}, result});
      }
  expectResults("fns.b32 %d, %a, %b, %c;", "4:444", nth);
}

TEST(SimulatorIntegerSweep, AllTruthTables) {
  constexpr uint64_t a = 0xff00f0cc, b = 0x0ff0cca5, c = 0x3333aa96;
  for (unsigned table = 0; table < 256; ++table) {
    uint64_t expected = 0;
    for (unsigned i = 0; i < 32; ++i)
      expected |= uint64_t(table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i;
    expectResults(fmt::format("lop3.b32 %d, %a, %b, %c, {};", table), "4:444", {{{a, b, c}, expected}});
  }
}

TEST(SimulatorIntegerSweep, PermutesOfEveryMode) {
  // Bytes of b:a, numbered 7 … 0; the manual's tables of selectors, highest byte first.
  struct Mode {
    const char *suffix;
    int table[4][4];
  };
  const Mode modes[] = {{".f4e", {{3, 2, 1, 0}, {4, 3, 2, 1}, {5, 4, 3, 2}, {6, 5, 4, 3}}},
                        {".b4e", {{5, 6, 7, 0}, {6, 7, 0, 1}, {7, 0, 1, 2}, {0, 1, 2, 3}}},
                        {".rc8", {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}},
                        {".ecl", {{3, 2, 1, 0}, {3, 2, 1, 1}, {3, 2, 2, 2}, {3, 3, 3, 3}}},
                        {".ecr", {{0, 0, 0, 0}, {1, 1, 1, 0}, {2, 2, 1, 0}, {3, 2, 1, 0}}},
                        {".rc16", {{1, 0, 1, 0}, {3, 2, 3, 2}, {1, 0, 1, 0}, {3, 2, 3, 2}}}};
  constexpr uint64_t a = 0x83221100, b = 0xf7665544;
  auto byte = [&](int i) { return (i < 4 ? a >> (8 * i) : b >> (8 * (i - 4))) & 0xff; };
  for (const Mode &mode : modes) {
    std::vector<Case> cases;
    for (uint64_t c = 0; c < 4; ++c) {
      uint64_t expected = 0;
      for (int i = 0; i < 4; ++i)
        expected = expected << 8 | byte(mode.table[c][i]);
      cases.push_back({{a, b, c}, expected});
      cases.push_back({{a, b, c + 0xfff0}, expected}); // only two bits count
    }
    expectResults(fmt::format("prmt.b32{} %d, %a, %b, %c;", mode.suffix), "4:444", cases);
  }
  std::vector<Case> general;
  for (uint64_t c : {0x0000ull, 0x7654ull, 0x3210ull, 0xbf8cull, 0x0f3bull, 0xffff3210ull}) {
    uint64_t expected = 0;
    for (int i = 3; i >= 0; --i) {
      uint64_t selector = c >> (4 * i) & 15, v = byte(static_cast<int>(selector & 7));
      expected = expected << 8 | (selector & 8 ? (v & 0x80 ? 0xff : 0) : v);
    }
    general.push_back({{a, b, c}, expected});
  }
  expectResults("prmt.b32 %d, %a, %b, %c;", "4:444", general);
}

TEST(SimulatorIntegerSweep, DotProductsOfEverySign) {
  auto lane = [](uint64_t v, unsigned at, unsigned bits, bool isSigned) {
    auto x = static_cast<int64_t>(v >> at & ((1ull << bits) - 1));
    return isSigned && (x >> (bits - 1) & 1) ? x - (int64_t(1) << bits) : x;
  };
  for (bool as : {false, true})
    for (bool bs : {false, true}) {
      std::vector<Case> four, low, high;
      for (uint64_t a : {0x80ff7f01ull, 0x12345678ull, 0xffffffffull, 0x80008000ull})
        for (uint64_t b : {0xff80017full, 0x80808080ull, 0x04030201ull})
          for (uint64_t c : {0ull, 0x7fffffffull, 0xffffff00ull}) {
            int64_t s4 = static_cast<int64_t>(c), s2l = s4, s2h = s4;
            for (unsigned i = 0; i < 4; ++i)
              s4 += lane(a, 8 * i, 8, as) * lane(b, 8 * i, 8, bs);
            for (unsigned i = 0; i < 2; ++i) {
              s2l += lane(a, 16 * i, 16, as) * lane(b, 8 * i, 8, bs);
              s2h += lane(a, 16 * i, 16, as) * lane(b, 16 + 8 * i, 8, bs);
            }
            four.push_back({{a, b, c}, static_cast<uint32_t>(s4)});
            low.push_back({{a, b, c}, static_cast<uint32_t>(s2l)});
            high.push_back({{a, b, c}, static_cast<uint32_t>(s2h)});
          }
      std::string types = fmt::format(".{}.{} %d, %a, %b, %c;", as ? "s32" : "u32", bs ? "s32" : "u32");
      expectResults("dp4a" + types, "4:444", four);
      expectResults("dp2a.lo" + types, "4:444", low);
      expectResults("dp2a.hi" + types, "4:444", high);
    }
}

TEST(SimulatorIntegerSweep, LogicOfEveryWidth) {
  for (const IntegerType &t : {types[0], types[2], types[4]}) {
    auto text = [&](const char *op, const char *operands) { return fmt::format("{}.b{} {};", op, t.bits, operands); };
    sweep(text("and", "%d, %a, %b"), t, 2, t.width, t.bits, [](Wide a, Wide b, Wide) { return a & b; });
    sweep(text("or", "%d, %a, %b"), t, 2, t.width, t.bits, [](Wide a, Wide b, Wide) { return a | b; });
    sweep(text("xor", "%d, %a, %b"), t, 2, t.width, t.bits, [](Wide a, Wide b, Wide) { return a ^ b; });
    sweep(text("not", "%d, %a"), t, 1, t.width, t.bits, [](Wide a, Wide, Wide) { return ~a; });
    sweep(text("cnot", "%d, %a"), t, 1, t.width, t.bits, [](Wide a, Wide, Wide) { return Wide(a == 0); });
  }
  for (const char *op : {"and", "or", "xor"}) {
    std::vector<Case> cases;
    for (uint64_t a : {0, 1})
      for (uint64_t b : {0, 1})
        cases.push_back({{a, b}, op[0] == 'a' ? a & b : op[0] == 'o' ? a | b : a ^ b});
    expectResults(fmt::format("{}.pred %d, %a, %b;", op), "p:pp", cases);
  }
  // lop3 with a predicate: p = (d != 0) op q.
  for (bool either : {false, true}) {
    auto results = evaluate(fmt::format("lop3.{}.b32 %d|%q, %a, %b, %c, 0x80, %e;", either ? "or" : "and"), "4p:444p",
                            {{1, 3, 5, 0}, {1, 3, 5, 1}, {1, 2, 4, 0}, {1, 2, 4, 1}});
    for (size_t i = 0; i < 4; ++i) {
      bool nonzero = i < 2, q = i & 1;
      EXPECT_EQ(results[i][0], nonzero);
      EXPECT_EQ(results[i][1], uint64_t(either ? nonzero || q : nonzero && q)) << either << i;
    }
    auto sink = evaluate(fmt::format("lop3.{}.b32 _|%d, %a, %b, %a, 0xc0, !%c;", either ? "or" : "and"), "p:44p",
                         {{1, 3, 0}, {1, 2, 1}});
    EXPECT_EQ(sink[0][0], 1u);
    EXPECT_EQ(sink[1][0], 0u);
  }
}
