// SampleOutcome: a made-up run that looks like a real one: every status, a tie, wrong answers, tasks that came to
// nothing.
#pragma once

#include "autotune/report/Report.h"

#include <cstddef>

namespace tessera::tune {

/// A row as the model would have it for an A100.
Gpu sampleGpu();

/// Times follow a made-up law with made-up noise; the same for the same arguments. From eight trials a task on, each
/// status occurs. With six tasks or more, one has no default, one has only refusals and one was not begun.
SearchOutcome sampleOutcome(size_t tasks, size_t trials, bool modelled);

/// A report of `outcome`, which must live as long as it.
ReportInput sampleInput(const SearchOutcome &outcome, bool modelled);

} // namespace tessera::tune
