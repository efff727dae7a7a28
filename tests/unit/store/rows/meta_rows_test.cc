#include "orchestrator/store/rows/meta_rows.h"

#include <functional>
#include <limits>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/codec.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/stream_rows.h"
#include "tests/unit/store/recording_log.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

int pinned(Counter counter) {
  switch (counter) {
    case Counter::kNamespace:
      return 'a';
    case Counter::kWorkflow:
      return 'b';
    case Counter::kHistory:
      return 'c';
    case Counter::kOutbox:
      return 'd';
    case Counter::kDelayed:
      return 'e';
    case Counter::kGrouped:
      return 'f';
    case Counter::kKeptEvents:
      return 'g';
    case Counter::kInbox:
      return 'h';
    case Counter::kWebhook:
      return 'i';
    case Counter::kEffects:
      return 'j';
    case Counter::kSlots:
      return 'k';
  }
  return -1;
}

class MetaRows : public StoreTest {};

TEST_F(MetaRows, StoreTheCursorOfTheEventStream) {
  EXPECT_EQ(read_cursor(*tx).value(), Cursor{}) << "a new store has an empty cursor";
  const Cursor cursor{.stream_created = 1'234, .sequence = 77, .stamped = kNow};
  write_cursor(*tx, cursor);
  EXPECT_EQ(read_cursor(*tx).value(), cursor);
  expect_whole(encode(cursor), decode_cursor);
  expect_known_versions(encode(cursor), 1, decode_cursor);
}

TEST_F(MetaRows, HaveTheFormatAndARowThatOnlyTheKeyOfTheStoreOpens) {
  EXPECT_EQ(read_format(*tx).value(), std::nullopt) << "the store has no rows yet";
  EXPECT_EQ(read_key_row(*tx).value(), std::nullopt);
  ASSERT_TRUE(check_format(*tx));
  EXPECT_EQ(read_format(*tx).value(), kStoreFormat);
  const auto row = read_key_row(*tx).value();
  ASSERT_TRUE(row);
  EXPECT_TRUE(opens_key_row(tx->seal(), *row));
  EXPECT_FALSE(opens_key_row(Seal::make(), *row));
  EXPECT_FALSE(opens_key_row(tx->seal(), "x"));
}

TEST_F(MetaRows, NameADamagedCursorOfTheEventStreamInTheError) {
  tx->put(Table::kMeta, "cursor", "x");
  const auto read = read_cursor(*tx);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, kDamagedRow);
  EXPECT_NE(read.error().message.find("cursor"), std::string::npos) << read.error().message;
}

TEST_F(MetaRows, StoreTheEngineTimeUpToTheYear9999) {
  EXPECT_EQ(read_engine_time(*tx).value(), from_millis(0)) << "a new store has the engine time 0";
  write_engine_time(*tx, kNow);
  EXPECT_EQ(read_engine_time(*tx).value(), kNow);
  write_engine_time(*tx, kLastTime);
  EXPECT_EQ(read_engine_time(*tx).value(), kLastTime);
  write_engine_time(*tx, kLastTime + Duration(1));
  const auto read = read_engine_time(*tx);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, kDamagedRow);
}

TEST_F(MetaRows, GiveNumbersFromOneOnForEachCounter) {
  EXPECT_EQ(read_counter(*tx, Counter::kOutbox).value(), 0U);
  EXPECT_EQ(next_number(*tx, Counter::kOutbox).value(), 1U);
  write_counter(*tx, Counter::kOutbox, 41);
  EXPECT_EQ(read_counter(*tx, Counter::kOutbox).value(), 41U);
  EXPECT_EQ(next_number(*tx, Counter::kOutbox).value(), 42U);
  EXPECT_EQ(next_number(*tx, Counter::kHistory).value(), 1U);
}

TEST_F(MetaRows, AreReportedAsDamagedIfACounterHasReachedItsMaximum) {
  write_counter(*tx, Counter::kHistory, kMostNumber - 1);
  EXPECT_EQ(next_number(*tx, Counter::kHistory).value(), kMostNumber);
  write_counter(*tx, Counter::kHistory, kMostNumber);
  EXPECT_EQ(next_number(*tx, Counter::kHistory).error().code, kDamagedRow);
  write_counter(*tx, Counter::kHistory, kMostNumber + 1);
  EXPECT_EQ(read_counter(*tx, Counter::kHistory).error().code, kDamagedRow);
  for (const Counter counter : {Counter::kNamespace, Counter::kWorkflow}) {
    write_counter(*tx, counter, std::numeric_limits<uint32_t>::max());
    EXPECT_EQ(next_number(*tx, counter).error().code, kDamagedRow) << "the number has 32 bits";
  }
}

TEST_F(MetaRows, AreReportedAsDamagedIfACounterIsBelowTheNumberOfARow) {
  EXPECT_TRUE(check_counters(*tx));
  write_namespace(*tx, "shop", {.number = NamespaceNumber(3)});
  write_history(*tx, 9, {.ns = NamespaceNumber(3), .instance = id(1)});
  write_counter(*tx, Counter::kNamespace, 3);
  const Status behind = check_counters(*tx);
  ASSERT_FALSE(behind);
  EXPECT_EQ(behind.error().code, kDamagedRow);
  EXPECT_NE(behind.error().message.find("counter/c"), std::string::npos) << behind.error().message;
  write_counter(*tx, Counter::kHistory, 9);
  EXPECT_TRUE(check_counters(*tx));
}

TEST_F(MetaRows, HaveAFixedLetterForEachCounter) {
  std::set<char> letters;
  for (int letter = 0; letter < 128; ++letter) {
    if (pinned(static_cast<Counter>(letter)) < 0) continue;
    EXPECT_EQ(pinned(static_cast<Counter>(letter)), letter);
    write_counter(*tx, static_cast<Counter>(letter), 7);
    EXPECT_TRUE(tx->get(Table::kMeta, std::string("counter/") + static_cast<char>(letter)));
    letters.insert(static_cast<char>(letter));
  }
  EXPECT_EQ(std::string(letters.begin(), letters.end()), "abcdefghijk");
}

TEST_F(MetaRows, RefuseANewerFormat) {
  ASSERT_TRUE(check_format(*tx));
  Writer newer;
  newer.u64(kStoreFormat + 1);
  tx->put(Table::kMeta, "format", newer.take());
  EXPECT_EQ(check_format(*tx).error().code, "store.version");
}

TEST_F(MetaRows, ShowWithoutAWriteWhetherThisReleaseKnowsTheFormat) {
  EXPECT_TRUE(check_known_format(*tx)) << "the store has no rows yet";
  for (const uint64_t known : {uint64_t{1}, kStoreFormat}) {
    tx->put(Table::kMeta, "format", rows::key_of(known));
    EXPECT_TRUE(check_known_format(*tx)) << known;
  }
  tx->put(Table::kMeta, "minor", rows::key_of(kStoreMinor + 1));
  EXPECT_EQ(check_known_format(*tx).error().code, "store.version");
  tx->put(Table::kMeta, "format", rows::key_of(uint64_t{5}));
  EXPECT_EQ(check_known_format(*tx).error().code, "store.version") << "no older format has it";
  tx->erase(Table::kMeta, "minor");
  tx->put(Table::kMeta, "format", rows::key_of(kStoreFormat));
  tx->put(Table::kMeta, "log", "any");
  EXPECT_EQ(check_known_format(*tx).error().code, "store.cluster");
  tx->put(Table::kMeta, "loading", "any");
  EXPECT_EQ(check_known_format(*tx).error().code, "store.joining");
  tx->erase(Table::kMeta, "format");
  EXPECT_EQ(check_known_format(*tx).error().code, "store.joining") << "it may lack its format, too";
  tx->erase(Table::kMeta, "loading");
  tx->erase(Table::kMeta, "log");
  for (const uint64_t unknown : {uint64_t{0}, kStoreFormat + 1}) {
    tx->put(Table::kMeta, "format", rows::key_of(unknown));
    EXPECT_EQ(check_known_format(*tx).error().code, "store.version") << unknown;
  }
}

TEST_F(MetaRows, RefuseAHigherMinorNumberAndAStoreOfACluster) {
  ASSERT_TRUE(check_format(*tx));
  tx->put(Table::kMeta, "minor", rows::key_of(kStoreMinor + 1));
  const Status newer = check_format(*tx);
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, "store.version");
  EXPECT_NE(newer.error().message.find(
                fmt::format("format {0}.{1}, this release reads up to format {0}.{2}", kStoreFormat,
                            kStoreMinor + 1, kStoreMinor)),
            std::string::npos)
      << newer.error().message;
  tx->erase(Table::kMeta, "minor");
  EXPECT_TRUE(check_format(*tx));
  tx->put(Table::kMeta, "log", "any");
  EXPECT_EQ(check_format(*tx).error().code, "store.cluster");
  RecordingLog log;
  environment->lead(log);
  EXPECT_TRUE(check_format(*tx)) << "the process belongs to the cluster, too";
  tx->put(Table::kMeta, "loading", "any");
  EXPECT_EQ(check_format(*tx).error().code, "store.joining")
      << "no engine runs on a part of a store";
}

TEST_F(MetaRows, RaiseALowerMinorNumber) {
  ASSERT_TRUE(check_format(*tx));
  EXPECT_EQ(tx->get(Table::kMeta, "minor"), rows::key_of(kStoreMinor)) << "a new store";
  EXPECT_FALSE(is_index_incomplete(*tx));
  for (const uint64_t lower : {0, 1}) {
    tx->put(Table::kMeta, "minor", rows::key_of(lower));
    tx->erase(Table::kMeta, "index");
    ASSERT_TRUE(check_format(*tx));
    EXPECT_EQ(tx->get(Table::kMeta, "minor"), rows::key_of(kStoreMinor));
    EXPECT_TRUE(is_index_incomplete(*tx)) << "the sizes of the counted rows are missing";
  }
  for (uint64_t lower = kMinorOfCountedRows; lower < kStoreMinor; ++lower) {
    tx->put(Table::kMeta, "minor", rows::key_of(lower));
    tx->erase(Table::kMeta, "index");
    ASSERT_TRUE(check_format(*tx));
    EXPECT_EQ(tx->get(Table::kMeta, "minor"), rows::key_of(kStoreMinor));
    EXPECT_FALSE(is_index_incomplete(*tx)) << lower;
  }
}

TEST_F(MetaRows, RequestTheIndexOfAnOlderFormatAndGiveItsStreamANumber) {
  ASSERT_TRUE(check_format(*tx));
  EXPECT_FALSE(is_index_incomplete(*tx)) << "a new store has an empty index, which is complete";
  tx->put(Table::kMeta, "format", rows::key_of(uint64_t{5}));
  write_cursor(*tx, {.stream_created = 1'234, .sequence = 77, .stamped = kNow});
  commit();
  ASSERT_TRUE(check_format(*tx));
  EXPECT_TRUE(is_index_incomplete(*tx));
  EXPECT_EQ(find_stream(*tx, 1'234), 1U);
  EXPECT_EQ(*tx->get(Table::kMeta, "format"), rows::key_of(kStoreFormat));
}

TEST_F(MetaRows, KeepTheKeyOfAnOlderFormat) {
  ASSERT_TRUE(check_format(*tx));
  tx->put(Table::kMeta, "format", rows::key_of(uint64_t{4}));
  tx->put(Table::kMeta, "seal", "\xff of another key");
  commit();
  EXPECT_EQ(check_format(*tx).error().code, "store.key");
}

TEST_F(MetaRows, AreReportedAsDamagedIfThereAreNamespacesButNoFormat) {
  write_namespace(*tx, "shop", {.number = NamespaceNumber(3)});
  EXPECT_EQ(check_format(*tx).error().code, kDamagedRow);
}

TEST_F(MetaRows, AreReportedAsDamagedIfAnyCounterIsBelowTheHighestNumberOfItsRows) {
  const auto number_rows = [&](Table table) {
    return [this, table] {
      for (const uint64_t number : {3, 9}) tx->put(table, rows::key_of(number), "");
    };
  };
  // Where a key does not begin with the number, the highest number is not in the last row.
  const struct {
    Counter counter;
    std::function<void()> write;
  } cases[] = {
      {Counter::kNamespace,
       [&] {
         write_namespace(*tx, "shop", {.number = NamespaceNumber(9)});
         write_namespace(*tx, "stock", {.number = NamespaceNumber(3)});
       }},
      {Counter::kWorkflow,
       [&] {
         write_workflow(*tx, NamespaceNumber(1), "pay", {.number = WorkflowNumber(9)});
         write_workflow(*tx, NamespaceNumber(2), "pay", {.number = WorkflowNumber(3)});
       }},
      {Counter::kHistory, number_rows(Table::kHistory)},
      {Counter::kOutbox, number_rows(Table::kOutbox)},
      {Counter::kDelayed, number_rows(Table::kDelayed)},
      {Counter::kGrouped,
       [&] {
         write_grouped(*tx, {.queue = {.workflow = WorkflowNumber(1)}, .number = 9});
         write_grouped(*tx, {.queue = {.workflow = WorkflowNumber(2)}, .number = 3});
       }},
      {Counter::kKeptEvents,
       [&] {
         write_kept_event(*tx, {.ns = NamespaceNumber(1), .number = 9}, {});
         write_kept_event(*tx, {.ns = NamespaceNumber(2), .number = 3}, {});
       }},
      {Counter::kInbox, number_rows(Table::kInbox)},
      {Counter::kWebhook, number_rows(Table::kWebhooks)},
  };
  for (const auto& [counter, write] : cases) {
    const std::string name = std::string("counter/") + static_cast<char>(counter);
    SCOPED_TRACE(name);
    write();
    write_counter(*tx, counter, 8);
    const Status behind = check_counters(*tx);
    ASSERT_FALSE(behind) << "the number 9 would be assigned again";
    EXPECT_EQ(behind.error().code, kDamagedRow);
    EXPECT_NE(behind.error().message.find(name), std::string::npos) << behind.error().message;
    write_counter(*tx, counter, 9);
    EXPECT_TRUE(check_counters(*tx));
    tx->drop();
  }
}

TEST(NewStore, IsNotOpenedIfItsFormatCannotBeWritten) {
  const Folder folder;
  const auto environment =
      Environment::open(folder.path(), {.fails_commit = [] { return true; }}).value();
  Transaction tx(*environment);
  const Status checked = check_format(tx);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, "store.io");
}

}  // namespace
}  // namespace millrace
