// PTX that the tests of the driver layer load.
#pragma once

#include <string>

namespace tessera::test {

/// y[i] = a * x[i] + y[i] for i < n.
inline constexpr const char *Saxpy = R"(
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 counter = 7;
.visible .entry saxpy(.param .u64 y, .param .u64 x, .param .f32 a, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<5>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [y];
  ld.param.u64 %rd2, [x];
  ld.param.f32 %f1, [a];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra done;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd2, %rd3;
  add.s64 %rd5, %rd1, %rd3;
  ld.global.f32 %f2, [%rd4];
  ld.global.f32 %f3, [%rd5];
  fma.rn.f32 %f4, %f1, %f2, %f3;
  st.global.f32 [%rd5], %f4;
done:
  ret;
}
.visible .entry bounded() .maxntid 128, 1, 1
{
  ret;
}
.visible .entry exact() .reqntid 64, 2, 1
{
  ret;
}
.visible .entry shared16k()
{
  .reg .b32 %r<2>;
  .shared .align 4 .b8 tile[16384];
  mov.u32 %r1, 1;
  st.shared.u32 [tile], %r1;
  ret;
}
)";

/// Faults of several kinds.
inline constexpr const char *Faults = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry store(.param .u64 p)
{
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, 5;
  st.global.u32 [%rd1], %r1;
  ret;
}
.visible .entry stop()
{
  trap;
  ret;
}
)";

/// Copies one word.
inline constexpr const char *CopyWord = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry copy_word(.param .u64 to, .param .u64 from)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<3>;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [from];
  ld.global.u32 %r1, [%rd2];
  add.u32 %r2, %r1, 1;
  st.global.u32 [%rd1], %r2;
  ret;
}
)";

inline constexpr const char *Minimal =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }\n";

/// A kernel `many(pointer)` that loads `count` words and wants all of them at the end, so that none can share a
/// register.
inline std::string manyRegisters(unsigned count) {
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry many(.param .u64 p)\n{\n  .reg "
                     ".b64 %rd<2>;\n  .reg .b32 %r<" +
                     std::to_string(count + 1) + ">;\n  ld.param.u64 %rd1, [p];\n";
  for (unsigned i = 0; i < count; ++i)
    text += "  ld.global.u32 %r" + std::to_string(i) + ", [%rd1+" + std::to_string(4 * i) + "];\n";
  for (unsigned i = count; i-- > 0;)
    text += "  st.global.u32 [%rd1+" + std::to_string(4 * i) + "], %r" + std::to_string(i) + ";\n";
  return text + "  ret;\n}\n";
}

} // namespace tessera::test
