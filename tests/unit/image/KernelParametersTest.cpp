// The parameter table: names and types that the compiler and the engine agree on.
#include "runtime/image/KernelParameters.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(KernelParameters, NamesAreUniqueAndRoundTrip) {
  ASSERT_EQ(allArguments().size(), argumentCount);
  for (Argument argument : allArguments()) {
    EXPECT_FALSE(name(argument).empty());
    EXPECT_EQ(parseArgument(name(argument)), argument) << name(argument);
    EXPECT_EQ(parseParameterType(name(typeOf(argument))), typeOf(argument));
  }
  EXPECT_EQ(parseArgument(""), std::nullopt);
  EXPECT_EQ(parseArgument("q_seq"), std::nullopt);
}

TEST(KernelParameters, BatchAndHeadStridesAre64BitAndRowStrides32) {
  EXPECT_EQ(name(Argument::KBatch), "k_batch");
  EXPECT_EQ(typeOf(Argument::KBatch), ParameterType::I64);
  EXPECT_EQ(name(Argument::LseHead), "lse_head");
  EXPECT_EQ(typeOf(Argument::LseHead), ParameterType::I64);
  EXPECT_EQ(name(Argument::LseRow), "lse_row");
  EXPECT_EQ(typeOf(Argument::QRow), ParameterType::I32);
  EXPECT_EQ(typeOf(Argument::Rescues), ParameterType::Pointer);
  EXPECT_EQ(name(Argument::QTiles), "q_tiles");
}

} // namespace
} // namespace tessera
