// The C++ language on the device against the same C++ on the host.
#include "tests/unit/simulator/cuda/CudaProgram.h"

using namespace tessera::sim;
using namespace tessera::sim::test;

CUDA_PROGRAM(Language);

namespace {

uint32_t ackermann(uint32_t m, uint32_t n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
void hanoi(int n, int from, int to, int *moves) {
  if (n == 0)
    return;
  hanoi(n - 1, from, 3 - from - to, moves);
  *moves = *moves * 3 % 1000003 + from * 3 + to;
  hanoi(n - 1, 3 - from - to, to, moves);
}

/// The kernel `switches` for thread t.
int interpret(const std::vector<int> &program, int t) {
  int a = t, b = 1, stack[8], depth = 0, steps = 0, n = static_cast<int>(program.size());
  for (int at = 0; at < n && steps < 500; ++at, ++steps) {
    int code = program[static_cast<size_t>(at)];
    if (code == 0)
      a += b;
    else if (code == 1)
      a -= 3;
    else if (code == 2)
      a ^= t;
    else if (code == 3)
      b = a & 7;
    else if (code == 4)
      b <<= 1;
    else if (code == 5 && depth < 8)
      stack[depth++] = a;
    else if (code == 6 && depth)
      a += stack[--depth];
    else if (code == 7)
      at += a & 1;
    else if (code == 8 && b < 100) {
      b += 37;
      at = -1;
    } else if (code == 9)
      a = a * 5 % 1009;
    else if (code == 10) {
      do {
        a = a & 1 ? 3 * a + 1 : a / 2;
        if (a > 900) {
          a -= 899;
          break;
        }
      } while (a > 1 && ++steps < 400);
    } else if (code == 11 && t % 5 == 2)
      break;
    else if (code == 12)
      b = -b;
    else if (code > 12)
      a += code;
  }
  return a * 16 + depth + steps;
}

} // namespace

TEST_P(Language, CallsThroughPointersAndVirtualTablesFindTheirFunctions) {
  std::vector<int> expected(96);
  for (int t = 0; t < 96; ++t) {
    auto call = [](int which, int x) { return which == 0 ? 2 * x : which == 1 ? x * x : -x; };
    int value = call(t % 3, t) + call(t / 2 % 3, t + 1);
    expected[static_cast<size_t>(t)] = value * 1000 + (t & 1 ? t * 3 + 4 : 3 * t * t);
  }
  everySchedule(
      [&] {
        Buffer<int> out(machine, 96);
        run("pointers", {{2}, {48}}, out);
        EXPECT_EQ(out.read(), expected);
      },
      10);
}

TEST_P(Language, RecursionKeepsEachThreadsFrames) {
  std::vector<int> expected;
  for (int t = 0; t < 40; ++t) {
    int moves = 0;
    hanoi(t % 7, 0, 2, &moves);
    expected.insert(
        expected.end(),
        {static_cast<int>(ackermann(static_cast<uint32_t>(t % 3), static_cast<uint32_t>(t % 4))), t % 2 == 0, moves});
  }
  everySchedule(
      [&] {
        Buffer<int> out(machine, expected.size());
        run("recursion", {{1}, {40}}, out);
        EXPECT_EQ(out.read(), expected);
      },
      10);
}

TEST_P(Language, LocalArraysAndStructsAreEachThreadsOwn) {
  std::vector<int> in(100);
  for (size_t i = 0; i < 100; ++i)
    in[i] = static_cast<int>(i * i % 71);
  std::vector<float> expected(40);
  for (size_t t = 0; t < 40; ++t) {
    int counts[40] = {};
    for (int x : in)
      ++counts[(static_cast<size_t>(x) + t) % 40];
    int m[3][3], p[3][3] = {}, q[3][3] = {};
    for (size_t i = 0; i < 9; ++i)
      m[i / 3][i % 3] = counts[(i * 7 + t) % 40];
    for (int i = 0; i < 27; ++i)
      p[i / 9][i / 3 % 3] += m[i / 9][i % 3] * m[i % 3][i / 3 % 3];
    for (int i = 0; i < 27; ++i)
      q[i / 9][i / 3 % 3] += m[i / 9][i % 3] * p[i % 3][i / 3 % 3];
    expected[t] = static_cast<float>(q[t % 3][t / 3 % 3] + counts[t % 40]);
  }
  Buffer<int> pin(machine, in);
  everySchedule(
      [&] {
        Buffer<float> out(machine, 40);
        run("locals", {{1}, {40}}, pin, out, 100);
        EXPECT_EQ(out.read(), expected);
      },
      10);
}

TEST_P(Language, SwitchesAndJumpsTakeEachLaneItsOwnWay) {
  std::vector<int> program = {0,  2, 3,  5, 9, 7,  1, 10, 4, 6, 2,  13, 5, 9, 3, 7,
                              12, 8, 11, 0, 5, 10, 7, 6,  9, 2, 17, 5,  0, 7, 1, 6};
  std::vector<int> expected(64);
  for (int t = 0; t < 64; ++t)
    expected[static_cast<size_t>(t)] = interpret(program, t);
  Buffer<int> pin(machine, program);
  everySchedule([&] {
    Buffer<int> out(machine, 64);
    run("switches", {{1}, {64}}, pin, out, static_cast<int>(program.size()));
    EXPECT_EQ(out.read(), expected);
  });
}

TEST_P(Language, PrintfFormatsAsTheHostDoes) {
  auto format = [](const char *text, auto... values) {
    char line[300];
    std::snprintf(line, sizeof line, text, values...);
    return std::string(line);
  };
  int n = 42;
  double d = -1234.56789;
  std::string expected = format("%f %.3f %10.2e %g %a\n", d, d, d, d, d) +
                         format("%lld %llu %hd %ld %5.1f%s\n", static_cast<long long>(n) << 33, 1ull << 63,
                                static_cast<short>(n), 7l, 2.25, "") +
                         format("%*d|%.*f|%-*s|\n", 6, n, 2, d, 4, "ab") + "no arguments\n1 two 3.000000\n3\n" +
                         format("%d %5d|%-5d|%05d %+d %u %x %X %o %c %s %%\n", n, n, n, n, n, -n, n, n, n, 'c', "text");
  LaunchReport report = launch("prints", {{2}, {32}}, n, d, uint64_t(0));
  expectClean(report);
  EXPECT_EQ(report.printed, expected);
}

TEST_P(Language, FailedAssertionsAndTrapsEndTheLaunch) {
  if (!GetParam().ends_with("_debug") || GetParam().starts_with("nvcc")) {
    expectClean(launch("asserts", {{1}, {64}}, 64));
    LaunchReport report = launch("asserts", {{1}, {64}}, 50);
    EXPECT_EQ(report.status, LaunchStatus::Assertion) << toString(report.status);
    ASSERT_FALSE(report.findings.empty());
    EXPECT_NE(report.findings[0].text.find("threadIdx.x < limit"), std::string::npos) << report.findings[0].text;
  }
  Buffer<int> out(machine, 64);
  LaunchReport report = launch("traps", {{1}, {64}}, out);
  EXPECT_EQ(report.status, LaunchStatus::Trap) << toString(report.status);
}

TEST_P(Language, ParametersOfEverySizeArriveWhole) {
  struct Odd {
    char name[7];
    short pair[3];
  };
  struct alignas(16) Wide {
    float v[4];
    long long tail;
  };
  struct Large {
    int values[1000];
  };
  std::vector<int> table(32);
  for (size_t i = 0; i < 32; ++i)
    table[i] = static_cast<int>(i * 31);
  Odd odd = {{1, 2, 3, 4, 5, 6, 7}, {-1, 200, 3000}}, last = {{-7, 6, -5, 4, -3, 2, -1}, {9, -99, 999}};
  Wide wide = {{1.5f, 2, 3, 4.25f}, 1ll << 40};
  std::vector<int64_t> expected(32);
  for (size_t t = 0; t < 32; ++t)
    expected[t] = 'x' + odd.name[t % 7] * 3 + odd.pair[t % 3] * 5 + 27 - 300 * 7 + 10 * 11 + wide.tail + table[t] +
                  1000000 + last.name[(t + 1) % 7] + last.pair[(t + 1) % 3] * 13;
  Buffer<int> p(machine, table);
  Buffer<int64_t> out(machine, 32);
  run("parameters", {{1}, {32}}, 'x', odd, 2.75, short(-300), wide, p, true, last, out);
  EXPECT_EQ(out.read(), expected);
  Large large;
  std::vector<int> sums(32);
  for (int i = 0; i < 1000; ++i)
    large.values[i] = i * i - 300 * i;
  for (size_t i = 0; i < 1000; ++i)
    sums[i % 32] += large.values[i] * (large.values[i * 7 % 1000] & 3);
  Buffer<int> out2(machine, 32);
  run("largeParameter", {{1}, {32}}, large, out2);
  EXPECT_EQ(out2.read(), sums);
}

TEST_P(Language, LoadsAndStoresOfEveryKindMoveTheSameBytes) {
  std::vector<float> a(256), expected(256);
  std::vector<int> b(128);
  std::vector<uint8_t> c(256);
  for (size_t i = 0; i < 256; ++i) {
    a[i] = static_cast<float>(i) * 0.5f;
    b[i / 2] = static_cast<int>(i * 3);
    c[i] = static_cast<uint8_t>(i * 5);
  }
  for (size_t t = 0; t < 64; ++t) {
    auto v = [&](size_t flip, size_t part) { return a[4 * (t ^ flip) + part]; };
    expected[4 * t] = v(0, 0) + v(1, 1) + static_cast<float>(b[2 * t]);
    expected[4 * t + 1] = v(0, 1) + v(2, 2) + c[4 * t];
    expected[4 * t + 2] = v(0, 2) + v(3, 3) + static_cast<float>(b[2 * t + 1]) + c[4 * t + 3];
    expected[4 * t + 3] = v(0, 3) + v(4, 0) + static_cast<float>(b[2 * t]) + c[t];
  }
  Buffer<float> pa(machine, a), out(machine, 256);
  Buffer<int> pb(machine, b);
  Buffer<uint8_t> pc(machine, c);
  run("loads", {{1}, {64}}, pa, pb, pc, out);
  EXPECT_EQ(out.read(), expected);
}

TEST_P(Language, ClocksRunForward) {
  everySchedule(
      [&] {
        Buffer<uint64_t> out(machine, 128);
        run("clocks", {{1}, {64}}, out);
        for (uint64_t passed : out.read()) {
          EXPECT_GT(passed, 0u);
          EXPECT_LT(passed, 1000000u);
        }
      },
      5);
}

TEST_P(Language, GenericPointersReachEveryKindOfMemory) {
  Buffer<int> in(machine, std::vector<int>{77}), out(machine, 64);
  run("spaces", {{1}, {64}}, out, in);
  auto results = out.read();
  for (int t = 0; t < 64; ++t) {
    int expected[] = {t * 2 * 16 + 4, 100 * 16 + 2, 5 * 16 + 1, 77 * 16 + 1};
    EXPECT_EQ(results[static_cast<size_t>(t)], expected[t % 4]) << t;
  }
}
