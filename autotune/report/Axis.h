// Axis: a range of values with ticks that people can read, linear or logarithmic.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tessera::tune::report {

struct Tick {
  double value = 0;
  std::string label;
};

class Axis {
public:
  enum Kind { Linear, Log };

  /// Holds all values with a little room at both ends; on Log those that are not positive are passed over. Never empty:
  /// a single value, or none, is given room of its own.
  Axis(Kind kind, std::span<const double> values);

  double low() const { return low_; }
  double high() const { return high_; }
  bool holds(double value) const { return value >= low_ && value <= high_; }
  /// 0 at the low end, 1 at the high one.
  double at(double value) const;

  /// At most `most`, and at least two where `most` allows, ascending.
  std::vector<Tick> ticks(unsigned most) const;

private:
  std::vector<double> decadeTicks(unsigned most) const;
  std::vector<double> evenTicks(unsigned most) const;

  Kind kind_;
  double low_ = 0, high_ = 1;
};

} // namespace tessera::tune::report
