// Device memory: adopted host memory, addresses that run out, and what a running launch keeps alive.
#include "runtime/simulator/Memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

using namespace tessera::sim;

namespace {

constexpr uint64_t Base = GlobalMemory::defaultBase, MiB = 1 << 20;

TEST(GlobalMemory, AdoptedMemoryKeepsItsAddressAndTakesNoCapacity) {
  GlobalMemory memory(64);
  std::vector<char> host(256, 'a');
  auto address = reinterpret_cast<uint64_t>(host.data());
  ASSERT_TRUE(memory.adopt(host.data(), 256, "host").ok());
  EXPECT_EQ(memory.bytesInUse(), 0u);
  std::optional<Allocation> found = memory.find(address + 255);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->base, address);
  EXPECT_FALSE(memory.find(address + 256));
  EXPECT_EQ(*memory.uninitialisedBytes(address, 256), 0u) << "the host writes it unseen";
  ASSERT_TRUE(memory.fill(address + 1, 'b', 1, 2).ok());
  ASSERT_TRUE(memory.copy(address + 10, address, 3).ok());
  EXPECT_EQ(std::memcmp(host.data() + 9, "aabba", 5), 0);
  ASSERT_TRUE(memory.write(address, "xyz", 3).ok());
  char out[4] = {};
  ASSERT_TRUE(memory.read(address, out, 3).ok());
  EXPECT_STREQ(out, "xyz");
  EXPECT_FALSE(memory.write(address + 254, "xyz", 3).ok());
  ASSERT_TRUE(memory.free(address).ok());
  EXPECT_EQ(host[0], 'x') << "the memory itself stays the caller's";
  EXPECT_EQ(memory.bytesInUse(), 0u);
}

TEST(GlobalMemory, AdoptedRangesDoNotOverlapAndLieOutsideTheDevice) {
  GlobalMemory memory(64);
  std::vector<char> host(300);
  ASSERT_TRUE(memory.adopt(host.data() + 100, 100, "host").ok());
  EXPECT_FALSE(memory.adopt(host.data() + 199, 1, "end").ok());
  EXPECT_FALSE(memory.adopt(host.data(), 101, "begin").ok());
  EXPECT_FALSE(memory.adopt(host.data(), 300, "around").ok());
  EXPECT_TRUE(memory.adopt(host.data(), 100, "before").ok());
  EXPECT_TRUE(memory.adopt(host.data() + 200, 100, "behind").ok());
  EXPECT_FALSE(memory.adopt(nullptr, 1, "null").ok());
  EXPECT_FALSE(memory.adopt(host.data(), 0, "nothing").ok());
  EXPECT_FALSE(memory.adopt(host.data(), ~uint64_t(0), "all").ok());
  EXPECT_FALSE(memory.adopt(reinterpret_cast<void *>(Base + 1), 1, "device").ok());
  ASSERT_TRUE(memory.free(reinterpret_cast<uint64_t>(host.data() + 100)).ok());
  EXPECT_TRUE(memory.adopt(host.data() + 150, 20, "again").ok()) << "over what is freed";
}

TEST(GlobalMemory, TheOwnerLivesUntilTheLastLaunchHasEnded) {
  GlobalMemory memory(64);
  auto storage = std::make_shared<std::vector<char>>(16);
  std::weak_ptr<std::vector<char>> watch = storage;
  auto address = reinterpret_cast<uint64_t>(storage->data());
  ASSERT_TRUE(memory.adopt(storage->data(), 16, "host", storage).ok());
  storage.reset();
  {
    GlobalMemory::Pin launch(memory);
    Allocation *seen = memory.lookup(address);
    ASSERT_TRUE(memory.free(address).ok());
    EXPECT_FALSE(watch.expired());
    EXPECT_FALSE(seen->live);
    EXPECT_TRUE(memory.adopt(watch.lock()->data(), 8, "younger").ok());
    EXPECT_FALSE(seen->live) << "what a launch has looked up stays";
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}

TEST(GlobalMemory, AddressesAreUsedAgainOnlyWhenAllHaveBeen) {
  GlobalMemory memory(64 * MiB, Base, Base + 16 * MiB);
  uint64_t kept = *memory.allocate(MiB), first = *memory.allocate(MiB), last = first;
  ASSERT_TRUE(memory.free(first).ok());
  int fresh = 0;
  for (;;) {
    auto next = memory.allocate(MiB);
    ASSERT_TRUE(next) << next.status().text();
    ASSERT_TRUE(memory.free(*next).ok());
    if (*next < last)
      break;
    EXPECT_GE(*next, last + 2 * MiB) << "an address that was never given out, behind a red zone";
    EXPECT_LE(*next + MiB, Base + 16 * MiB);
    last = *next;
    ++fresh;
  }
  EXPECT_GT(fresh, 4);
  EXPECT_TRUE(memory.find(kept)->live);
  std::vector<uint64_t> all; // fills the range to its end
  for (auto next = memory.allocate(MiB); next; next = memory.allocate(MiB)) {
    for (uint64_t other : all)
      EXPECT_TRUE(*next + 2 * MiB <= other || other + 2 * MiB <= *next);
    all.push_back(*next);
    ASSERT_LT(all.size(), 16u);
  }
  EXPECT_GE(all.size(), 5u);
}

TEST(GlobalMemory, FreedAllocationsAreRememberedForAWhile) {
  GlobalMemory memory(64 * MiB);
  uint64_t old = *memory.allocate(64), young = 0;
  ASSERT_TRUE(memory.free(old).ok());
  EXPECT_FALSE(memory.find(old)->live);
  for (int i = 0; i < 5000; ++i) {
    young = *memory.allocate(64);
    ASSERT_TRUE(memory.free(young).ok());
  }
  EXPECT_FALSE(memory.find(old)) << "the table does not grow for ever";
  EXPECT_TRUE(memory.find(young));
}

} // namespace
