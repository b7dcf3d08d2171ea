// Text that means harm: deep, huge, overflowing. A load answers with an error or a module, soon, in little memory.
#include "tests/unit/simulator/Harness.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

std::string repeat(std::string_view text, size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  while (times--)
    all += text;
  return all;
}

/// Error of the load, which must come in seconds.
std::string load(const std::string &text) {
  auto start = std::chrono::steady_clock::now();
  std::string error = loadError(text);
  auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_LT(seconds, 20) << text.substr(0, 200);
  return error;
}
std::string module(const std::string &text) { return load(header() + text); }
std::string body(const std::string &text) {
  return module(".visible .entry k(.param .u64 in)\n{\n.reg .b32 %r<40>;\n.reg .b64 %d<20>;\n.reg .pred %p<9>;\n" +
                text + "\nret;\n}\n");
}
void expectError(const std::string &message, const char *part) {
  EXPECT_NE(message.find(part), std::string::npos) << "gave: " << message.substr(0, 300);
}

} // namespace

TEST(SimulatorHostile, DeepNesting) {
  constexpr size_t deep = 200000;
  expectError(body("mov.u32 %r1, " + repeat("(", deep) + "1" + repeat(")", deep) + ";"), "nested too deeply");
  expectError(body("mov.u32 %r1, " + repeat("-", deep) + "1;"), "nested too deeply");
  expectError(body("mov.u32 %r1, " + repeat("~", deep) + "1;"), "nested too deeply");
  expectError(body("mov.u32 %r1, " + repeat("(.s64)", deep) + "1;"), "nested too deeply");
  expectError(body("mov.u32 %r1, " + repeat("1?", deep) + "1;"), "nested too deeply");
  expectError(body("mov.u32 %r1, " + repeat("!", deep) + "%p1;"), "nested too deeply");
  expectError(body("mov.b64 %d1, " + repeat("{", deep) + "%r1" + repeat("}", deep) + ";"), "nested too deeply");
  expectError(body("ld.global.u32 %r1, " + repeat("[", deep) + "%d1" + repeat("]", deep) + ";"), "nested too deeply");
  expectError(body("mov.u32 %r1|" + repeat("%r1|", deep) + "%r1;"), "nested too deeply");
  expectError(body(repeat("{", deep) + repeat("}", deep)), "nested too deeply");
  expectError(module(".global .u32 a[2] = " + repeat("{", deep) + "1" + repeat("}", deep) + ";"), "nested more deeply");
  expectError(module(".global .u32 a" + repeat("[1]", deep) + " = {1};"), "'{'");
  expectError(module(".section x " + repeat("{", deep)), "not closed");
  EXPECT_EQ(body(repeat("{", 60) + "mov.u32 %r1, ((((((((((1))))))))));" + repeat("}", 60)), "");
}

TEST(SimulatorHostile, HugeSizes) {
  expectError(module(".global .b8 a[99999999999999];"), "beyond");
  expectError(module(".global .b8 a[4294967296][4294967296][4294967296];"), "is larger than");
  expectError(module(".global .b8 a[70000000000];"), "more than 268435456 bytes");
  expectError(module(".global .b8 a[200000000];\n.global .b8 b[200000000];"), "more than 268435456 bytes");
  expectError(module(".global .b8 a[300000000] = {1};"), "is larger than");
  expectError(module(".global .align 1099511627776 .b8 a[4];"), "beyond");
  expectError(module(".global .align 3 .b8 a[4];"), "not a power of two");
  expectError(module(".global .align 0 .b8 a[4];"), "not a power of two");
  expectError(module(".shared .b8 a[2000000000];"), "exceeds every device");
  expectError(module(".visible .entry k() {\n.shared .b8 a[1000000];\n.shared .b8 b[1000000];\nret; }"),
              "shared variables of 'k'");
  expectError(module(".func f() { .shared .b8 a[900000]; .shared .b8 b[900000]; ret; }"), "shared variables");
  expectError(module(".visible .entry k() { .local .b8 a[1000000]; ret; }"), "local variables");
  expectError(module(".visible .entry k() { .local .b8 a[1099511627776]; ret; }"), "local variables");
  expectError(module(".visible .entry k(.param .b8 a[40000]) { ret; }"), "32764 is the most");
  expectError(module(".visible .entry k(.param .b8 a[4294967297]) { ret; }"), "beyond");
  expectError(module(".func f(.param .b8 a[600000]) { ret; }"), "take");
  std::string many;
  for (int i = 0; i < 5000; ++i)
    many += fmt::format("{}.param .b8 p{}[1000000]", i ? "," : "", i);
  expectError(module(".func f(" + many + ") { ret; }"), "take");
  // A chain of calls whose frames together do not fit.
  std::string chain = ".func f0() { .local .b8 a[100000]; ret; }\n";
  for (int i = 1; i < 20; ++i)
    chain += fmt::format(".func f{}() {{ .local .b8 a[100000]; call f{}; ret; }}\n", i, i - 1);
  expectError(module(chain + ".visible .entry k() { call f19; ret; }"), "local memory per thread");
}

TEST(SimulatorHostile, HugeNumbersOfRegisters) {
  expectError(body(".reg .b32 %a<4000000000>; mov.u32 %a1, 1;"), "a number of registers up to");
  expectError(body(".reg .b32 %a<99999999999999999999>;"), "does not fit 64 bits");
  EXPECT_EQ(body(".reg .b32 %a<1048576>; mov.u32 %a1048575, 1;"), "") << "unused ones cost nothing";
  expectError(body(".reg .b32 %a<10>; mov.u32 %a10, 1;"), "%a10");
  expectError(body(".reg .b32 %a<10>; mov.u32 %a01, 1;"), "%a01");
  std::string list;
  for (int i = 0; i < 300; ++i)
    list += fmt::format("{}%r{}", i ? "," : "", i % 40);
  expectError(body("mov.b64 %d1, {" + list + "};"), "cannot be packed");
  expectError(body("ld.global.v4.u32 {" + list + "}, [%d1];"), "4 destinations are needed, got 300");
  // More arguments than an instruction holds.
  std::string formals, actuals;
  for (int i = 0; i < 300; ++i) {
    formals += fmt::format("{}.reg .b32 a{}", i ? "," : "", i);
    actuals += fmt::format("{}%r1", i ? "," : "");
  }
  expectError(module(".func f(" + formals + ") { ret; }\n.visible .entry k() { .reg .b32 %r<2>; call f, (" + actuals +
                     "); ret; }"),
              "255 of each fit");
  expectError(module(".func (" + formals + ") f() { ret; }"), "255 of each fit");
}

TEST(SimulatorHostile, ArithmeticOfConstants) {
  expectError(body("mov.u32 %r1, 1/0;"), "division by zero");
  expectError(body("mov.u32 %r1, 1 % 0;"), "division by zero");
  expectError(body("mov.u32 %r1, 1U/(2-2);"), "division by zero");
  for (const char *value :
       {"(-9223372036854775807-1)/-1", "(-9223372036854775807-1) % -1", "1<<64", "1<<9223372036854775807", "-1>>64",
        "1U>>99", "9223372036854775807+9223372036854775807", "0xffffffffffffffff*0xffffffffffffffff",
        "-(-9223372036854775807-1)", "18446744073709551615U+1", "(.u64)-1>>63", "1?2:3", "!0", "~0u", "0b11", "017"})
    EXPECT_EQ(body(fmt::format("mov.u32 %r1, {};", value)), "") << value;
  expectError(body("mov.u32 %r1, 18446744073709551616;"), "does not fit 64 bits");
  expectError(body("mov.u32 %r1, 08;"), "not a number");
  EXPECT_EQ(body("ld.global.u32 %r1, [%d1+0x7fffffffffffffff]; ld.global.u32 %r1, [%d1-0x8000000000000000]; "
                 "ld.global.u32 %r1, [0x7fffffffffffffff+0x7fffffffffffffff];"),
            "");
  EXPECT_EQ(module(".global .u32 b;\n.global .u64 a[3] = {b+9223372036854775807, "
                   "generic(b+9223372036854775807)+9223372036854775807, "
                   "generic(b)-9223372036854775807};"),
            "");
}

TEST(SimulatorHostile, DirectivesBeyondReason) {
  for (const char *directive :
       {".maxntid 2147483647, 2147483647, 2147483647", ".maxntid 134217728 .minnctapersm 1024", ".reqntid 0, 0, 0",
        ".reqntid 65536, 65536, 1 .minnctapersm 1", ".maxntid 4294967 .minnctapersm 1000", ".maxnreg 0",
        ".maxnreg 1 .maxntid 1024", ".minnctapersm 0"})
    EXPECT_EQ(module(fmt::format(".visible .entry k() {} {{ ret; }}", directive)), "") << directive;
  expectError(module(".visible .entry k() .maxntid 99999999999 { ret; }"), "beyond");
  expectError(load(".version 99999999999.0\n.target sm_80\n"), "version");
  expectError(load(".version .0\n.target sm_80\n"), "'.0' is not a version");
  expectError(load(""), "'.version'");
  expectError(load(".version 8.0"), "'.target'");
  expectError(load(".version 8.0\n.target sm_99999999999999999999\n"), "is not an architecture");
  expectError(load(".version 8.0\n.target sm_80\n.address_size 32\n"), "32");
}

TEST(SimulatorHostile, CallGraphsThatMultiply) {
  // Every function calls the next one twice: 2^60 paths, 60 functions.
  std::string text = ".func f0() { ret; }\n";
  for (int i = 1; i < 60; ++i)
    text += fmt::format(".func f{0}() {{ call f{1}; call f{1}; ret; }}\n", i, i - 1);
  EXPECT_EQ(module(text + ".visible .entry k() { call f59; ret; }"), "");
  // A chain as deep as the text is long.
  text = ".func f0() { ret; }\n";
  for (int i = 1; i < 20000; ++i)
    text += fmt::format(".func f{}() {{ call f{}; ret; }}\n", i, i - 1);
  EXPECT_EQ(module(text + ".visible .entry k() { call f19999; ret; }"), "");
  // Many functions and many variables: nothing is kept per pair.
  text.clear();
  for (int i = 0; i < 20000; ++i)
    text += fmt::format(".shared .b8 v{0}[4];\n.func g{0}();\n", i);
  EXPECT_EQ(module(text + ".visible .entry k() { ret; }"), "");
}

TEST(SimulatorHostile, TablesAndBranchesThatMultiply) {
  std::string labels, branches;
  for (int i = 0; i < 2000; ++i)
    labels += i ? ",L" : "L";
  branches = "T: .branchtargets " + labels + ";\n" + repeat("brx.idx %r1, T;\n", 2000);
  expectError(body("L:\n" + branches), "branch tables");
  std::string blocks;
  for (int i = 0; i < 20000; ++i)
    blocks += fmt::format("X{0}: .reg .b32 %q{0}; mov.u32 %q{0}, %r1; @%p1 bra X{0};\n", i);
  std::string error = body(blocks);
  EXPECT_TRUE(error.empty() || error.find("too many registers and blocks") != std::string::npos) << error;
}

TEST(SimulatorHostile, TruncatedAndMangledText) {
  std::string good =
      header() + ".const .b32 t[2] = {1, 2};\n.func (.reg .b32 r) f(.reg .b32 a) { add.u32 r, a, 1; ret; }\n.visible "
                 ".entry k(.param .u64 in)\n{\n.reg .b32 %r<9>; .reg .b64 %d<4>; .reg .pred %p<3>;\n"
                 "ld.param.u64 %d1, [in]; mov.u32 %r1, %tid.x; setp.lt.u32 %p1|%p2, %r1, 4;\n@!%p1 bra DONE;\ncall "
                 "(%r2), f, (%r1); mov.b64 {%r3, %r4}, %d1; st.global.v2.u32 [%d1+8], {%r2, %r3};\nDONE:\nret;\n}\n";
  ASSERT_EQ(load(good), "");
  for (size_t end = 0; end < good.size(); ++end)
    load(good.substr(0, end));
  uint32_t state = 7;
  auto draw = [&] { return (state = state * 1664525 + 1013904223) >> 8; };
  static constexpr char letters[] = "%.;,{}[]()<>|@!+-*/~&^=:\"0123456789abfrpx_$ \n\t\0\xff";
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (unsigned edits = 1 + draw() % 4; edits; --edits) {
      size_t at = draw() % text.size();
      switch (draw() % 3) {
      case 0:
        text[at] = letters[draw() % (sizeof(letters) - 1)];
        break;
      case 1:
        text.erase(at, 1 + draw() % 9);
        break;
      default:
        text.insert(at, text.substr(draw() % text.size(), draw() % 12));
      }
      if (text.empty())
        break;
    }
    load(text);
  }
}

TEST(SimulatorHostile, InitialValuesOf128Bits) {
  Machine machine;
  machine.load(header() + ".global .b128 a[3] = {-5, 7, !0};\n.visible .entry k() { ret; }\n");
  ASSERT_NE(machine.module, nullptr);
  const GlobalInfo *a = machine.module->findGlobal("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(machine.download<uint64_t>(a->address, 6), (std::vector<uint64_t>{uint64_t(-5), ~uint64_t(0), 7, 0, 1, 0}));
}

TEST(SimulatorHostile, PartsOfAWarpThatLoopForEverMeetTheLimitSoon) {
  Machine machine;
  std::string work = repeat("add.u32 %r2, %r2, 1;\n", 2000);
  machine.load(header() +
               ".visible .entry k()\n{\n.reg .b32 %r<4>; .reg .pred %p;\nmov.u32 %r1, %laneid; mov.u32 %r2, "
               "0;\nsetp.lt.u32 %p, %r1, 16;\n"
               "@%p bra SECOND;\nFIRST:\n" +
               work + "bra FIRST;\nSECOND:\n" + work + "bra SECOND;\n}\n");
  machine.options.instructionLimit = 10000;
  LaunchReport report = machine.run({1, 1, 1}, {64, 1, 1}, {});
  EXPECT_EQ(report.status, LaunchStatus::Timeout);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].kind, FindingKind::Limit);
  constexpr std::string_view before = "executed ";
  size_t at = report.findings[0].text.find(before);
  ASSERT_NE(at, std::string::npos) << report.findings[0].text;
  EXPECT_LT(std::stoul(report.findings[0].text.substr(at + before.size())), 13000u)
      << "one round of 2000 more, not a turn of many";
}

TEST(SimulatorHostile, PartsOfAWarpThatLoopLetOtherWarpsGoOn) {
  Machine machine;
  // Both halves of warp 0 spin, without a look at memory that would count as polling, until warp 1 has counted down.
  machine.load(header() +
               ".shared .align 4 .u32 flag;\n.visible .entry k()\n{\n.reg .b32 %r<4>; .reg .pred %p<3>;\nmov.u32 %r1, "
               "%tid.x;\nsetp.ne.u32 %p1, %r1, 0; @!%p1 st.shared.u32 [flag], 0;\n"
               "bar.sync 0;\nsetp.ge.u32 %p1, %r1, 32; @%p1 bra SET;\nsetp.lt.u32 %p1, %r1, 16;\n@%p1 bra SECOND;\n"
               "FIRST:\natom.shared.or.b32 %r2, [flag], 0; setp.eq.u32 %p2, %r2, 0; @%p2 bra FIRST; bra DONE;\n"
               "SECOND:\natom.shared.or.b32 %r2, [flag], 0; setp.eq.u32 %p2, %r2, 0; @%p2 bra SECOND; bra DONE;\n"
               "SET:\natom.shared.or.b32 %r2, [flag], 1;\nDONE:\nret;\n}\n");
  machine.options.instructionLimit = 10000000;
  expectClean(machine.run({1, 1, 1}, {64, 1, 1}, {}));
}

TEST(SimulatorHostile, WmmaByPartOfAWarpTouchesThatPartAlone) {
  for (bool checks : {true, false}) {
    Machine machine;
    machine.options.checks = checks;
    machine.load(
        header() +
        ".visible .entry k(.param .u64 in)\n{\n.reg .b64 %d; .reg .b32 %r<9>; .reg .pred %p;\nld.param.u64 %d, "
        "[in];\nmov.u32 %r1, %laneid;\nsetp.lt.u32 %p, %r1, 4;\n@!%p bra DONE;\n"
        "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%d], 16;\n"
        "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%d+1024], {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, "
        "16;\nDONE:\nret;\n}\n");
    std::vector<uint32_t> words(512, 7);
    std::fill(words.begin() + 256, words.end(), 9);
    uint64_t memory = machine.upload(words);
    LaunchReport report = machine.run({1, 1, 1}, {32, 1, 1}, {memory});
    ASSERT_FALSE(report.findings.empty());
    EXPECT_EQ(report.findings[0].kind, FindingKind::ConvergenceViolation);
    auto after = machine.download<uint32_t>(memory, 512);
    EXPECT_EQ(std::count(after.begin() + 256, after.end(), 7u), 32) << "four lanes of eight elements";
  }
}

TEST(SimulatorHostile, MatrixRowsOutsideSharedMemory) {
  Machine machine;
  machine.load(header() + R"(
.visible .entry k(.param .u64 in) {
  .reg .b64 %a; .reg .b32 %r<2>;
  ld.param.u64 %a, [in];
  ldmatrix.sync.aligned.m8n8.x1.b16 {%r0}, [%a];
  ret;
})");
  ASSERT_NE(machine.module, nullptr);
  LaunchReport report = machine.run({1, 1, 1}, {32, 1, 1}, {machine.upload(std::vector<uint32_t>(64))});
  EXPECT_EQ(report.status, LaunchStatus::IllegalAddress);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_NE(report.findings[0].text.find("outside shared memory"), std::string::npos) << report.findings[0].text;
}
