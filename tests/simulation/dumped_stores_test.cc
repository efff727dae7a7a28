// Stores that released programs wrote (stores/README.md) are opened and migrated, have no findings,
// and continue what they had started.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>

#include "base/codec.h"
#include "orchestrator/store/rows/index_rows.h"
#include "tests/simulation/world.h"
#include "tests/support/dumped_store.h"

namespace millrace {
namespace {

using std::chrono::hours;
using testing::Contains;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

/// The statuses of the instances of each workflow.
using Statuses = std::map<std::string, std::multiset<std::string>>;

class DumpedStores : public testing::TestWithParam<std::string> {
 protected:
  DumpedStores() {
    world.crash();
    world.copy_store_to(folder_.path() / "store");
    std::filesystem::remove_all(world.folder());
    const StoreDump dump = read_dump(GetParam());
    write_dump(dump, world.folder());
    const uint64_t stopped_at = Reader(dump.trees.at("meta").at("time")).u64();
    world.clock.advance(from_millis(static_cast<int64_t>(stopped_at)) - world.clock.now());
    world.functions.act("ask", {{.result = Json{{"answered", true}}}});
    world.recover();
    world.run_until_idle();
  }

  Statuses statuses() {
    Statuses found;
    for (const Json& one : world.instances()) {
      found[one.at("workflow").get<std::string>()].insert(one.at("status").get<std::string>());
    }
    return found;
  }
  std::string id_of(std::string_view workflow) {
    for (const Json& one : world.instances()) {
      if (one.at("workflow") == workflow) return one.at("id");
    }
    ADD_FAILURE() << "there is no instance of " << workflow;
    return "";
  }
  /// The size of the counted rows of the default namespace.
  uint64_t counted_bytes() const {
    const Snapshot view = Snapshot::take(world.environment()).value();
    return read_usage(view, NamespaceNumber(1)).value().counted_bytes;
  }
  std::string variable(const VariablePlace& place, std::string_view key) const {
    const Snapshot view = Snapshot::take(world.environment()).value();
    const Result<Variable> found = world.queries().variable(view, place, key);
    return found ? found->bytes : found.error().code;
  }

 private:
  Folder folder_{fast_folder()};

 protected:
  World world;
};

TEST_P(DumpedStores, HaveAllThatTheyHadAndNoFindings) {
  EXPECT_EQ(statuses(), (Statuses{{"waits", {"complete", "waiting"}},
                                  {"parent", {"waiting"}},
                                  {"child", {"waiting"}},
                                  {"order", {"waiting"}},
                                  {"flaky", {"waiting"}},
                                  {"later", {"complete"}},
                                  {"both", {"waiting"}},
                                  {"keeps", {"complete"}},
                                  {"fails", {"failed"}},
                                  {"again", {"waiting"}},
                                  {"naps", {"waiting"}}}));
  EXPECT_EQ(world.rows_of("by_status"), 12U) << "each instance is in the index";
  EXPECT_GT(counted_bytes(), 0U) << "the index has the sizes of the counted rows";
  for (const char* const table : {"definitions", "history", "groups", "delayed", "tasks", "hooks",
                                  "idempotency", "schedules", "secrets", "variables"}) {
    EXPECT_GT(world.rows_of(table), 0U) << table;
  }
  EXPECT_EQ(variable({.ns = "default"}, "all"), "3");
  EXPECT_EQ(variable({.ns = "default", .workflow = "keeps"}, "ours"), "2");
  EXPECT_EQ(
      variable({.ns = "default", .instance = parse_instance_id(id_of("keeps")).value()}, "own"),
      "1");
  EXPECT_THAT(world.history(id_of("fails")).back(), StartsWith("ended"));
  EXPECT_EQ(world.start("order", {{"n", 1}}, "first order").at("id"), id_of("order"))
      << "the idempotency key of before is known";
  EXPECT_EQ(world.metric("millrace_damaged_rows"), 0);
  world.crash();  // checks the store
  world.recover();
  EXPECT_EQ(world.metric("millrace_damaged_rows"), 0);
}

TEST_P(DumpedStores, ContinueWithEventsForWaitingInstancesSubflowsAndGroups) {
  world.publish("go", "go-b", nullptr, {{"key", std::string("b")}});
  world.publish("finish", "finish-1");
  world.publish("two", "two-1");
  world.publish("right", "right-1", nullptr, {{"key", std::string("k")}});
  world.run_until_idle();
  Statuses found = statuses();
  EXPECT_EQ(found["waits"], (std::multiset<std::string>{"complete", "complete"}));
  for (const char* const workflow : {"child", "parent", "both", "pairs"}) {
    EXPECT_EQ(found[workflow], std::multiset<std::string>{"complete"}) << workflow;
  }
}

TEST_P(DumpedStores, ContinueWithTheResultOfATaskOfBefore) {
  const auto& tasks = world.functions.tasks();
  const auto task = std::find_if(tasks.begin(), tasks.end(),
                                 [](const Task& one) { return one.function == "charge"; });
  ASSERT_NE(task, tasks.end());
  EXPECT_THAT(task->input, HasSubstr("4711")) << "the secret is in the sealed row of the task";
  world.functions.answer(task->id, {{"paid", true}});
  world.run_until_idle();
  EXPECT_EQ(world.status(id_of("order")), "complete");
}

TEST_P(DumpedStores, ContinueWithSchedulesRetriesDelaysAndWebhooks) {
  world.run_for(hours(2));
  Statuses found = statuses();
  EXPECT_THAT(found["hourly"], SizeIs(2)) << "the schedule ticks";
  EXPECT_EQ(found["flaky"], std::multiset<std::string>{"complete"})
      << "the next attempt of the call is made";
  EXPECT_THAT(world.events("noted.later"), SizeIs(0));
  world.run_for(hours(4));
  EXPECT_EQ(world.status(id_of("naps")), "complete");
  EXPECT_THAT(world.events("noted.later"), SizeIs(1));
  EXPECT_EQ(world.status(id_of("again")), "waiting");
  world.run_for(hours(64));
  EXPECT_EQ(world.status(id_of("again")), "failed") << "after its last run";
  EXPECT_THAT(world.receivers.seen,
              Contains("http://127.0.0.1:9/failures millrace.instance.failed open-sesame"))
      << "the delivery of before is tried again, with the secret";
}

INSTANTIATE_TEST_SUITE_P(Each, DumpedStores, testing::Values("format-5", "format-6", "format-6-1"),
                         [](const auto& one) {
                           std::string name = "Format" + one.param.substr(one.param.find('-') + 1);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace millrace
