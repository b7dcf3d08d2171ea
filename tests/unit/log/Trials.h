// Trials for the tests of the log.
#pragma once

#include "autotune/log/TrialLog.h"

namespace tessera::tune::test {

/// A right trial of a default task that took so long; the schedule differs from the default's in its KV tile.
Trial measured(unsigned tileKv, double milliseconds);
/// A trial with every field set, and odd values in them.
Trial everything();
/// The line of a trial, with its newline.
std::string lineOf(const Trial &trial);
/// Every field of it.
std::string textOf(const Trial &trial);

} // namespace tessera::tune::test
