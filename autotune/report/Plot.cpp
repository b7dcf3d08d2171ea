// The SVG of plots. Coordinates are in units that are about a pixel wide; tenths are finer than any screen.
#include "autotune/report/Plot.h"

#include "autotune/report/Html.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::tune::report {

namespace {

//      left              right
//   yTitle
//     +------------------+  top
//     |                  |
//     +------------------+  bottom
//      labels, then xTitle
constexpr double width = 340, height = 264, right = 328, top = 24, bottom = 216;
constexpr double labelWidth = 7.6; ///< of one character, generously
constexpr unsigned xTicks = 6, yTicks = 6;

std::string_view markClass(Mark mark) {
  switch (mark) {
  case Mark::Timed:
    return "timed";
  case Mark::Untimed:
    return "untimed";
  case Mark::Default:
    return "default";
  case Mark::Winner:
    return "winner";
  case Mark::Wrong:
    return "wrong";
  }
  return "timed";
}

/// The element without its end, so that a tip can be put into it.
std::string markShape(Mark mark, double x, double y) {
  switch (mark) {
  case Mark::Default:
    return fmt::format("<path class=\"default\" d=\"M{:.1f} {:.1f}h11v11h-11z\"", x - 5.5, y - 5.5);
  case Mark::Winner:
    return fmt::format("<path class=\"winner\" d=\"M{:.1f} {:.1f}l7 7l-7 7l-7 -7z\"", x, y - 7);
  case Mark::Wrong:
    return fmt::format("<path class=\"wrong\" d=\"M{:.1f} {:.1f}l9 9m0 -9l-9 9\"", x - 4.5, y - 4.5);
  case Mark::Timed:
  case Mark::Untimed:
    break;
  }
  return fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"", markClass(mark), x, y);
}

} // namespace

std::string markIcon(Mark mark) {
  return fmt::format("<svg class=\"icon\" viewBox=\"0 0 18 18\" aria-hidden=\"true\">{}/></svg>",
                     markShape(mark, 9, 9));
}

Plot::Plot(std::string name, Side x, Side y) : name(std::move(name)), x(std::move(x)), y(std::move(y)) {
  size_t longest = 0;
  for (const Tick &tick : this->y.axis.ticks(yTicks))
    longest = std::max(longest, tick.label.size());
  left = double(longest) * labelWidth + 10;
}

double Plot::xAt(double value) const { return left + x.axis.at(value) * (right - left); }
double Plot::yAt(double value) const { return bottom - y.axis.at(value) * (bottom - top); }

void Plot::line(const std::vector<std::pair<double, double>> &points, std::string_view htmlClass) {
  if (points.size() < 2)
    return;
  lines += fmt::format("<path class=\"line {}\" d=\"", htmlClass);
  for (size_t i = 0; i < points.size(); ++i)
    lines += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", xAt(points[i].first), yAt(points[i].second));
  lines += "\"/>\n";
}

void Plot::mark(Mark mark, double xValue, double yValue, std::string_view tip) {
  if (!x.axis.holds(xValue) || !y.axis.holds(yValue))
    return;
  marks += fmt::format("{}><title>{}</title>{}\n", markShape(mark, xAt(xValue), yAt(yValue)), escape(tip),
                       mark == Mark::Timed || mark == Mark::Untimed ? "</circle>" : "</path>");
}

std::string Plot::frame() const {
  std::string html;
  double end = -labelWidth;
  for (const Tick &tick : x.axis.ticks(xTicks)) {
    const double at = xAt(tick.value), half = double(tick.label.size()) * labelWidth / 2;
    html += fmt::format("<path class=\"grid\" d=\"M{:.1f} {}V{}\"/>", at, top, bottom);
    if (at - half < end + labelWidth || at + half > width)
      continue; // a line without a label, rather than two labels in one place
    html += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", at, bottom + 21, tick.label);
    end = at + half;
  }
  for (const Tick &tick : y.axis.ticks(yTicks)) {
    const double at = yAt(tick.value);
    html += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{}\"/>", left, at, right);
    html +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left - 6, at + 4.5, tick.label);
  }
  html += fmt::format("<path class=\"frame\" d=\"M{:.1f} {}V{}H{}\"/>\n", left, top, bottom, right);
  html += fmt::format("<text class=\"axis\" x=\"2\" y=\"13\">{}</text>", escape(y.title));
  return html + fmt::format("<text class=\"axis\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", right, height - 8,
                            escape(x.title));
}

std::string Plot::svg() const {
  return fmt::format("<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n{}{}{}</svg>\n", width,
                     height, escape(name), frame(), lines, marks);
}

} // namespace tessera::tune::report
