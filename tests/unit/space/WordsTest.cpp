// Attentions as people read them.
#include "autotune/space/Words.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::tune;

namespace {

TEST(Words, WhatIsUsualGoesWithoutSaying) {
  AttentionSpec spec;
  spec.dtype = DType::BF16;
  spec.headDim = spec.valueDim = 128;
  EXPECT_EQ(specWords(spec), "bf16, d 128, full");
  spec.scale = spec.effectiveScale();
  EXPECT_EQ(specWords(spec), "bf16, d 128, full");
}

TEST(Words, WhatIsNotUsualIsSaid) {
  AttentionSpec spec;
  spec.dtype = DType::F16;
  spec.outDType = DType::F32;
  spec.headDim = 192;
  spec.valueDim = 128;
  spec.mask = Mask::causal(Align::BottomRight);
  spec.scale = 0.5f;
  spec.softcap = 30.0f;
  spec.outputs = Output::O | Output::LSE;
  spec.accessBytes = 4;
  EXPECT_EQ(specWords(spec),
            "f16 to f32, d 192 and 128, causal, bottom-right, scale 0.5, softcap 30, with LSE, accesses "
            "of 4 bytes");
  AttentionSpec precise;
  precise.dtype = DType::F32;
  precise.precision = Precision::Precise;
  EXPECT_TRUE(specWords(precise).ends_with(", precise")) << specWords(precise);
}

TEST(Words, MasksReadAsTheCommandLineTakesThem) {
  EXPECT_EQ(maskWords(Mask::full()), "full");
  EXPECT_EQ(maskWords(Mask::causal(Align::TopLeft)), "causal, top-left");
  EXPECT_EQ(maskWords(Mask::window(63, 0, Align::BottomRight)), "window 63,0, bottom-right");
  EXPECT_EQ(maskWords(Mask::window(3, std::nullopt, Align::TopLeft)), "window 3,inf, top-left");
}

} // namespace
