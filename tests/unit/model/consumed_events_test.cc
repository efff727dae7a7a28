#include "model/consumed_events.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace {
namespace {

Fingerprint known_as(uint64_t number) { return fingerprint({std::to_string(number)}); }

TEST(ConsumedEvents, AreKeptInTheOrderInWhichTheyWereTaken) {
  ConsumedEvents consumed;
  EXPECT_TRUE(consumed.empty());
  consumed.add({.stream = 1, .sequence = 9}, known_as(9));
  consumed.add({.stream = 1, .sequence = 4}, known_as(4));
  const std::vector<ConsumedEvent> both = {{9, known_as(9)}, {4, known_as(4)}};
  EXPECT_EQ(consumed.events, both);
  EXPECT_EQ(consumed.stream, 1U);
  EXPECT_EQ(consumed.forgotten, 0U);
}

TEST(ConsumedEvents, HaveEachEventThatIsRemembered) {
  ConsumedEvents consumed;
  EXPECT_FALSE(consumed.has(known_as(1)));
  consumed.add({.stream = 1, .sequence = 7}, known_as(1));
  EXPECT_TRUE(consumed.has(known_as(1)));
  EXPECT_FALSE(consumed.has(known_as(2)));
}

TEST(ConsumedEvents, AnEventWithoutAPositionIsNotRemembered) {
  ConsumedEvents consumed;
  consumed.add({}, known_as(1));
  EXPECT_EQ(consumed, ConsumedEvents());
}

TEST(ConsumedEvents, BeyondTheLimitTheLowestSequenceIsForgotten) {
  ConsumedEvents consumed;
  consumed.add({.stream = 1, .sequence = 7}, known_as(7));
  consumed.add({.stream = 1, .sequence = 3}, known_as(3));
  for (uint64_t i = 2; i < ConsumedEvents::kMost; ++i) {
    consumed.add({.stream = 1, .sequence = 100 + i}, known_as(i));
  }
  ASSERT_EQ(consumed.events.size(), ConsumedEvents::kMost);
  EXPECT_EQ(consumed.forgotten, 0U);
  consumed.add({.stream = 1, .sequence = 1'000}, known_as(1'000));
  EXPECT_EQ(consumed.forgotten, 3U);
  consumed.add({.stream = 1, .sequence = 1'001}, known_as(1'001));
  EXPECT_EQ(consumed.forgotten, 7U);
  EXPECT_EQ(consumed.events.size(), ConsumedEvents::kMost);
  EXPECT_EQ(consumed.events.back(), (ConsumedEvent{1'001, known_as(1'001)}));
}

TEST(ConsumedEvents, ThoseOfAnotherStreamAreForgotten) {
  ConsumedEvents consumed;
  consumed.add({.stream = 1, .sequence = 7}, known_as(7));
  consumed.add({.stream = 2, .sequence = 1}, known_as(1));
  EXPECT_EQ(consumed, (ConsumedEvents{.stream = 2, .events = {{1, known_as(1)}}}));
}

}  // namespace
}  // namespace millrace
