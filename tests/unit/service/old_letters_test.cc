// find_old_letters(): up to which sequence the dead letters of a namespace are old.
#include "orchestrator/service/old_letters.h"

#include <chrono>

#include <gtest/gtest.h>

#include "tests/unit/service/fake_dead_letter_queue.h"

namespace millrace {
namespace {

constexpr Duration kDay = std::chrono::hours(24);
const Span kOneDay{.fixed = kDay};

class OldLettersTest : public testing::Test {
 protected:
  std::optional<OldLetters> find(const Span& age, uint64_t most) {
    const auto found = find_old_letters(queue, "shop", age, now, most);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(std::nullopt);
  }

  TimePoint now = parse_rfc3339("2021-09-01T12:00:00Z").value();
  FakeDeadLetterQueue queue;
};

TEST_F(OldLettersTest, AreThoseThatTheBrokerStoredAtLeastThatLongAgo) {
  queue.add("shop", now - kDay - Duration(1));
  queue.add("shop", now - kDay);
  queue.add("shop", now - kDay + Duration(1));
  const auto found = find(kOneDay, 100);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->before, 3U);
  EXPECT_FALSE(found->has_more);
}

TEST_F(OldLettersTest, AreNoneIfTheFirstIsYoungOrThereIsNone) {
  EXPECT_FALSE(find(kOneDay, 100));
  queue.add("other", now - 2 * kDay);
  EXPECT_FALSE(find(kOneDay, 100)) << "the dead letter belongs to another namespace";
  queue.add("shop", now - kDay + Duration(1));
  queue.requests.clear();
  EXPECT_FALSE(find(kOneDay, 100));
  EXPECT_EQ(queue.requests.size(), 1U);
}

/// Deletes what find_old_letters() finds, until it finds no more. Expects that each portion has old
/// dead letters only, and not too many.
void delete_portions_of(FakeDeadLetterQueue& queue, TimePoint now, uint64_t most, uint64_t old) {
  uint64_t deleted = 0;
  bool has_more = true;
  while (has_more) {
    const auto found = find_old_letters(queue, "shop", kOneDay, now, most);
    ASSERT_TRUE(found) << found.error().message;
    if (!*found) break;
    const uint64_t portion = queue.delete_before("shop", (*found)->before).value();
    ASSERT_GT(portion, 0U);
    EXPECT_LE(portion, most);
    deleted += portion;
    has_more = (*found)->has_more;
  }
  EXPECT_EQ(deleted, old);
}

TEST_F(OldLettersTest, AreAllFoundInPortionsForAnyNumbersAndGaps) {
  for (const uint64_t most : {1, 2, 3, 7, 64}) {
    for (uint64_t gap = 0; gap < 4; ++gap) {
      for (uint64_t old = 0; old <= 12; ++old) {
        SCOPED_TRACE(testing::Message() << most << " " << gap << " " << old);
        queue = {};
        for (uint64_t i = 0; i < 12; ++i) {
          const TimePoint stored_at = i < old ? now - kDay : now;
          for (uint64_t j = 0; j < gap; ++j) queue.add("other", stored_at);
          queue.add("shop", stored_at);
        }
        delete_portions_of(queue, now, most, old);
        EXPECT_EQ(queue.sequences("shop").size(), 12 - old);
        EXPECT_EQ(queue.sequences("other").size(), 12 * gap);
      }
    }
  }
}

TEST_F(OldLettersTest, AreFoundAmongAMillionWithFewRequests) {
  constexpr uint64_t kMillion = 1'000'000;
  for (uint64_t i = 0; i < kMillion; ++i) {
    queue.add("shop", now - kDay + Duration(i < kMillion - 5 ? 0 : 1));
  }
  const auto found = find(kOneDay, 2 * kMillion);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->before, kMillion - 4);
  EXPECT_LE(queue.requests.size(), 3 + 21U);
  queue.requests.clear();
  const auto portion = find(kOneDay, 5'000);
  ASSERT_TRUE(portion);
  EXPECT_EQ(portion->before, 5'001U);
  EXPECT_TRUE(portion->has_more);
  EXPECT_EQ(queue.requests.size(), 2U);
}

TEST_F(OldLettersTest, CountAnAgeWithMonthsFromTheEndOfTheDay) {
  const Span month{.months = 1};
  queue.add("shop", parse_rfc3339("2021-01-30T12:00:00Z").value());
  queue.add("shop", parse_rfc3339("2021-01-31T11:00:00Z").value());
  now = parse_rfc3339("2021-02-28T23:59:59.999Z").value();
  EXPECT_FALSE(find(month, 100));
  now += Duration(1);
  const auto found = find(month, 100);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->before, 3U);
}

TEST_F(OldLettersTest, AreNotFoundIfARequestFails) {
  for (int i = 0; i < 20; ++i) queue.add("shop", now - (i < 9 ? kDay : Duration(0)));
  ASSERT_TRUE(find(kOneDay, 16));
  const size_t all = queue.requests.size();
  for (size_t nth = 1; nth <= all; ++nth) {
    queue.requests.clear();
    queue.errors.clear();
    queue.on_request = [&] {
      if (queue.requests.size() == nth) queue.errors["shop"] = {"broker.timeout", "no answer"};
    };
    const auto found = find_old_letters(queue, "shop", kOneDay, now, 16);
    ASSERT_FALSE(found) << nth;
    EXPECT_EQ(found.error().code, "broker.timeout");
  }
}

}  // namespace
}  // namespace millrace
