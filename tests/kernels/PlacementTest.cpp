// The harness itself: its poison stands where nothing else does, and a stray write is seen.
#include "tests/kernels/Placement.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::kernels;

namespace {

constexpr Layout kLayouts[] = {Layout::Bshd,      Layout::Bhsd,     Layout::FusedQkv,
                               Layout::Broadcast, Layout::OddPitch, Layout::PaddedPitch};

AttentionSpec spec() {
  AttentionSpec spec;
  spec.headDim = 16;
  spec.valueDim = 8;
  spec.outputs = Output::O | Output::LSE;
  return spec;
}

TEST(Placement, EveryElementIsFoundAgainAndNothingElseIsTouched) {
  for (Layout layout : kLayouts) {
    Placement placement = place(layout, spec(), {2, 4, 2, 5, 3}, true);
    const auto value = [](Role role, int64_t b, int64_t s, int64_t h, int64_t c) {
      return float(int(role) * 64 + b * 32 + s * 4 + h) + float(c) / 16; // exact in bf16 where c is even
    };
    fill(placement, value);
    size_t elements = 0, clean = 0, total = 0;
    for (Role role : {Role::Q, Role::K, Role::V}) {
      const Placed &placed = placement[role];
      const auto view = placement.view(role, placement.arenas);
      for (int64_t b = 0; b < placed.shape[0]; ++b)
        for (int64_t s = 0; s < placed.shape[1]; ++s)
          for (int64_t h = 0; h < placed.shape[2]; ++h) {
            const bool repeated = placed.strides[0] == 0;
            EXPECT_EQ(view.load(b, s, h, 0), value(role, repeated ? 0 : b, s, repeated ? 0 : h, 0)) << name(layout);
            elements += !repeated || (b == 0 && h == 0) ? size_t(placed.shape[3]) : 0;
          }
    }
    for (const Arena &arena : placement.arenas)
      for (size_t n = 0; n < arena.bytes.size(); n += 2, ++total)
        clean += arena.bytes[n] == std::byte{0xff} && arena.bytes[n + 1] == std::byte{0xff};
    EXPECT_EQ(total - clean, elements) << name(layout);
  }
}

TEST(Placement, AWriteThatBelongsToNoOutputIsSeen) {
  for (Layout layout : kLayouts) {
    Placement placement = place(layout, spec(), {2, 4, 2, 5, 3}, true);
    fill(placement, normal(1));
    std::vector<Arena> after = placement.arenas;
    for (Role role : {Role::O, Role::Lse}) {
      const Placed &placed = placement[role];
      std::byte *first = after[placed.arena].bytes.data() + placed.first;
      first[0] = std::byte{0};
      EXPECT_EQ(strayWrite(placement, placement.arenas, after), "") << name(layout);
      first[-1] = std::byte{0};
      EXPECT_NE(strayWrite(placement, placement.arenas, after), "") << name(layout);
      first[-1] = std::byte{0xff};
    }
    after[placement[Role::K].arena].bytes[placement[Role::K].first] ^= std::byte{1};
    EXPECT_NE(strayWrite(placement, placement.arenas, after), "") << "an input is no output";
  }
}

} // namespace
