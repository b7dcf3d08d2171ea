// Replaces the process object in every child by a handler of fork().
#include "runtime/driver/Process.h"

#include <pthread.h>

#include <atomic>
#include <new>

namespace tessera::detail {

namespace {

constinit Process first(nullptr);
constinit std::atomic<Process *> current{&first};

/// Runs in the child, whose only thread is the one that forked; the C library has renewed its allocator's locks before.
void startChild() {
  // Without memory the child keeps its parent's object, and what it calls fails in the driver instead of here.
  if (auto *child = new (std::nothrow) Process(current.load(std::memory_order_relaxed)))
    current.store(child, std::memory_order_relaxed);
}

// At load rather than at first use: a child that is forked during a first use would wait for its guard for ever.
const int registered = pthread_atfork(nullptr, nullptr, &startChild);

} // namespace

Process &thisProcess() noexcept { return *current.load(std::memory_order_relaxed); }

bool noticesForks() noexcept { return registered == 0; }

} // namespace tessera::detail
