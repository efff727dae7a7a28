#include "orchestrator/batch/event_start_id.h"

#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr std::string_view kKey = "0123456789abcdef";
const TimePoint kStamped = *parse_rfc3339("2024-01-01T00:00:00Z");

const Event& any_event() {
  static const Event event{.id = "1", .source = "/s", .type = "t"};
  return event;
}

AppliedEvent applied(uint64_t sequence, TimePoint stamped = kStamped) {
  return {.event = any_event(), .position = {1, sequence}, .stamped = stamped};
}

std::string id(std::string_view key, const AppliedEvent& by, uint32_t workflow = 1) {
  return to_string(event_start_id(key, by, WorkflowNumber(workflow)));
}

// A restored store must make the ids that the original made, also with a later build. Another
// program computed the expected ids from numbers in little-endian order.
TEST(EventStartId, IsTheSameInEveryBuildAndOnEveryMachine) {
  EXPECT_EQ(id("", applied(1)), "018cc251-f400-7001-a279-cf5796a17f82");
  EXPECT_EQ(id(kKey, applied(1)), "018cc251-f400-7001-bb28-6df9ab98508e");
  AppliedEvent other = applied(0x0102030405060708);
  other.stream_created = to_millis(kStamped) * 1'000'000;
  std::iota(other.known_as.begin(), other.known_as.end(), uint8_t{0});
  EXPECT_EQ(id("", other, 0x01020304), "018cc251-f400-7708-9fa2-a59ff96c4ccd");
  EXPECT_EQ(id(kKey, other, 0x01020304), "018cc251-f400-7708-8ca3-4d4ab4fae9d3");
}

TEST(EventStartId, DiffersIfAnotherEventOrAnotherWorkflowIsStarted) {
  const AppliedEvent first = applied(1);
  AppliedEvent another_stream = first;
  another_stream.stream_created = 1;
  AppliedEvent another_content = first;
  another_content.known_as[15] = 1;
  const std::set<std::string> ids = {id(kKey, first),
                                     id(kKey, applied(2)),
                                     id(kKey, applied(1 + 4'096)),
                                     id(kKey, applied(1, kStamped + Duration(1))),
                                     id(kKey, another_stream),
                                     id(kKey, another_content),
                                     id(kKey, first, 2),
                                     id("", first)};
  EXPECT_EQ(ids.size(), 8U);
}

TEST(EventStartId, DependsNeitherOnTheNumberOfTheStreamNorOnWhatTheStoreHas) {
  AppliedEvent numbered = applied(1);
  numbered.position.stream = 7;
  numbered.is_new = false;
  EXPECT_EQ(id(kKey, numbered), id(kKey, applied(1)));
}

TEST(EventStartId, SortsByTheStoredTimeAndThenByTheSequence) {
  EXPECT_LT(id(kKey, applied(1)), id(kKey, applied(2)));
  EXPECT_LT(id(kKey, applied(255)), id(kKey, applied(256)));
  EXPECT_LT(id(kKey, applied(2)), id(kKey, applied(1, kStamped + Duration(1))));
  EXPECT_EQ(time_of(event_start_id(kKey, applied(9), WorkflowNumber(1))), kStamped);
}

}  // namespace
}  // namespace millrace
