// Verdict: comparisons of one kernel's answers, put together to what is said of the kernel.
#pragma once

#include "autotune/measure/Measurement.h"
#include "autotune/reference/Compare.h"

namespace tessera::tune {

/// Keeps the worst of the comparisons; the first that is not ok makes the verdict wrong, with its complaint and
/// where: "at 1x4x257x300".
void enter(Verification &verdict, const reference::Comparison &comparison, const std::string &where);

/// Right when both are; the worse numbers of the two.
Verification both(const Verification &a, const Verification &b);

} // namespace tessera::tune
