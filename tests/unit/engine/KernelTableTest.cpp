// KernelTable: what becomes of those who wait when the making ends in an exception.
#include "runtime/engine/KernelTable.h"
#include "tests/unit/engine/Fakes.h"

#include <new>
#include <thread>

namespace tessera {
namespace {

using KernelTable = fakes::Test;

TEST_F(KernelTable, NobodyWaitsForAFlightThatRanOutOfMemory) {
  const Device device = fakes::device();
  const detail::KernelKey key(*device.context(), {}, nullptr);
  detail::KernelTable table(4);
  std::atomic<int> tries{0}, outOfMemory{0}, loaded{0};
  const auto make = [&]() -> Result<detail::KernelTable::Loaded> {
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // the others come meanwhile
    if (++tries <= 2)
      throw std::bad_alloc();
    Result<std::shared_ptr<detail::LoadedKernel>> kernel = detail::LoadedKernel::load(fakes::image(), device);
    return detail::KernelTable::Loaded(*kernel);
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        bool made = false;
        try {
          loaded += table.findOrMake(key, make, made).ok();
        } catch (const std::bad_alloc &) {
          ++outOfMemory;
        }
      });
  }
  EXPECT_EQ(tries, 3);
  EXPECT_EQ(outOfMemory, 2);
  EXPECT_EQ(loaded, 6);
  EXPECT_EQ(table.size(), 1u);
}

TEST_F(KernelTable, AnAliasOfAnEvictedKernelIsNotKept) {
  const Device device = fakes::device();
  detail::KernelTable table(1);
  const auto make = [&]() -> Result<detail::KernelTable::Loaded> {
    return detail::KernelTable::Loaded(*detail::LoadedKernel::load(fakes::image(), device));
  };
  AttentionSpec spec;
  const auto key = [&](float scale) {
    spec.scale = scale;
    return detail::KernelKey(*device.context(), spec, nullptr);
  };
  bool made = false;
  const auto first = table.findOrMake(key(1), make, made);
  ASSERT_TRUE(table.findOrMake(key(2), make, made).ok());
  EXPECT_FALSE(table.find(key(1)).kernel);
  table.add(key(3), *first, nullptr);
  EXPECT_FALSE(table.find(key(3)).kernel);
  table.add(key(4), table.find(key(2)).kernel, nullptr);
  EXPECT_TRUE(table.find(key(4)).kernel);
  EXPECT_EQ(table.evictions(), 1u);
}

TEST_F(KernelTable, ShapesOfOneKernelAreForgottenOldestFirst) {
  const Device device = fakes::device();
  detail::KernelTable table(4);
  const AttentionSpec spec;
  const auto key = [&](int64_t seqlen) {
    const Problem problem{1, 1, 1, seqlen, seqlen};
    return detail::KernelKey(*device.context(), spec, nullptr, &problem);
  };
  bool made = false;
  const auto kernel = table.findOrMake(
      detail::KernelKey(*device.context(), spec, nullptr),
      [&]() -> Result<detail::KernelTable::Loaded> {
        return detail::KernelTable::Loaded(*detail::LoadedKernel::load(fakes::image(), device));
      },
      made);
  for (int64_t seqlen = 0; seqlen < 1000; ++seqlen)
    table.add(key(seqlen), *kernel, nullptr);
  EXPECT_TRUE(table.find(key(999)).kernel);
  EXPECT_FALSE(table.find(key(0)).kernel);
  EXPECT_TRUE(table.find(detail::KernelKey(*device.context(), spec, nullptr)).kernel) << "its own key stays";
}

} // namespace
} // namespace tessera
