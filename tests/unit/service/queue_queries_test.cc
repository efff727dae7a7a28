// Queries about the starts that wait for slots of their workflows.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/queue_rows.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class QueueQueriesTest : public QueryTest {
 protected:
  QueueQueriesTest()
      : ship_(apply("id: ship\nconcurrency: {limit: 2, key: jq(.c)}\n"
                    "states:\n- {id: a, type: noop}\n")) {}

  static InstanceId number(uint8_t last) {
    InstanceId id;
    id.bytes[15] = last;
    return id;
  }
  /// Stores the rows of a key for whose slots `queued` starts wait.
  void add_key(const std::string& key, uint64_t held, uint64_t queued, Sealing sealed = {}) {
    const SlotKey at = slot_key_of(ship_, key);
    write_slot_counts(*tx, at, {.key = key, .held = held, .queued = queued, .sealed = sealed});
    for (uint64_t i = 1; i <= held; ++i) {
      write_slot_place(*tx, at, {.key = key, .number = i, .is_queued = false},
                       {.instance = number(static_cast<uint8_t>(i)), .since = now});
    }
    for (uint64_t i = 1; i <= queued; ++i) {
      write_slot_place(*tx, at, {.key = key, .priority = 3, .number = 100 + i, .is_queued = true},
                       {.instance = number(static_cast<uint8_t>(100 + i)), .since = now});
    }
    commit();
  }
  static Ask list(size_t limit, std::string cursor = "", std::string workflow = "") {
    return [=](Queries& queries, const View& view) {
      return queries.queues(view, "default", limit, cursor, workflow);
    };
  }

  const WorkflowNumber ship_;
};

TEST_F(QueueQueriesTest, ShowWhoIsNextAndWhoHoldsASlot) {
  add_key("\"c-1\"", 2, 3);
  const std::string at = format_rfc3339(now);
  const Json expected{
      {"workflow", "ship"},
      {"key", "c-1"},
      {"limit", 2},
      {"held", 2},
      {"queued", 3},
      {"next", {{"instance", to_string(number(101))}, {"since", at}, {"priority", 3}}},
      {"holder", {{"instance", to_string(number(1))}, {"since", at}}}};
  EXPECT_EQ(answer(list(10)), (Json{{"items", Json::array({expected})}, {"next", nullptr}}));
  EXPECT_EQ(answer(list(10, "", "ship"))["items"].size(), 1U);
}

TEST_F(QueueQueriesTest, LeaveOutKeysForWhichNoStartWaits) {
  add_key("1", 1, 0);
  EXPECT_THAT(answer(list(10))["items"], IsEmpty());
}

TEST_F(QueueQueriesTest, HideASealedKey) {
  add_key("\"secret\"", 1, 1, Sealing::kHidden);
  EXPECT_EQ(answer(list(10))["items"][0]["key"], "(sealed)");
}

TEST_F(QueueQueriesTest, HavePages) {
  for (int i = 0; i < 5; ++i) add_key(std::to_string(i), 1, 1);
  size_t found = 0;
  size_t pages = 0;
  std::string cursor;
  do {
    const Json page = answer(list(2, cursor));
    found += page["items"].size();
    ++pages;
    cursor = page["next"].is_null() ? "" : page["next"].get<std::string>();
  } while (!cursor.empty());
  EXPECT_EQ(found, 5U);
  EXPECT_EQ(pages, 3U);
  EXPECT_EQ(ask(list(2, "rubbish")).error().code, "cursor.malformed");
  EXPECT_EQ(ask(list(2, "", "none")).error().code, "workflow.not_found");
}

}  // namespace
}  // namespace millrace
