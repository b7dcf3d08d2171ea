// A vector addition, from text to memory.
#include "runtime/simulator/Machine.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace tessera;
using namespace tessera::sim;

TEST(SimulatorSmoke, VectorAddition) {
  const DeviceProfile &profile = **DeviceProfile::find("a100");
  GlobalMemory memory(profile.memoryBytes);
  auto module = Module::load(R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<10>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [c];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra DONE;
  mul.wide.s32 %rd4, %r5, 4;
  add.s64 %rd5, %rd1, %rd4;
  add.s64 %rd6, %rd2, %rd4;
  add.s64 %rd7, %rd3, %rd4;
  ld.global.f32 %f1, [%rd5];
  ld.global.f32 %f2, [%rd6];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%rd7], %f3;
DONE:
  ret;
}
)",
                             profile, memory);
  ASSERT_TRUE(module.ok()) << module.status().text();
  std::vector<float> a(1000), b(1000), c(1000);
  std::iota(a.begin(), a.end(), 0.0f);
  std::iota(b.begin(), b.end(), 5.0f);
  uint64_t pa = *memory.allocate(4000), pb = *memory.allocate(4000), pc = *memory.allocate(4000);
  ASSERT_TRUE(memory.write(pa, a.data(), 4000).ok());
  ASSERT_TRUE(memory.write(pb, b.data(), 4000).ok());
  LaunchConfig config;
  config.kernel = "add";
  config.grid = {8, 1, 1};
  config.block = {128, 1, 1};
  config.parameters.resize((*module)->findKernel("add")->parameterBytes);
  int n = 1000;
  std::memcpy(&config.parameters[0], &pa, 8);
  std::memcpy(&config.parameters[8], &pb, 8);
  std::memcpy(&config.parameters[16], &pc, 8);
  std::memcpy(&config.parameters[24], &n, 4);
  LaunchReport report = launch(**module, memory, profile, config);
  EXPECT_EQ(report.status, LaunchStatus::Success);
  for (const Finding &f : report.findings)
    ADD_FAILURE() << f.text;
  ASSERT_TRUE(memory.read(pc, c.data(), 4000).ok());
  for (int i = 0; i < n; ++i)
    EXPECT_EQ(c[i], a[i] + b[i]);
}
