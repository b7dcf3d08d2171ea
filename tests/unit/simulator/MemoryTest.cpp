// Loads and stores in every space, generic addresses, asynchronous copies, atomics, barriers.
#include "tests/unit/simulator/Harness.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {
/// A kernel with %out at this thread's word, %in, %x registers and the usual helpers.
std::string kernel(const std::string &body, const std::string &before = {}, std::string_view target = "sm_80") {
  return header(target) + before + R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b64 %in, %out, %o, %y<12>;
  .reg .b32 %r, %lane, %thread, %x<20>;
  .reg .b16 %h<8>;
  .reg .f32 %f<8>;
  .reg .pred %p<8>;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %thread, %tid.x;
  mov.u32 %lane, %laneid;
  mul.wide.u32 %o, %thread, 4;
  add.u64 %out, %out, %o;
)" + body +
         "\n  ret;\n}\n";
}

std::vector<uint32_t> run(const std::string &body, const std::vector<uint32_t> &in, uint32_t threads = 32,
                          const std::string &before = {}, Options options = {}, Dim3 grid = {1, 1, 1},
                          size_t outputs = 0, uint32_t shared = 0) {
  Machine machine;
  machine.options = options;
  machine.load(kernel(body, before));
  uint64_t pin = machine.upload(in),
           pout = machine.upload(std::vector<uint32_t>(std::max<size_t>(outputs, threads), 0xdead));
  expectClean(machine.run(grid, {threads, 1, 1}, {pin, pout}, shared));
  return machine.download<uint32_t>(pout, std::max<size_t>(outputs, threads));
}
} // namespace

TEST(SimulatorMemory, NarrowLoadsExtendAndNarrowStoresTruncate) {
  auto r = run("ld.global.s8 %x1, [%in]; ld.global.u8 %x2, [%in]; ld.global.s16 %x3, [%in]; ld.global.u16 %h1, "
               "[%in+2]; cvt.u32.u16 %x4, %h1;"
               "add.u32 %r, %x1, %x2; add.u32 %r, %r, %x3; add.u32 %r, %r, %x4; st.global.u32 [%out], %r;",
               {0x12348080});
  EXPECT_EQ(r[0], 0xffffff80u + 0x80u + 0xffff8080u + 0x1234u);
  r = run("mov.u32 %r, 0; st.global.u32 [%out], %r; mov.u32 %r, 0x12345678; st.global.u8 [%out+1], %r; mov.u16 %h0, "
          "0xabcd; st.global.b16 [%out+2], %h0;",
          {0});
  EXPECT_EQ(r[3], 0xabcd7800u);
  r = run("ld.global.s32 %y1, [%in]; shr.s64 %y1, %y1, 32; cvt.u32.u64 %r, %y1; st.global.u32 [%out], %r;",
          {0x80000000});
  EXPECT_EQ(r[0], 0xffffffffu);
}

TEST(SimulatorMemory, VectorsInEveryWidth) {
  std::vector<uint32_t> in(16);
  std::iota(in.begin(), in.end(), 1);
  auto r =
      run("ld.global.v4.u32 {%x1,%x2,%x3,%x4}, [%in+16]; mad.lo.u32 %r, %x1, 1000, %x4; st.global.u32 [%out], %r;", in);
  EXPECT_EQ(r[0], 5008u);
  r = run(
      "ld.global.nc.L1::no_allocate.L2::128B.v2.u64 {%y1,%y2}, [%in]; cvt.u32.u64 %r, %y2; st.global.u32 [%out], %r;",
      in);
  EXPECT_EQ(r[0], 3u);
  r = run("ld.global.v4.u8 {%h0,%h1,%h2,%h3}, [%in+4]; cvt.u32.u16 %r, %h0; st.global.u32 [%out], %r;", in);
  EXPECT_EQ(r[0], 2u);
  r = run(".reg .b128 %w; ld.global.b128 %w, [%in]; mov.b128 {%y1, %y2}, %w; cvt.u32.u64 %r, %y2; st.global.u32 "
          "[%out], %r;",
          in);
  EXPECT_EQ(r[0], 3u);
  r = run("ld.volatile.global.u32 %x1, [%in]; ld.relaxed.gpu.global.u32 %x2, [%in+4]; ld.acquire.cta.u32 %x3, [%in+8]; "
          "add.u32 %r, %x1, %x2;"
          "add.u32 %r, %r, %x3; st.release.gpu.global.u32 [%out], %r;",
          in);
  EXPECT_EQ(r[7], 6u);
}

TEST(SimulatorMemory, GenericAddressesReachEverySpace) {
  auto r = run(R"(
  .local .align 8 .b8 depot[16];
  mov.u64 %y1, s;
  cvta.shared.u64 %y2, %y1;
  mul.wide.u32 %o, %lane, 4;
  add.u64 %y2, %y2, %o;
  st.u32 [%y2], %lane;
  mov.u64 %y4, depot;
  cvta.local.u64 %y5, %y4;
  mov.u32 %x9, 500;
  st.u32 [%y5+4], %x9;
  cvta.const.u64 %y6, table;
  ld.u32 %x1, [%y2];
  ld.local.u32 %x2, [depot+4];
  ld.u32 %x3, [%y6+4];
  mov.u64 %y7, in;
  cvta.param.u64 %y7, %y7;
  ld.u64 %y8, [%y7];
  ld.u32 %x4, [%y8];
  isspacep.shared %p1, %y2;
  isspacep.global %p2, %in;
  isspacep.local %p3, %y5;
  add.u32 %r, %x1, %x2; add.u32 %r, %r, %x3; add.u32 %r, %r, %x4;
  @!%p1 mov.u32 %r, 1; @!%p2 mov.u32 %r, 2; @!%p3 mov.u32 %r, 3;
  st.global.u32 [%out], %r;)",
               {100000}, 32, ".shared .b32 s[32];\n.const .u32 table[2] = {1000, 2000};\n");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(r[i], i + 500 + 2000 + 100000);
}

TEST(SimulatorMemory, StructParametersByValueAndByAddress) {
  Machine machine;
  machine.load(header() + R"(
.visible .entry k(.param .align 8 .b8 s[24], .param .u64 out)
{
  .reg .b64 %a, %p, %out; .reg .b32 %r, %x; .reg .b16 %h;
  ld.param.u64 %out, [out];
  ld.param.u32 %r, [s+8];
  ld.param.u8 %h, [s+12];
  mov.b64 %p, s;
  ld.param.u32 %x, [%p+16];
  add.u32 %r, %r, %x;
  cvt.u32.u16 %x, %h;
  add.u32 %r, %r, %x;
  cvta.param.u64 %a, %p;
  ld.u32 %x, [%a+20];
  add.u32 %r, %r, %x;
  st.global.u32 [%out], %r;
  ret;
})");
  ASSERT_TRUE(machine.module);
  const KernelInfo &info = *machine.module->findKernel("k");
  EXPECT_EQ(info.parameterBytes, 32u);
  EXPECT_EQ(info.parameters[0].alignment, 8u);
  EXPECT_EQ(info.parameters[1].offset, 24u);
  uint64_t out = machine.upload(std::vector<uint32_t>(1));
  LaunchConfig config;
  config.kernel = "k";
  std::vector<uint32_t> words{0, 0, 1000, 7, 20, 300};
  config.parameters.resize(32);
  std::memcpy(config.parameters.data(), words.data(), 24);
  std::memcpy(config.parameters.data() + 24, &out, 8);
  expectClean(launch(*machine.module, machine.memory, machine.profile, config, {}));
  EXPECT_EQ(machine.download<uint32_t>(out, 1)[0], 1327u);
}

TEST(SimulatorMemory, InitialisersAndRelocations) {
  auto r = run(R"(
  ld.global.u64 %y1, [ptr];
  ld.global.u32 %x1, [%y1];
  ld.global.u8 %x2, [bytes+1];
  ld.global.u32 %x3, [matrix+12];
  ld.global.f32 %f1, [half];
  cvt.rzi.u32.f32 %x4, %f1;
  ld.global.u32 %x5, [zero];
  add.u32 %r, %x1, %x2; add.u32 %r, %r, %x3; add.u32 %r, %r, %x4; add.u32 %r, %r, %x5;
  st.global.u32 [%out], %r;)",
               {0}, 32, R"(
.global .u32 numbers[] = {1, 20, 300};
.global .u64 ptr = generic(numbers)+8;
.global .b8 bytes[4] = {-1, 7};
.global .u32 matrix[2][2] = {{1, 2}, {3, 4000}};
.global .f32 half = 50000.0;
.global .u32 zero;
)");
  EXPECT_EQ(r[0], 300u + 7 + 4000 + 50000);
}

TEST(SimulatorMemory, SharedLayoutStaticAndDynamic) {
  Machine machine;
  machine.load(kernel(R"(
  mov.u32 %x1, a; mov.u32 %x2, b; mov.u32 %x3, dyn; mov.u32 %x4, %dynamic_smem_size; mov.u32 %x5, %total_smem_size;
  mad.lo.u32 %r, %x2, 100, %x1; mad.lo.u32 %r, %x3, 10000, %r;
  st.global.u32 [%out], %r; st.global.u32 [%out+4], %x4; st.global.u32 [%out+8], %x5;)",
                      ".shared .align 4 .b8 a[5];\n.shared .align 8 .b8 b[8];\n.extern .shared .align 64 .b8 "
                      "dyn[];\n.shared .b8 unused[4000];\n"));
  EXPECT_EQ(machine.module->kernels()[0].staticSharedBytes, 16u);
  uint64_t out = machine.upload(std::vector<uint32_t>(64));
  expectClean(machine.run({1, 1, 1}, {1, 1, 1}, {out, out}, 128));
  auto r = machine.download<uint32_t>(out, 3);
  EXPECT_EQ(r[0], 64u * 10000 + 8 * 100 + 0);
  EXPECT_EQ(r[1], 128u);
  EXPECT_EQ(r[2], 192u);
}

TEST(SimulatorMemory, AsyncCopiesInEveryMode) {
  std::vector<uint32_t> in(32 * 4);
  std::iota(in.begin(), in.end(), 0);
  for (Schedule mode : {Schedule::Late, Schedule::Eager, Schedule::Random}) {
    Options options;
    options.schedule = mode;
    auto r = run(R"(
  mul.wide.u32 %o, %lane, 16;
  add.u64 %y1, %in, %o;
  mov.u32 %x1, s;
  mad.lo.u32 %x1, %lane, 16, %x1;
  cp.async.cg.shared.global [%x1], [%y1], 16;
  cp.async.commit_group;
  cp.async.ca.shared.global.L2::128B [%x1+512], [%y1+4], 4;
  cp.async.commit_group;
  mov.u32 %x2, 6;
  cp.async.ca.shared.global [%x1+1024], [%y1], 8, %x2;       // 6 bytes, then zeros
  cp.async.commit_group;
  setp.lt.u32 %p1, %lane, 8;
  cp.async.cg.shared.global [%x1+1536], [%y1], 16, %p1;      // ignored source: zeros
  cp.async.wait_group 2;
  ld.shared.u32 %r, [%x1+8];
  cp.async.wait_group 0;
  ld.shared.u32 %x3, [%x1+512];
  ld.shared.u32 %x4, [%x1+1028];
  cp.async.wait_all;
  ld.shared.u32 %x5, [%x1+1544];
  mad.lo.u32 %r, %x3, 1000, %r;
  add.u32 %r, %r, %x4; add.u32 %r, %r, %x5;
  st.global.u32 [%out], %r;)",
                 in, 32, ".shared .align 16 .b8 s[2048];\n", options);
    for (uint32_t i = 0; i < 32; ++i)
      EXPECT_EQ(r[i], 4 * i + 2 + 1000 * (4 * i + 1) + (4 * i + 1) + (i < 8 ? 0 : 4 * i + 2))
          << static_cast<int>(mode) << " lane " << i;
  }
}

TEST(SimulatorMemory, LateCopiesReadTheSourceAtTheWait) {
  // Overwriting the source before the wait shows in late mode and not in eager mode; the checks would report it.
  std::string body = R"(
  mul.wide.u32 %o, %lane, 4; add.u64 %y1, %in, %o; mov.u32 %x1, s; mad.lo.u32 %x1, %lane, 4, %x1;
  cp.async.ca.shared.global [%x1], [%y1], 4;
  mov.u32 %x2, 77; st.global.u32 [%y1], %x2;
  cp.async.wait_all; ld.shared.u32 %r, [%x1]; st.global.u32 [%out], %r;)";
  Options options;
  options.checks = false;
  EXPECT_EQ(run(body, std::vector<uint32_t>(32, 5), 32, ".shared .b32 s[32];\n", options)[3], 77u);
  options.schedule = Schedule::Eager;
  EXPECT_EQ(run(body, std::vector<uint32_t>(32, 5), 32, ".shared .b32 s[32];\n", options)[3], 5u);
}

TEST(SimulatorMemory, AtomicsOfAllKinds) {
  struct Kind {
    const char *text;
    uint32_t start, expected;
  };
  const Kind kinds[] = {{"atom.global.add.u32 %r, [%in], 3;", 10, 106},
                        {"atom.global.min.s32 %r, [%in], -5;", 10, 0xfffffffb},
                        {"atom.global.max.u32 %r, [%in], %lane;", 10, 31},
                        {"atom.global.and.b32 %r, [%in], 6;", 13, 4},
                        {"atom.global.or.b32 %r, [%in], %lane;", 32, 63},
                        {"atom.global.xor.b32 %r, [%in], %lane;", 5, 5},
                        {"atom.global.exch.b32 %r, [%in], %lane;", 5, 31},
                        {"atom.global.cas.b32 %r, [%in], 5, 9;", 5, 9},
                        {"atom.global.inc.u32 %r, [%in], 9;", 8, 0},
                        {"atom.global.dec.u32 %r, [%in], 9;", 0, 8},
                        {"atom.global.add.f32 %r, [%in], 0f3F800000;", 0, 0x42000000},
                        {"atom.add.noftz.f16x2 %r, [%in], %x9;", 0, 0x54005000},
                        {"red.global.add.u32 [%in], %lane;", 4, 500},
                        {"red.relaxed.gpu.global.add.f32 [%in], 0f3F000000;", 0, 0x41800000},
                        {"atom.acq_rel.gpu.global.add.u32 %r, [%in], 1;", 0, 32}};
  for (const Kind &kind : kinds) {
    Machine machine;
    machine.load(kernel(std::string("mov.u32 %x9, 0x40003c00;\n") + kind.text));
    uint64_t in = machine.upload(std::vector<uint32_t>{kind.start}), out = machine.upload(std::vector<uint32_t>(32));
    expectClean(machine.run({1, 1, 1}, {32, 1, 1}, {in, out}));
    EXPECT_EQ(machine.download<uint32_t>(in, 1)[0], kind.expected) << kind.text;
  }
  auto r = run("mov.u32 %x1, s; mov.u32 %x2, 0; setp.eq.u32 %p1, %thread, 0; @%p1 st.shared.u32 [%x1], %x2; bar.sync 0;"
               "atom.shared.add.u32 %r, [%x1], 1; st.global.u32 [%out], %r;",
               {0}, 64, ".shared .b32 s[1];\n");
  std::sort(r.begin(), r.end());
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(r[i], i); // in some order
  r = run("mov.u64 %y1, 5; mov.u64 %y2, 6; atom.global.cas.b64 %y3, [%in], %y1, %y2; cvt.u32.u64 %r, %y3; "
          "st.global.u32 [%out], %r;",
          {5, 0});
  EXPECT_EQ(r[0], 5u);
  EXPECT_EQ(r[1], 6u);
}

TEST(SimulatorMemory, AtomicSubnormalsFlushInGlobalMemoryOnly) {
  Machine machine;
  machine.load(kernel("mov.u32 %x2, 0; atom.global.add.f32 %f1, [%in], 0f00000001;"));
  uint64_t in = machine.upload(std::vector<uint32_t>{1});
  expectClean(machine.run({1, 1, 1}, {1, 1, 1}, {in, in}));
  EXPECT_EQ(machine.download<uint32_t>(in, 1)[0], 0u);
  auto r = run("mov.u32 %x1, s; mov.u32 %x2, 1; st.shared.u32 [%x1], %x2; atom.shared.add.f32 %f1, [%x1], 0f00000001; "
               "ld.shared.u32 %r, [%x1]; st.global.u32 [%out], %r;",
               {0}, 1, ".shared .b32 s[1];\n");
  EXPECT_EQ(r[0], 2u);
}

TEST(SimulatorMemory, BarriersOrderAndReduce) {
  auto r = run(R"(
  mov.u32 %x1, s; mad.lo.u32 %x2, %thread, 4, %x1; st.shared.u32 [%x2], %thread;
  bar.sync 0;
  xor.b32 %x3, %thread, 96; mad.lo.u32 %x3, %x3, 4, %x1; ld.shared.u32 %r, [%x3];
  setp.lt.u32 %p1, %thread, 50;
  barrier.cta.red.popc.aligned.u32 %x4, 1, %p1;
  bar.red.or.pred %p2, 2, !%p1;
  bar.red.and.pred %p3, 3, 128, %p1;
  mad.lo.u32 %r, %x4, 1000, %r;
  @%p2 add.u32 %r, %r, 100000;
  @%p3 add.u32 %r, %r, 1000000;
  st.global.u32 [%out], %r;)",
               {0}, 128, ".shared .b32 s[128];\n");
  for (uint32_t i = 0; i < 128; ++i)
    EXPECT_EQ(r[i], (i ^ 96) + 50000 + 100000);
}

TEST(SimulatorMemory, ProducerConsumerWithNamedBarriers) {
  // Warps 0 and 1 produce and arrive; warps 2 and 3 wait for all 128 threads.
  auto r = run(R"(
  mov.u32 %x1, s; and.b32 %x3, %thread, 63; mad.lo.u32 %x2, %x3, 4, %x1;
  setp.ge.u32 %p1, %thread, 64;
  mov.u32 %r, 1;
  @%p1 bra CONSUME;
  st.shared.u32 [%x2], %thread;
  bar.arrive 5, 128;
  bra END;
CONSUME:
  bar.sync 5, 128;
  ld.shared.u32 %r, [%x2];
END:
  st.global.u32 [%out], %r;)",
               {0}, 128, ".shared .b32 s[64];\n");
  EXPECT_EQ(r[100], 36u);
}

TEST(SimulatorMemory, BlocksInAnyGridAndNumberOfHostThreads) {
  std::string body = R"(
  mov.u32 %x1, %ctaid.x; mov.u32 %x2, %ctaid.y; mov.u32 %x3, %ctaid.z; mov.u32 %x4, %nctaid.x; mov.u32 %x5, %nctaid.y;
  mad.lo.u32 %x6, %x3, %x5, %x2; mad.lo.u32 %x6, %x6, %x4, %x1;
  mul.wide.u32 %y1, %x6, 128; add.u64 %out, %out, %y1;
  mul.lo.u32 %r, %x6, %x6; add.u32 %r, %r, %lane; st.global.u32 [%out], %r;)";
  for (unsigned threads : {1u, 3u}) {
    Options options;
    options.threads = threads;
    auto r = run(body, {0}, 32, {}, options, {3, 4, 5}, 60 * 32);
    for (uint32_t b = 0; b < 60; ++b)
      EXPECT_EQ(r[b * 32 + 7], b * b + 7);
  }
}

TEST(SimulatorMemory, BlocksThatWaitForEachOtherMakeProgress) {
  // A barrier over the whole grid: every block spins until all have arrived.
  auto r = run(R"(
  setp.ne.u32 %p1, %thread, 0;
  @%p1 bra WAIT;
  atom.global.add.u32 %x1, [%in], 1;
WAIT:
  ld.acquire.gpu.global.u32 %x2, [%in];
  mov.u32 %x3, %nctaid.x;
  setp.lt.u32 %p2, %x2, %x3;
  @%p2 bra WAIT;
  mov.u32 %x4, %ctaid.x; mul.wide.u32 %y1, %x4, 128; add.u64 %out, %out, %y1; st.global.u32 [%out], %x2;)",
               {0}, 32, {}, {}, {6, 1, 1}, 192);
  EXPECT_EQ(r[160], 6u);
}
