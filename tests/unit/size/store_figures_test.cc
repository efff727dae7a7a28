// Store figures: the sizes of the files, and the instances of each namespace.
#include "orchestrator/size/store_figures.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "orchestrator/archive/archive_files.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

using testing::SizeIs;

constexpr NamespaceNumber kDefault{1};
constexpr NamespaceNumber kShop{2};
const TimePoint kEarly = from_millis(1'630'497'600'000);
const TimePoint kLate = from_millis(1'630'497'700'000);

class StoreFiguresTest : public StoreTest {
 protected:
  StoreFiguresTest() {
    EXPECT_TRUE(check_format(*tx));
    write_namespace(*tx, "default", {.number = kDefault, .created_at = kEarly});
    write_namespace(*tx, "shop", {.number = kShop, .created_at = kEarly});
    commit();
  }

  StoreFigures figures() const {
    auto read = read_figures(*environment);
    EXPECT_TRUE(read) << read.error().message;
    return read.value_or(StoreFigures());
  }
  void set_usage(NamespaceNumber ns, const Usage& usage) {
    tx->put(Table::kUsage, rows::ns_prefix(ns), encode(usage));
    commit();
  }
  static std::string head_key(NamespaceNumber ns, TimePoint started) {
    return rows::instance_prefix(ns, make_instance_id(started, {1, 2, 3})) + '\0';
  }
  void add_ended(NamespaceNumber ns, TimePoint started) {
    tx->put(Table::kEnded, head_key(ns, started), "a head");
    commit();
  }
};

TEST_F(StoreFiguresTest, HaveTheSizeOfTheStore) {
  const StoreSize size = environment->size().value();
  EXPECT_EQ(figures().size.data_bytes, size.data_bytes);
  EXPECT_EQ(figures().size.waiting_rows, size.waiting_rows);
  EXPECT_EQ(figures().size.waiting_bytes, size.waiting_bytes);
  EXPECT_GT(size.waiting_rows, 0U);
}

TEST_F(StoreFiguresTest, HaveTheSizeOfTheArchive) {
  EXPECT_EQ(figures().archive_bytes, 0U);
  const std::filesystem::path shop = environment->folder() / kArchiveFolder / "shop.2";
  std::filesystem::create_directories(shop);
  std::ofstream(shop / "000001.jsonl") << "12345";
  EXPECT_EQ(figures().archive_bytes, 5U);
}

TEST_F(StoreFiguresTest, HaveTheUsageOfEachNamespace) {
  const Usage usage{
      .live = 3, .ended = 4, .row_bytes = 500, .history_bytes = 60, .counted_bytes = 7};
  set_usage(kShop, usage);
  const StoreFigures found = figures();
  ASSERT_TRUE(found.namespaces);
  ASSERT_THAT(*found.namespaces, SizeIs(2));
  EXPECT_EQ(found.namespaces->at(0).ns, "default");
  EXPECT_EQ(found.namespaces->at(0).usage, Usage{});
  EXPECT_EQ(found.namespaces->at(1).ns, "shop");
  EXPECT_EQ(found.namespaces->at(1).usage, usage);
}

TEST_F(StoreFiguresTest, AreRefusedForAStoreOfALaterReleaseOrThatLacksRows) {
  const struct {
    const char* key;
    std::string value;
    const char* code;
  } cases[] = {{"minor", rows::key_of(kStoreMinor + 1), "store.version"},
               {"loading", "any", "store.joining"}};
  for (const auto& one : cases) {
    tx->put(Table::kMeta, one.key, one.value);
    commit();
    const auto read = read_figures(*environment);
    ASSERT_FALSE(read) << one.key;
    EXPECT_EQ(read.error().code, one.code);
    tx->erase(Table::kMeta, one.key);
  }
}

TEST_F(StoreFiguresTest, AreThoseOfTheStoreOfANode) {
  tx->put(Table::kMeta, "log", "any");
  commit();
  const auto read = read_figures(*environment);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->namespaces);
}

TEST_F(StoreFiguresTest, LeaveOutANamespaceWhoseUsageIsDamaged) {
  tx->put(Table::kUsage, rows::ns_prefix(kDefault), "damaged");
  commit();
  const StoreFigures found = figures();
  ASSERT_TRUE(found.namespaces);
  ASSERT_THAT(*found.namespaces, SizeIs(1));
  EXPECT_EQ(found.namespaces->at(0).ns, "shop");
}

TEST_F(StoreFiguresTest, HaveNoUsageWhileTheIndexIsIncomplete) {
  request_index_build(*tx);
  commit();
  EXPECT_FALSE(figures().namespaces);
  while (is_index_incomplete(*tx)) {
    ASSERT_TRUE(build_index_step(*tx, 100, nullptr));
    commit();
  }
  EXPECT_TRUE(figures().namespaces);
  tx->put(Table::kMeta, kFormatKey, rows::key_of(uint64_t{5}));
  commit();
  EXPECT_FALSE(figures().namespaces) << "format 5 has no index";
}

TEST_F(StoreFiguresTest, HaveTheStartOfTheOldestEndedInstanceOfEachAndOfAllNamespaces) {
  EXPECT_EQ(figures().oldest_ended, std::nullopt);
  add_ended(kDefault, kLate);
  EXPECT_EQ(figures().oldest_ended, kLate);
  EXPECT_EQ(figures().namespaces->at(1).oldest_ended, std::nullopt);
  add_ended(kShop, kEarly);
  EXPECT_EQ(figures().oldest_ended, kEarly);
  EXPECT_EQ(figures().namespaces->at(0).oldest_ended, kLate);
  EXPECT_EQ(figures().namespaces->at(1).oldest_ended, kEarly);
  ASSERT_TRUE(environment->checkpoint());
  EXPECT_EQ(figures().oldest_ended, kEarly);
  tx->erase(Table::kEnded, head_key(kShop, kEarly));
  commit();
  EXPECT_EQ(figures().oldest_ended, kLate) << "the older one was deleted";
}

TEST_F(StoreFiguresTest, AreReadFromAFolderThatIsOpenReadOnly) {
  set_usage(kShop, {.live = 3});
  add_ended(kShop, kEarly);
  const uint64_t waiting = figures().size.waiting_rows;
  tx.reset();
  environment = nullptr;
  environment = Environment::open(folder.path(), {.read_only = true}).value();
  const StoreFigures found = figures();
  EXPECT_EQ(found.oldest_ended, kEarly);
  EXPECT_EQ(found.namespaces->at(1).usage.live, 3U);
  EXPECT_GT(found.size.used_bytes, 0U) << "closing the store made a checkpoint";
  EXPECT_LT(found.size.waiting_rows, waiting);
}

TEST_F(StoreFiguresTest, FailIfTheStoreCannotBeRead) {
  tx->put(Table::kNamespaces, "damaged", "damaged");
  commit();
  const auto failed = read_figures(*environment);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, kDamagedRow);
}

TEST(StoreFigures, HaveAJsonForm) {
  StoreFigures figures{.size = {.data_bytes = 1,
                                .used_bytes = 2,
                                .free_bytes = 3,
                                .journal_bytes = 4,
                                .waiting_rows = 5,
                                .waiting_bytes = 6}};
  const Json sizes = {{"dataBytes", 1},    {"usedBytes", 2},   {"freeBytes", 3},
                      {"journalBytes", 4}, {"waitingRows", 5}, {"waitingBytes", 6}};
  EXPECT_EQ(to_json(figures), sizes);
  figures.archive_bytes = 7;
  figures.checkpoint_rate = 10;
  figures.oldest_ended = kEarly;
  NamespaceUsage shop{.ns = "shop"};
  shop.usage = {.live = 6, .ended = 7, .row_bytes = 8, .history_bytes = 9, .counted_bytes = 10};
  figures.namespaces = std::vector<NamespaceUsage>{shop};
  Json whole = sizes;
  whole["archiveBytes"] = 7;
  whole["checkpointBytesPerSecond"] = 10;
  whole["oldestEnded"] = "2021-09-01T12:00:00.000Z";
  whole["namespaces"] = Json::array({{{"namespace", "shop"},
                                      {"live", 6},
                                      {"ended", 7},
                                      {"rowBytes", 8},
                                      {"historyBytes", 9},
                                      {"otherBytes", 10}}});
  EXPECT_EQ(to_json(figures), whole);
  figures.namespaces->at(0).oldest_ended = kEarly;
  whole["namespaces"][0]["oldestEnded"] = "2021-09-01T12:00:00.000Z";
  EXPECT_EQ(to_json(figures), whole);
}

}  // namespace
}  // namespace millrace
