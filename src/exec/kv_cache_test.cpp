#include "exec/kv_cache.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.h"
#include "exec/arena.h"

namespace lockstep::exec {
namespace {

// 3 layers, 2 KV heads, chunks of 4096 bytes, room for 300 positions.
KvCache::Shape shape() {
  return {3, 2, 4096, 300};
}

// Every page that is wholly inside the part has memory.
bool is_resident(std::span<std::byte> part) {
  constexpr uintptr_t kPage = 4096;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(part.data()) + kPage - 1) / kPage * kPage;
  const uintptr_t end = reinterpret_cast<uintptr_t>(part.data() + part.size()) / kPage * kPage;
  std::vector<unsigned char> pages((end - begin) / kPage);
  if (pages.empty() || ::mincore(reinterpret_cast<void*>(begin), end - begin, pages.data()) != 0) return false;
  return std::ranges::all_of(pages, [](unsigned char page) { return (page & 1) != 0; });
}

TEST(KvCache, AllocatesBlocksOf128PositionsAsTheyAreReached) {
  KvCache cache(shape());
  EXPECT_EQ(cache.allocated_bytes(), 0u);
  EXPECT_EQ(cache.block_bytes(), uint64_t{3 * 2 * 2 * 4096});
  for (const auto& [positions, blocks] : std::vector<std::pair<int64_t, uint64_t>>{
           {0, 0}, {1, 1}, {128, 1}, {129, 2}, {5, 2}, {256, 2}, {257, 3}, {300, 3}}) {
    cache.reserve(positions);
    EXPECT_EQ(cache.allocated_bytes(), blocks * cache.block_bytes()) << positions;
  }
  EXPECT_EQ(cache.length(), 0);
}

TEST(KvCache, TakesTheMemoryOfABlockMoreAheadOfItsUse) {
  KvCache cache(shape());
  cache.reserve(100);
  cache.set_length(100);
  std::memset(cache.k(0, 2, 1), 7, 4096);
  cache.commit_ahead();
  EXPECT_EQ(cache.length(), 100);
  EXPECT_EQ(cache.allocated_bytes(), 2 * cache.block_bytes());
  EXPECT_EQ(cache.block(0)[cache.block_bytes() - 2 * 2 * 4096 + 4096], std::byte{7});
  EXPECT_TRUE(is_resident(cache.block(1)));
  cache.reserve(300);
  cache.set_length(300);
  cache.commit_ahead();  // the context ends here
  EXPECT_EQ(cache.allocated_bytes(), 3 * cache.block_bytes());
  EXPECT_TRUE(is_resident(cache.block(2)));
}

TEST(KvCache, RefusesMorePositionsThanItsContextWithBothNumbersAndStaysAsItWas) {
  KvCache cache(shape());
  cache.reserve(100);
  cache.set_length(90);
  try {
    cache.reserve(301);
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kContextFull);
    EXPECT_STREQ(error.what(), "301 tokens do not fit the context of 300");
  }
  EXPECT_EQ(cache.length(), 90);
  EXPECT_EQ(cache.allocated_bytes(), cache.block_bytes());
}

TEST(KvCache, GivesEveryChunkHeadAndLayerMemoryOfItsOwnThatBeginsWithZeros) {
  KvCache cache(shape());
  cache.reserve(300);
  std::set<const void*> seen;
  for (int64_t chunk = 0; chunk < 3; ++chunk) {
    for (int64_t layer = 0; layer < 3; ++layer) {
      for (int64_t head = 0; head < 2; ++head) {
        for (void* memory : {cache.k(chunk, layer, head), cache.v(chunk, layer, head)}) {
          EXPECT_TRUE(seen.insert(memory).second);
          EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
          // Whoever wrote before did not write here.
          const auto* bytes = static_cast<const unsigned char*>(memory);
          EXPECT_EQ(std::count(bytes, bytes + 4096, 0), 4096);
          std::memset(memory, 0xa5, 4096);
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), 36u);
}

TEST(KvCache, KeepsItsMemoryWhenMoreIsReserved) {
  KvCache cache(shape());
  cache.reserve(128);
  void* k = cache.k(0, 2, 1);
  std::memset(k, 7, 4096);
  cache.set_length(128);
  cache.reserve(300);
  EXPECT_EQ(cache.k(0, 2, 1), k);
  EXPECT_EQ(static_cast<const char*>(k)[4095], 7);
  EXPECT_EQ(cache.length(), 128);
}

TEST(KvCache, KeepsSmallBlocksSideBySideInHugePages) {
  KvCache cache({12, 2, 16384, 100'000});  // blocks of 768 KiB
  cache.reserve(20 * KvCache::kBlockPositions);
  const auto address = [&](uint64_t block) { return reinterpret_cast<uintptr_t>(cache.block(block).data()); };
  EXPECT_EQ(address(0) % (uintptr_t{2} << 20), 0u);
  for (uint64_t block = 1; block < 10; ++block) EXPECT_EQ(address(block), address(block - 1) + cache.block_bytes());
  EXPECT_EQ(address(10) % (uintptr_t{2} << 20), 0u) << "the next slab";
}

TEST(KvCache, SaysWhatItWantedWhenThereIsNoMemory) {
  KvCache cache({512, 1024, int64_t{1} << 40, 1000});
  try {
    cache.reserve(1);
    FAIL() << "half an exabyte";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNoMemory);
    EXPECT_NE(std::string(error.what()).find("KV cache"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("bytes"), std::string::npos) << error.what();
  }
  EXPECT_EQ(cache.allocated_bytes(), 0u);
}

TEST(Arena, CutsZeroedArraysAtCacheLines) {
  Arena arena(64 + 128 + 64, "a test");
  const std::span<float> a = arena.take<float>(1);
  const std::span<int8_t> b = arena.take<int8_t>(65);
  const std::span<int64_t> c = arena.take<int64_t>(8);
  EXPECT_EQ(arena.used(), arena.size());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<const std::byte*>(b.data()) - reinterpret_cast<const std::byte*>(a.data()), 64);
  EXPECT_EQ(reinterpret_cast<const std::byte*>(c.data()) - reinterpret_cast<const std::byte*>(b.data()), 128);
  EXPECT_EQ(std::ranges::count(b, 0), 65);
  EXPECT_EQ(std::ranges::count(c, 0), 8);
}

}  // namespace
}  // namespace lockstep::exec
