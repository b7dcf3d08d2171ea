// ldmatrix, movmatrix and every dense form of mma.sync, by the fragment formulas of the manual.
#include "tests/unit/simulator/MatrixForms.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

/// A value of a small float format: its raw bits and what they mean.
struct Number {
  uint64_t bits;
  double value;
};

/// Small multiples of a power of two, which every format has, so that all sums are exact in double.
Number number(std::string_view type, std::mt19937 &random) {
  int i = int(random() % 15) - 7;
  auto x = static_cast<float>(i) / 4;
  uint32_t word = std::bit_cast<uint32_t>(x);
  uint16_t half = std::bit_cast<uint16_t>(static_cast<_Float16>(x));
  if (type == "f16")
    return {half, x};
  if (type == "bf16")
    return {word >> 16, x};
  if (type == "tf32") // the low 13 bits do not count
    return {word | (random() & 0x1fff), x};
  if (type == "e5m2") { // two bits of fraction
    x = static_cast<float>(i & 3 ? i % 4 : 4);
    return {uint64_t(std::bit_cast<uint16_t>(static_cast<_Float16>(x)) >> 8), x};
  }
  // e4m3: three bits of fraction, bias 7
  uint32_t b = std::bit_cast<uint32_t>(x);
  if (x == 0)
    return {0, 0};
  return {(b >> 31 << 7) | ((b >> 20 & 0x7ff) - (127 - 7) * 8), x};
}

uint64_t sumBits(double x, bool half) {
  return half ? std::bit_cast<uint16_t>(static_cast<_Float16>(static_cast<float>(x)))
              : std::bit_cast<uint32_t>(static_cast<float>(x));
}

struct Kind {
  std::string type; ///< of A and B
  unsigned bits;
  std::vector<unsigned> depths;
  bool halfSums;
  std::string_view target;
};

} // namespace

TEST(SimulatorMatrix, FloatFragmentsOfEveryShape) {
  std::mt19937 random(1);
  const Kind kinds[] = {{"f16", 16, {8, 16}, true, "sm_80"},
                        {"bf16", 16, {8, 16}, false, "sm_80"},
                        {"tf32", 32, {4, 8}, false, "sm_80"},
                        {"e4m3", 8, {16, 32}, true, "sm_89"},
                        {"e5m2", 8, {16, 32}, true, "sm_89"}};
  for (const Kind &kind : kinds)
    for (unsigned k : kind.depths)
      for (bool half : {false, true})
        for (const std::string other : {"e4m3", "e5m2"}) {
          std::string bType = kind.bits == 8 ? other : kind.type;
          if ((half && !kind.halfSums) || (kind.bits != 8 && other == "e5m2"))
            continue;
          MmaForm form{fmt::format("m16n8k{}", k),
                       16,
                       k,
                       kind.bits,
                       fmt::format(".{0}.{1}.{2}.{0}", half ? "f16" : "f32", kind.type, bType),
                       half ? 16u : 32u,
                       kind.target};
          std::vector<uint64_t> a, b, c;
          std::vector<double> x, y, z;
          auto fill = [&](std::vector<uint64_t> &bits, std::vector<double> &values, size_t count, auto make) {
            for (size_t i = 0; i < count; ++i) {
              Number n = make();
              bits.push_back(n.bits);
              values.push_back(n.value);
            }
          };
          fill(a, x, 16 * k, [&] { return number(kind.type, random); });
          fill(b, y, k * 8, [&] { return number(bType, random); });
          fill(c, z, 128, [&] {
            double v = int(random() % 64) - 32;
            return Number{sumBits(v, half), v};
          });
          auto d = multiply(form, a, b, c);
          for (unsigned i = 0; i < 128; ++i) {
            double sum = z[i];
            for (unsigned j = 0; j < k; ++j)
              sum += x[i / 8 * k + j] * y[j * 8 + i % 8];
            ASSERT_EQ(d[i], sumBits(sum, half)) << form.shape << form.types << " " << i;
          }
        }
}

TEST(SimulatorMatrix, IntegerFragmentsWrapAndSaturate) {
  std::mt19937 random(5);
  struct Shape {
    const char *name;
    unsigned m, k, bits;
  };
  const Shape shapes[] = {{"m8n8k16", 8, 16, 8}, {"m16n8k16", 16, 16, 8}, {"m16n8k32", 16, 32, 8},
                          {"m8n8k32", 8, 32, 4}, {"m16n8k32", 16, 32, 4}, {"m16n8k64", 16, 64, 4}};
  for (const Shape &shape : shapes)
    for (bool aSigned : {false, true})
      for (bool bSigned : {false, true})
        for (bool saturate : {false, true}) {
          MmaForm form{shape.name, shape.m, shape.k, shape.bits,
                       fmt::format("{}.s32.{}{}.{}{}.s32", saturate ? ".satfinite" : "", aSigned ? "s" : "u",
                                   shape.bits, bSigned ? "s" : "u", shape.bits)};
          auto value = [&](uint64_t raw, bool isSigned) {
            int64_t sign = int64_t(1) << (shape.bits - 1);
            return isSigned ? (int64_t(raw) ^ sign) - sign : int64_t(raw);
          };
          std::vector<uint64_t> a(form.m * form.k), b(form.k * 8), c(form.m * 8);
          for (auto *v : {&a, &b})
            for (uint64_t &x : *v)
              x = random() & ((1u << shape.bits) - 1);
          for (uint64_t &x : c)
            x = random() % 3 ? random() & 1 ? 0x7ffffff0 : 0x80000010 : random();
          auto d = multiply(form, a, b, c);
          for (unsigned i = 0; i < form.m * 8; ++i) {
            int64_t sum = static_cast<int32_t>(c[i]);
            for (unsigned j = 0; j < form.k; ++j)
              sum += value(a[i / 8 * form.k + j], aSigned) * value(b[j * 8 + i % 8], bSigned);
            if (saturate)
              sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
            ASSERT_EQ(d[i], static_cast<uint32_t>(sum)) << form.shape << form.types << " " << i;
          }
        }
}

TEST(SimulatorMatrix, BitFragments) {
  std::mt19937 random(6);
  for (auto [name, m, k] : {std::tuple("m8n8k128", 8u, 128u), {"m16n8k128", 16u, 128u}, {"m16n8k256", 16u, 256u}})
    for (bool both : {false, true}) {
      MmaForm form{name, m, k, 1, both ? ".s32.b1.b1.s32.and.popc" : ".s32.b1.b1.s32.xor.popc"};
      std::vector<uint64_t> a(m * k), b(k * 8), c(m * 8);
      for (auto *v : {&a, &b})
        for (uint64_t &x : *v)
          x = random() & 1;
      for (uint64_t &x : c)
        x = random() & 1 ? 0x7fffffff : random() & 0xffffffff;
      auto d = multiply(form, a, b, c);
      for (unsigned i = 0; i < m * 8; ++i) {
        auto sum = static_cast<uint32_t>(c[i]);
        for (unsigned j = 0; j < k; ++j) {
          uint64_t x = a[i / 8 * k + j], y = b[j * 8 + i % 8];
          sum += static_cast<uint32_t>(both ? x & y : x ^ y);
        }
        ASSERT_EQ(d[i], sum) << name << both << " " << i;
      }
    }
}

TEST(SimulatorMatrix, DoubleFragmentsAreChainsOfFusedMultiplyAdds) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (auto [name, m, k, target] : {std::tuple("m8n8k4", 8u, 4u, "sm_80"),
                                    {"m16n8k4", 16u, 4u, "sm_90"},
                                    {"m16n8k8", 16u, 8u, "sm_90"},
                                    {"m16n8k16", 16u, 16u, "sm_90"}})
    for (MmaMode mode : {MmaMode::Exact, MmaMode::Hardware}) {
      MmaForm form{name, m, k, 64, ".f64.f64.f64.f64", 64, target};
      std::vector<uint64_t> a(m * k), b(k * 8), c(m * 8);
      for (auto *v : {&a, &b, &c})
        for (uint64_t &x : *v)
          x = std::bit_cast<uint64_t>(uniform(random));
      Options options;
      options.mma = mode;
      auto d = multiply(form, a, b, c, options);
      for (unsigned i = 0; i < m * 8; ++i) {
        auto sum = std::bit_cast<double>(c[i]);
        for (unsigned j = 0; j < k; ++j)
          sum = std::fma(std::bit_cast<double>(a[i / 8 * k + j]), std::bit_cast<double>(b[j * 8 + i % 8]), sum);
        ASSERT_EQ(std::bit_cast<double>(d[i]), sum) << name << " " << i;
      }
    }
  // 1 + 2^-60 and -1 - 2^-60 in each direction.
  for (auto [rounding, positive, negative] : {std::tuple(".rn", 1.0, -1.0),
                                              {".rz", 1.0, -1.0},
                                              {".rm", 1.0, std::nextafter(-1.0, -2.0)},
                                              {".rp", std::nextafter(1.0, 2.0), -1.0}}) {
    MmaForm form{"m8n8k4", 8, 4, 64, std::string(rounding) + ".f64.f64.f64.f64", 64};
    std::vector<uint64_t> a(32, 0), b(32, 0), c(64, 0);
    a[0] = b[0] = b[2] = std::bit_cast<uint64_t>(0x1p-30);
    a[4] = std::bit_cast<uint64_t>(-0x1p-30);
    c[0] = std::bit_cast<uint64_t>(1.0);
    c[8] = std::bit_cast<uint64_t>(-1.0);
    auto d = multiply(form, a, b, c);
    EXPECT_EQ(std::bit_cast<double>(d[0]), positive) << rounding;
    EXPECT_EQ(std::bit_cast<double>(d[8]), negative) << rounding;
  }
}

namespace {

// m8n8k4 of f16: four products; lane l takes part in product l / 4 % 4.
unsigned quadRow(unsigned lane, unsigned i, bool row) {
  return row ? lane % 4 + (lane < 16 ? 0 : 4) : i % 4 + (lane < 16 ? 0 : 4);
}
unsigned quadDepth(unsigned lane, unsigned i, bool row) { return row ? i : lane % 4; }
unsigned quadSumRow(unsigned lane, unsigned i, bool half) {
  return (half ? lane % 4 : (lane & 1) + (i & 2)) + (lane < 16 ? 0 : 4);
}
unsigned quadSumColumn(unsigned lane, unsigned i, bool half) { return half ? i : (i & 4) + (lane & 2) + (i & 1); }

} // namespace

TEST(SimulatorMatrix, QuadPairsInEveryLayoutAndType) {
  std::mt19937 random(8);
  for (bool aRow : {false, true})
    for (bool bRow : {false, true})
      for (auto [dHalf, cHalf] : {std::pair(false, false), {false, true}, {true, true}})
        for (MmaMode mode : {MmaMode::Exact, MmaMode::Hardware}) {
          double a[4][8][4], b[4][4][8], c[4][8][8];
          for (auto *v : {&a[0][0][0], &b[0][0][0]})
            for (unsigned i = 0; i < 128; ++i)
              v[i] = int(random() % 15) - 7;
          for (unsigned i = 0; i < 256; ++i)
            (&c[0][0][0])[i] = int(random() % 99) - 50;
          std::vector<uint32_t> in(32 * 16);
          for (unsigned lane = 0; lane < 32; ++lane) {
            unsigned p = lane / 4 % 4;
            uint32_t *words = &in[lane * 16];
            auto put = [&](unsigned word, unsigned i, double x) {
              words[word + i / 2] |= uint32_t(sumBits(x, true)) << (16 * (i & 1));
            };
            for (unsigned i = 0; i < 4; ++i) {
              put(0, i, a[p][quadRow(lane, i, aRow)][quadDepth(lane, i, aRow)]);
              put(2, i, b[p][quadDepth(lane, i, !bRow)][quadRow(lane, i, !bRow)]);
            }
            for (unsigned i = 0; i < 8; ++i) {
              double x = c[p][quadSumRow(lane, i, cHalf)][quadSumColumn(lane, i, cHalf)];
              if (cHalf)
                put(8, i, x);
              else
                words[8 + i] = uint32_t(sumBits(x, false));
            }
          }
          auto sums = [](bool half) { return half ? "{%c0,%c1,%c2,%c3}" : "{%c0,%c1,%c2,%c3,%c4,%c5,%c6,%c7}"; };
          Machine machine;
          machine.options.mma = mode;
          machine.load(header() + fmt::format(R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{{
  .reg .b64 %in, %out, %t;
  .reg .b32 %lane, %a<2>, %b<2>, %c<8>;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %lane, %laneid;
  mul.wide.u32 %t, %lane, 64;
  add.u64 %in, %in, %t;
  add.u64 %out, %out, %t;
  ld.global.v2.b32 {{%a0,%a1}}, [%in];
  ld.global.v2.b32 {{%b0,%b1}}, [%in+8];
  ld.global.v4.b32 {{%c0,%c1,%c2,%c3}}, [%in+32];
  ld.global.v4.b32 {{%c4,%c5,%c6,%c7}}, [%in+48];
  mma.sync.aligned.m8n8k4.{}.{}.{}.f16.f16.{} {}, {{%a0,%a1}}, {{%b0,%b1}}, {};
  st.global.v4.b32 [%out], {{%c0,%c1,%c2,%c3}};
  st.global.v4.b32 [%out+16], {{%c4,%c5,%c6,%c7}};
  ret;
}}
)",
                                              aRow ? "row" : "col", bRow ? "row" : "col", dHalf ? "f16" : "f32",
                                              cHalf ? "f16" : "f32", sums(dHalf), sums(cHalf)));
          uint64_t pin = machine.upload(in), pout = machine.upload(std::vector<uint32_t>(32 * 16));
          expectClean(machine.run({1, 1, 1}, {32, 1, 1}, {pin, pout}));
          auto out = machine.download<uint32_t>(pout, 32 * 16);
          for (unsigned lane = 0; lane < 32; ++lane)
            for (unsigned i = 0; i < 8; ++i) {
              unsigned p = lane / 4 % 4, m = quadSumRow(lane, i, dHalf), n = quadSumColumn(lane, i, dHalf);
              double sum = c[p][m][n];
              for (unsigned k = 0; k < 4; ++k)
                sum += a[p][m][k] * b[p][k][n];
              uint32_t word = out[lane * 16 + (dHalf ? i / 2 : i)];
              ASSERT_EQ(dHalf ? word >> (16 * (i & 1)) & 0xffff : word, sumBits(sum, dHalf))
                  << aRow << bRow << dHalf << cHalf << " lane " << lane << " element " << i;
            }
        }
}

TEST(SimulatorMatrix, UndefinedInputsReachTheirRowsAndColumnsOnly) {
  const MmaForm forms[] = {
      {"m16n8k16", 16, 16, 16, ".f32.f16.f16.f32"}, {"m16n8k16", 16, 16, 16, ".f16.f16.f16.f16", 16},
      {"m16n8k8", 16, 8, 16, ".f32.bf16.bf16.f32"}, {"m16n8k8", 16, 8, 32, ".f32.tf32.tf32.f32"},
      {"m16n8k32", 16, 32, 8, ".s32.s8.u8.s32"},    {"m8n8k16", 8, 16, 8, ".s32.s8.s8.s32"},
      {"m16n8k64", 16, 64, 4, ".s32.u4.u4.s32"},    {"m16n8k256", 16, 256, 1, ".s32.b1.b1.s32.xor.popc"},
      {"m8n8k4", 8, 4, 64, ".f64.f64.f64.f64", 64}, {"m16n8k32", 16, 32, 8, ".f32.e4m3.e4m3.f32", 32, "sm_89"}};
  constexpr unsigned lost = 13; // the lane whose register stays unwritten
  for (const MmaForm &form : forms) {
    unsigned per = form.perRegister(), perSum = std::max(32u / form.sumBits, 1u);
    std::vector<std::string> registers;
    for (unsigned i = 0; i < form.aElements() / per; ++i)
      registers.push_back(fmt::format("%a{}", i));
    for (unsigned i = 0; i < form.bElements() / per; ++i)
      registers.push_back(fmt::format("%b{}", i));
    for (unsigned i = 0; i < form.sums() / perSum; ++i)
      registers.push_back(fmt::format("%c{}", i));
    for (const std::string &reg : registers) {
      unsigned index = static_cast<unsigned>(reg[2] - '0');
      auto undefined = [&](unsigned lane, unsigned i) {
        unsigned row = MmaForm::cRow(lane, i), column = MmaForm::cColumn(lane, i);
        switch (reg[1]) {
        case 'a':
          return row == form.aRow(lost, index * per);
        case 'b':
          return column == MmaForm::bColumn(lost);
        default:
          return lane == lost && i / perSum == index;
        }
      };
      Machine machine(profileOf(form.target));
      machine.load(productText(form, reg));
      uint64_t in = machine.upload(std::vector<uint64_t>(32 * 32)), out = machine.upload(std::vector<uint64_t>(32 * 8));
      LaunchReport report = machine.run({1, 1, 1}, {32, 1, 1}, {in, out});
      for (unsigned i = 0; i < form.sums() / perSum; ++i) {
        uint64_t expected = 0, found = 0;
        for (unsigned lane = 0; lane < 32; ++lane) {
          bool any = false;
          for (unsigned e = 0; e < perSum; ++e)
            any |= undefined(lane, i * perSum + e);
          expected += any;
        }
        for (const Finding &f : report.findings)
          if (f.instruction.ends_with(fmt::format(", %c{}", i))) {
            EXPECT_EQ(f.kind, FindingKind::UninitialisedRead);
            found += 1 + f.repeats;
          }
        EXPECT_EQ(found, expected) << form.shape << form.types << " without " << reg << ": %c" << i;
      }
    }
  }
}

TEST(SimulatorMatrix, RefusesWhatIsNoFormByName) {
  auto refused = [](const std::string &instruction, std::string_view what, std::string_view target = "sm_80",
                    std::string_view profile = "a100") {
    std::string error = instructionError(instruction, target, profile);
    EXPECT_NE(error.find(what), std::string::npos) << instruction << "\n" << error;
  };
  const std::string f4 = "{%f0,%f1,%f2,%f3}", r4 = "{%r0,%r1,%r2,%r3}", r2 = "{%r0,%r1}", r1 = "{%r0}";
  refused("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 " + f4 + ", " + r4 + ", " + r4 + ", " + f4 +
              ", %r0, 0x0;",
          "mma.sp");
  refused("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 " + f4 + ", " + r4 + ", " + r4 +
              ", " + f4 + ", %r0, 0x0;",
          "mma.sp::ordered_metadata");
  refused("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 " + f4 + ", " + r4 + ", " + r2 + ", " + f4 + ";",
          "sm_89");
  refused("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 " + f4 + ", " + r4 + ", " + r2 + ", " + f4 +
              ";",
          ".kind::f8f6f4");
  refused("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%fd0,%fd1,%fd2,%fd3}, {%fd0,%fd1}, {%fd0}, "
          "{%fd0,%fd1,%fd2,%fd3};",
          "sm_90");
  refused("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16 " + f4 + ", " + r4 + ", " + r2 + ", " + r2 + ";",
          "C and D must be of one type");
  refused("mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16 " + r2 + ", " + r4 + ", " + r2 + ", " + r2 + ";",
          "C and D of type .f16 do not go");
  refused("mma.sync.aligned.m16n8k8.row.col.f32.bf16.f16.f32 " + f4 + ", " + r2 + ", " + r1 + ", " + f4 + ";",
          "do not go together");
  refused("mma.sync.aligned.m16n8k32.row.col.s32.s4.s8.s32 " + r4 + ", " + r2 + ", " + r1 + ", " + r4 + ";",
          "do not go together");
  refused("mma.sync.aligned.m16n8k16.col.col.f32.f16.f16.f32 " + f4 + ", " + r4 + ", " + r2 + ", " + f4 + ";",
          ".row.col");
  refused("mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32 " + f4 + ", " + r4 + ", " + r2 + ", " + f4 + ";",
          ".satfinite");
  refused("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32 " + r2 + ", " + r1 + ", " + r1 + ", " + r2 + ";",
          ".xor.popc");
  refused("mma.sync.aligned.m16n8k256.row.col.f32.f16.f16.f32 " + f4 + ", " + r4 + ", " + r2 + ", " + f4 + ";",
          ".m16n8k8, .m16n8k16 do");
  refused("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + f4 + ", " + r2 + ", " + r2 + ", " + f4 + ";",
          "4 registers");
  refused("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 " + r2 + ", [%d0];", "sm_100a");
  refused("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%d0], " + r1 + ";", "sm_90");
  refused("movmatrix.sync.aligned.m8n8.b16 %r0, %r1;", ".trans");
  // 8-bit floats of depth 16 and with f16 sums came later.
  std::string old = header("sm_89", "8.6") + ".visible .entry k()\n{\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n";
  EXPECT_NE(loadError(old + "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e4m3.f32 " + f4 + ", " + r2 + ", " + r1 + ", " +
                          f4 + ";\nret;\n}\n",
                      "rtx4090")
                .find("8.7"),
            std::string::npos);
}

TEST(SimulatorMatrix, SinksAndConstantsAreOperandsToo) {
  Machine machine;
  machine.load(header() + R"(
.visible .entry k(.param .u64 out)
{
  .reg .b64 %out, %t;
  .reg .b32 %lane, %a, %d;
  ld.param.u64 %out, [out];
  mov.u32 %lane, %laneid;
  mul.wide.u32 %t, %lane, 4;
  add.u64 %out, %out, %t;
  mov.b32 %a, 0x01010101;
  mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {_,%d}, {%a}, {0x02020202}, {7,-5};
  st.global.b32 [%out], %d;
  ret;
}
)");
  uint64_t out = machine.upload(std::vector<uint32_t>(32));
  expectClean(machine.run({1, 1, 1}, {32, 1, 1}, {out}));
  EXPECT_EQ(machine.download<int32_t>(out, 32), std::vector<int32_t>(32, 32 - 5));
}

TEST(SimulatorMatrix, LdmatrixPlainTransposedAndMovmatrix) {
  Machine machine;
  machine.load(header() + R"(
.shared .align 16 .b16 s[512];
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b64 %in, %out, %t;
  .reg .b32 %lane, %a, %r<16>;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %lane, %laneid;
  mul.wide.u32 %t, %lane, 16;
  add.u64 %in, %in, %t;
  mul.wide.u32 %t, %lane, 64;
  add.u64 %out, %out, %t;
  mov.u32 %a, s;
  mad.lo.u32 %a, %lane, 16, %a;
  ld.global.v4.b32 {%r0,%r1,%r2,%r3}, [%in];
  st.shared.v4.b32 [%a], {%r0,%r1,%r2,%r3};
  bar.warp.sync -1;
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0,%r1,%r2,%r3}, [%a];
  ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r4,%r5,%r6,%r7}, [%a];
  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r8}, [%a+256];   // lanes 8 … 31 would be out of bounds, and do not count
  ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r9,%r10}, [%a+128];
  movmatrix.sync.aligned.m8n8.trans.b16 %r11, %r0;
  st.global.v4.b32 [%out], {%r0,%r1,%r2,%r3};
  st.global.v4.b32 [%out+16], {%r4,%r5,%r6,%r7};
  st.global.v4.b32 [%out+32], {%r8,%r9,%r10,%r11};
  ret;
}
)");
  std::vector<uint16_t> in(256);
  for (unsigned i = 0; i < 256; ++i)
    in[i] = static_cast<uint16_t>(i);
  uint64_t pin = machine.upload(in), pout = machine.upload(std::vector<uint32_t>(512));
  expectClean(machine.run({1, 1, 1}, {32, 1, 1}, {pin, pout}));
  auto out = machine.download<uint32_t>(pout, 512);
  auto pair = [](uint32_t low, uint32_t high) { return high << 16 | low; };
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t g = lane / 4, q = lane % 4;
    for (uint32_t j = 0; j < 4; ++j) {
      EXPECT_EQ(out[lane * 16 + j], pair(j * 64 + g * 8 + 2 * q, j * 64 + g * 8 + 2 * q + 1));
      EXPECT_EQ(out[lane * 16 + 4 + j], pair(j * 64 + 2 * q * 8 + g, j * 64 + (2 * q + 1) * 8 + g));
    }
    EXPECT_EQ(out[lane * 16 + 8], pair(128 + g * 8 + 2 * q, 128 + g * 8 + 2 * q + 1));
    EXPECT_EQ(out[lane * 16 + 9], pair(64 + g * 8 + 2 * q, 64 + g * 8 + 2 * q + 1));
    EXPECT_EQ(out[lane * 16 + 10], pair(128 + g * 8 + 2 * q, 128 + g * 8 + 2 * q + 1));
    EXPECT_EQ(out[lane * 16 + 11], pair(2 * q * 8 + g, (2 * q + 1) * 8 + g));
  }
}
