// AttentionSpec: canonical text, defaults spelled out, and refusals that carry the value.
#include "runtime/spec/AttentionSpec.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace tessera {
namespace {

std::string messageOf(const AttentionSpec &spec) { return spec.validate().message(); }

TEST(AttentionSpec, TextRoundTripsForEveryField) {
  std::vector<AttentionSpec> specs;
  for (DType in : {DType::F16, DType::BF16, DType::F32})
    for (DType out : {DType::F16, DType::BF16, DType::F32})
      for (Mask mask : {Mask::full(), Mask::causal(Align::TopLeft), Mask::causal(Align::BottomRight),
                        Mask::window(0, std::nullopt, Align::TopLeft), Mask::window(1023, 0, Align::BottomRight),
                        Mask::window(INT32_MAX, 7, Align::TopLeft)})
        for (std::optional<float> cap :
             {std::optional<float>(), std::optional<float>(30.0f), std::optional<float>(0.1f)}) {
          AttentionSpec spec;
          spec.dtype = in;
          spec.outDType = out;
          spec.headDim = 72;
          spec.valueDim = 256;
          spec.mask = mask;
          spec.softcap = cap;
          spec.scale = 1.0f / 3.0f;
          spec.outputs = cap ? Output::O | Output::LSE : Output::O;
          spec.precision = in == DType::F32 && cap ? Precision::Precise : Precision::Tf32;
          spec.accessBytes = cap ? 16 : 4;
          specs.push_back(spec);
        }
  for (const AttentionSpec &spec : specs) {
    ASSERT_TRUE(spec.validate().ok()) << spec.validate().text();
    Result<AttentionSpec> read = AttentionSpec::parse(spec.text());
    ASSERT_TRUE(read.ok()) << read.status().text();
    EXPECT_EQ(read->text(), spec.text());
    EXPECT_EQ(read->mask, spec.mask);
    EXPECT_EQ(read->scale, spec.scale);
    EXPECT_EQ(read->softcap, spec.softcap);
    EXPECT_EQ(read->outputs, spec.outputs);
    EXPECT_EQ(read->precision, spec.precision);
    EXPECT_EQ(read->accessBytes, spec.accessBytes);
  }
  for (size_t i = 0; i < specs.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      ASSERT_NE(specs[i].text(), specs[j].text());
}

TEST(AttentionSpec, DefaultsAreSpelledOut) {
  AttentionSpec implied, stated;
  stated.outDType = DType::BF16;
  stated.scale = implied.effectiveScale();
  EXPECT_EQ(implied, stated);
  EXPECT_EQ(implied.text(),
            "v1:in=bf16,out=bf16,d=128,dv=128,mask=full,scale=0.088388346,softcap=none,outputs=o,precision=tf32,"
            "access=16");
}

TEST(AttentionSpec, N1_DefaultScaleUsesTheRequestedHeadDim) {
  AttentionSpec spec;
  spec.headDim = 40; // computed with 48 padded columns
  EXPECT_EQ(spec.effectiveScale(), float(1.0 / std::sqrt(40.0)));
}

TEST(AttentionSpec, FloatsReadBackToTheSameBits) {
  AttentionSpec spec;
  for (float value : {0.0f, -0.0f, 1e-45f, 3.4028235e38f, 0.1f, 16777217.0f, -0.3333333f}) {
    spec.scale = value;
    Result<AttentionSpec> read = AttentionSpec::parse(spec.text());
    ASSERT_TRUE(read.ok()) << read.status().text();
    EXPECT_EQ(std::bit_cast<uint32_t>(*read->scale), std::bit_cast<uint32_t>(value));
  }
}

TEST(AttentionSpec, RefusalsCarryTheValue) {
  AttentionSpec spec;
  spec.headDim = 12;
  EXPECT_NE(messageOf(spec).find("got 12"), std::string::npos);
  EXPECT_NE(spec.validate().hint().find("16"), std::string::npos);
  spec = {};
  spec.valueDim = 264;
  EXPECT_NE(messageOf(spec).find("value_dim must be 8 to 256, got 264"), std::string::npos);
  spec = {};
  spec.headDim = 0;
  EXPECT_EQ(spec.validate().code(), Code::Unsupported);
  spec = {};
  spec.scale = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(messageOf(spec).find("nan"), std::string::npos);
  spec = {};
  spec.softcap = -1.0f;
  EXPECT_NE(messageOf(spec).find("got -1"), std::string::npos);
  spec = {};
  spec.precision = Precision::Precise;
  EXPECT_NE(messageOf(spec).find("bf16"), std::string::npos);
  spec = {};
  spec.accessBytes = 12;
  EXPECT_NE(messageOf(spec).find("got 12"), std::string::npos);
  spec = {};
  spec.dtype = DType::F32;
  spec.accessBytes = 2;
  EXPECT_NE(messageOf(spec).find("2 bytes"), std::string::npos);
  spec = {};
  spec.outputs = Output::LSE;
  EXPECT_EQ(spec.validate().code(), Code::InvalidArgument);
}

TEST(AttentionSpec, N4_NegativeWindowBoundIsRefusedNotReinterpreted) {
  AttentionSpec spec;
  spec.mask = Mask::window(-1, 0, Align::TopLeft);
  EXPECT_EQ(spec.validate().code(), Code::InvalidArgument);
  EXPECT_NE(messageOf(spec).find("left bound must not be negative, got -1"), std::string::npos);
  spec.mask = Mask::window(std::nullopt, -5, Align::BottomRight);
  EXPECT_NE(messageOf(spec).find("right bound must not be negative, got -5"), std::string::npos);
  spec.mask = Mask::window(int64_t(1) << 40, 0, Align::TopLeft);
  EXPECT_EQ(spec.validate().code(), Code::InvalidArgument);
}

TEST(AttentionSpec, MalformedTextsAreRefused) {
  const std::string good = AttentionSpec().text();
  ASSERT_TRUE(AttentionSpec::parse(good).ok());
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(AttentionSpec::parse(good.substr(0, length)).ok() && good.substr(length) != "6")
        << good.substr(0, length);
  for (std::string bad :
       {good + ",", good + ",x=1", "v2" + good.substr(2), std::string("v1:"), std::string(100000, 'v')})
    EXPECT_FALSE(AttentionSpec::parse(bad).ok()) << bad.substr(0, 200);
  auto with = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  for (std::string bad :
       {with("d=128", "d=0x80"), with("d=128", "d= 128"), with("d=128", "d=+128"), with("d=128", "d=99999999999"),
        with("mask=full", "mask=*:*:top-left"), with("mask=full", "mask=-1:0:top-left"), with("mask=full", "mask=1:0"),
        with("mask=full", "mask=1:0:left"), with("softcap=none", "softcap=0"), with("softcap=none", "softcap=nan"),
        with("scale=0.088388346", "scale=inf"), with("in=bf16", "in=fp16")})
    EXPECT_FALSE(AttentionSpec::parse(bad).ok()) << bad;
}

} // namespace
} // namespace tessera
