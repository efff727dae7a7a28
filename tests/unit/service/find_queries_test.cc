// The query that finds what a text may name.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/batch/group_id.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "tests/unit/service/definitions.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FindQueriesTest : public QueryTest {
 protected:
  FindQueriesTest() : waits(apply(kWaits)) {}

  static Ask find(std::string text, std::string name = "default") {
    return [=](Queries& queries, const View& view) { return queries.find(view, name, text); };
  }
  /// The items, as "kind id: label".
  std::vector<std::string> found(const std::string& text) {
    std::vector<std::string> items;
    const Json answered = answer(find(text));
    for (const Json& item : answered["items"]) {
      items.push_back(fmt::format("{} {}: {}", item["kind"].get<std::string>(),
                                  item["id"].get<std::string>(), item["label"].get<std::string>()));
    }
    return items;
  }
  static std::string id(uint8_t number) { return to_string(numbered_id(number)); }

  const WorkflowNumber waits;
};

TEST_F(FindQueriesTest, FindInstancesByTheBeginningOfTheirIdsNewestFirst) {
  store(waiting_instance(waits, 1));
  store(ended(waiting_instance(waits, 2), InstanceStatus::kFailed));
  store(waiting_instance(waits, 3));
  EXPECT_THAT(found("00000000-0000-"), ElementsAre("instance " + id(3) + ": waits, waiting",
                                                   "instance " + id(2) + ": waits, failed",
                                                   "instance " + id(1) + ": waits, waiting"));
  EXPECT_THAT(found(id(2)), ElementsAre("instance " + id(2) + ": waits, failed"));
  EXPECT_THAT(found(id(9)), IsEmpty());
  damage(Table::kLive, head_key(waiting_instance(waits, 1)));
  EXPECT_THAT(found(id(1)), ElementsAre("instance " + id(1) + ": damaged"));
}

TEST_F(FindQueriesTest, FindWorkflowsByTheBeginningOfTheirIds) {
  for (const char* const name : {"wait", "waiter", "wasp"}) {
    apply(fmt::format("id: {}\nstates:\n- {{id: end, type: noop}}\n", name));
  }
  EXPECT_THAT(found("wait"), ElementsAre("workflow wait: revision 1", "workflow waiter: revision 1",
                                         "workflow waits: revision 1"));
  EXPECT_THAT(found("waiter"), ElementsAre("workflow waiter: revision 1"));
  EXPECT_THAT(found("wa").size(), 4U);
  EXPECT_THAT(found("x"), IsEmpty());
}

TEST_F(FindQueriesTest, FindTheInstancesOfAnIdempotencyKey) {
  Instance instance = waiting_instance(waits, 1);
  instance.idempotency_key = "key 1";
  write_idempotency(*tx, waits, "key 1", {.instance = instance.id});
  write_idempotency(*tx, waits, "key 2", {.instance = numbered_id(2)});
  store(instance);
  EXPECT_THAT(found("key 1"), ElementsAre("key " + id(1) + ": waits, waiting"));
  EXPECT_THAT(found("key"), IsEmpty()) << "it is not the whole key";
  EXPECT_THAT(found("key 2"), IsEmpty()) << "its instance does not exist";
  instance.sealed = true;
  store(instance);
  EXPECT_THAT(found("key 1"), IsEmpty()) << "the key is not shown in the instance";
}

TEST_F(FindQueriesTest, FindAGroupByItsId) {
  const Fingerprint group = {7};
  write_counts(*tx, waits, group, {2, 0, 1});
  commit();
  const std::string id = to_string(GroupId{"waits", group});
  EXPECT_THAT(found(id), ElementsAre("group " + id + ": waits, 3 waiting events"));
  EXPECT_THAT(found(to_string(GroupId{"waits", {8}})), IsEmpty());
  EXPECT_THAT(found(to_string(GroupId{"none", group})), IsEmpty());
}

TEST_F(FindQueriesTest, FindAtMostTwentyItems) {
  for (uint8_t number = 1; number <= 20; ++number) {
    store(waiting_instance(waits, number));
    const WorkflowNumber workflow =
        apply(fmt::format("id: \"0{}\"\nstates:\n- {{id: end, type: noop}}\n", number));
    write_idempotency(*tx, workflow, "00000000", {.instance = numbered_id(number)});
  }
  commit();
  EXPECT_EQ(found("0").size(), 12U) << "instances and workflows";
  const Json of_key = answer(find("00000000"));
  EXPECT_EQ(of_key["items"].size(), 11U) << "instances, and those of the key";
  EXPECT_EQ(of_key["complete"], false);
}

TEST_F(FindQueriesTest, FailForANamespaceThatDoesNotExistAndWhenAReadFails) {
  store(waiting_instance(waits, 1));
  write_idempotency(*tx, waits, "0", {.instance = numbered_id(1)});
  commit();
  EXPECT_EQ(outcome(find("x", "none")), "namespace.not_found");
  expect_each_read_to_count(find("0"));
  expect_each_read_to_count(find("wai"));
}

}  // namespace
}  // namespace millrace
