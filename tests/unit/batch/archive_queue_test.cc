// ArchiveQueue: pages of instances that are collected, written and deleted, one page after the
// other; and the namespaces that wait because a page of theirs could not be written.
#include "orchestrator/batch/archive_queue.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/support/catalog_store.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::SizeIs;

constexpr NamespaceNumber kShop{3};
constexpr NamespaceNumber kOther{4};

class ArchiveQueueTest : public testing::Test {
 protected:
  ArchiveQueueTest() { batches.begin(); }

  void add(uint8_t number, NamespaceNumber ns = kShop) {
    queue.add({.id = numbered_id(number),
               .ns = ns,
               .status = InstanceStatus::kFailed,
               .last_history = number},
              DeletionReason::kRetention);
  }
  void commit() { batches.begin(); }
  /// The length behind the line of each instance of the page that is being written.
  static ArchivedPage written(uint64_t number, std::vector<std::optional<uint64_t>> lengths) {
    return {.number = number, .lengths = std::move(lengths)};
  }
  static ArchivedPage failed(uint64_t number, std::string_view code) {
    return {.number = number, .lengths = fail(std::string(code), "it cannot be written")};
  }

  TimePoint now{Duration(1'000'000)};
  BatchCount batches;
  ArchiveQueue queue{batches};
};

TEST_F(ArchiveQueueTest, CollectsAPageThenDeletesItsInstancesThenIsFree) {
  EXPECT_TRUE(queue.is_free());
  EXPECT_FALSE(queue.has_page());
  add(1);
  add(2);
  EXPECT_FALSE(queue.is_free());
  ASSERT_TRUE(queue.has_page());
  const ArchivePage page = queue.take_page(4);
  EXPECT_EQ(page.ns, kShop);
  ASSERT_THAT(page.entries, SizeIs(2));
  EXPECT_EQ(page.entries[1].id, numbered_id(2));
  EXPECT_EQ(page.entries[1].last_history, 2U);
  EXPECT_FALSE(queue.has_page()) << "it is being written";
  EXPECT_EQ(queue.next(), nullptr);

  EXPECT_EQ(queue.apply(written(page.number, {10, std::nullopt}), now), PageEnd::kWritten);
  ASSERT_NE(queue.next(), nullptr);
  EXPECT_EQ(queue.file(), 4U);
  EXPECT_EQ(queue.next()->id, numbered_id(1));
  EXPECT_EQ(queue.next()->status, InstanceStatus::kFailed);
  EXPECT_EQ(queue.next()->length, 10U);
  queue.pop();
  EXPECT_EQ(queue.next()->length, std::nullopt);
  EXPECT_FALSE(queue.is_free());
  queue.pop();
  EXPECT_EQ(queue.next(), nullptr);
  EXPECT_TRUE(queue.is_free());
}

TEST_F(ArchiveQueueTest, DropsAPageThatFailedAndOnlyItsNamespaceWaits) {
  add(1);
  const uint64_t number = queue.take_page(1).number;
  EXPECT_EQ(queue.failed_page(kShop), 0U);
  EXPECT_EQ(queue.apply(failed(number, "archive.write"), now), PageEnd::kFailed);
  EXPECT_TRUE(queue.is_free()) << "other namespaces go on";
  EXPECT_TRUE(queue.is_failing(kShop));
  EXPECT_FALSE(queue.is_failing(kOther));
  EXPECT_EQ(queue.failed_page(kShop), number);
  EXPECT_EQ(queue.failed_page(kOther), 0U);

  const TimePoint retry_at = now + seconds(50);
  EXPECT_EQ(queue.retry_at(), retry_at);
  queue.end_waits(retry_at - Duration(1));
  EXPECT_TRUE(queue.is_failing(kShop));
  queue.end_waits(retry_at);
  EXPECT_FALSE(queue.is_failing(kShop));
  EXPECT_EQ(queue.retry_at(), std::nullopt);
  EXPECT_EQ(queue.failed_page(kShop), number) << "its instances must still be added again";
}

TEST_F(ArchiveQueueTest, GoesOnWithTheFirstOfSeveralNamespacesThatWait) {
  add(1, kShop);
  queue.apply(failed(queue.take_page(1).number, "archive.write"), now + seconds(2));
  add(2, kOther);
  queue.apply(failed(queue.take_page(1).number, "archive.write"), now);
  EXPECT_EQ(queue.retry_at(), now + seconds(50));
  queue.end_waits(now + seconds(51));
  EXPECT_TRUE(queue.is_failing(kShop));
  EXPECT_FALSE(queue.is_failing(kOther));
  EXPECT_EQ(queue.retry_at(), now + seconds(52));
}

TEST_F(ArchiveQueueTest, AppliesTheFailureOfAPageAgainIfTheBatchIsLost) {
  add(1);
  const uint64_t number = queue.take_page(1).number;
  commit();
  EXPECT_EQ(queue.apply(failed(number, "archive.write"), now), PageEnd::kFailed);
  queue.undo();
  EXPECT_FALSE(queue.is_free()) << "the page is still being written";
  EXPECT_EQ(queue.apply(failed(number, "archive.write"), now), PageEnd::kFailed);
  EXPECT_TRUE(queue.is_free());
}

TEST_F(ArchiveQueueTest, WritesAPageToANewFileAtOnceIfItsFileWasChanged) {
  add(1);
  EXPECT_EQ(queue.apply(failed(queue.take_page(1).number, kArchiveMoved), now), PageEnd::kNothing);
  EXPECT_TRUE(queue.needs_new_file());
  EXPECT_FALSE(queue.is_failing(kShop));
  ASSERT_TRUE(queue.has_page());
  const ArchivePage again = queue.take_page(2);
  EXPECT_FALSE(queue.needs_new_file());
  EXPECT_EQ(queue.apply(written(again.number, {10}), now), PageEnd::kWritten);
  EXPECT_EQ(queue.file(), 2U);
}

TEST_F(ArchiveQueueTest, IgnoresTheResultOfAPageOfEarlierMemory) {
  add(1);
  const uint64_t old = queue.take_page(1).number;
  queue.clear();
  EXPECT_EQ(queue.apply(written(old, {10}), now), PageEnd::kNothing);
  EXPECT_TRUE(queue.is_free());
  add(2);
  EXPECT_NE(queue.take_page(1).number, old);
  EXPECT_EQ(queue.apply(failed(old, "archive.write"), now), PageEnd::kNothing);
  EXPECT_FALSE(queue.is_failing(kShop));
  EXPECT_EQ(queue.next(), nullptr);
}

TEST_F(ArchiveQueueTest, ReturnsToTheLastCommitIfABatchIsLost) {
  add(1);
  queue.undo();
  EXPECT_TRUE(queue.is_free());
  add(1);
  const uint64_t number = queue.take_page(1).number;
  commit();
  EXPECT_EQ(queue.apply(written(number, {10}), now), PageEnd::kWritten);
  queue.pop();
  EXPECT_TRUE(queue.is_free());
  queue.undo();
  EXPECT_FALSE(queue.is_free());
  EXPECT_EQ(queue.apply(written(number, {10}), now), PageEnd::kWritten) << "it is applied again";
  ASSERT_NE(queue.next(), nullptr);
  EXPECT_EQ(queue.next()->id, numbered_id(1));
}

TEST_F(ArchiveQueueTest, IsFullAtAThousandInstances) {
  for (int i = 0; i < 999; ++i) add(1);
  EXPECT_FALSE(queue.is_full());
  add(1);
  EXPECT_TRUE(queue.is_full());
}

}  // namespace
}  // namespace millrace
