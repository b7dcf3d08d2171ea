// Signals while a command runs that wants to end well.
#include "autotune/cli/tune/Interrupt.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using tessera::cli::Interrupt;

TEST(Interrupt, TheFirstSignalStops) {
  const Interrupt interrupt;
  EXPECT_FALSE(interrupt.stop());
  raise(SIGTERM);
  EXPECT_TRUE(interrupt.stop());
  EXPECT_EQ(interrupt.signal(), SIGTERM);
}

TEST(Interrupt, ChildrenAreWaitedForWhateverTheStarterMadeOfThem) {
  const auto former = std::signal(SIGCHLD, SIG_IGN);
  {
    const Interrupt interrupt;
    const pid_t child = fork();
    if (child == 0)
      _exit(3);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3);
  }
  EXPECT_EQ(std::signal(SIGCHLD, former), SIG_IGN) << "as it was";
}
