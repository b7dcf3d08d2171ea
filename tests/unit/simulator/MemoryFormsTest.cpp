// Loads, stores and atomics: every type, width, space, ordering and cache form.
#include "tests/unit/simulator/Harness.h"
#include "tests/unit/simulator/Rounding.h"

#include <fmt/format.h>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

/// Text of a kernel with %in, %out, a shared array s and registers of every width.
std::string kernel(const std::string &body, std::string_view target = "sm_80") {
  return header(target) +
         ".shared .align 32 .b8 s[1024];\n.const .align 16 .b32 c[8] = {10, 11, 12, 13, 14, 15, 16, 17};\n.visible "
         ".entry k(.param .u64 in, .param .u64 out)\n{\n"
         ".reg .b64 %in, %out, %y<12>; .reg .b32 %r, %s, %x<40>; .reg .b16 %h<12>; .reg .f32 %f<12>; .reg .f64 %g<12>; "
         ".reg .b128 %q<4>; .reg .pred %p<4>;\n"
         ".local .align 32 .b8 l[64];\n"
         "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %s, s;\n" +
         body + "\nret;\n}\n";
}

/// One thread; returns `count` words of the output, where `in` was the input.
std::vector<uint32_t> run(const std::string &body, std::vector<uint32_t> in, size_t count,
                          std::string_view target = "sm_80") {
  Machine machine(target == "sm_80" ? "a100" : target == "sm_100" ? "b200" : "h100");
  machine.load(kernel(body, target));
  uint64_t pin = machine.upload(in), pout = machine.upload(std::vector<uint32_t>(count, 0));
  expectClean(machine.run({1, 1, 1}, {1, 1, 1}, {pin, pout}));
  return machine.download<uint32_t>(pout, count);
}

struct Atomic {
  const char *operation, *type;
  uint64_t old, b, c, expected;
};

} // namespace

TEST(SimulatorMemoryForms, EveryTypeAndVectorThroughEverySpace) {
  struct {
    const char *name;
    char reg;
    unsigned bytes;
  } const types[] = {{"b8", 'h', 1},  {"u8", 'h', 1},  {"s8", 'h', 1},  {"b16", 'h', 2}, {"u16", 'h', 2},
                     {"s16", 'h', 2}, {"b32", 'x', 4}, {"u32", 'x', 4}, {"s32", 'x', 4}, {"f32", 'f', 4},
                     {"b64", 'y', 8}, {"u64", 'y', 8}, {"s64", 'y', 8}, {"f64", 'g', 8}};
  std::vector<uint32_t> in{0x83828180, 0x07060504, 0x8b0a8908, 0x0f8e0d8c};
  for (const auto &t : types)
    for (unsigned n : {1u, 2u, 4u, 8u}) {
      if (t.bytes * n > 16)
        continue;
      std::string regs;
      for (unsigned i = 0; i < n; ++i)
        regs += fmt::format("{}%{}{}", i ? "," : "", t.reg, i);
      if (n > 1)
        regs = "{" + regs + "}";
      std::string vector = n > 1 ? fmt::format(".v{}", n) : "";
      auto access = [&](const char *op, const char *space, const char *address) {
        std::string what = fmt::format("{}{}{}.{}", op, space, vector, t.name);
        return op[0] == 'l' ? fmt::format("{} {}, [{}];\n", what, regs, address)
                            : fmt::format("{} [{}], {};\n", what, address, regs);
      };
      // From global through shared, local and generic memory and back, unchanged.
      std::string body =
          access("ld", ".global", "%in") + access("st", ".shared", "%s+32") + access("ld", ".shared", "s+32") +
          access("st", ".local", "l+16") + access("ld", ".local", "l+16") +
          "mov.u64 %y8, s; cvta.shared.u64 %y8, %y8; mov.u64 %y9, l; cvta.local.u64 %y9, %y9;\n" +
          access("st", "", "%y8+64") + access("ld", "", "%y8+64") + access("st", "", "%y9") + access("ld", "", "%y9") +
          access("st", ".shared::cta", "%s+96") + access("ld", ".shared::cta", "%s+96") + access("st", "", "%out");
      auto r = run(body, in, 4);
      std::vector<uint8_t> expected(16, 0), got(16);
      std::memcpy(expected.data(), in.data(), t.bytes * n);
      std::memcpy(got.data(), r.data(), 16);
      EXPECT_EQ(got, expected) << t.name << " v" << n;
    }
  // 128 bits at once, and 32 bytes where Blackwell has them.
  EXPECT_EQ(
      run("ld.global.b128 %q1, [%in]; st.shared.b128 [%s], %q1; ld.shared.b128 %q2, [s]; st.global.b128 [%out], %q2;",
          in, 4),
      in);
  std::vector<uint32_t> eight{1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(run("ld.global.v8.b32 {%x0,%x1,%x2,%x3,%x4,%x5,%x6,%x7}, [%in]; st.global.v8.b32 [%out], "
                "{%x0,%x1,%x2,%x3,%x4,%x5,%x6,%x7};",
                eight, 8, "sm_100"),
            eight);
  EXPECT_EQ(run("ld.global.L2::evict_last.v4.b64 {%y0,%y1,%y2,%y3}, [%in]; st.global.L2::evict_first.v4.b64 [%out], "
                "{%y0,%y1,%y2,%y3};",
                eight, 8, "sm_100"),
            eight);
}

TEST(SimulatorMemoryForms, NarrowTypesExtendInWiderRegisters) {
  struct {
    const char *load;
    uint64_t expected;
  } const loads[] = {{"ld.global.s8 %y1, [%in];", 0xffffffffffffff80},
                     {"ld.global.u8 %y1, [%in];", 0x80},
                     {"ld.global.b8 %y1, [%in];", 0x80},
                     {"ld.global.s16 %y1, [%in];", 0xffffffffffff8180},
                     {"ld.global.u16 %y1, [%in];", 0x8180},
                     {"ld.global.b16 %y1, [%in];", 0x8180},
                     {"ld.global.s32 %y1, [%in];", 0xffffffff83828180},
                     {"ld.global.u32 %y1, [%in];", 0x83828180},
                     {"ld.global.s8 %x1, [%in]; cvt.u64.u32 %y1, %x1;", 0xffffff80},
                     {"ld.global.u16 %x1, [%in]; cvt.u64.u32 %y1, %x1;", 0x8180},
                     {"ld.global.s8 %h1, [%in]; cvt.u64.u16 %y1, %h1;", 0xff80},
                     {"ld.global.v2.s8 {%x1, %x2}, [%in]; cvt.u64.u32 %y1, %x2;", 0xffffff81}};
  for (const auto &load : loads) {
    auto r = run(std::string(load.load) + "st.global.u64 [%out], %y1;", {0x83828180, 0}, 2);
    EXPECT_EQ(r[0] | uint64_t(r[1]) << 32, load.expected) << load.load;
  }
  auto r = run("mov.u64 %y1, 0x1122334455667788; st.global.u8 [%out], %y1; st.global.s16 [%out+2], %y1; st.global.b32 "
               "[%out+4], %y1;",
               {0}, 2);
  EXPECT_EQ(r[0], 0x77880088u);
  EXPECT_EQ(r[1], 0x55667788u);
}

TEST(SimulatorMemoryForms, CacheFormsOrderingsAndPoliciesChangeNoValue) {
  std::vector<std::string> loads, stores;
  for (const char *cache : {"", ".ca", ".cg", ".cs", ".lu", ".cv"})
    for (const char *space : {"", ".global"})
      loads.push_back(fmt::format("ld{}{}.u32 %r, [%in];", space, cache));
  for (const char *cache : {"", ".ca", ".cg", ".cs"})
    loads.push_back(fmt::format("ld.global{}.nc.u32 %r, [%in];", cache));
  for (const char *cache : {"", ".wb", ".cg", ".cs", ".wt"})
    for (const char *space : {"", ".global"})
      stores.push_back(fmt::format("st{}{}.u32 [%out], %r;", space, cache));
  for (const char *hint :
       {".L1::evict_normal", ".L1::evict_unchanged", ".L1::evict_first", ".L1::evict_last", ".L1::no_allocate"}) {
    for (const char *size : {"", ".L2::64B", ".L2::128B", ".L2::256B"}) {
      loads.push_back(fmt::format("ld.global{}{}.u32 %r, [%in];", hint, size));
      loads.push_back(fmt::format("ld.global.nc{}{}.u32 %r, [%in];", hint, size));
    }
    loads.push_back(fmt::format(
        "createpolicy.fractional.L2::evict_last.b64 %y5, 0.5; ld.global{}.L2::cache_hint.u32 %r, [%in], %y5;", hint));
    stores.push_back(fmt::format("st.global{}.u32 [%out], %r;", hint));
  }
  for (const char *policy :
       {"createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %y5, 1.0;",
        "createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %y5, [%in], 64, 128;",
        "createpolicy.fractional.L2::evict_normal.b64 %y5;", "mov.u64 %y6, 0; createpolicy.cvt.L2.b64 %y5, %y6;"})
    stores.push_back(std::string(policy) + "st.global.L2::cache_hint.u32 [%out], %r, %y5;");
  for (const char *scope : {".cta", ".gpu", ".sys"})
    for (const char *space : {"", ".global"}) {
      loads.push_back(fmt::format("ld.relaxed{}{}.u32 %r, [%in];", scope, space));
      loads.push_back(fmt::format("ld.acquire{}{}.u32 %r, [%in];", scope, space));
      stores.push_back(fmt::format("st.relaxed{}{}.u32 [%out], %r;", scope, space));
      stores.push_back(fmt::format("st.release{}{}.u32 [%out], %r;", scope, space));
    }
  for (const char *more :
       {"ld.weak.global.u32 %r, [%in];", "ld.volatile.global.u32 %r, [%in];", "ld.volatile.u32 %r, [%in];",
        "ld.mmio.relaxed.sys.global.u32 %r, [%in];", "ldu.global.u32 %r, [%in];", "ldu.v2.u32 {%r, %x1}, [%in];",
        "prefetch.global.L1 [%in]; prefetch.global.L2 [%in]; prefetch.L1 [%in]; prefetch.local.L2 [l]; prefetchu.L1 "
        "[%in]; prefetch.global.L2::evict_last [%in]; prefetch.global.L2::evict_normal [%in]; "
        "applypriority.global.L2::evict_normal [%in], 128; ld.u32 %r, [%in];",
        "ld.relaxed.gpu.global.L1::no_allocate.L2::128B.u32 %r, [%in];"})
    loads.push_back(more);
  for (const char *more :
       {"st.weak.global.u32 [%out], %r;", "st.volatile.global.u32 [%out], %r;", "st.volatile.u32 [%out], %r;",
        "st.mmio.relaxed.sys.u32 [%out], %r;", "discard.global.L2 [%out], 128; st.global.u32 [%out], %r;"})
    stores.push_back(more);
  for (const std::string &load : loads)
    EXPECT_EQ(run(load + "st.global.u32 [%out], %r;", {0x12345678, 5}, 1)[0], 0x12345678u) << load;
  for (const std::string &store : stores)
    EXPECT_EQ(run("ld.global.u32 %r, [%in];" + store, {0x12345678, 5}, 1)[0], 0x12345678u) << store;
  // The same orderings on shared memory, and volatile there.
  EXPECT_EQ(run("mov.u32 %r, 9; st.volatile.shared.u32 [%s], %r; ld.volatile.shared.u32 %x1, [%s]; "
                "st.release.cta.shared.u32 [%s+4], %x1; ld.acquire.cta.shared::cta.u32 %x2, [%s+4]; ld.shared.cg.u32 "
                "%x3, [%s+4]; add.u32 %x2, %x2, %x3; st.global.u32 [%out], %x2;",
                {0}, 1)[0],
            18u);
}

TEST(SimulatorMemoryForms, ConstantsByNameAddressAndGenericPointer) {
  auto r = run("ld.const.u32 %x1, [c+8]; mov.u64 %y1, c; ld.const.u32 %x2, [%y1+12]; cvta.const.u64 %y2, %y1; ld.u32 "
               "%x3, [%y2+16]; cvta.to.const.u64 %y3, %y2; ld.const.v4.u32 {%x4,%x5,%x6,%x7}, [%y3+16];"
               "mad.lo.u32 %r, %x1, 100, %x2; mad.lo.u32 %r, %r, 100, %x3; mad.lo.u32 %r, %r, 100, %x7; st.global.u32 "
               "[%out], %r;",
               {0}, 1);
  EXPECT_EQ(r[0], 12131417u);
  // Every window is told apart.
  r = run("mov.u64 %y1, s; cvta.shared.u64 %y1, %y1; mov.u64 %y2, l; cvta.local.u64 %y2, %y2; mov.u64 %y3, c; "
          "cvta.const.u64 %y3, %y3; mov.u64 %y4, in; cvta.param.u64 %y4, %y4;\n"
          "mov.u32 %r, 0;\n"
          "isspacep.shared %p0, %y1; @%p0 or.b32 %r, %r, 1; isspacep.local %p0, %y2; @%p0 or.b32 %r, %r, 2; "
          "isspacep.global %p0, %in; @%p0 or.b32 %r, %r, 4;"
          "isspacep.shared::cta %p0, %y2; @%p0 or.b32 %r, %r, 8; isspacep.local %p0, %in; @%p0 or.b32 %r, %r, 16; "
          "isspacep.global %p0, %y1; @%p0 or.b32 %r, %r, 32; isspacep.param %p0, %y4; @%p0 or.b32 %r, %r, 64;"
          "isspacep.global %p0, %y2; @%p0 or.b32 %r, %r, 128; isspacep.param::entry %p0, %y1; @%p0 or.b32 %r, %r, 256;"
          "cvta.to.shared.u64 %y5, %y1; cvt.u32.u64 %x1, %y5; sub.u32 %x1, %x1, %s; shl.b32 %x1, %x1, 16; or.b32 %r, "
          "%r, %x1; st.global.u32 [%out], %r;",
          {0}, 1);
  EXPECT_EQ(r[0], 1u + 2 + 4 + 64);
}

TEST(SimulatorMemoryForms, AtomicsOfEveryOperationTypeAndSpace) {
  const uint64_t big = 0x8000000000000001;
  const Atomic atomics[] = {{"add", "u32", 0xffffffff, 3, 0, 2},
                            {"add", "s32", 5, 0xfffffffe, 0, 3},
                            {"add", "u64", ~0ull, 5, 0, 4},
                            {"add", "f32", f32(1.5f), f32(2.0f), 0, f32(3.5f)},
                            {"add", "f64", f64(1.5), f64(-0.25), 0, f64(1.25)},
                            {"add.noftz", "f16", 0x3c00, 0x4000, 0, 0x4200},
                            {"add.noftz", "f16x2", 0x3c000001, 0x40000001, 0, 0x42000002},
                            {"min", "u32", 7, 0xffffffff, 0, 7},
                            {"min", "s32", 7, 0xffffffff, 0, 0xffffffff},
                            {"min", "u64", 7, big, 0, 7},
                            {"min", "s64", 7, big, 0, big},
                            {"max", "u32", 7, 0xffffffff, 0, 0xffffffff},
                            {"max", "s32", 7, 0xffffffff, 0, 7},
                            {"max", "u64", 7, big, 0, big},
                            {"max", "s64", 7, big, 0, 7},
                            {"and", "b32", 0xff0f, 0xf0f0, 0, 0xf000},
                            {"and", "b64", big, ~1ull, 0, 1ull << 63},
                            {"or", "b32", 0xf0, 0x0f, 0, 0xff},
                            {"or", "b64", big, 2, 0, big + 2},
                            {"xor", "b32", 0xff, 0x0f, 0, 0xf0},
                            {"xor", "b64", big, ~0ull, 0, ~big},
                            {"exch", "b32", 5, 9, 0, 9},
                            {"exch", "b64", 5, big, 0, big},
                            {"cas", "b32", 5, 5, 8, 8},
                            {"cas", "b32", 5, 6, 8, 5},
                            {"cas", "b64", big, big, 8, 8},
                            {"cas", "b64", big, 1, 8, big},
                            {"cas", "b16", 5, 5, 8, 8},
                            {"cas", "b16", 5, 4, 8, 5},
                            {"inc", "u32", 4, 9, 0, 5},
                            {"inc", "u32", 9, 9, 0, 0},
                            {"inc", "u32", 12, 9, 0, 0},
                            {"dec", "u32", 4, 9, 0, 3},
                            {"dec", "u32", 0, 9, 0, 9},
                            {"dec", "u32", 12, 9, 0, 9}};
  for (const Atomic &a : atomics) {
    std::string type = a.type, op = a.operation;
    unsigned bytes = type.ends_with("64") ? 8 : type == "f16" || type == "b16" ? 2 : 4;
    const char *reg = bytes == 8 ? "y" : bytes == 2 ? "h" : "x";
    std::string load = fmt::format("ld.global.b{0} %{1}1, [%in+8]; ld.global.b{0} %{1}2, [%in+16];", bytes * 8, reg);
    std::vector<uint32_t> in{uint32_t(a.old),     uint32_t(a.old >> 32), uint32_t(a.b),
                             uint32_t(a.b >> 32), uint32_t(a.c),         uint32_t(a.c >> 32)};
    std::string operands = fmt::format("%{0}1{1}", reg, op == "cas" ? fmt::format(", %{}2", reg) : "");
    for (const char *space : {".global", "", ".shared", ".shared::cta", "generic shared"}) {
      std::string where = space, address = where == ".global" || where.empty() ? "%in"
                                           : where[0] == 'g'                   ? "%y7"
                                                                               : "%s+16";
      std::string name = where[0] == 'g' ? "" : where;
      std::string prepare = address == "%in"
                                ? ""
                                : fmt::format("ld.global.b{0} %{1}3, [%in]; st.shared.b{0} [%s+16], %{1}3; mov.u64 "
                                              "%y7, s; cvta.shared.u64 %y7, %y7; add.u64 %y7, %y7, 16;",
                                              bytes * 8, reg);
      std::string finish = fmt::format("ld.b{0} %{1}4, [{2}]; st.global.b{0} [%out+8], %{1}4;", bytes * 8, reg,
                                       address == "%s+16" ? "%y7" : address);
      auto value = [](const std::vector<uint32_t> &r, size_t at) { return r[at] | uint64_t(r[at + 1]) << 32; };
      auto r =
          run(load + prepare + fmt::format("atom{}.{}.{} %{}5, [{}], {};", name, op, type, reg, address, operands) +
                  finish + fmt::format("st.global.b{} [%out], %{}5;", bytes * 8, reg),
              in, 4);
      EXPECT_EQ(value(r, 0), a.old) << op << type << space << ": the old value";
      EXPECT_EQ(value(r, 2), a.expected) << op << type << space;
      if (op == "exch" || op == "cas")
        continue;
      r = run(load + prepare + fmt::format("red{}.{}.{} [{}], {};", name, op, type, address, operands) + finish, in, 4);
      EXPECT_EQ(value(r, 2), a.expected) << "red " << op << type << space;
    }
  }
}

TEST(SimulatorMemoryForms, AtomicsOfEveryOrderAndScope) {
  for (const char *order : {"", ".relaxed", ".acquire", ".release", ".acq_rel"})
    for (const char *scope : {"", ".cta", ".gpu", ".sys"}) {
      auto r = run(fmt::format("atom{}{}.global.add.u32 %r, [%in], 3; st.global.u32 [%out], %r; ld.global.u32 %x1, "
                               "[%in]; st.global.u32 [%out+4], %x1;",
                               order, scope),
                   {4}, 2);
      EXPECT_EQ(r, (std::vector<uint32_t>{4, 7})) << order << scope;
      if (std::string(order).starts_with(".acq"))
        continue;
      r = run(fmt::format("red{}{}.global.add.u32 [%in], 3; ld.global.u32 %x1, [%in]; st.global.u32 [%out], %x1;",
                          order, scope),
              {4}, 1);
      EXPECT_EQ(r[0], 7u) << order << scope;
    }
  auto r = run("createpolicy.fractional.L2::evict_last.b64 %y5; atom.global.add.L2::cache_hint.u32 %r, [%in], 3, %y5; "
               "red.global.add.L2::cache_hint.u32 [%in], 1, %y5; atom.global.add.u32 _, [%in], 1; ld.global.u32 %x1, "
               "[%in]; st.global.u32 [%out], %x1;",
               {4}, 1);
  EXPECT_EQ(r[0], 9u);
  // bf16 and 128 bits, of later targets.
  r = run("mov.b32 %x1, 0x3f803f80; atom.global.add.noftz.bf16x2 %x2, [%in], %x1; red.global.add.noftz.bf16x2 [%in], "
          "%x1; ld.global.u32 %x3, [%in]; st.global.u32 [%out], %x3;",
          {0x40003f80}, 1, "sm_90");
  EXPECT_EQ(r[0], 0x40804040u);
  r = run("mov.b16 %h1, 0x3f80; atom.global.add.noftz.bf16 %h2, [%in], %h1; ld.global.u16 %h3, [%in]; st.global.b16 "
          "[%out], %h3;",
          {0x3f80}, 1, "sm_90");
  EXPECT_EQ(r[0], 0x4000u);
  r = run("mov.u64 %y1, 7; mov.b128 %q1, {%y1, %y1}; atom.global.exch.b128 %q2, [%in], %q1; atom.global.cas.b128 %q3, "
          "[%in], %q1, %q2; ld.global.b128 %q1, [%in]; st.global.b128 [%out], %q1;",
          {1, 2, 3, 4}, 4, "sm_90");
  EXPECT_EQ(r, (std::vector<uint32_t>{1, 2, 3, 4}));
}
