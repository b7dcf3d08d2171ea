// The forms that a profile is written in. All clocks are modelled and of the SM that gets most blocks.
#pragma once

#include "autotune/cli/profile/LaunchProfile.h"

namespace tessera::cli::profile {

/// The PTX with executions, active lanes, pipe, clocks, wavefronts and sectors before each line; loops are marked, and
/// sums by unit and by loop stand on top. `ptx` is the text that was executed.
std::string annotatedListing(const LaunchProfile &profile, std::string_view ptx);

/// A file of https://www.speedscope.app: one flame graph of all warp instructions by kernel, loop, pipe and
/// instruction, and one of the clocks of each unit, the one that bounds the kernel first. Each sums up to its counter.
std::string speedscope(const LaunchProfile &profile, std::string_view sourceName);

/// A trace that chrome://tracing and https://ui.perfetto.dev open: each unit is a track that is as long as it is busy,
/// with loops and instructions in the order of the text; a microsecond of the view is a clock. All tracks begin at 0,
/// because units overlap.
std::string chromeTrace(const LaunchProfile &profile);

/// Which form a file name asks for: .trace.json a Chrome trace, other .json speedscope, anything else a listing.
enum class Form { Listing, Speedscope, ChromeTrace };
Form formOf(std::string_view path);
std::string_view describe(Form form); ///< "annotated PTX listing" …

/// Writes the form that the path asks for; File with the reason when that fails.
Status writeProfile(const std::string &path, const LaunchProfile &profile, std::string_view ptx);

} // namespace tessera::cli::profile
