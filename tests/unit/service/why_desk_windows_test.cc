// LocalWhyDesk: which part of the event stream an answer about an instance looks at.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/service/why_desk_fixture.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class WindowsWhyTest : public LocalWhyDeskTest {
 protected:
  static std::vector<uint64_t> sequences(const Json& answer) {
    std::vector<uint64_t> all;
    for (const Json& event : answer["events"]) all.push_back(event["sequence"].get<uint64_t>());
    return all;
  }
};

TEST_F(WindowsWhyTest, ReachAnEventBehindManyOthersOfItsType) {
  const WorkflowNumber order = apply(kOrder);
  send(R"(,"orderid":"O-1")");
  for (int i = 0; i < 200; ++i) send(R"(,"orderid":"x")");
  apply_event(201);
  add(waiting(order, 1, "o-1"));
  const Json newest = of_instance(1);
  EXPECT_EQ(newest["of"], 200);
  EXPECT_EQ(newest["complete"], false);
  EXPECT_EQ(newest["next"], "2");
  EXPECT_EQ(newest["lookedFrom"], format_rfc3339(clock.time - seconds(199)));
  const Json older = of_instance(1, std::nullopt, {.window = {.before = 2}});
  EXPECT_THAT(sequences(older), ElementsAre(1));
  EXPECT_EQ(older["events"][0]["predicates"][0]["hint"], "case");
  EXPECT_EQ(older["next"], nullptr);
  EXPECT_EQ(older["complete"], true);
  const Json one = of_instance(1, 1);
  EXPECT_FALSE(one.contains("next"));
  EXPECT_FALSE(one.contains("lookedFrom"));
}

TEST_F(WindowsWhyTest, JudgeTheEventsOfAWindowOfTime) {
  const WorkflowNumber order = apply(kOrder);
  for (int i = 0; i < 5; ++i) send(R"(,"orderid":"x")");
  apply_event(5);
  add(waiting(order, 1, "o-1"));
  const TimePoint last = clock.time;  // the event 5, and one in each second before
  struct Row {
    const char* what;
    WhyWindow window;
    std::vector<uint64_t> sequences;
  };
  const Row rows[] = {
      {"since", {.since = last - seconds(1)}, {5, 4}},
      {"until", {.until = last - seconds(3)}, {1}},
      {"both", {.since = last - seconds(3), .until = last - seconds(1)}, {3, 2}},
      {"until and a cursor", {.before = 2, .until = last}, {1}},
      {"a cursor before until", {.before = 5, .until = last - seconds(2)}, {2, 1}},
      {"a cursor at the begin, and until", {.before = 1, .until = last}, {}},
      {"nothing is so young", {.since = last + seconds(1)}, {}},
      {"nothing is so old", {.until = last - seconds(4)}, {}},
  };
  for (const Row& row : rows) {
    const Json answer = of_instance(1, std::nullopt, {.window = row.window});
    EXPECT_EQ(sequences(answer), row.sequences) << row.what;
    EXPECT_EQ(answer["complete"], true) << row.what;
    EXPECT_EQ(answer["next"], nullptr) << row.what;
    EXPECT_EQ(answer.contains("lookedFrom"), !row.sequences.empty()) << row.what;
  }
}

TEST_F(WindowsWhyTest, SayHowFarOtherNamespacesWereLookedAt) {
  const WorkflowNumber order = apply(kOrder);
  create_namespace("other");
  send(R"(,"orderid":"o-1")", "paid", "other");
  for (int i = 0; i < 200; ++i) send(R"(,"orderid":"x")", "paid", "other");
  const std::string oldest_looked_at = format_rfc3339(clock.time - seconds(199));
  send(R"(,"orderid":"x")");
  apply_event(202);
  add(waiting(order, 1, "o-1"));
  const Json newest = of_instance(1);
  EXPECT_FALSE(newest.contains("elsewhereEvents"));
  EXPECT_EQ(newest["elsewhereLook"], (Json{{"from", oldest_looked_at}}));
  const Json older = of_instance(1, std::nullopt, {.window = {.before = 2}});
  EXPECT_THAT(sequences(older), IsEmpty());
  EXPECT_EQ(older["elsewhereEvents"][0]["sequence"], 1);
  EXPECT_FALSE(older.contains("elsewhereLook"));
}

TEST_F(WindowsWhyTest, NameTheNamespacesThatWereLookedAtIfThereAreMore) {
  const WorkflowNumber order = apply(kOrder);
  for (const char* const name : {"a", "b", "c", "d", "e", "f"}) create_namespace(name);
  commit();
  add(waiting(order, 1, "o-1"));
  EXPECT_EQ(of_instance(1)["elsewhereLook"], (Json{{"namespaces", {"a", "b", "c", "d", "e"}}}));
}

}  // namespace
}  // namespace millrace
