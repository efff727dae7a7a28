// ViewReads: the reads of one snapshot answer as a service does, without an engine.
#include "orchestrator/service/view_reads.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/disk/log_row.h"
#include "tests/support/folder.h"
#include "tests/unit/service/local_service_fixture.h"

namespace millrace {
namespace {

using testing::SizeIs;

class ViewReadsTest : public LocalServiceTest {
 protected:
  /// The reads of the last commit, with a cache that knows no definition.
  ViewReads reads() { return {queries_, Snapshot::take(world.environment()).value()}; }

  /// Makes rows of each kind that is read.
  void fill() {
    world.apply(kWaits);
    world.apply(kTicks);
    world.apply(kPairs);
    id_ = *parse_instance_id(world.start("waits")["id"].get<std::string>());
    world.publish("left", "1", Json::object(), {{"key", "a"}});
    world.must(PutVariable{.place = {.ns = "default"}, .key = "limit", .value = {.bytes = "7"}});
    world.must(PutSecret{.ns = "default", .name = "card", .value = "4711"});
    world.run_until_idle();
  }

  InstanceId id_;

 private:
  DefinitionCache definitions_{load_stored};
  StartedTasks started_;
  Queries queries_{definitions_, started_, world.clock};
};

TEST_F(ViewReadsTest, AnswerAsTheServiceDoes) {
  fill();
  using Read = std::function<Result<Json>(StoreReads&)>;
  const std::vector<Read> all = {
      [](StoreReads& store) { return store.namespaces({}); },
      [](StoreReads& store) -> Result<Json> {
        Json shown = TRY(store.one_namespace("default"));
        shown.erase("evaluations");  // a snapshot has no jq workers
        return shown;
      },
      [](StoreReads& store) { return store.workflows("default", {}); },
      [](StoreReads& store) { return store.workflow("default", "waits"); },
      [](StoreReads& store) { return store.revisions("default", "waits", {}); },
      [](StoreReads& store) { return store.revision("default", "waits", 1); },
      [](StoreReads& store) { return store.graph("default", "waits", {}); },
      [](StoreReads& store) { return store.input_schema("default", "waits"); },
      [](StoreReads& store) { return store.instances("default", {}); },
      [](StoreReads& store) { return store.instance_counts("default", {}); },
      [this](StoreReads& store) { return store.instance("default", id_); },
      [this](StoreReads& store) { return store.instance_calls("default", id_, 9, ""); },
      [](StoreReads& store) { return store.accepted_tasks("default", {}); },
      [this](StoreReads& store) { return store.instance_children("default", id_, 9, ""); },
      [this](StoreReads& store) { return store.history("default", id_, {}); },
      [](StoreReads& store) { return store.groups("default", 9, "", {}); },
      [](StoreReads& store) { return store.queues("default", 9, "", ""); },
      [](StoreReads& store) { return store.queue_holders("default", {.workflow = "waits"}); },
      [](StoreReads& store) { return store.schedules("default", {}); },
      [](StoreReads& store) { return store.schedule("default", "ticks"); },
      [](StoreReads& store) { return store.listeners("default", {}); },
      [](StoreReads& store) { return store.variables({.ns = "default"}, 9, ""); },
      [](StoreReads& store) { return store.secrets("default", 9, ""); },
      [](StoreReads& store) { return store.workflow("default", "none"); },
      [](StoreReads& store) { return store.instances("none", {}); },
  };
  ViewReads copy = reads();
  for (size_t i = 0; i < all.size(); ++i) {
    const Result<Json> expected = all[i](*service);
    const Result<Json> found = all[i](copy);
    ASSERT_EQ(found.has_value(), expected.has_value()) << i;
    if (found) {
      EXPECT_EQ(*found, *expected) << i;
    } else {
      EXPECT_EQ(found.error().code, expected.error().code) << i;
    }
  }
  EXPECT_FALSE(copy.one_namespace("default").value().contains("evaluations"));
  EXPECT_EQ(copy.variable({.ns = "default"}, "limit").value().bytes, "7");
  const Json next = copy.next_firings("default", {}).value();
  EXPECT_THAT(next.at("items"), testing::Not(testing::IsEmpty())) << "the schedule has a tick";
}

TEST_F(ViewReadsTest, ShowOneCommitWhileOthersFollow) {
  fill();
  ViewReads before = reads();
  const TimePoint time = before.time().value();
  world.run_for(std::chrono::seconds(5));
  world.start("waits");
  world.run_until_idle();
  EXPECT_THAT(before.instances("default", {}).value().at("items"), SizeIs(1));
  EXPECT_EQ(before.time().value(), time);
  ViewReads after = reads();
  EXPECT_THAT(after.instances("default", {}).value().at("items"), SizeIs(2));
  EXPECT_GT(after.time().value(), time);
}

TEST_F(ViewReadsTest, HaveThePositionInTheLogOfTheCommit) {
  EXPECT_EQ(reads().position().value(), 0U) << "the store belongs to no cluster";
  const Folder folder;
  const auto environment = Environment::open(folder.path()).value();
  Transaction tx(*environment);
  const auto position = [&] {
    return ViewReads(world.queries(), Snapshot::take(*environment).value()).position();
  };
  tx.put(Table::kMeta, kLogKey, encode(LogPosition{.sequence = 42, .name = {1, 1, {}}}));
  ASSERT_TRUE(tx.commit());
  EXPECT_EQ(position().value(), 42U);
  tx.put(Table::kMeta, kLogKey, "damaged");
  ASSERT_TRUE(tx.commit());
  EXPECT_EQ(position().error().code, "store.corrupt");
}

}  // namespace
}  // namespace millrace
