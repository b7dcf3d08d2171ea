// Plot: a drawing with two axes as inline SVG, sized so that its labels are readable in a column of a phone's width.
#pragma once

#include "autotune/report/Axis.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::tune::report {

/// What a point stands for: told apart by shape and colour, each alone enough.
enum class Mark { Timed, Untimed, Default, Winner, Wrong };

/// The mark alone, as a drawing for legends.
std::string markIcon(Mark mark);

class Plot {
public:
  struct Side {
    Axis axis;
    std::string title;
  };
  /// `name` is what a screen reader says instead of the drawing.
  Plot(std::string name, Side x, Side y);

  /// Points in values; class "tensor", "memory", "even" or "best" of the style sheet.
  void line(const std::vector<std::pair<double, double>> &points, std::string_view htmlClass);
  /// Nothing where the point is outside the axes. `tip` is shown where the pointer rests.
  void mark(Mark mark, double x, double y, std::string_view tip);
  std::string svg() const;

private:
  double xAt(double value) const;
  double yAt(double value) const;
  std::string frame() const;

  std::string name;
  Side x, y;
  double left; ///< of the frame: what the labels of y need
  std::string lines, marks;
};

} // namespace tessera::tune::report
