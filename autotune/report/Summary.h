// Summary: what a run came to, before any detail: troubles first, then the figures and the gains.
#pragma once

#include "autotune/search/Search.h"

#include <string>

namespace tessera::tune::report {

/// Wrong answers, then warnings; empty where there are none.
std::string troubles(const SearchOutcome &outcome);
/// The figures of the whole run, or of the logs that are replayed.
std::string cards(const SearchOutcome &outcome, bool replayed);
/// A bar for each task.
std::string gains(const SearchOutcome &outcome);

} // namespace tessera::tune::report
