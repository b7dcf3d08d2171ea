// Process: tells a process from the children that it forks, and guards the opening of drivers in it.
#pragma once

#include <mutex>

namespace tessera::detail {

/// Stands for one process. A child has an object of its own, at another address, whose lock is free whatever the
/// parent's other threads held. Never destroyed.
struct Process {
  constexpr explicit Process(const Process *parent) : parent(parent) {}

  const Process *const parent; ///< that forked it, null for the first; drivers of its time still refer to it
  std::mutex opening;          ///< held while a driver is opened
};

/// The calling process. One relaxed load: a launch asks it.
Process &thisProcess() noexcept;
/// Whether the C library accepted the handler that tells a child from its parent.
bool noticesForks() noexcept;

} // namespace tessera::detail
