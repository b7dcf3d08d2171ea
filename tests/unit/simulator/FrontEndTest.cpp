// The PTX front end refuses what it does not know, with line and text, and survives any input.
#include "tests/unit/simulator/Harness.h"

#include <fmt/format.h>
#include <random>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {
void expectError(const std::string &instruction, std::string_view part, std::string_view target = "sm_80",
                 std::string_view profile = "a100") {
  std::string error = instructionError(instruction, target, profile);
  EXPECT_NE(error.find(part), std::string::npos) << instruction << " gave: " << error;
}

const std::string sample = header() + R"(
.global .align 4 .u32 table[3] = {1, 2, 3};
.extern .shared .align 16 .b8 dyn[];
.func (.param .b32 r) f (.param .b32 x, .param .align 8 .b8 s[16])
{ .reg .b32 %a; ld.param.b32 %a, [x]; st.param.b32 [r], %a; ret; }
.visible .entry k(.param .u64 .ptr .global .align 4 in, .param .align 4 .b8 s[12])
.reqntid 128, 1, 1
.minnctapersm 2
{
  .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %d<5>; .reg .f32 %f<4>;
  .local .align 8 .b8 depot[16];
  .loc 1 2 3
  ld.param.u64 %d1, [in];
  mov.u32 %r1, %tid.x;
  setp.lt.s32 %p1, %r1, 0x10;
  @!%p1 bra $L;
  { .reg .b32 %t; mov.b32 %t, {0, 1}; .param .b32 a0; .param .align 8 .b8 a1[16]; .param .b32 r0;
    st.param.b32 [a0+0], %t; call.uni (r0), f, (a0, a1); ld.param.b32 %r2, [r0+0]; }
  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r2}, {%r3}, {%f0,%f1,%f2,%f3};
  fma.rn.f32 %f0, %f1, 0f3F800000, 1.5;
$L: ret;
}
)";
} // namespace

TEST(SimulatorFrontEnd, UnknownOpcodesAndQualifiersAreNamedWithTheirLine) {
  expectError("frobnicate.u32 %r1, %r2;", "unknown opcode 'frobnicate'");
  expectError("add.u32.fast %r1, %r2, %r3;", "'.fast'");
  expectError("add.u31 %r1, %r2, %r3;", "'add' needs a type");
  expectError("mul.u32 %r1, %r2, %r3;", ".lo, .hi or .wide");
  expectError("ld.global.v3.u32 {%r1,%r2,%r3}, [%d1];", "destinations");
  expectError("mma.sync.aligned.m8n8k5.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r1}, {%f1};", "shape");
  std::string error = instructionError("add.u32.fast %r1, %r2, %r3;");
  EXPECT_NE(error.find("line 13"), std::string::npos) << error;
  EXPECT_NE(error.find("add.u32.fast %r1, %r2, %r3"), std::string::npos) << error;
}

TEST(SimulatorFrontEnd, OperandsAreChecked) {
  expectError("add.u32 %r1, %r2;", "takes 3 operands");
  expectError("add.u32 %r1, %r2, %d1;", "'%d1'");
  expectError("add.f32 %f1, %f2, %nothere;", "%nothere");
  expectError("add.u32 %r1, %r2, %r99;", "special register '%r99'");
  expectError("add.u32 5, %r2, %r1;", "destination");
  expectError("add.u32 %r1, %f2, %r1;", "'%f2'");
  expectError("add.f32 %f1, %f2, 1;", "floating-point");
  expectError("setp.lt.s32 %r1, %r2, %r3;", "predicate");
  expectError("selp.b32 %r1, %r2, %r3, %r4;", "not a predicate");
  expectError("@%r1 add.u32 %r1, %r2, %r3;", "not a predicate");
  expectError("ld.global.u32 %r1, [%r2];", "32 bits");
  expectError("ld.global.u32 %r1, [smem];", ".shared");
  expectError("ld.shared.u32 %r1, %r2;", "brackets");
  expectError("st.const.u32 [%d1], %r1;", "constant");
  expectError("bra nowhere;", "'nowhere' is not declared");
  expectError("call nothing, (%r1);", "not declared");
  expectError("mov.b32 %r1, {%h1, %h2, %h3};", "packed");
  expectError("cp.async.cg.shared.global [%r1], [%d1], 8;", "copy of 8 bytes");
  expectError("cvt.f16.f32 %h1, %f1;", "needs .rn");
  expectError("cvt.rn.s32.f32 %r1, %f1;", ".rni");
  expectError("setp.lo.s32 %p1, %r1, %r2;", "unsigned");
  expectError("atom.global.add.b32 %r1, [%d1], %r2;", "operation");
  expectError("shfl.bfly.b32 %r1, %r2, 1, 31;", ".sync");
  expectError("fma.f32 %f1, %f2, %f3, %f4;", "rounding");
  expectError(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3,%r4}, {%f1,%f2,%f3,%f4};",
      "4 registers");
}

TEST(SimulatorFrontEnd, ArchitectureAndVersionLimits) {
  expectError("elect.sync %r1|%p1, -1;", "sm_90");
  expectError("cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;", "sm_89");
  EXPECT_NE(loadError(header("sm_90a") + ".visible .entry k() { ret; }", "a100").find("does not run on"),
            std::string::npos);
  EXPECT_NE(loadError(header("sm_90a") + ".visible .entry k() { ret; }", "b200").find("does not run on"),
            std::string::npos);
  EXPECT_EQ(loadError(header("sm_80") + ".visible .entry k() { ret; }", "b200"), "");
  EXPECT_NE(loadError(header("sm_potato") + ".visible .entry k() { ret; }").find("not an architecture"),
            std::string::npos);
}

TEST(SimulatorFrontEnd, ModuleLevelErrors) {
  EXPECT_NE(loadError("").find(".version"), std::string::npos);
  EXPECT_NE(loadError(".version 8.0").find(".target"), std::string::npos);
  EXPECT_NE(loadError(header() + ".extern .func g(); .visible .entry k() { call g; ret; }").find("'g' is not defined"),
            std::string::npos);
  EXPECT_NE(loadError(header() + ".extern .global .u32 g; .visible .entry k() { ret; }").find(".extern"),
            std::string::npos);
  EXPECT_NE(loadError(header() + ".global .u32 g[2] = {1,2,3};").find("more initial values"), std::string::npos);
  EXPECT_NE(loadError(header() + ".global .u32 g; .global .u32 g;").find("twice"), std::string::npos);
  EXPECT_NE(loadError(header() + ".global .b8 g[99999999999999];").find("extent"), std::string::npos);
  EXPECT_NE(loadError(header() + ".visible .entry k() { .reg .b32 %r<99999999999>; ret; }").find("registers"),
            std::string::npos);
  EXPECT_NE(loadError(header() + ".visible .entry k() { L: L: ret; }").find("defined twice"), std::string::npos);
  EXPECT_NE(loadError(header() + ".visible .entry k() { .reg .b32 a; .reg .f32 a; ret; }").find("twice"),
            std::string::npos);
  EXPECT_NE(loadError(header() + ".visible .entry k() { ret;").find("not closed"), std::string::npos);
  EXPECT_NE(loadError(header() + "/* never closed").find("comment"), std::string::npos);
  EXPECT_NE(loadError(header() + ".visible .entry k() { mov.u32 %r, 1/0; }").find("division by zero"),
            std::string::npos);
}

TEST(SimulatorFrontEnd, EveryTruncationIsAnErrorAndNoCrash) {
  ASSERT_EQ(loadError(sample), "");
  size_t body = sample.find(".visible");
  for (size_t n = 0; n + 3 < sample.size(); ++n) {
    std::string error = loadError(sample.substr(0, n));
    if (n > body)
      EXPECT_NE(error, "") << sample.substr(0, n);
  }
}

TEST(SimulatorFrontEnd, GarbageIsSurvived) {
  std::mt19937 random(11);
  const std::string alphabet = "{}[]()<>,;:.@!|+-%$_ \n\t\"/*0123456789abcxyzUfd\\\x01\x80";
  for (int round = 0; round < 3000; ++round) {
    std::string text = sample;
    for (int edits = 1 + static_cast<int>(random() % 4); edits; --edits) {
      size_t at = random() % text.size();
      switch (random() % 3) {
      case 0:
        text[at] = alphabet[random() % alphabet.size()];
        break;
      case 1:
        text.erase(at, 1 + random() % 8);
        break;
      default:
        text.insert(at, text.substr(random() % text.size(), random() % 24));
        break;
      }
    }
    (void)loadError(text);
  }
  std::string nested = header() + ".global .u32 g = " + std::string(100000, '(') + "1";
  EXPECT_NE(loadError(nested).find("nested"), std::string::npos);
  EXPECT_NE(loadError(header() + ".visible .entry k() { add.u32 " + std::string(100000, '{')).find("nested"),
            std::string::npos);
}

TEST(SimulatorFrontEnd, FormsOfRealCompilers) {
  EXPECT_EQ(loadError(header() + R"(
.file 1 "x.cu"
.section .debug_str { .b8 1,2,3
.b64 .debug_abbrev }
.weak .func w () { ret; }
.visible .func (.reg .b32 %rv) g (.reg .b32 %a) { mov.b32 %rv, %a; ret; }
.visible .entry k ( .param .u64 p0 ) .maxntid 256 , 1 , 1 .maxnreg 64
{
  .reg .pred %p; .reg .b64 %SP, %SPL, %rd<3>; .reg .b32 %r<4>;
  .local .align 4 .b8 __local_depot0[8];
  .pragma "nounroll";
  mov.u64 %SPL, __local_depot0;
  cvta.local.u64 %SP, %SPL;
  add.u64 %rd1, %SP, 0;
  prefetch.global.L2 [%rd1]; prefetchu.L1 [%rd1]; discard.global.L2 [%rd1], 128; applypriority.global.L2::evict_normal [%rd1], 128;
  createpolicy.fractional.L2::evict_last.b64 %rd2, 1.0;
  ld.global.L2::cache_hint.u32 %r1, [%rd1], %rd2;
  membar.cta; membar.gl; fence.acq_rel.gpu; fence.sc.sys; nanosleep.u32 20; pmevent 1;
  setp.eq.s32 %p, %r1, 0;
@%p bra LBB;
  trap;
LBB:
  .loc 1 7 3, function_name $L__info, inlined_at 1 4 2
  exit;
}
)"),
            "");
}

TEST(SimulatorFrontEnd, RegisterEstimateFollowsPressure) {
  std::string body;
  for (int i = 0; i < 100; ++i)
    body += fmt::format("ld.global.u32 %r{}, [%d1+{}];\n", i, 4 * i);
  for (int i = 0; i < 100; ++i)
    body += fmt::format("st.global.u32 [%d1+{}], %r{};\n", 4 * i, i);
  GlobalMemory memory(1 << 20);
  auto module = Module::load(
      header() + ".visible .entry k(.param .u64 p) { .reg .b32 %r<100>; .reg .b64 %d<2>; ld.param.u64 %d1, [p];\n" +
          body + "ret; }",
      device(), memory);
  ASSERT_TRUE(module.ok()) << module.status().text();
  EXPECT_GE((*module)->kernels()[0].registersPerThread, 102u);
  EXPECT_LE((*module)->kernels()[0].registersPerThread, 120u);
}
