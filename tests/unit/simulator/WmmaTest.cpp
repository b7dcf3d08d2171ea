// wmma.load, wmma.mma and wmma.store: products of matrices in memory, and what the detectors and counters see of them.
#include "tests/unit/simulator/Harness.h"

#include <algorithm>
#include <fmt/format.h>
#include <random>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

struct Form {
  std::string shape;
  unsigned m, n, k;
  std::string type; ///< of A and B
  unsigned bits;
  std::string c, d; ///< types of the accumulators
  unsigned aRegs, bRegs;
  std::string satfinite;
};

unsigned sizeOf(const std::string &sum) { return sum == "f16" ? 2 : sum == "f64" ? 8 : 4; }
unsigned sumRegs(const Form &f, const std::string &sum) { return f.m * f.n / 32 / (sum == "f16" ? 2 : 1); }

std::string list(const char *name, unsigned n) {
  std::string text = "{";
  for (unsigned i = 0; i < n; ++i)
    text += fmt::format("{}%{}{}", i ? "," : "", name, i);
  return text + "}";
}

/// Small integers as elements of a type.
uint64_t encode(const std::string &type, int x) {
  if (type == "f16")
    return std::bit_cast<uint16_t>(static_cast<_Float16>(static_cast<float>(x)));
  if (type == "bf16")
    return std::bit_cast<uint32_t>(static_cast<float>(x)) >> 16;
  if (type == "tf32" || type == "f32")
    return std::bit_cast<uint32_t>(static_cast<float>(x));
  if (type == "f64")
    return std::bit_cast<uint64_t>(static_cast<double>(x));
  return static_cast<uint64_t>(static_cast<int64_t>(x));
}

void put(std::vector<uint8_t> &memory, size_t element, unsigned bits, uint64_t value) {
  for (unsigned i = 0; i < bits; ++i) {
    size_t at = element * bits + i;
    memory[at / 8] = static_cast<uint8_t>((memory[at / 8] & ~(1u << at % 8)) | ((value >> i & 1) << at % 8));
  }
}
uint64_t get(const std::vector<uint8_t> &memory, size_t element, unsigned bytes) {
  uint64_t value = 0;
  std::memcpy(&value, &memory[element * bytes], bytes);
  return value;
}

struct Layout {
  bool row;
  unsigned padding; ///< elements beyond the line
  size_t at(unsigned i, unsigned j, unsigned rows, unsigned columns) const {
    return row ? size_t(i) * (columns + padding) + j : size_t(j) * (rows + padding) + i;
  }
  size_t elements(unsigned rows, unsigned columns) const {
    return row ? size_t(rows) * (columns + padding) : size_t(columns) * (rows + padding);
  }
  unsigned stride(unsigned rows, unsigned columns) const { return (row ? columns : rows) + padding; }
  const char *name() const { return row ? "row" : "col"; }
};

std::string sumRegisters(const char *name, const std::string &sum, unsigned count) {
  return fmt::format(".reg .{} %{}<{}>;\n", sum == "f64" ? "f64" : sum == "f32" ? "f32" : "b32", name, count);
}

/// D = A·B + C of one warp; `space` where A lies: global, shared or "" for generic addresses of shared memory.
void check(const Form &f, Layout la, Layout lb, Layout lc, const std::string &space, MmaMode mode = MmaMode::Exact) {
  SCOPED_TRACE(fmt::format("{} {} c {} d {} {} {} {} in '{}'", f.shape, f.type, f.c, f.d, la.name(), lb.name(),
                           lc.name(), space));
  std::mt19937 random(f.m * 3 + f.n * 5 + f.bits);
  bool isUnsigned = f.type[0] == 'u' || f.type[0] == 'b';
  int low = isUnsigned ? 0 : -4, high = f.bits == 1 ? 1 : 5;
  std::vector<int> a(f.m * f.k), b(f.k * f.n), c(f.m * f.n);
  for (auto *v : {&a, &b})
    for (int &x : *v)
      x = std::uniform_int_distribution<int>(low, high)(random);
  for (int &x : c)
    x = std::uniform_int_distribution<int>(-50, 50)(random);
  std::vector<uint8_t> ma(4096), mb(4096), mc(8192), md(8192);
  for (unsigned i = 0; i < f.m; ++i)
    for (unsigned k = 0; k < f.k; ++k)
      put(ma, la.at(i, k, f.m, f.k), f.bits, encode(f.type, a[i * f.k + k]));
  for (unsigned k = 0; k < f.k; ++k)
    for (unsigned j = 0; j < f.n; ++j)
      put(mb, lb.at(k, j, f.k, f.n), f.bits, encode(f.type, b[k * f.n + j]));
  for (unsigned i = 0; i < f.m; ++i)
    for (unsigned j = 0; j < f.n; ++j)
      put(mc, lc.at(i, j, f.m, f.n), 8 * sizeOf(f.c), encode(f.c, c[i * f.n + j]));

  bool wide = f.bits == 64;
  std::string types =
      f.type == "f16" ? fmt::format(".{}.{}", f.d, f.c) : fmt::format(".{}.{}.{}.{}", f.d, f.type, f.type, f.c);
  std::string ptx = header() +
                    ".shared .align 32 .b8 smem[4096];\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, "
                    ".param .u64 d)\n{\n.reg .b64 %a, %b, %c, %d, %s, %t;\n.reg .b32 %lane, %x, %w;\n" +
                    fmt::format(".reg .{0} %fa<8>, %fb<8>;\n", wide ? "f64" : "b32") + sumRegisters("fc", f.c, 8) +
                    sumRegisters("fd", f.d, 8) +
                    "ld.param.u64 %a, [a];\nld.param.u64 %b, [b];\nld.param.u64 %c, [c];\nld.param.u64 %d, [d];\n"
                    "mov.u32 %lane, %laneid;\nmov.u32 %x, smem;\nmov.u64 %s, smem;\n";
  std::string from = "[%a]", qualifier = ".global";
  if (space != "global") { // A goes to shared memory first
    ptx += ".reg .pred %more;\nmov.u32 %x, %lane;\ncopy:\nmul.wide.u32 %t, %x, 4;\nadd.u64 %t, %t, %a;\n"
           "ld.global.b32 %w, [%t];\n.reg .b32 %y;\nmov.u32 %y, smem;\nmad.lo.u32 %y, %x, 4, %y;\n"
           "st.shared.b32 [%y], %w;\nadd.u32 %x, %x, 32;\nsetp.lt.u32 %more, %x, 1024;\n@%more bra copy;\n"
           "bar.warp.sync -1;\n";
    from = space == "shared" ? "[smem]" : "[%s]";
    qualifier = space == "shared" ? ".shared" : "";
    if (space == "generic")
      ptx += "cvta.shared.u64 %s, %s;\n";
  }
  auto stride = [](Layout l, unsigned rows, unsigned columns) {
    return l.padding ? fmt::format(", {}", l.stride(rows, columns)) : std::string(); // the default otherwise
  };
  ptx += fmt::format("wmma.load.a.sync.aligned.{}.{}{}.{} {}, {}{};\n", la.name(), f.shape, qualifier, f.type,
                     list("fa", f.aRegs), from, stride(la, f.m, f.k));
  ptx += fmt::format("wmma.load.b.sync.aligned.{}.{}.global.{} {}, [%b]{};\n", lb.name(), f.shape, f.type,
                     list("fb", f.bRegs), stride(lb, f.k, f.n));
  ptx += fmt::format("wmma.load.c.sync.aligned.{}.{}.global.{} {}, [%c]{};\n", lc.name(), f.shape, f.c,
                     list("fc", sumRegs(f, f.c)), stride(lc, f.m, f.n));
  ptx += fmt::format("wmma.mma{}.sync.aligned.{}.{}.{}{}{} {}, {}, {}, {};\n", f.bits == 1 ? ".xor.popc" : "",
                     la.name(), lb.name(), f.shape, types, f.satfinite, list("fd", sumRegs(f, f.d)),
                     list("fa", f.aRegs), list("fb", f.bRegs), list("fc", sumRegs(f, f.c)));
  ptx += fmt::format("wmma.store.d.sync.aligned.{}.{}.global.{} [%d], {}{};\nret;\n}}\n", lc.name(), f.shape, f.d,
                     list("fd", sumRegs(f, f.d)), stride(lc, f.m, f.n));
  Machine machine;
  machine.options.mma = mode;
  machine.load(ptx);
  uint64_t pa = machine.upload(ma), pb = machine.upload(mb), pc = machine.upload(mc), pd = machine.upload(md);
  expectClean(machine.run({1, 1, 1}, {32, 1, 1}, {pa, pb, pc, pd}));
  md = machine.download<uint8_t>(pd, md.size());
  for (unsigned i = 0; i < f.m; ++i)
    for (unsigned j = 0; j < f.n; ++j) {
      int sum = c[i * f.n + j];
      for (unsigned k = 0; k < f.k; ++k)
        sum += f.bits == 1 ? a[i * f.k + k] ^ b[k * f.n + j] : a[i * f.k + k] * b[k * f.n + j];
      uint64_t mask = sizeOf(f.d) == 8 ? ~0ull : (uint64_t(1) << (8 * sizeOf(f.d))) - 1;
      ASSERT_EQ(get(md, lc.at(i, j, f.m, f.n), sizeOf(f.d)), encode(f.d, sum) & mask) << "(" << i << ", " << j << ")";
    }
}

const Form f16Form{"m16n16k16", 16, 16, 16, "f16", 16, "f32", "f32", 8, 8, ""};

/// A kernel of two warps with a fragment of f16 in `%fa` and one of f32 in `%fc`.
std::string kernel(const std::string &body) {
  return header() + R"(
.shared .align 32 .b8 smem[2048];
.visible .entry k(.param .u64 a, .param .u64 d)
{
  .reg .b64 %a, %d;
  .reg .b32 %fa<8>, %fb<8>, %x, %warp;
  .reg .f32 %fc<8>;
  .reg .pred %p;
  ld.param.u64 %a, [a];
  ld.param.u64 %d, [d];
  mov.u32 %x, %tid.x;
  shr.u32 %warp, %x, 5;
  setp.eq.u32 %p, %warp, 0;
)" + body +
         "  ret;\n}\n";
}
const std::string fa = "{%fa0,%fa1,%fa2,%fa3,%fa4,%fa5,%fa6,%fa7}", fb = "{%fb0,%fb1,%fb2,%fb3,%fb4,%fb5,%fb6,%fb7}",
                  fc = "{%fc0,%fc1,%fc2,%fc3,%fc4,%fc5,%fc6,%fc7}",
                  zeros = "mov.b32 %fc0, 0;\nmov.b32 %fc1, 0;\nmov.b32 %fc2, 0;\nmov.b32 %fc3, 0;\nmov.b32 %fc4, 0;\n"
                          "mov.b32 %fc5, 0;\nmov.b32 %fc6, 0;\nmov.b32 %fc7, 0;\n";

} // namespace

TEST(SimulatorWmma, EveryShapeTypeLayoutAndStride) {
  std::vector<Form> forms;
  for (auto [shape, m, n] : {std::tuple("m16n16k16", 16u, 16u), {"m32n8k16", 32u, 8u}, {"m8n32k16", 8u, 32u}}) {
    for (auto [c, d] : {std::pair("f32", "f32"), {"f16", "f16"}, {"f16", "f32"}, {"f32", "f16"}})
      forms.push_back({shape, m, n, 16, "f16", 16, c, d, 8, 8, ""});
    forms.push_back({shape, m, n, 16, "bf16", 16, "f32", "f32", m / 4, n / 4, ""});
    forms.push_back({shape, m, n, 16, "s8", 8, "s32", "s32", m / 8, n / 8, ""});
    forms.push_back({shape, m, n, 16, "u8", 8, "s32", "s32", m / 8, n / 8, ".satfinite"});
  }
  forms.push_back({"m16n16k8", 16, 16, 8, "tf32", 32, "f32", "f32", 4, 4, ""});
  forms.push_back({"m8n8k4", 8, 8, 4, "f64", 64, "f64", "f64", 1, 1, ""});
  forms.push_back({"m8n8k32", 8, 8, 32, "s4", 4, "s32", "s32", 1, 1, ""});
  forms.push_back({"m8n8k32", 8, 8, 32, "u4", 4, "s32", "s32", 1, 1, ".satfinite"});
  forms.push_back({"m8n8k128", 8, 8, 128, "b1", 1, "s32", "s32", 1, 1, ""});
  for (const Form &f : forms)
    for (bool aRow : {true, false})
      for (bool bRow : {true, false}) {
        if (f.bits < 8 && (!aRow || bRow))
          continue;
        unsigned pad = 128 / std::min(f.bits, 32u); // 16 bytes, or 32 of f64
        check(f, {aRow, 0}, {bRow, pad}, {bRow, 0}, "global");
        check(f, {aRow, pad}, {bRow, 0}, {aRow, 8}, "shared");
        check(f, {aRow, 0}, {bRow, 0}, {!aRow, 0}, "generic", MmaMode::Hardware);
      }
}

TEST(SimulatorWmma, AccumulatorsMapElementForElement) {
  // x[i] of one fragment is x[i] of another: doubling each register doubles the matrix, and f16 and f32 agree.
  Machine machine;
  std::string text;
  for (unsigned i = 0; i < 8; ++i)
    text += fmt::format("add.f32 %fc{0}, %fc{0}, %fc{0};\n", i);
  machine.load(kernel("wmma.load.c.sync.aligned.row.m16n16k16.global.f32 " + fc + ", [%a], 16;\n" + text +
                      "wmma.store.d.sync.aligned.col.m16n16k16.global.f32 [%d], " + fc + ", 16;\n"));
  std::vector<float> in(256);
  for (unsigned i = 0; i < 256; ++i)
    in[i] = static_cast<float>(i);
  uint64_t a = machine.upload(in), d = machine.upload(std::vector<float>(256));
  expectClean(machine.run({1, 1, 1}, {32, 1, 1}, {a, d}));
  auto out = machine.download<float>(d, 256);
  for (unsigned i = 0; i < 256; ++i)
    EXPECT_EQ(out[i % 16 * 16 + i / 16], 2 * in[i]) << i;
}

TEST(SimulatorWmma, FragmentsOfHalvesRepeatTheirElements) {
  // Eight registers by definition, of which 16 × 16 elements need four.
  Machine machine;
  std::string stores;
  for (unsigned i = 0; i < 8; ++i)
    stores += fmt::format("st.global.b32 [%d+{}], %fa{};\n", 4 * i, i);
  machine.load(kernel("wmma.load.a.sync.aligned.col.m16n16k16.global.f16 " + fa +
                      ", [%a], 16;\n.reg .b64 %t;\nmul.wide.u32 %t, %x, 32;\nadd.u64 %d, %d, %t;\n" + stores));
  std::vector<uint16_t> in(256);
  for (unsigned i = 0; i < 256; ++i)
    in[i] = static_cast<uint16_t>(i);
  uint64_t a = machine.upload(in), d = machine.upload(std::vector<uint32_t>(256));
  expectClean(machine.run({1, 1, 1}, {32, 1, 1}, {a, d}));
  auto out = machine.download<uint16_t>(d, 512);
  std::vector<unsigned> seen(256);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 16; ++i)
      ++seen[out[lane * 16 + i]];
  EXPECT_EQ(seen, std::vector<unsigned>(256, 2));
}

TEST(SimulatorWmma, RowsMustFitTheirAllocation) {
  Machine machine;
  machine.load(kernel("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " + fa + ", [%a], 24;\n"));
  uint64_t a = machine.upload(std::vector<uint16_t>(15 * 24 + 15), "matrix"), d = machine.upload(std::vector<float>(1));
  LaunchReport report = machine.run({1, 1, 1}, {32, 1, 1}, {a, d});
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::OutOfBounds);
  EXPECT_NE(report.findings[0].text.find("matrix"), std::string::npos) << report.findings[0].text;
  uint64_t enough = machine.upload(std::vector<uint16_t>(15 * 24 + 16));
  expectClean(machine.run({1, 1, 1}, {32, 1, 1}, {enough, d}));
}

TEST(SimulatorWmma, RowsMustBeAligned) {
  Machine machine;
  machine.load(kernel("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " + fa + ", [%a], 20;\n"));
  uint64_t a = machine.upload(std::vector<uint16_t>(512)), d = machine.upload(std::vector<float>(1));
  LaunchReport report = machine.run({1, 1, 1}, {32, 1, 1}, {a, d}); // a stride of 40 bytes
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::Misaligned);
  EXPECT_EQ(report.findings[0].address, a + 40);
  report = machine.run({1, 1, 1}, {32, 1, 1}, {a + 8, d});
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::Misaligned);
  EXPECT_EQ(report.findings[0].address, a + 8);
}

TEST(SimulatorWmma, LanesMustAgreeOnAddressAndStride) {
  for (bool address : {false, true}) {
    Machine machine;
    machine.load(kernel(std::string(address ? "cvt.u64.u32 %d, %x;\nand.b64 %d, %d, 16;\nadd.u64 %a, %a, %d;\n"
                                              "mov.u32 %x, 16;\n"
                                            : "and.b32 %x, %x, 16;\nadd.u32 %x, %x, 16;\n") +
                        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " + fa + ", [%a], %x;\n"));
    uint64_t a = machine.upload(std::vector<uint16_t>(1024)), d = machine.upload(std::vector<float>(1));
    LaunchReport report = machine.run({1, 1, 1}, {32, 1, 1}, {a, d});
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_EQ(report.findings[0].kind, FindingKind::Unsupported);
    EXPECT_EQ(report.findings[0].thread.x, 16u);
    EXPECT_NE(report.findings[0].text.find("same address and stride"), std::string::npos) << report.findings[0].text;
  }
}

TEST(SimulatorWmma, UnwrittenElementsReachTheirRowOnly) {
  // Row 5 of A misses one element; D is stored to shared memory, of which all but that row is read.
  for (bool lost : {false, true})
    for (unsigned row : {4u, 5u}) {
      Machine machine;
      std::string fill;
      for (unsigned i = 0; i < 256; ++i)
        if (!lost || i != 5 * 16 + 3)
          fill += fmt::format("st.shared.b16 [smem+{}], 0;\n", 2 * i);
      machine.load(
          kernel("@!%p bra done;\n.reg .b32 %v;\n" + fill + "bar.warp.sync -1;\n" + zeros +
                 "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 " + fa + ", [smem], 16;\n" +
                 "wmma.load.b.sync.aligned.col.m16n16k16.global.f16 " + fb + ", [%a], 16;\n" +
                 "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 " + fc + ", " + fa + ", " + fb + ", " + fc +
                 ";\nwmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [smem+1024], " + fc + ", 16;\n" +
                 "bar.warp.sync -1;\nand.b32 %x, %x, 15;\nmul.lo.u32 %x, %x, 4;\nmov.u32 %v, smem;\n"
                 "add.u32 %x, %x, %v;\n" +
                 fmt::format("ld.shared.b32 %v, [%x+{}];\nst.global.b32 [%d], %v;\ndone:\n", 1024 + row * 64)));
      uint64_t a = machine.upload(std::vector<uint16_t>(256)), d = machine.upload(std::vector<float>(1));
      machine.options.races = false; // all lanes store the same word
      LaunchReport report = machine.run({1, 1, 1}, {32, 1, 1}, {a, d});
      EXPECT_EQ(report.findings.size(), lost && row == 5 ? 1u : 0u) << lost << row;
      for (const Finding &f : report.findings)
        EXPECT_EQ(f.kind, FindingKind::UninitialisedRead) << f.text;
    }
}

TEST(SimulatorWmma, RacesBetweenWarpsAreFound) {
  for (bool barrier : {false, true}) {
    Machine machine;
    machine.load(kernel(zeros + "@!%p bra reader;\nwmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [smem], " + fc +
                        ", 16;\nreader:\n" + (barrier ? "bar.sync 0;\n" : "") +
                        "@%p bra done;\nwmma.load.c.sync.aligned.row.m16n16k16.shared.f32 " + fc +
                        ", [smem], 16;\ndone:\n"));
    uint64_t a = machine.upload(std::vector<uint16_t>(1)), d = machine.upload(std::vector<float>(1));
    LaunchReport report = machine.run({1, 1, 1}, {64, 1, 1}, {a, d});
    bool race = std::ranges::any_of(report.findings, [](const Finding &f) { return f.kind == FindingKind::DataRace; });
    EXPECT_EQ(race, !barrier);
  }
}

TEST(SimulatorWmma, DivergentWarpsAreReported) {
  Machine machine;
  machine.load(
      kernel("setp.lt.u32 %p, %x, 16;\n@%p wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " + fa + ", [%a], 16;\n"));
  uint64_t a = machine.upload(std::vector<uint16_t>(256)), d = machine.upload(std::vector<float>(1));
  LaunchReport report = machine.run({1, 1, 1}, {32, 1, 1}, {a, d});
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].kind, FindingKind::ConvergenceViolation);
}

TEST(SimulatorWmma, TrafficAndOperationsAreCounted) {
  Machine machine;
  machine.options.counters = true;
  machine.load(kernel(zeros + "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " + fa + ", [%a], 16;\n" +
                      "wmma.load.b.sync.aligned.col.m16n16k16.global.f16 " + fb + ", [%a], 16;\n" +
                      "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 " + fc + ", " + fa + ", " + fb + ", " + fc +
                      ";\nwmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [smem], " + fc + ", 16;\n" +
                      "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%d], " + fc + ", 16;\n"));
  uint64_t a = machine.upload(std::vector<uint16_t>(256)), d = machine.upload(std::vector<float>(256));
  LaunchReport report = machine.run({1, 1, 1}, {32, 1, 1}, {a, d});
  expectClean(report);
  EXPECT_EQ(report.counters.mmaInstructions, 1u);
  EXPECT_EQ(report.counters.mmaFlops, 2u * 16 * 16 * 16);
  EXPECT_EQ(report.counters.globalLoads.bytes, 2u * 512);
  EXPECT_EQ(report.counters.globalLoads.sectors, 2u * 4 * 8); // four 8 × 8 tiles of 8 half sectors each
  EXPECT_EQ(report.counters.globalStores.bytes, 1024u);
  EXPECT_EQ(report.counters.globalStores.sectors, 32u);
  EXPECT_EQ(report.counters.sharedStores.bytes, 1024u);
}

TEST(SimulatorWmma, RefusesWhatIsNoFormByName) {
  auto refused = [](const std::string &instruction, std::string_view what) {
    std::string error = instructionError(instruction);
    EXPECT_NE(error.find(what), std::string::npos) << instruction << "\n" << error;
  };
  const std::string r8 = "{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}", r4 = "{%r0,%r1,%r2,%r3}",
                    f8 = "{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}";
  refused("wmma.load.a.sync.aligned.row.m16n16k16.f16 " + r4 + ", [%d0];", "8 registers");
  refused("wmma.load.a.sync.aligned.row.m16n16k8.f16 " + r8 + ", [%d0];", ".m16n16k16, .m32n8k16, .m8n32k16 do");
  refused("wmma.load.a.sync.aligned.m16n16k16.f16 " + r8 + ", [%d0];", "layout");
  refused("wmma.load.a.sync.aligned.col.m8n8k32.s4 {%r0}, [%d0];", "A of .s4 is .row");
  refused("wmma.load.c.sync.aligned.row.m16n16k16.bf16 " + r4 + ", [%d0];", "no C and D of .bf16");
  refused("wmma.load.a.sync.aligned.row.m16n16k16.local.f16 " + r8 + ", [%d0];", ".local");
  refused("wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.u8.s32 " + r8 + ", {%r0,%r1}, {%r0,%r1}, " + r8 + ";",
          "of one type");
  refused("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.satfinite " + f8 + ", " + r8 + ", " + r8 + ", " + f8 + ";",
          ".satfinite");
  refused("wmma.mma.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%r0,%r1}, {%r0}, {%r0}, {%r0,%r1};", ".xor.popc");
  refused("wmma.fill.sync.aligned.row.m16n16k16.f16 " + r8 + ";", ".load, .store or .mma");
}
