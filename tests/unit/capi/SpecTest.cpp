// Specs in C: each member reaches the spec, texts round-trip, and what has no meaning is refused rather than ignored.
#include "tests/unit/capi/Capi.h"

#include <cmath>
#include <cstddef>

namespace tessera::capi {
namespace {

std::string textOf(const tessera_spec &spec) {
  tessera_text *text = nullptr;
  EXPECT_EQ(tessera_spec_to_text(&spec, &text), TESSERA_OK) << tessera_last_error();
  return tessera_text_string(TextHandle(text).get());
}

void expectRefused(tessera_spec spec, const std::string &message) {
  EXPECT_EQ(tessera_spec_validate(&spec), TESSERA_INVALID_ARGUMENT) << message;
  EXPECT_EQ(tessera_last_error(), message);
}

template <typename Change> tessera_spec changed(Change change) {
  tessera_spec spec = bf16Spec();
  change(spec);
  return spec;
}

TEST(CSpec, DefaultsAreThoseOfTheCppInterface) { EXPECT_EQ(textOf(bf16Spec()), AttentionSpec{}.text()); }

TEST(CSpec, EachMemberIsTheCppOne) {
  auto check = [](auto change, auto changeCpp) {
    AttentionSpec expected;
    changeCpp(expected);
    const tessera_spec spec = changed(change);
    EXPECT_EQ(textOf(spec), expected.text());
    // And back.
    tessera_spec back = TESSERA_SPEC_INIT;
    ASSERT_EQ(tessera_spec_from_text(expected.text().c_str(), &back), TESSERA_OK) << tessera_last_error();
    EXPECT_EQ(textOf(back), expected.text());
  };
  using C = tessera_spec;
  using S = AttentionSpec;
  check([](C &c) { c.dtype = TESSERA_F16; }, [](S &s) { s.dtype = DType::F16; });
  check([](C &c) { c.dtype = TESSERA_F32; }, [](S &s) { s.dtype = DType::F32; });
  check([](C &c) { c.out_dtype = TESSERA_F32; }, [](S &s) { s.outDType = DType::F32; });
  check([](C &c) { c.head_dim = 64; }, [](S &s) { s.headDim = s.valueDim = 64; });
  check([](C &c) { c.value_dim = 64; }, [](S &s) { s.valueDim = 64; });
  for (Align align : {Align::TopLeft, Align::BottomRight}) {
    const int32_t number = align == Align::TopLeft ? TESSERA_ALIGN_TOP_LEFT : TESSERA_ALIGN_BOTTOM_RIGHT;
    check([&](C &c) { c.mask = TESSERA_MASK_CAUSAL, c.align = number; }, [&](S &s) { s.mask = Mask::causal(align); });
    check([&](C &c) { c.mask = TESSERA_MASK_WINDOW, c.align = number, c.window_left = 3, c.window_right = 5; },
          [&](S &s) { s.mask = Mask::window(3, 5, align); });
    check(
        [&](C &c) {
          c.mask = TESSERA_MASK_WINDOW, c.align = number, c.window_left = 3, c.window_right = TESSERA_UNBOUNDED;
        },
        [&](S &s) { s.mask = Mask::window(3, std::nullopt, align); });
    check([&](C &c) { c.mask = TESSERA_MASK_WINDOW, c.align = number, c.window_left = TESSERA_UNBOUNDED; },
          [&](S &s) { s.mask = Mask::causal(align); });
  }
  check([](C &c) { c.mask = TESSERA_MASK_WINDOW, c.window_left = c.window_right = TESSERA_UNBOUNDED; }, [](S &) {});
  check([](C &c) { c.has_scale = 1, c.scale = 0.25f; }, [](S &s) { s.scale = 0.25f; });
  check([](C &c) { c.has_scale = 1; }, [](S &s) { s.scale = 0.0f; });
  check([](C &c) { c.has_softcap = 1, c.softcap = 30; }, [](S &s) { s.softcap = 30.0f; });
  check([](C &c) { c.outputs = TESSERA_OUTPUT_O | TESSERA_OUTPUT_LSE; },
        [](S &s) { s.outputs = Output::O | Output::LSE; });
  check([](C &c) { c.dtype = TESSERA_F32, c.precision = TESSERA_PRECISION_PRECISE; },
        [](S &s) { s.dtype = DType::F32, s.precision = Precision::Precise; });
  check([](C &c) { c.access_bytes = 4; }, [](S &s) { s.accessBytes = 4; });
}

TEST(CSpec, N3_AlignmentHasNoDefault) {
  expectRefused(changed([](auto &spec) { spec.mask = TESSERA_MASK_CAUSAL; }),
                "tessera_spec.align is not set, and a causal or window mask has no default alignment");
  expectRefused(changed([](auto &spec) { spec.mask = TESSERA_MASK_WINDOW; }),
                "tessera_spec.align is not set, and a causal or window mask has no default alignment");
}

TEST(CSpec, N4_NegativeBoundsAreRefusedNotReinterpreted) {
  expectRefused(changed([](auto &spec) {
                  spec.mask = TESSERA_MASK_WINDOW, spec.align = TESSERA_ALIGN_TOP_LEFT, spec.window_left = -1;
                }),
                "tessera_spec.window_left must not be negative, got -1");
  EXPECT_STREQ(tessera_last_hint(), "use TESSERA_UNBOUNDED where the side is unbounded");
  expectRefused(changed([](auto &spec) {
                  spec.mask = TESSERA_MASK_WINDOW, spec.align = TESSERA_ALIGN_TOP_LEFT, spec.window_right = -3;
                }),
                "tessera_spec.window_right must not be negative, got -3");
}

TEST(CSpec, ValuesWithoutMeaningAreRefused) {
  expectRefused(changed([](auto &spec) { spec.window_left = 7; }),
                "tessera_spec.window_left and window_right are 7 and 0, but the mask is no window");
  expectRefused(changed([](auto &spec) { spec.scale = 0.5f; }), "tessera_spec.scale is 0.5, but has_scale is 0");
  expectRefused(changed([](auto &spec) { spec.softcap = 30; }), "tessera_spec.softcap is 30, but has_softcap is 0");
  expectRefused(changed([](auto &spec) { spec.has_scale = 2; }), "tessera_spec.has_scale must be 0 or 1, got 2");
  expectRefused(changed([](auto &spec) { spec.dtype = 0; }), "tessera_spec.dtype 0 is no element type");
  expectRefused(changed([](auto &spec) { spec.out_dtype = 9; }), "tessera_spec.out_dtype 9 is no element type");
  expectRefused(changed([](auto &spec) { spec.mask = 3; }), "tessera_spec.mask 3 is none of TESSERA_MASK_...");
  expectRefused(changed([](auto &spec) { spec.align = -1; }), "tessera_spec.align -1 is none of TESSERA_ALIGN_...");
  expectRefused(changed([](auto &spec) { spec.outputs = 0x101; }),
                "tessera_spec.outputs 0x101 has bits that are none of TESSERA_OUTPUT_...");
  expectRefused(changed([](auto &spec) { spec.precision = 2; }),
                "tessera_spec.precision 2 is none of TESSERA_PRECISION_...");
  expectRefused(changed([](auto &spec) { spec.reserved = 1; }), "tessera_spec.reserved must be 0, got 1");
  // What the C++ interface refuses.
  EXPECT_EQ(tessera_spec_validate(std::array{changed([](auto &spec) { spec.has_scale = 1, spec.scale = NAN; })}.data()),
            TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_spec_validate(std::array{changed([](auto &spec) { spec.outputs = TESSERA_OUTPUT_LSE; })}.data()),
            TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_spec_validate(std::array{changed([](auto &spec) { spec.head_dim = 0; })}.data()),
            TESSERA_UNSUPPORTED);
}

TEST(CSpec, TextThatIsNoneLeavesTheStructAlone) {
  tessera_spec spec = changed([](auto &spec) { spec.head_dim = 96; });
  EXPECT_EQ(tessera_spec_from_text("v1:nonsense", &spec), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(spec.head_dim, 96u);
}

TEST(CSpec, OlderStructThatCannotHoldATextIsRefused) {
  AttentionSpec plain, capped;
  capped.softcap = 20.0f;
  tessera_spec spec = TESSERA_SPEC_INIT;
  spec.size = offsetof(tessera_spec, has_softcap);
  EXPECT_EQ(tessera_spec_from_text(plain.text().c_str(), &spec), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(textOf(spec), plain.text());
  spec.head_dim = 8;
  EXPECT_EQ(tessera_spec_from_text(capped.text().c_str(), &spec), TESSERA_UNSUPPORTED);
  EXPECT_EQ(spec.head_dim, 8u) << "untouched";
}

} // namespace
} // namespace tessera::capi
