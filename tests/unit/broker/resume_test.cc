#include "broker/resume.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(ResumePoint, IsDerivedFromTheCursorAndTheStateOfTheStream) {
  const TimePoint then = from_millis(5000);
  const TimePoint other = from_millis(5001);
  using Kind = BrokerLoss::Kind;
  const auto dropped = [](uint64_t first, uint64_t last) {
    return BrokerLoss{Kind::kDropped, first, last};
  };
  const auto tail = [](uint64_t first, uint64_t last) {
    return BrokerLoss{Kind::kTail, first, last};
  };
  const auto recreated = [](uint64_t last) { return BrokerLoss{Kind::kStream, last, last}; };
  const struct {
    const char* name;
    Cursor cursor;
    StreamState stream;
    std::optional<TimePoint> stamped;
    ResumePoint expected;
  } rows[] = {
      {"nothing was applied yet", {}, {7, 1, 9}, {}, {1}},
      {"nothing was applied yet, the oldest messages are gone", {}, {7, 4, 9}, {}, {4}},
      {"the stream is empty", {7, 0, {}}, {7, 1, 0}, {}, {1}},
      {"the oldest messages were dropped before any was applied",
       {7, 0, {}},
       {7, 4, 9},
       {},
       {4, {}, dropped(1, 3)}},
      {"the stream still has the next message", {7, 5, then}, {7, 1, 9}, then, {6}},
      {"all messages were applied", {7, 9, then}, {7, 1, 9}, then, {10}},
      {"the cursor's message was deleted by hand", {7, 5, then}, {7, 1, 9}, {}, {6}},
      {"the cursor's message was dropped by age", {7, 5, then}, {7, 6, 9}, {}, {6}},
      {"messages after the cursor were dropped",
       {7, 5, then},
       {7, 8, 9},
       {},
       {8, {}, dropped(6, 7)}},
      {"all messages were dropped", {7, 5, then}, {7, 10, 9}, {}, {10, {}, dropped(6, 9)}},
      {"all applied messages were dropped", {7, 9, then}, {7, 10, 9}, {}, {10}},
      {"another stream exists", {6, 5, then}, {7, 1, 9}, {}, {1, {}, recreated(5)}},
      {"another stream exists, its oldest messages are gone",
       {6, 5, then},
       {7, 3, 9},
       {},
       {3, {}, recreated(5)}},
      {"the tail was lost", {7, 12, then}, {7, 1, 9}, {}, {1, then, tail(1, 12)}},
      {"the tail was lost and written again",
       {7, 5, then},
       {7, 1, 9},
       other,
       {1, then, tail(1, 5)}},
      {"the tail was lost before any message was applied",
       {7, 12, {}},
       {7, 3, 9},
       {},
       {3, {}, tail(3, 12)}},
      {"the whole stream was lost", {7, 12, then}, {7, 1, 0}, {}, {1, then, tail(1, 12)}},
  };
  for (const auto& row : rows) {
    const ResumePoint point = resume_point(row.cursor, row.stream, row.stamped);
    EXPECT_EQ(point.sequence, row.expected.sequence) << row.name;
    EXPECT_EQ(point.since, row.expected.since) << row.name;
    EXPECT_EQ(point.loss, row.expected.loss) << row.name;
  }
}

TEST(ResumePoint, KeepsTheTimeOfTheCursorUnlessTheStreamIsAnotherOne) {
  const TimePoint then = from_millis(5000);
  EXPECT_EQ(position_at({.sequence = 8}, {7, 5, then}, {7, 8, 9}), (Cursor{7, 7, then}));
  EXPECT_EQ(position_at({.sequence = 1}, {6, 5, then}, {7, 1, 9}), (Cursor{7, 0, {}}));
}

TEST(ResumePoint, AsksForTheTimeOfTheMessageAtTheCursorOnlyIfTheMessageMayExist) {
  EXPECT_TRUE(must_ask_for_stamp({7, 5, {}}, {7, 1, 9}));
  EXPECT_TRUE(must_ask_for_stamp({7, 9, {}}, {7, 9, 9}));
  EXPECT_FALSE(must_ask_for_stamp({6, 5, {}}, {7, 1, 9})) << "the cursor is of another stream";
  EXPECT_FALSE(must_ask_for_stamp({7, 0, {}}, {7, 0, 9})) << "no message was applied";
  EXPECT_FALSE(must_ask_for_stamp({7, 10, {}}, {7, 1, 9}))
      << "the cursor is beyond the end of the stream";
  EXPECT_FALSE(must_ask_for_stamp({7, 5, {}}, {7, 6, 9}))
      << "the message at the cursor was deleted";
}

}  // namespace
}  // namespace millrace
