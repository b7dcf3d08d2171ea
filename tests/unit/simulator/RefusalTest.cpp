// What is refused is refused at load, by its name, with the line and its text; and nothing documented is refused.
#include "tests/unit/simulator/Harness.h"

#include <fmt/format.h>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

struct Refused {
  const char *instruction, *reason; ///< a part of the message
};

void expectRefused(std::initializer_list<Refused> all, std::string_view target = "sm_80",
                   std::string_view profile = "a100") {
  for (const Refused &r : all) {
    std::string message = instructionError(r.instruction, target, profile);
    EXPECT_NE(message.find(r.reason), std::string::npos) << r.instruction << "\n  gave: " << message;
    EXPECT_NE(message.find("PTX line "), std::string::npos) << message;
    EXPECT_NE(message.find(std::string(r.instruction).substr(0, 3)), std::string::npos) << message;
  }
}

} // namespace

TEST(SimulatorRefusal, HoppersInstructionsByName) {
  const std::initializer_list<Refused> hopper = {
      {"wgmma.fence.sync.aligned;", "'wgmma'"},
      {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %d1, %d2, 1, 1, 1, 0, 0;", "'wgmma'"},
      {"setmaxnreg.inc.sync.aligned.u32 120;", "'setmaxnreg'"},
      {"mapa.shared::cluster.u32 %r1, %r2, 0;", "'mapa'"},
      {"getctarank.shared::cluster.u32 %r1, %r2;", "'getctarank'"},
      {"multimem.ld_reduce.global.add.u32 %r1, [%d1];", "'multimem'"},
      {"tensormap.replace.tile.global_address.global.b1024.b64 [%d1], %d2;", "'tensormap'"},
      {"barrier.cluster.arrive;", "cluster barrier"},
      {"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3];", "'st.async'"},
      {"red.async.relaxed.cluster.global.shared::cluster.add.u32 [%r1], %r2, [%r3];", "'red.async'"},
      {"prefetch.tensormap [%d1];", "'prefetch.tensormap'"},
      {"fence.proxy.tensormap::generic.release.gpu;", "'fence.proxy.tensormap'"},
      {"tcgen05.fence::before_thread_sync;", "'tcgen05'"},
      {"clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %d1;", "'clusterlaunchcontrol'"}};
  expectRefused(hopper);
  expectRefused(hopper, "sm_90", "h100");
  expectRefused({{"wgmma.fence.sync.aligned;", "needs .target sm_90 or later, the module says sm_80"},
                 {"griddepcontrol.wait;", "'griddepcontrol' needs .target sm_90"},
                 {"fence.proxy.async;", "'fence.proxy.async' needs .target sm_90"},
                 {"fence.mbarrier_init.release.cluster;", "needs .target sm_90"},
                 {"fence.sc.cluster;", "the scope .cluster needs .target sm_90"},
                 {"ld.relaxed.cluster.global.u32 %r1, [%d1];", "the scope .cluster needs .target sm_90"},
                 {"ld.shared::cluster.u32 %r1, [%d1];", ".shared::cluster needs .target sm_90"},
                 {"atom.global.v2.f32.add {%f1,%f2}, [%d1], {%f3,%f4};", "an atomic on vectors needs .target sm_90"},
                 {"elect.sync %r1|%p1, -1;", "'elect' needs .target sm_90"},
                 {"mov.u32 %r1, %cluster_ctarank;", "needs .target sm_90"},
                 {"atom.global.exch.b128 %d1, [%d1], %d2;", "an atomic of 128 bits needs .target sm_90"},
                 {"add.bf16 %h1, %h2, %h3;", "needs .target sm_90"},
                 {"cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;", "needs .target sm_89"},
                 {"min.xorsign.abs.f32 %f1, %f2, %f3;", "needs .target sm_86"},
                 {"add.u16x2 %r1, %r2, %r3;", "needs .target sm_90"}});
  EXPECT_EQ(instructionError("griddepcontrol.wait; griddepcontrol.launch_dependents;", "sm_90", "h100"), "");
  EXPECT_NE(instructionError("atom.global.v2.f32.add {%f1,%f2}, [%d1], {%f3,%f4};", "sm_90", "h100")
                .find("atomics on vectors"),
            std::string::npos);
}

TEST(SimulatorRefusal, TexturesVideoAndGrowingStacksByName) {
  expectRefused({{"tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%d1, {%r1}];", "'tex' is not supported: textures"},
                 {"tld4.r.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%d1, {%f5,%f6}];", "'tld4'"},
                 {"suld.b.1d.b32.trap {%r1}, [%d1, {%r2}];", "'suld'"},
                 {"sust.b.1d.b32.trap [%d1, {%r1}], {%r2};", "'sust'"},
                 {"sured.b.add.1d.u32.trap [%d1, {%r1}], %r2;", "'sured'"},
                 {"txq.width.b32 %r1, [%d1];", "'txq'"},
                 {"suq.width.b32 %r1, [%d1];", "'suq'"},
                 {"istypep.texref %p1, %d1;", "'istypep'"},
                 {"alloca.u64 %d1, %d2;", "'alloca' is not supported: the stack"},
                 {"stacksave.u64 %d1;", "'stacksave'"},
                 {"stackrestore.u64 %d1;", "'stackrestore'"},
                 {"vadd.u32.u32.u32.sat %r1, %r2.b0, %r3.h1;", "'vadd' is not supported: video"}});
  for (const char *name : {"vadd", "vsub", "vabsdiff", "vmin", "vmax", "vadd2", "vsub2", "vabsdiff2", "vmin2", "vmax2",
                           "vadd4", "vsub4", "vabsdiff4", "vmin4", "vmax4"})
    expectRefused(
        {{fmt::format("{}.s32.s32.s32 %r1, %r2, %r3, %r4;", name).c_str(), "video instructions are not modelled"}});
  for (const char *text : {"vavrg2.u32.u32.u32 %r1, %r2, %r3, %r4;", "vavrg4.u32.u32.u32 %r1, %r2, %r3, %r4;",
                           "vset.s32.s32.lt %r1, %r2, %r3;", "vset2.u32.u32.lt %r1, %r2, %r3, %r4;",
                           "vset4.u32.u32.lt %r1, %r2, %r3, %r4;", "vshl.u32.u32.u32.clamp %r1, %r2, %r3;",
                           "vshr.u32.u32.u32.wrap %r1, %r2, %r3;", "vmad.s32.s32.s32 %r1, %r2, %r3, %r4;"})
    expectRefused({{text, "video instructions are not modelled"}});
  EXPECT_NE(loadError(header() + ".global .texref t;\n").find("'.texref' is not supported: textures"),
            std::string::npos);
  EXPECT_NE(loadError(header() + ".global .surfref t;\n").find("'.surfref' is not supported"), std::string::npos);
  // Parts of registers are known where they do not belong, too.
  EXPECT_NE(instructionError("add.u32 %r1, %r2.b0, %r3;").find("the part '.b0' of register '%r2' is not possible here"),
            std::string::npos);
}

TEST(SimulatorRefusal, TargetsThatTheDeviceOrTheSimulatorDoesNotHave) {
  auto error = [](const char *target, const char *profile) {
    return loadError(header(target) + ".visible .entry k() { ret; }", profile);
  };
  EXPECT_NE(error("sm_90a", "h100").find("PTX line 2: modules for sm_90a are not supported yet"), std::string::npos)
      << error("sm_90a", "h100");
  EXPECT_NE(error("sm_90a", "h100").find("wgmma"), std::string::npos);
  EXPECT_NE(error("sm_100a", "b200").find("modules for sm_100a"), std::string::npos);
  EXPECT_NE(error("sm_90", "a100").find("PTX line 2: a module for sm_90 does not run on a100 (sm_80)"),
            std::string::npos)
      << error("sm_90", "a100");
  EXPECT_NE(error("sm_89", "rtx3090").find("does not run on"), std::string::npos);
  EXPECT_NE(error("sm_61", "a100").find("older than sm_70"), std::string::npos);
  EXPECT_NE(error("compute_80", "a100").find("is not an architecture"), std::string::npos);
  EXPECT_EQ(error("sm_80", "h100"), "");
  EXPECT_EQ(error("sm_90", "h100"), "");
  EXPECT_EQ(error("sm_89", "rtx4090"), "");
}

TEST(SimulatorRefusal, NewerVersionsAreTriedWithAWarning) {
  auto load = [](const char *version) {
    static GlobalMemory memory(1 << 24);
    return Module::load(header("sm_80", version) + ".visible .entry k() { ret; }", device(), memory);
  };
  for (const char *version : {"6.4", "7.0", "8.8", "9.0"}) {
    auto module = load(version);
    ASSERT_TRUE(module.ok()) << module.status().text();
    EXPECT_TRUE((*module)->warnings().empty()) << version;
  }
  for (const char *version : {"9.1", "9.9", "10.0", "42.0"}) {
    auto module = load(version);
    ASSERT_TRUE(module.ok()) << module.status().text();
    ASSERT_EQ((*module)->warnings().size(), 1u) << version;
    EXPECT_NE((*module)->warnings()[0].find(fmt::format("PTX {} is newer", version)), std::string::npos)
        << (*module)->warnings()[0];
  }
  GlobalMemory memory(1 << 24);
  EXPECT_NE(loadError(header("sm_80", "9.9") + ".visible .entry k() { marvel.u32; }").find("unknown opcode 'marvel'"),
            std::string::npos);
}

TEST(SimulatorRefusal, QualifiersThatDoNotGoTogether) {
  const char *const refused[] = {"add.cc.b32 %r1, %r2, %r3;",
                                 "add.sat.u32 %r1, %r2, %r3;",
                                 "sub.sat.s64 %d1, %d2, %d3;",
                                 "mul.u32 %r1, %r2, %r3;",
                                 "mul.wide.u64 %d1, %d2, %d3;",
                                 "mad.lo.sat.s32 %r1, %r2, %r3, %r4;",
                                 "mul24.lo.u64 %d1, %d2, %d3;",
                                 "dp2a.s32.s32 %r1, %r2, %r3, %r4;",
                                 "shf.l.b32 %r1, %r2, %r3, %r4;",
                                 "shl.u32 %r1, %r2, %r3;",
                                 "lop3.b32 %r1, %r2, %r3, %r4, 256;",
                                 "lop3.or.b32 %r1, %r2, %r3, %r4, 1, %p1;",
                                 "bmsk.b32 %r1, %r2, %r3;",
                                 "popc.u32 %r1, %r2;",
                                 "abs.u32 %r1, %r2;",
                                 "add.ftz.f64 %fd1, %fd2, %fd3;",
                                 "add.sat.f64 %fd1, %fd2, %fd3;",
                                 "add.rz.f16 %h1, %h2, %h3;",
                                 "fma.f32 %f1, %f2, %f3, %f4;",
                                 "fma.rn.relu.f32 %f1, %f2, %f3, %f4;",
                                 "mad.rn.f16 %h1, %h2, %h3, %h4;",
                                 "div.f32 %f1, %f2, %f3;",
                                 "div.approx.f64 %fd1, %fd2, %fd3;",
                                 "rcp.f32 %f1, %f2;",
                                 "sqrt.approx.f64 %fd1, %fd2;",
                                 "sin.f32 %f1, %f2;",
                                 "ex2.approx.f64 %fd1, %fd2;",
                                 "ex2.approx.ftz.f16 %h1, %h2;",
                                 "tanh.approx.ftz.f32 %f1, %f2;",
                                 "min.NaN.f64 %fd1, %fd2, %fd3;",
                                 "min.abs.f32 %f1, %f2, %f3;",
                                 "min.ftz.bf16 %h1, %h2, %h3;",
                                 "max.f32 %f1, %f2, %f3, %f4;",
                                 "fma.rn.oob.f16 %h1, %h2, %h3, %h4;",
                                 "setp.lt.b32 %p1, %r1, %r2;",
                                 "setp.lo.s32 %p1, %r1, %r2;",
                                 "setp.ltu.u32 %p1, %r1, %r2;",
                                 "setp.eq.ftz.f64 %p1, %fd1, %fd2;",
                                 "setp.eq.f16 %p1|%p2, %h1, %h2;",
                                 "setp.eq.f16x2 %p1, %r1, %r2;",
                                 "setp.eq.u8 %p1, %h1, %h2;",
                                 "set.eq.u16.u32 %h1, %r1, %r2;",
                                 "set.eq.f32.f16 %f1, %h1, %h2;",
                                 "set.eq.f16x2.f16 %r1, %h1, %h2;",
                                 "selp.f16 %h1, %h2, %h3, %p1;",
                                 "slct.ftz.u32.s32 %r1, %r2, %r3, %r4;",
                                 "cvt.f16.f32 %h1, %f1;",
                                 "cvt.rn.f32.f16 %f1, %h1;",
                                 "cvt.rn.f32.f32 %f1, %f2;",
                                 "cvt.s32.f32 %r1, %f1;",
                                 "cvt.rn.s32.f32 %r1, %f1;",
                                 "cvt.rni.f32.s32 %f1, %r1;",
                                 "cvt.f32.s32 %f1, %r1;",
                                 "cvt.rzi.f16.f32 %h1, %f1;",
                                 "cvt.rn.u32.u64 %r1, %d1;",
                                 "cvt.sat.u64.u32 %d1, %r1;",
                                 "cvt.ftz.f64.f16 %fd1, %h1;",
                                 "cvt.rn.relu.f32.f64 %f1, %fd1;",
                                 "cvt.rna.f16.f32 %h1, %f1;",
                                 "cvt.rna.relu.tf32.f32 %r1, %f1;",
                                 "cvt.rn.sat.bf16.f32 %h1, %f1;",
                                 "cvt.f16x2.f32 %r1, %f1, %f2;",
                                 "cvt.rm.f16x2.f32 %r1, %f1, %f2;",
                                 "cvt.pack.u16.s32 %r1, %r2, %r3;",
                                 "cvt.pack.sat.u8.s32 %r1, %r2, %r3;",
                                 "cvt.pred.u32 %p1, %r1;",
                                 "mov.f16 %h1, %h2;",
                                 "mov.u8 %h1, %h2;",
                                 "mov.u32 %r1, {%h1, %h2};",
                                 "mov.b32 %r1, {%h1, %h2, %h3};",
                                 "mov.u32 %r1, %clock64;",
                                 "mov.u64 %d1, %tid.x;",
                                 "mov.u32 %r1, %envreg32;",
                                 "mov.u32 %r1, %pm8;",
                                 "mov.u16 %h1, %laneid;",
                                 "ld.global.wb.u32 %r1, [%d1];",
                                 "st.global.ca.u32 [%d1], %r1;",
                                 "st.global.nc.u32 [%d1], %r1;",
                                 "ld.shared.nc.u32 %r1, [%r2];",
                                 "ld.nc.u32 %r1, [%d1];",
                                 "ld.volatile.global.ca.u32 %r1, [%d1];",
                                 "ld.weak.global.nc.u32 %r1, [%d1];",
                                 "ld.release.gpu.global.u32 %r1, [%d1];",
                                 "st.acquire.gpu.global.u32 [%d1], %r1;",
                                 "ld.relaxed.global.u32 %r1, [%d1];",
                                 "ld.gpu.global.u32 %r1, [%d1];",
                                 "ld.mmio.global.u32 %r1, [%d1];",
                                 "ld.mmio.relaxed.gpu.global.u32 %r1, [%d1];",
                                 "ld.relaxed.gpu.const.u32 %r1, [%d1];",
                                 "ld.volatile.local.u32 %r1, [%d1];",
                                 "ld.shared.L1::evict_last.u32 %r1, [%r2];",
                                 "ld.global.L2::evict_last.u32 %r1, [%d1];",
                                 "st.global.L2::128B.u32 [%d1], %r1;",
                                 "ld.global.L2::cache_hint.u32 %r1, [%d1];",
                                 "ld.global.u32 %r1, [%d1], %d2;",
                                 "ld.global.v4.b64 {%d1,%d2,%d3,%d4}, [%d5];",
                                 "ld.global.v3.b32 {%r1,%r2,%r3}, [%d1];",
                                 "ld.global.v2.b32 {%r1}, [%d1];",
                                 "st.const.u32 [%d1], %r1;",
                                 "ldu.shared.u32 %r1, [%r2];",
                                 "prefetch.global [%d1];",
                                 "prefetch.shared.L1 [%r1];",
                                 "prefetchu.L2 [%d1];",
                                 "discard.global.L2 [%d1], 64;",
                                 "applypriority.global.L2 [%d1], 128;",
                                 "createpolicy.b64 %d1;",
                                 "createpolicy.fractional.b64 %d1;",
                                 "atom.global.add.s64 %d1, [%d1], %d2;",
                                 "atom.global.min.f32 %f1, [%d1], %f2;",
                                 "atom.global.inc.s32 %r1, [%d1], %r2;",
                                 "red.global.exch.b32 [%d1], %r1;",
                                 "atom.global.add.f16 %h1, [%d1], %h2;",
                                 "atom.global.add.noftz.u32 %r1, [%d1], %r2;",
                                 "atom.sc.gpu.global.add.u32 %r1, [%d1], %r2;",
                                 "red.acquire.gpu.global.add.u32 [%d1], %r2;",
                                 "atom.volatile.global.add.u32 %r1, [%d1], %r2;",
                                 "atom.local.add.u32 %r1, [%d1], %r2;",
                                 "atom.global.add.u32 %r1, [%d1], %r2, %r3;",
                                 "shfl.idx.b32 %r1, %r2, %r3, %r4;",
                                 "shfl.sync.b32 %r1, %r2, %r3, %r4, -1;",
                                 "shfl.sync.idx.b64 %d1, %d2, %r3, %r4, -1;",
                                 "vote.all.pred %p1, %p2;",
                                 "vote.sync.ballot.pred %p1, %p2, -1;",
                                 "match.any.sync.b32 %r1|%p1, %r2, -1;",
                                 "redux.sync.add.b32 %r1, %r2, -1;",
                                 "redux.sync.and.u32 %r1, %r2, -1;",
                                 "redux.sync.min.f32 %f1, %f2, -1;",
                                 "bar.sync 16;",
                                 "bar.sync 0, 33;",
                                 "bar.sync.aligned 0;",
                                 "bar.arrive 1;",
                                 "bar.red.xor.pred %p1, 0, %p2;",
                                 "membar;",
                                 "fence;",
                                 "fence.relaxed.gpu;",
                                 "fence.proxy.generic;",
                                 "pmevent 16;",
                                 "pmevent %r1;",
                                 "nanosleep %r1;",
                                 "brx %r1, T;"};
  for (const char *instruction : refused)
    EXPECT_NE(instructionError(instruction), "") << instruction;
}
