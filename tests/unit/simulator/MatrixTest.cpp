// ldmatrix, movmatrix and mma.sync, by the fragment formulas of the manual.
#include "tests/unit/simulator/Harness.h"

#include <cmath>
#include <fmt/format.h>
#include <random>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

uint16_t toHalf(float x) { return std::bit_cast<uint16_t>(static_cast<_Float16>(x)); }
uint16_t toBfloat(float x) {
  uint32_t b = std::bit_cast<uint32_t>(x);
  return static_cast<uint16_t>((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

struct Shape {
  std::string name; ///< m16n8k16
  unsigned k, elementBytes, aRegs, bRegs;
};

unsigned aRow(const Shape &s, unsigned lane, unsigned i) {
  unsigned g = lane / 4;
  if (s.elementBytes == 4)
    return g + 8 * (i & 1);
  if (s.elementBytes == 2)
    return g + 8 * ((i >> 1) & 1);
  return g + 8 * ((i >> 2) & 1);
}
unsigned aColumn(const Shape &s, unsigned lane, unsigned i) {
  unsigned q = lane % 4;
  if (s.elementBytes == 4)
    return q + 4 * (i >> 1);
  if (s.elementBytes == 2)
    return 2 * q + (i & 1) + 8 * (i >> 2);
  return 4 * q + (i & 3) + 16 * (i >> 3);
}
unsigned bRow(const Shape &s, unsigned lane, unsigned i) {
  unsigned q = lane % 4;
  if (s.elementBytes == 4)
    return q + 4 * i;
  if (s.elementBytes == 2)
    return 2 * q + (i & 1) + 8 * (i >> 1);
  return 4 * q + (i & 3) + 16 * (i >> 2);
}

/// A (16 x k), B (k x 8) as raw elements; C and D as 32-bit words.
std::vector<uint32_t> multiply(const Shape &s, const std::string &types, const std::vector<uint32_t> &a,
                               const std::vector<uint32_t> &b, const std::vector<uint32_t> &c, Options options = {},
                               std::string_view target = "sm_80") {
  Machine machine(target == "sm_80" ? "a100" : target == "sm_89" ? "rtx4090" : "h100");
  machine.options = options;
  auto list = [](const char *name, unsigned n) {
    std::string text = "{";
    for (unsigned i = 0; i < n; ++i)
      text += fmt::format("{}%{}{}", i ? "," : "", name, i);
    return text + "}";
  };
  std::string ptx =
      header(target) +
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b64 %in, %out, %t;\n.reg .b32 %lane;\n"
      ".reg .b32 %a<4>, %b<4>, %c<4>;\nld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %lane, %laneid;\n"
      "mul.wide.u32 %t, %lane, 64;\nadd.u64 %in, %in, %t;\nadd.u64 %out, %out, %t;\n"
      "ld.global.v4.b32 {%a0,%a1,%a2,%a3}, [%in];\nld.global.v2.b32 {%b0,%b1}, [%in+16];\nld.global.v4.b32 "
      "{%c0,%c1,%c2,%c3}, [%in+32];\n";
  bool halfSum = types.find(".f16.", 0) == 0;
  unsigned n = halfSum ? 2 : 4;
  ptx += fmt::format("mma.sync.aligned.{}.row.col{} {}, {}, {}, {};\n", s.name, types, list("c", n), list("a", s.aRegs),
                     list("b", s.bRegs), list("c", n));
  ptx += "st.global.v4.b32 [%out], {%c0,%c1,%c2,%c3};\nret;\n}\n";
  machine.load(ptx);
  std::vector<uint32_t> in(32 * 16, 0);
  unsigned perReg = 4 / s.elementBytes;
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < s.aRegs * perReg; ++i)
      in[lane * 16 + i / perReg] |= a[aRow(s, lane, i) * s.k + aColumn(s, lane, i)]
                                    << (8 * s.elementBytes * (i % perReg) % 32);
    for (unsigned i = 0; i < s.bRegs * perReg; ++i)
      in[lane * 16 + 4 + i / perReg] |= b[bRow(s, lane, i) * 8 + lane / 4] << (8 * s.elementBytes * (i % perReg) % 32);
    for (unsigned i = 0; i < 4; ++i) {
      uint32_t value = c[(lane / 4 + 8 * (i / 2)) * 8 + lane % 4 * 2 + (i & 1)];
      if (halfSum)
        in[lane * 16 + 8 + i / 2] |= value << (16 * (i & 1));
      else
        in[lane * 16 + 8 + i] = value;
    }
  }
  uint64_t pin = machine.upload(in), pout = machine.upload(std::vector<uint32_t>(32 * 16));
  expectClean(machine.run({1, 1, 1}, {32, 1, 1}, {pin, pout}));
  auto out = machine.download<uint32_t>(pout, 32 * 16);
  std::vector<uint32_t> d(128);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i)
      d[(lane / 4 + 8 * (i / 2)) * 8 + lane % 4 * 2 + (i & 1)] =
          halfSum ? out[lane * 16 + i / 2] >> (16 * (i & 1)) & 0xffff : out[lane * 16 + i];
  return d;
}

struct FloatCase {
  std::vector<float> a, b, c;
  FloatCase(unsigned k, unsigned seed, float (*round)(float)) : a(16 * k), b(k * 8), c(128) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-2, 2);
    for (auto *v : {&a, &b, &c})
      for (float &x : *v)
        x = round(uniform(random));
  }
  double exact(unsigned m, unsigned n) const {
    unsigned k = static_cast<unsigned>(b.size() / 8);
    double s = c[m * 8 + n];
    for (unsigned i = 0; i < k; ++i)
      s += double(a[m * k + i]) * b[i * 8 + n];
    return s;
  }
};

template <class F> std::vector<uint32_t> bits(const std::vector<float> &v, F f) {
  std::vector<uint32_t> r;
  for (float x : v)
    r.push_back(f(x));
  return r;
}
uint32_t wordBits(float x) { return std::bit_cast<uint32_t>(x); }

} // namespace

TEST(SimulatorMatrix, MmaHalfAndBfloatExact) {
  for (bool bfloat : {false, true})
    for (unsigned k : {8u, 16u}) {
      Shape s{fmt::format("m16n8k{}", k), k, 2, k / 4, k / 8};
      auto round = bfloat ? +[](float x) { return std::bit_cast<float>(uint32_t(toBfloat(x)) << 16); }
                          : +[](float x) { return float(static_cast<_Float16>(x)); };
      FloatCase f(k, k, round);
      auto element =
          bfloat ? +[](float x) { return uint32_t(toBfloat(x)); } : +[](float x) { return uint32_t(toHalf(x)); };
      auto d = multiply(s, bfloat ? ".f32.bf16.bf16.f32" : ".f32.f16.f16.f32", bits(f.a, element), bits(f.b, element),
                        bits(f.c, wordBits));
      for (unsigned m = 0; m < 16; ++m)
        for (unsigned n = 0; n < 8; ++n)
          EXPECT_EQ(std::bit_cast<float>(d[m * 8 + n]), static_cast<float>(f.exact(m, n)))
              << bfloat << " k " << k << " (" << m << "," << n << ")";
    }
}

TEST(SimulatorMatrix, MmaHalfSums) {
  Shape s{"m16n8k16", 16, 2, 4, 2};
  FloatCase f(16, 3, [](float x) { return float(static_cast<_Float16>(x)); });
  auto element = [](float x) { return uint32_t(toHalf(x)); };
  auto d = multiply(s, ".f16.f16.f16.f16", bits(f.a, element), bits(f.b, element), bits(f.c, element));
  for (unsigned i = 0; i < 128; ++i)
    EXPECT_EQ(d[i], toHalf(static_cast<float>(f.exact(i / 8, i % 8)))) << i;
}

TEST(SimulatorMatrix, MmaTf32TruncatesInputs) {
  for (unsigned k : {4u, 8u}) {
    Shape s{fmt::format("m16n8k{}", k), k, 4, k / 2, k / 4};
    FloatCase f(k, k + 7, [](float x) { return x; });
    auto d = multiply(s, ".f32.tf32.tf32.f32", bits(f.a, wordBits), bits(f.b, wordBits), bits(f.c, wordBits));
    for (auto *v : {&f.a, &f.b})
      for (float &x : *v)
        x = std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0xffffe000);
    for (unsigned i = 0; i < 128; ++i)
      EXPECT_EQ(std::bit_cast<float>(d[i]), static_cast<float>(f.exact(i / 8, i % 8))) << k << " " << i;
  }
}

TEST(SimulatorMatrix, MmaIntegersWrapAndSaturate) {
  std::mt19937 random(5);
  for (unsigned k : {16u, 32u})
    for (bool aSigned : {false, true})
      for (bool saturate : {false, true}) {
        Shape s{fmt::format("m16n8k{}", k), k, 1, k / 8, k / 16};
        std::vector<uint32_t> a(16 * k), b(k * 8), c(128);
        for (auto *v : {&a, &b})
          for (uint32_t &x : *v)
            x = random() & 255;
        for (uint32_t &x : c)
          x = random() & 1 ? 0x7ffffff0 : 0x80000010;
        auto d =
            multiply(s, fmt::format("{}.s32.{}.s8.s32", saturate ? ".satfinite" : "", aSigned ? "s8" : "u8"), a, b, c);
        for (unsigned i = 0; i < 128; ++i) {
          int64_t sum = static_cast<int32_t>(c[i]);
          for (unsigned x = 0; x < k; ++x)
            sum += (aSigned ? int8_t(a[i / 8 * k + x]) : int(uint8_t(a[i / 8 * k + x]))) * int8_t(b[x * 8 + i % 8]);
          if (saturate)
            sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
          EXPECT_EQ(d[i], static_cast<uint32_t>(sum)) << k << aSigned << saturate << " " << i;
        }
      }
}

TEST(SimulatorMatrix, MmaByteFloats) {
  Shape s{"m16n8k32", 32, 1, 4, 2};
  std::vector<uint32_t> a(16 * 32, 0), b(32 * 8, 0), c(128, 0);
  a[3 * 32 + 17] = 0x40; // e4m3 2.0
  b[17 * 8 + 5] = 0x3d;  // e5m2 1.25
  auto d = multiply(s, ".f32.e4m3.e5m2.f32", a, b, c, {}, "sm_89");
  for (unsigned i = 0; i < 128; ++i)
    EXPECT_EQ(std::bit_cast<float>(d[i]), i == 3 * 8 + 5 ? 2.5f : 0.0f);
}

TEST(SimulatorMatrix, MmaSpecialValues) {
  Shape s{"m16n8k16", 16, 2, 4, 2};
  for (MmaMode mode : {MmaMode::Exact, MmaMode::Hardware, MmaMode::Stress}) {
    std::vector<uint32_t> a(256, 0), b(128, 0), c(128, 0);
    a[0] = 0x7c00; // inf · 1 in row 0
    for (unsigned n = 0; n < 8; ++n)
      b[n] = 0x3c00;
    b[3] = 0;               // inf · 0
    a[16 * 2 + 1] = 0x0001; // subnormals count
    b[8 + 1] = 0x3c00;
    c[8 * 5 + 2] = 0x7f800001;
    Options options;
    options.mma = mode;
    auto d = multiply(s, ".f32.f16.f16.f32", a, b, c, options);
    EXPECT_EQ(d[0], 0x7f800000u);
    EXPECT_EQ(d[3], 0x7fffffffu);
    EXPECT_EQ(d[8 * 2 + 1], wordBits(0x1p-24f));
    EXPECT_EQ(d[8 * 5 + 2], 0x7fffffffu);
    EXPECT_EQ(d[8 * 9], 0u);
  }
}

TEST(SimulatorMatrix, HardwareModeTruncatesByArchitecture) {
  // 1 + 2^-24 · 1 + …: sm_80 keeps 24 bits below the largest exponent and cuts the sum to f32, in two halves of K.
  Shape s{"m16n8k16", 16, 2, 4, 2};
  std::vector<uint32_t> a(256, 0), b(128, 0), c(128, 0);
  a[0] = toHalf(1.0f);
  a[1] = a[2] = a[3] = toHalf(0x1p-12f);
  for (unsigned k = 0; k < 16; ++k)
    b[k * 8] = toHalf(k == 0 ? 1.0f : 0x1p-12f);
  Options hardware;
  hardware.mma = MmaMode::Hardware;
  auto d = multiply(s, ".f32.f16.f16.f32", a, b, c, hardware); // 1 + 3·2^-24 = 1 + 2^-23 + 2^-24: cut
  EXPECT_EQ(d[0], 0x3f800001u);
  EXPECT_EQ(multiply(s, ".f32.f16.f16.f32", a, b, c)[0], 0x3f800002u); // one rounding to nearest even
  // A term of 2^-25 vanishes on sm_80 (24 bits) and counts on sm_90 (25 bits), twice.
  a[1] = toHalf(0x1p-13f);
  a[2] = toHalf(0x1p-13f);
  a[3] = toHalf(0x1p-12f);
  EXPECT_EQ(multiply(s, ".f32.f16.f16.f32", a, b, c, hardware)[0], 0x3f800000u);
  EXPECT_EQ(multiply(s, ".f32.f16.f16.f32", a, b, c, hardware, "sm_90")[0], 0x3f800001u);
}

TEST(SimulatorMatrix, StressStaysWithinTheManualsFreedom) {
  Shape s{"m16n8k16", 16, 2, 4, 2};
  FloatCase f(16, 9, [](float x) { return float(static_cast<_Float16>(x)); });
  auto element = [](float x) { return uint32_t(toHalf(x)); };
  Options stress;
  stress.mma = MmaMode::Stress;
  unsigned different = 0;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    stress.seed = seed;
    auto d = multiply(s, ".f32.f16.f16.f32", bits(f.a, element), bits(f.b, element), bits(f.c, wordBits), stress);
    for (unsigned i = 0; i < 128; ++i) {
      double error = std::bit_cast<float>(d[i]) - f.exact(i / 8, i % 8);
      EXPECT_LE(std::fabs(error), 17 * 0x1p-23 * 68);
      different += error != 0;
    }
  }
  EXPECT_GT(different, 100u);
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
