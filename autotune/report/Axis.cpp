// Ranges and their ticks.
#include "autotune/report/Axis.h"

#include "autotune/report/Words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>

namespace tessera::tune::report {

namespace {

constexpr double logRoom = 1.12, linearRoom = 0.05;

std::string tickLabel(double value, int digits) {
  const double magnitude = std::fabs(value);
  if (magnitude == 0)
    return "0";
  if (magnitude >= 1e9 || magnitude < 1e-4)
    return fmt::format("{:.{}g}", value, digits);
  return magnitude >= 1e6   ? fmt::format("{:.{}g}M", value / 1e6, digits)
         : magnitude >= 1e4 ? fmt::format("{:.{}g}k", value / 1e3, digits)
                            : fmt::format("{:.{}g}", value, digits);
}

/// step * 10^decade, through the text: so that 2 * 10^-1 is the double that people mean by 0.2.
double scaled(double step, int decade) {
  const std::string text = fmt::format("{}e{}", step, decade);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

} // namespace

Axis::Axis(Kind kind, std::span<const double> values) : kind_(kind) {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const double value : values) {
    if (!std::isfinite(value) || (kind == Log && value <= 0))
      continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (least > most)
    least = most = 1;
  if (kind == Log) {
    // What has no room in a double has none on a screen.
    low_ = std::max(least / logRoom, std::numeric_limits<double>::min());
    high_ = std::clamp(most * logRoom, low_ * logRoom, std::numeric_limits<double>::max());
    return;
  }
  const double room = most > least ? (most - least) * linearRoom : std::max(std::fabs(most), 1.0) / 2;
  low_ = least >= 0 && least <= room ? 0 : least - room;
  high_ = most + room;
}

double Axis::at(double value) const {
  return kind_ == Log ? (std::log(value) - std::log(low_)) / (std::log(high_) - std::log(low_))
                      : (value - low_) / (high_ - low_);
}

std::vector<double> Axis::decadeTicks(unsigned most) const {
  std::vector<double> ticks;
  static constexpr std::initializer_list<double> sets[] = {{1, 1.5, 2, 3, 5, 7}, {1, 2, 5}, {1, 3}, {1}};
  const int first = int(std::floor(std::log10(low_))), last = int(std::floor(std::log10(high_)));
  for (const std::initializer_list<double> &set : sets) {
    ticks.clear();
    for (int decade = first; decade <= last; ++decade)
      for (const double step : set)
        if (const double value = scaled(step, decade); holds(value))
          ticks.push_back(value);
    if (ticks.size() <= most)
      return ticks;
  }
  const size_t stride = (ticks.size() + most - 1) / most;
  std::vector<double> thinned;
  for (size_t i = 0; i < ticks.size(); i += stride)
    thinned.push_back(ticks[i]);
  return thinned;
}

std::vector<double> Axis::evenTicks(unsigned most) const {
  const double rough = (high_ - low_) / most, decade = std::pow(10, std::floor(std::log10(rough)));
  double step = decade;
  for (const double factor : {1, 2, 5, 10}) {
    step = factor * decade;
    if (std::floor(high_ / step) - std::ceil(low_ / step) + 1 <= most)
      break;
  }
  std::vector<double> ticks;
  const double first = std::ceil(low_ / step);
  for (unsigned i = 0; (first + i) * step <= high_; ++i)
    ticks.push_back((first + i) * step);
  return ticks;
}

std::vector<Tick> Axis::ticks(unsigned most) const {
  most = std::max(most, 2u);
  std::vector<double> values;
  if (kind_ == Log)
    values = decadeTicks(most);
  if (kind_ == Linear || values.size() < 3 || (values.size() < 4 && high_ < 5 * low_))
    values = evenTicks(most);
  // As many digits as tell neighbours apart.
  std::vector<Tick> ticks;
  for (int digits = 4; digits <= 15; ++digits) {
    ticks.clear();
    for (const double value : values)
      ticks.push_back({value, tickLabel(value, digits)});
    const auto alike = [](const Tick &a, const Tick &b) { return a.label == b.label; };
    if (std::adjacent_find(ticks.begin(), ticks.end(), alike) == ticks.end())
      break;
  }
  return ticks;
}

} // namespace tessera::tune::report
