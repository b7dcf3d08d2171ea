// Ends with objects of Tessera alive; they must go without a word, a crash or a hang, see usage.
#include EXIT_OBJECTS
#include "tests/unit/engine/FakeDriver.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tessera;

namespace {

constexpr const char *Usage = R"(usage: driver-exit|engine-exit ORDER

The device is sim:a100, of the library that TESSERA_SIM_LIBRARY names.

  before   objects made after the driver was initialised, so that they go before it shuts down
  after    objects of global variables, which go after it has shut down
  thread   the same, with exit() called by another thread
  local    objects of a thread, which go with it at exit()
  child    the same as after, in a forked child
)";

/// The exit code of a status, which says on stderr what failed.
int report(const Status &status) {
  if (!status)
    std::fprintf(stderr, "%s\n", status.text().c_str());
  return status ? 0 : 1;
}

FakeDriverState *state; // null for a driver that is no fake
/// Runs after all that main() registered.
void judge() {
  if (state && (state->callsAfterFork || state->unloadsOfNothing || state->unloadsWhilePending))
    _exit(3);
}
const int registered = std::atexit(judge);

/// Makes everything, and tells judge() where to look.
int open(Objects &objects) {
  Status opened = objects.open();
  if (opened)
    if (auto find = reinterpret_cast<FakeDriverState *(*)()>(objects.driver().find("fake_driver_state")))
      state = find();
  return report(opened);
}

Objects global;

int run(std::string_view order) {
  if (order == "before") {
    if (auto device = openDriver("sim:a100"); !device)
      return report(device.status());
    static Objects late;
    return open(late);
  }
  if (order == "local") {
    std::thread([] {
      thread_local Objects own;
      std::exit(open(own));
    }).join();
    return 1;
  }
  if (int failed = open(global))
    return failed;
  if (order == "after")
    return 0;
  if (order == "thread") {
    std::thread([] { std::exit(0); }).join();
    return 1;
  }
  if (order == "child") {
    const pid_t child = fork();
    if (child == 0)
      std::exit(0);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  }
  std::fputs(Usage, stderr);
  return 2;
}

} // namespace

int main(int argc, char **argv) { return run(argc == 2 ? argv[1] : ""); }
