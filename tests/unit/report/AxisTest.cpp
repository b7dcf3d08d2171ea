// Axes: ranges hold their values, ticks are few, ascending and in the range.
#include "autotune/report/Axis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace tessera::tune::report;

namespace {

std::vector<std::string> labels(const Axis &axis, unsigned most) {
  std::vector<std::string> list;
  for (const Tick &tick : axis.ticks(most))
    list.push_back(tick.label);
  return list;
}

TEST(Axis, HoldsItsValuesWithRoom) {
  for (const Axis::Kind kind : {Axis::Linear, Axis::Log}) {
    const std::vector<double> values{3, 700, 0.02};
    const Axis axis(kind, values);
    for (const double value : values)
      EXPECT_TRUE(axis.holds(value)) << value;
    EXPECT_GT(axis.at(700), 0.9);
    EXPECT_LT(axis.at(700), 1);
    EXPECT_LT(axis.at(0.02), 0.1);
  }
}

TEST(Axis, DrawsEveryRangeWithFewTicks) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<std::vector<double>> ranges{
      {},        {5},           {0},          {1, 1.0001},    {0.001, 1000}, {1e-12, 1e12},
      {99, 101}, {0, 0},        {1, inf, -3}, {std::nan("")}, {0.4, 0.46},   {2, 3, 4, 5},
      {-5, 5},   {12345, 12346}};
  // What a log may hold as a prediction, though no clock can.
  const std::vector<std::vector<double>> extreme{{1e308, 1}, {5e-324, 1}, {5e-324}, {1e308}, {5e-324, 1.7e308}};
  for (const std::vector<double> &range : extreme) {
    const Axis axis(Axis::Log, range);
    ASSERT_LT(axis.low(), axis.high());
    for (const double value : range)
      EXPECT_TRUE(std::isfinite(axis.at(value))) << value;
    for (const Tick &tick : axis.ticks(6))
      EXPECT_TRUE(std::isfinite(axis.at(tick.value))) << tick.value;
  }
  for (const Axis::Kind kind : {Axis::Linear, Axis::Log})
    for (const std::vector<double> &range : ranges) {
      const Axis axis(kind, range);
      ASSERT_LT(axis.low(), axis.high());
      for (const unsigned most : {2u, 6u}) {
        const std::vector<Tick> ticks = axis.ticks(most);
        EXPECT_GE(ticks.size(), 1u) << axis.low() << " to " << axis.high();
        EXPECT_LE(ticks.size(), most) << axis.low() << " to " << axis.high();
        for (size_t i = 0; i < ticks.size(); ++i) {
          EXPECT_TRUE(axis.holds(ticks[i].value));
          EXPECT_TRUE(i == 0 || ticks[i - 1].value < ticks[i].value);
          EXPECT_TRUE(i == 0 || ticks[i - 1].label != ticks[i].label) << ticks[i].label;
        }
      }
    }
}

TEST(Axis, TicksAreNumbersThatPeopleExpect) {
  EXPECT_EQ(labels(Axis(Axis::Log, std::vector<double>{1, 1000}), 6),
            (std::vector<std::string>{"1", "10", "100", "1000"}));
  EXPECT_EQ(labels(Axis(Axis::Log, std::vector<double>{0.2, 2}), 6),
            (std::vector<std::string>{"0.2", "0.5", "1", "2"}));
  EXPECT_EQ(labels(Axis(Axis::Linear, std::vector<double>{0, 100}), 6),
            (std::vector<std::string>{"0", "20", "40", "60", "80", "100"}));
  EXPECT_EQ(labels(Axis(Axis::Log, std::vector<double>{1e4, 1e7}), 6),
            (std::vector<std::string>{"10k", "100k", "1M", "10M"}));
}

} // namespace
