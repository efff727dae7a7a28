#include "orchestrator/memory/definition_cache.h"

#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

constexpr WorkflowNumber kWorkflow{7};

/// A store with definitions, and a loader that counts its calls.
class DefinitionCacheTest : public StoreTest {
 protected:
  static Revision revision(uint32_t number) { return {kWorkflow, number}; }

  void store(uint32_t number, const std::string& text) {
    write_definition(*tx, revision(number), {.created_at = {}, .text = text});
    commit();
  }
  DefinitionCache::Loader loader() {
    return [this](std::string_view text) -> Result<std::shared_ptr<const Workflow>> {
      ++loaded;
      if (text == "wrong") return fail("definition.syntax", "it is wrong");
      return std::make_shared<const Workflow>(Workflow{.id = std::string(text)});
    };
  }
  std::string id_of(DefinitionCache& cache, uint32_t number) {
    const auto found = cache.find_or_load(*tx, revision(number));
    return found ? (*found)->id : found.error().code + ": " + found.error().message;
  }

  std::atomic<int> loaded = 0;
};

TEST_F(DefinitionCacheTest, LoadsADefinitionOnce) {
  store(1, "one");
  DefinitionCache cache(loader());
  EXPECT_EQ(id_of(cache, 1), "one");
  EXPECT_EQ(id_of(cache, 1), "one");
  EXPECT_EQ(loaded, 1);
}

TEST_F(DefinitionCacheTest, ReportsAMissingOrWrongDefinitionAsADamagedRow) {
  store(2, "wrong");
  DefinitionCache cache(loader());
  const auto missing = cache.find_or_load(*tx, revision(1));
  ASSERT_FALSE(missing);
  EXPECT_TRUE(is_damaged_row(missing.error()));
  EXPECT_NE(missing.error().message.find("it is missing"), std::string::npos);
  const auto wrong = cache.find_or_load(*tx, revision(2));
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(is_damaged_row(wrong.error()));
  EXPECT_NE(wrong.error().message.find("it does not load: it is wrong"), std::string::npos);
  EXPECT_EQ(cache.size(), 0U);
}

TEST_F(DefinitionCacheTest, DoesNotReadAnAddedDefinition) {
  DefinitionCache cache(loader());
  cache.add(revision(1), std::make_shared<const Workflow>(Workflow{.id = "added"}), "text");
  EXPECT_EQ(id_of(cache, 1), "added");
  EXPECT_EQ(loaded, 0);
}

TEST_F(DefinitionCacheTest, ForgetsTheRevisionsThatALostBatchAdded) {
  DefinitionCache cache(loader());
  for (uint32_t number : {1U, 2U, 3U}) {
    cache.add(revision(number), std::make_shared<const Workflow>(Workflow{.id = "added"}), "text");
  }
  cache.add({WorkflowNumber(8), 3}, std::make_shared<const Workflow>(Workflow{.id = "other"}), "");
  cache.forget_newer(kWorkflow, 1);
  EXPECT_EQ(cache.size(), 2U);
  store(2, "two");
  EXPECT_EQ(id_of(cache, 1), "added");
  EXPECT_EQ(id_of(cache, 2), "two") << "the number was used again";
}

TEST_F(DefinitionCacheTest, StaysWithinItsLimitOfBytes) {
  DefinitionCache cache(loader(), 100);
  for (uint32_t number = 1; number <= 50; ++number) {
    store(number, fmt::format("{:010}", number));
    EXPECT_EQ(id_of(cache, number), fmt::format("{:010}", number));
    EXPECT_LE(cache.size(), 10U) << "each definition has ten bytes";
  }
}

TEST_F(DefinitionCacheTest, KeepsADefinitionThatIsUsed) {
  DefinitionCache cache(loader(), 100);
  store(1, "0123456789");
  for (uint32_t number = 2; number <= 50; ++number) {
    store(number, "9876543210");
    id_of(cache, number);
    id_of(cache, 1);
  }
  EXPECT_EQ(loaded, 50) << "the first definition was loaded once";
}

TEST_F(DefinitionCacheTest, KeepsADefinitionLargerThanTheLimit) {
  DefinitionCache cache(loader(), 10);
  store(1, std::string(1'000, 'a'));
  EXPECT_EQ(id_of(cache, 1), std::string(1'000, 'a'));
  id_of(cache, 1);
  EXPECT_EQ(loaded, 1);
}

TEST_F(DefinitionCacheTest, FindsDefinitionsForSeveralThreads) {
  for (uint32_t number = 1; number <= 20; ++number) store(number, fmt::format("{}", number));
  DefinitionCache cache(loader(), 20);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto view = Snapshot::take(*environment);
      for (uint32_t round = 0; round < 1'000; ++round) {
        const uint32_t number = 1 + round % 20;
        const auto found = cache.find_or_load(*view, revision(number));
        ASSERT_TRUE(found);
        EXPECT_EQ((*found)->id, fmt::format("{}", number));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace millrace
