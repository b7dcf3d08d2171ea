// The signal handlers behind Interrupt.
#include "autotune/cli/tune/Interrupt.h"

namespace tessera::cli {
namespace {

std::atomic<bool> stopping{false};
std::atomic<int> arrived{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void onSignal(int signal) {
  arrived = signal;
  stopping = true;
}

} // namespace

Interrupt::Interrupt() {
  stopping = false;
  arrived = 0;
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = int(SA_RESETHAND) | SA_RESTART; // the second one finds the default
  for (unsigned i = 0; i < 3; ++i) {
    sigaction(signals_[i], nullptr, &former_[i]);
    if (former_[i].sa_handler != SIG_IGN)
      sigaction(signals_[i], &action, nullptr);
  }
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &ignore, &formerFileSize_);
  struct sigaction usual = {}; // where it is ignored nobody learns how a child ended
  usual.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &usual, &formerChild_);
}

Interrupt::~Interrupt() {
  sigaction(SIGXFSZ, &formerFileSize_, nullptr);
  sigaction(SIGCHLD, &formerChild_, nullptr);
  for (unsigned i = 0; i < 3; ++i)
    sigaction(signals_[i], &former_[i], nullptr);
}

const std::atomic<bool> &Interrupt::stop() const { return stopping; }
int Interrupt::signal() const { return arrived; }

} // namespace tessera::cli
