// The short formats' conversions, exhaustively where that is possible, against the compiler's own _Float16 and by
// definition.
#include "autotune/reference/Numbers.h"

#include <gtest/gtest.h>

#include <limits>

using namespace tessera;
using namespace tessera::reference;

namespace {

bool sameFloat(float a, float b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

TEST(Numbers, EveryHalfIsReadExactly) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float expected = float(std::bit_cast<_Float16>(uint16_t(bits)));
    ASSERT_TRUE(sameFloat(halfToFloat(uint16_t(bits)), expected)) << std::hex << bits;
  }
}

TEST(Numbers, EveryHalfAndItsNeighboursRoundToNearestEven) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = halfToFloat(uint16_t(bits));
    if (!std::isfinite(value))
      continue;
    ASSERT_EQ(floatToHalf(value), bits) << std::hex << bits;
    if (bits << 17 == 0 || (bits & 0x7fff) == 0x7bff)
      continue;
    // The midpoint to the next magnitude is exact in f32: it goes to the even one, its f32 neighbours to either side.
    const float next = halfToFloat(uint16_t(bits + 1)), middle = (value + next) / 2;
    ASSERT_EQ(floatToHalf(middle), bits + (bits & 1)) << std::hex << bits;
    ASSERT_EQ(floatToHalf(std::nextafterf(middle, value)), bits) << std::hex << bits;
    ASSERT_EQ(floatToHalf(std::nextafterf(middle, next)), bits + 1) << std::hex << bits;
  }
}

TEST(Numbers, HalfOverflowsAtTheMidpointAndFlushesBelowHalfTheSmallest) {
  EXPECT_EQ(floatToHalf(65519.996f), 0x7bff);
  EXPECT_EQ(floatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(floatToHalf(-1e30f), 0xfc00);
  EXPECT_EQ(floatToHalf(0x1p-25f), 0x0000);
  EXPECT_EQ(floatToHalf(0x1.000002p-25f), 0x0001);
  EXPECT_EQ(floatToHalf(-0.0f), 0x8000);
  EXPECT_EQ(floatToHalf(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(Numbers, EveryBfloatAndItsMidpointsRoundToNearestEven) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = bfloatToFloat(uint16_t(bits));
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(bfloatToFloat(floatToBfloat(value))));
      continue;
    }
    ASSERT_EQ(floatToBfloat(value), bits);
    if (!std::isfinite(value))
      continue;
    ASSERT_EQ(floatToBfloat(std::bit_cast<float>(bits << 16 | 0x8000u)), bits + (bits & 1)) << std::hex << bits;
    ASSERT_EQ(floatToBfloat(std::bit_cast<float>(bits << 16 | 0x7fffu)), bits);
    ASSERT_EQ(floatToBfloat(std::bit_cast<float>(bits << 16 | 0x8001u)), bits + 1);
  }
  // A signalling NaN whose payload lies in the dropped bits stays a NaN.
  EXPECT_TRUE(std::isnan(bfloatToFloat(floatToBfloat(std::bit_cast<float>(0x7f800001u)))));
}

TEST(Numbers, Tf32KeepsTenBitsAndRoundsTiesAway) {
  EXPECT_EQ(roundToTf32(1.0f + 0x1p-10f), 1.0f + 0x1p-10f);
  EXPECT_EQ(roundToTf32(1.0f + 0x1p-11f), 1.0f + 0x1p-10f);
  EXPECT_EQ(roundToTf32(-1.0f - 0x1p-11f), -1.0f - 0x1p-10f);
  EXPECT_EQ(roundToTf32(1.0f + 0x1p-11f - 0x1p-23f), 1.0f);
  EXPECT_EQ(roundToTf32(HUGE_VALF), HUGE_VALF);
  EXPECT_TRUE(std::isnan(roundToTf32(std::bit_cast<float>(0x7f800001u))));
}

} // namespace
