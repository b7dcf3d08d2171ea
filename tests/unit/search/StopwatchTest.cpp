// Who is late, and who was merely kept from his work.
#include "autotune/search/Stopwatch.h"

#include <gtest/gtest.h>

using namespace tessera::tune;

namespace {

Stopwatch::Time at(double seconds) {
  return Stopwatch::Time() +
         std::chrono::duration_cast<Stopwatch::Time::duration>(std::chrono::duration<double>(seconds));
}

/// Has seen a process that uses so much of a processor for so long, a look every second.
Stopwatch after(double seconds, double share) {
  Stopwatch watch;
  watch.start(at(100), 7);
  for (double n = 1; n <= seconds; ++n)
    watch.see(at(100 + n), 7 + n * share);
  return watch;
}

} // namespace

TEST(Stopwatch, WhatCountsIsProcessorTime) {
  EXPECT_NEAR(after(50, 1).spent(), 50, 1e-6);
  EXPECT_NEAR(after(50, 0.1).spent(), 5, 1e-6);
  EXPECT_NEAR(after(50, 16).spent(), 50, 1e-6) << "no more than has passed, however many threads";
  EXPECT_EQ(after(59, 1).late(60, 60), "");
  EXPECT_EQ(after(60, 1).late(60, 60), "60.0 s of processor time");
  EXPECT_EQ(after(250, 0.1).late(60, 60), "") << "a machine that is shared by ten";
}

TEST(Stopwatch, WhoDoesNothingForLongIsLate) {
  EXPECT_EQ(after(9, 0).late(2, 60), "") << "a slow disk";
  EXPECT_EQ(after(10, 0).late(2, 60), "10.0 s in which it did nothing");
  EXPECT_EQ(after(60, 0).late(60, 60), "60.0 s in which it did nothing");
  Stopwatch watch = after(50, 1);
  watch.see(at(159), 57);
  EXPECT_EQ(watch.late(60, 60), "");
  watch.see(at(160), 57.1);
  watch.see(at(219), 57.1);
  EXPECT_EQ(watch.late(60, 60), "") << "it went on";
  watch.see(at(220), 57.1);
  EXPECT_EQ(watch.late(60, 60), "60.0 s in which it did nothing");
}

TEST(Stopwatch, WhoGetsNoProcessorIsWaitedForButNotForEver) {
  EXPECT_EQ(after(599, 0.01).late(2, 60).substr(0, 5), "2.0 s") << "of its own";
  EXPECT_EQ(after(599, 0.001).late(2, 60), "");
  EXPECT_EQ(after(600, 0.001).late(2, 60), "600.0 s, for 0.6 of which it had a processor");
}

TEST(Stopwatch, TimeInWhichNobodyLookedDoesNotCount) {
  Stopwatch watch = after(5, 0);
  watch.skip(at(1000) - at(105));
  watch.see(at(1000), 7);
  EXPECT_EQ(watch.late(2, 60), "");
  watch.see(at(1005), 7);
  EXPECT_EQ(watch.late(2, 60), "10.0 s in which it did nothing");
  Stopwatch fast = after(5, 1);
  fast.skip(at(1000) - at(105));
  fast.see(at(1000), 13);
  EXPECT_NEAR(fast.spent(), 6, 1e-6) << "but what it used meanwhile does";
}
