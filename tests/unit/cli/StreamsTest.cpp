// Streams that are closed or full cost their own text and nothing else: no abort, and no lost result that looks right.
#include "autotune/cli/Print.h"
#include "tests/unit/cli/Workshop.h"

#include <fcntl.h>
#include <unistd.h>

namespace {

class Streams : public tessera::test::Workshop {
protected:
  Streams() {
    write("specs.json", R"([{"head-dim": 64}])");
    EXPECT_EQ(tessera("bundle build --specs @specs.json --targets sm_80 -o @a.tsb").code, 0);
  }
};

TEST_F(Streams, AMessageThatStderrDoesNotTakeLeavesTheExitCode) {
  const std::pair<const char *, int> lines[] = {
      {"nonsense", 2},
      {"bundle inspect nothere", 5},
      {"explain --target sm_80 --head-dim 100", 3},
      {"bundle build --specs specs.json --targets sm_80 --records specs.json --schedules tuned -o b.tsb", 0},
      {"compile --target sm_80 -o k.ptx", 0},
      {"bundle strip-ptx a.tsb -o b.tsb", 0},
      {"run --device sim:a100 --head-dim 64 --seqlen-q 16", 0},
  };
  for (const auto &[arguments, code] : lines)
    for (const char *stream : {"2>/dev/full", "2>&-", "2>&- </dev/null >out"})
      EXPECT_EQ(shell(std::string("tessera ") + arguments + " >/dev/null " + stream), code) << arguments << stream;
  EXPECT_EQ(shell("TESSERA_CACHE=bogus tessera cache stat >/dev/null 2>/dev/full"), 0) << "a warning";
}

TEST_F(Streams, AResultThatStdoutDoesNotTakeIsFileTrouble) {
  for (const char *arguments :
       {"--help", "--version", "run --help", "run --device sim:a100 --head-dim 64 --seqlen-q 16",
        "run --device sim:a100 --head-dim 64 --seqlen-q 16 --json", "cache list", "cache stat --json", "cache verify",
        "bundle inspect a.tsb", "bundle verify a.tsb", "explain --target sm_80", "devices", "compile --target sm_80",
        "bundle extract a.tsb --entry 1 --emit ptx -o -", "bundle build --specs specs.json --targets sm_80 -o b.tsb",
        "bundle diff a.tsb a.tsb --json"})
    for (const char *stream : {">/dev/full", ">&-"}) {
      EXPECT_EQ(shell(std::string("tessera ") + arguments + " 2>err " + stream), 5) << arguments << stream;
      EXPECT_NE(read("err").find("stdout takes no more"), std::string::npos) << arguments << stream << read("err");
    }
  EXPECT_EQ(shell("tessera bundle diff a.tsb a.tsb >&-"), 0) << "nothing was to be printed";
}

TEST_F(Streams, NoFileTakesThePlaceOfAClosedStream) {
  const std::string before = read("a.tsb");
  EXPECT_EQ(shell("tessera bundle build --specs specs.json --targets sm_80 -o a.tsb <&- >&- 2>&-"), 5);
  EXPECT_EQ(read("a.tsb"), before);
}

TEST_F(Streams, TheNumbersOfClosedStreamsAreNotGivenToFiles) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (int descriptor = 0; descriptor <= 2; ++descriptor)
      ::close(descriptor);
    tessera::cli::holdStandardStreams();
    const bool held = ::open("/dev/null", O_RDWR) > 2;
    char byte = 0;
    const bool useless = ::read(0, &byte, 1) < 0 && ::write(1, "x", 1) < 0 && ::write(2, "x", 1) < 0;
    ::_exit(held && useless ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(Streams, AReaderThatGoesAwayEndsTheProgramBySignal) {
  EXPECT_EQ(shell("mkfifo p; (exec 4<p) & exec 5>p; wait; tessera --help >&5"), 141);
}

TEST_F(Streams, SpecsComeFromStdinToo) {
  EXPECT_EQ(shell("tessera bundle build --specs - --targets sm_80 -o b.tsb <specs.json >/dev/null"), 0);
  EXPECT_EQ(read("b.tsb"), read("a.tsb"));
  EXPECT_EQ(shell("echo '[1]' | tessera bundle build --specs - --targets sm_80 -o c.tsb 2>err"), 2);
  EXPECT_NE(read("err").find("stdin: element [0] is 1"), std::string::npos) << read("err");
  EXPECT_EQ(shell("tessera bundle build --specs - --targets sm_80 -o c.tsb <&- 2>err"), 5);
}

} // namespace
