// The three charts of a task. Each mark is a trial: its shape says how the trial ended.
#include "autotune/report/Charts.h"

#include "autotune/report/Html.h"
#include "autotune/report/Plot.h"
#include "autotune/report/Words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera::tune::report {

namespace {

std::string figure(std::string_view title, std::string_view drawing, std::string_view caption) {
  return fmt::format("<figure><h4>{}</h4>\n{}<figcaption>{}</figcaption></figure>\n", escape(title), drawing, caption);
}

std::string nothingToDraw(std::string_view title, std::string_view why) {
  return fmt::format("<figure><h4>{}</h4>\n<p class=\"none\">{}</p></figure>\n", escape(title), escape(why));
}

Mark markOf(const TaskOutcome &outcome, const Trial &trial) {
  return isWrong(trial)              ? Mark::Wrong
         : isWinner(outcome, trial)  ? Mark::Winner
         : trial.isDefault           ? Mark::Default
         : timeOf(trial).has_value() ? Mark::Timed
                                     : Mark::Untimed;
}

/// One trial at a place.
struct Point {
  double x = 0, y = 0;
  Mark mark = Mark::Timed;
  std::string tip;
};

/// Those that matter most last, over the others.
void drawAll(Plot &plot, const std::vector<Point> &points) {
  for (const Mark mark : {Mark::Untimed, Mark::Timed, Mark::Wrong, Mark::Default, Mark::Winner})
    for (const Point &point : points)
      if (point.mark == mark)
        plot.mark(mark, point.x, point.y, point.tip);
}

std::vector<double> each(const std::vector<Point> &points, double Point::*side) {
  std::vector<double> values;
  for (const Point &point : points)
    values.push_back(point.*side);
  return values;
}

std::string tip(const Trial &trial, std::string_view what) {
  return fmt::format("{}{}\n{}", trial.schedule.text(), trial.isDefault ? " (default)" : "", what);
}

/// A time for the roofline: the trial's own, else the prediction's.
std::optional<double> timeOrPrediction(const Trial &trial) {
  if (const auto time = timeOf(trial))
    return time;
  const bool runs = trial.status == TrialStatus::Measured || trial.status == TrialStatus::Predicted ||
                    trial.status == TrialStatus::Wrong;
  const Prediction *prediction = bestPrediction(trial);
  return runs && prediction ? std::optional(prediction->milliseconds) : std::nullopt;
}

} // namespace

Roof tensorRoof(const Gpu &gpu, const AttentionSpec &spec) {
  const double clocks = gpu.sms * gpu.clockMHz * 1e6 * 2 / 1e12;
  if (spec.dtype != DType::F32)
    return {gpu.mma16 * clocks, "16-bit, f32 sums"};
  if (spec.precision == Precision::Precise)
    return {gpu.mmaTf32 * clocks / 3, "tf32, three products each"};
  return {gpu.mmaTf32 * clocks, "tf32"};
}

std::string legend() {
  const auto entry = [](Mark mark, std::string_view words) {
    return fmt::format("<li>{}{}</li>", markIcon(mark), words);
  };
  return "<ul class=\"legend\" aria-label=\"Marks of the charts\">" + entry(Mark::Winner, "winner") +
         entry(Mark::Default, "default") + entry(Mark::Timed, "timed") +
         entry(Mark::Untimed, "not timed: at its prediction") + entry(Mark::Wrong, "wrong answer") + "</ul>\n";
}

std::string rooflineChart(const Gpu &gpu, const TaskOutcome &outcome, Times times) {
  constexpr std::string_view title = "Roofline";
  std::vector<Point> points;
  size_t untimed = 0;
  for (const Trial &trial : outcome.trials) {
    const Prediction *prediction = bestPrediction(trial);
    const std::optional<double> time = timeOrPrediction(trial);
    const std::optional<double> reached = time ? teraflops(trial, *time) : std::nullopt;
    if (!reached || !(prediction->memoryBytes > 0)) {
      ++untimed;
      continue;
    }
    const double intensity = prediction->flops / prediction->memoryBytes;
    points.push_back({intensity, *reached, markOf(outcome, trial),
                      tip(trial, fmt::format("{} TFLOP/s at {} FLOP per byte", number(*reached), number(intensity)))});
  }
  if (points.empty())
    return nothingToDraw(title, "No candidate has both a time and a prediction.");

  const Roof roof = tensorRoof(gpu, outcome.task.spec);
  const double bandwidth = gpu.memoryGBps / 1e3; // TFLOP/s per FLOP per byte
  const bool roofs = roof.teraflops > 0 && bandwidth > 0;
  std::vector<double> xs = each(points, &Point::x), ys = each(points, &Point::y);
  if (roofs) {
    const double ridge = roof.teraflops / bandwidth;
    xs.insert(xs.end(), {ridge / 2, ridge * 2});
    ys.insert(ys.end(), {roof.teraflops, roof.teraflops / 2});
  }
  Plot plot(fmt::format("Roofline: TFLOP/s over arithmetic intensity of {}",
                        counted(points.size(), "candidate", "candidates")),
            {Axis(Axis::Log, xs), "FLOP per byte of device memory"}, {Axis(Axis::Log, ys), "TFLOP/s"});
  const Axis x(Axis::Log, xs), y(Axis::Log, ys);
  std::string caption;
  if (roofs) {
    const double from = std::max(x.low(), y.low() / bandwidth), ridge = roof.teraflops / bandwidth;
    plot.line({{from, from * bandwidth}, {ridge, roof.teraflops}}, "memory");
    plot.line({{ridge, roof.teraflops}, {x.high(), roof.teraflops}}, "tensor");
    caption = fmt::format("Solid: matrix unit, {} TFLOP/s ({}). Dashed: device memory, {} GB/s. ",
                          number(roof.teraflops, 3), roof.words, count(uint64_t(gpu.memoryGBps)));
  }
  drawAll(plot, points);
  caption += fmt::format("By {}; operations and bytes are the model's.", times.words());
  if (untimed > 0)
    caption += fmt::format(" {} not drawn: without a time.", counted(untimed, "trial is", "trials are"));
  return figure(title, plot.svg(), caption);
}

std::string predictionChart(const TaskOutcome &outcome, Times times) {
  const std::string_view title = times.kind == Times::Both       ? "Predicted against timed"
                                 : times.kind == Times::Modelled ? "Predicted against modelled"
                                                                 : "Predicted against measured";
  std::vector<Point> points;
  std::vector<std::pair<double, double>> before, after;
  for (const Trial &trial : outcome.trials) {
    const std::optional<double> time = timeOf(trial);
    if (!time)
      continue;
    if (trial.after && std::isfinite(trial.after->milliseconds))
      after.emplace_back(trial.after->milliseconds, *time);
    if (!trial.before || !(trial.before->milliseconds > 0) || !std::isfinite(trial.before->milliseconds))
      continue;
    before.emplace_back(trial.before->milliseconds, *time);
    points.push_back({trial.before->milliseconds, *time, markOf(outcome, trial),
                      tip(trial, fmt::format("predicted {} ms, {} {} ms", number(trial.before->milliseconds),
                                             times.words(), number(*time)))});
  }
  if (points.empty())
    return nothingToDraw(title, "No candidate has both a prediction and a time.");
  std::vector<double> both = each(points, &Point::x);
  for (const Point &point : points)
    both.push_back(point.y);
  const Axis axis(Axis::Log, both); // the same on both sides, so that the diagonal is the line of being right
  Plot plot(
      fmt::format("Predicted time against {} of {}", times.words(), counted(points.size(), "candidate", "candidates")),
      {axis, "predicted before the compile, ms"}, {axis, fmt::format("{}, ms", times.words())});
  plot.line({{axis.low(), axis.low()}, {axis.high(), axis.high()}}, "even");
  drawAll(plot, points);
  const auto rank = [](const std::vector<std::pair<double, double>> &pairs) {
    const std::optional<double> correlation = rankCorrelation(pairs);
    return correlation ? fmt::format("{:.2f}", *correlation) : std::string("not defined");
  };
  std::string caption = fmt::format("Rank correlation with the prediction before the compile: <b>{}</b> ({}). ",
                                    rank(before), counted(before.size(), "candidate", "candidates"));
  caption += times.kind == Times::Modelled
                 ? "The modelled time is the model's on the compiled kernel. "
                 : fmt::format("With the prediction on the compiled kernel: <b>{}</b>. ", rank(after));
  return figure(title, plot.svg(), caption + "On the line the prediction is right.");
}

std::string convergenceChart(const TaskOutcome &outcome, Times times) {
  constexpr std::string_view title = "Convergence";
  std::vector<const Trial *> timed;
  for (const Trial &trial : outcome.trials)
    if (timeOf(trial) && !isWrong(trial) && std::isfinite(trial.elapsedSeconds))
      timed.push_back(&trial);
  if (timed.empty())
    return nothingToDraw(title, "No candidate has a time.");
  // Equal ones as they stand in the outcome.
  std::sort(timed.begin(), timed.end(), [](const Trial *a, const Trial *b) {
    return std::pair(a->elapsedSeconds, a) < std::pair(b->elapsedSeconds, b);
  });
  std::vector<Point> points;
  for (const Trial *trial : timed)
    points.push_back(
        {trial->elapsedSeconds, *timeOf(*trial), markOf(outcome, *trial),
         tip(*trial, fmt::format("{} ms after {}", number(*timeOf(*trial)), duration(trial->elapsedSeconds)))});
  std::vector<double> seconds = each(points, &Point::x);
  seconds.push_back(0);
  const Axis x(Axis::Linear, seconds), y(Axis::Log, each(points, &Point::y));
  Plot plot(fmt::format("Best so far of {} over time", counted(points.size(), "candidate", "candidates")),
            {x, "seconds since the run began"}, {y, fmt::format("{}, ms", times.words())});
  std::vector<std::pair<double, double>> best{{points.front().x, points.front().y}};
  for (const Point &point : points)
    if (const double least = best.back().second; point.y < least) {
      best.emplace_back(point.x, least);
      best.emplace_back(point.x, point.y);
    }
  best.emplace_back(points.back().x, best.back().second);
  plot.line(best, "best");
  drawAll(plot, points);
  const auto found =
      std::find_if(points.begin(), points.end(), [&](const Point &point) { return point.y == best.back().second; });
  return figure(title, plot.svg(),
                fmt::format("The line is the best so far. The least time was found after {}, as number {} of {}.",
                            duration(found->x), found - points.begin() + 1, points.size()));
}

std::optional<double> rankCorrelation(std::span<const std::pair<double, double>> pairs) {
  if (pairs.size() < 3)
    return std::nullopt;
  const auto ranks = [&](double std::pair<double, double>::*side) {
    std::vector<size_t> order(pairs.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return pairs[a].*side < pairs[b].*side; });
    std::vector<double> rank(pairs.size());
    for (size_t first = 0, end = 0; first < order.size(); first = end) {
      for (end = first + 1; end < order.size() && pairs[order[end]].*side == pairs[order[first]].*side;)
        ++end;
      for (size_t i = first; i < end; ++i)
        rank[order[i]] = double(first + end - 1) / 2;
    }
    return rank;
  };
  const std::vector<double> a = ranks(&std::pair<double, double>::first), b = ranks(&std::pair<double, double>::second);
  const double mean = double(pairs.size() - 1) / 2;
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  return aa > 0 && bb > 0 ? std::optional(ab / std::sqrt(aa * bb)) : std::nullopt;
}

} // namespace tessera::tune::report
