// Report: a tuning run as one HTML file that needs nothing else: no network, no other file.
#pragma once

#include "autotune/search/Search.h"

#include <string>

namespace tessera::tune {

struct ReportInput {
  std::string title; ///< the command line
  Gpu gpu;
  std::string device;            ///< as the driver names it
  bool modelled = false;         ///< what times would be where there is none; else the trials say what they are
  bool replayed = false;         ///< from logs: what was planned is known as far as they say
  std::string driver, toolchain; ///< for people
  const SearchOutcome *outcome = nullptr;
};

/// Roofline scatter, predicted against measured, convergence, gain over the default per shape, the winners, every
/// refusal with its reason, wrong answers first and loud. Inline SVG and CSS; readable from 400 to 1280 pixels and
/// beyond, light and dark; texts are escaped. The same input gives the same bytes.
std::string reportHtml(const ReportInput &input);

} // namespace tessera::tune
