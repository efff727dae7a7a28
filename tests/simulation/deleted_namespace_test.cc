// Deleted namespaces, whose rows are erased in several batches, and deleted instances with a long
// history.
#include "tests/simulation/deleted_namespace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using testing::ElementsAre;
using testing::Gt;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kReminds = R"(
id: reminds
states:
- {id: remind, type: generateEvent, delay: PT1H, event: {type: reminder, source: /r}}
)";

constexpr const char* kGroups = R"(
id: groups
start: {type: eventsAnd, events: [{type: one}, {type: two}]}
states:
- {id: done, type: noop}
)";

constexpr const char* kTicks = R"(
id: ticks
start: {type: scheduled, cron: '0 0 1 1 *'}
states:
- {id: done, type: noop}
)";

/// Fills a namespace with rows of every kind.
void fill(World& world, const std::string& ns) {
  world.must(CreateNamespace{
      .name = ns,
      .settings = Json::parse(R"({"lifecycle": true, "webhooks": [{"url": "http://away"}]})")});
  const auto start = [&](const std::string& workflow) {
    return world.must(StartInstance{.ns = ns,
                                    .workflow = workflow,
                                    .input = {{"n", 1}},
                                    .idempotency_key = workflow + "-key"})["id"];
  };
  for (const char* const text : {kCallsAndGoesOn, kReminds, kGroups, kTicks, kWaitsInDeleted}) {
    world.apply(text, ns);
  }
  for (const char* const id : {"job", "deleted", "deleted-unused"}) {
    world.apply(job(id), ns);
    world.apply(job(id, "- {id: more, type: noop}"), ns);
  }
  const InstanceId ended = *parse_instance_id(start("job").get<std::string>());
  start("deleted");
  start("calls");
  start("reminds");
  start("waits");
  static int last = 0;  // each event has an id of its own, since a duplicate would have no effect
  world.publish({.id = std::to_string(++last), .source = "/test", .type = "one"}, ns);
  world.run_until_idle();
  for (const char* const id : {"deleted", "deleted-unused"}) {
    world.must(DeleteWorkflow{.ns = ns, .id = id});
  }
  const Variable value{.content_type = "text/plain", .bytes = "v"};
  world.must(PutVariable{.place = {.ns = ns}, .key = "k", .value = value});
  world.must(PutVariable{.place = {.ns = ns, .workflow = "job"}, .key = "k", .value = value});
  world.must(PutVariable{.place = {.ns = ns, .instance = ended}, .key = "k", .value = value});
  world.must(PutSecret{.ns = ns, .name = "s", .value = "v"});
}

class DeletedNamespace : public testing::Test {
 protected:
  DeletedNamespace() {
    world.receivers.answer = [](const Event&) {
      return WebhookFailure{.error = {"webhook.refused", "away"}};
    };
    world.apply(job("stays"));
    world.start("stays");
    before = keys(world);
  }

  World world;
  std::vector<std::string> before;
};

TEST_F(DeletedNamespace, WithADetachedTaskDoesNotPreventTheNextStartOfMillrace) {
  world.must(CreateNamespace{.name = "a"});
  world.apply(kCallsAndGoesOn, "a");
  world.must(StartInstance{.ns = "a", .workflow = "calls"});
  ASSERT_THAT(world.functions.tasks(), SizeIs(1));
  world.must(DeleteNamespace{.name = "a", .cancel = true});
  world.functions.be_replaced();
  world.restart();
  world.run_until_idle();
  EXPECT_THAT(world.functions.tasks(), IsEmpty()) << "the task is not handed out again";
  EXPECT_EQ(world.must(CreateNamespace{.name = "a"})["created"], true);
}

TEST_F(DeletedNamespace, LeavesNoRows) {
  fill(world, "a");
  ASSERT_THAT(keys(world).size(), Gt(before.size() + 30));
  EXPECT_EQ(world.must(DeleteNamespace{.name = "a", .cancel = true}), (Json{{"cancelled", 1}}));
  EXPECT_EQ(keys(world), before);
  EXPECT_THAT(world.metric("millrace_rows_purged_total"), Gt(30));
  EXPECT_THAT(world.dead_letters(), ElementsAre("start.group_closed"));
  world.restart();
  world.run_until_idle();
  EXPECT_EQ(keys(world), before);
}

TEST_F(DeletedNamespace, StopsItsTasksWebhooksAndTimers) {
  fill(world, "a");
  const InstanceId task = world.functions.tasks().at(0).id;
  world.must(DeleteNamespace{.name = "a", .cancel = true});
  EXPECT_THAT(world.functions.stopped(), ElementsAre(task));
  EXPECT_EQ(world.metric("millrace_timers"), 0);
  EXPECT_EQ(world.metric("millrace_tasks"), 0);
  const size_t delivered = world.receivers.seen.size();
  world.functions.answer(task, "late");
  world.run_for(hours(48));
  EXPECT_THAT(world.receivers.seen, SizeIs(delivered));
  EXPECT_THAT(world.events("reminder"), IsEmpty());
  EXPECT_EQ(keys(world), before);
}

TEST_F(DeletedNamespace, IsErasedToTheEndAfterARestart) {
  for (int turns = 0;; ++turns) {
    fill(world, "a");
    const Answered deleted = world.command(DeleteNamespace{.name = "a", .cancel = true});
    for (int i = 0; i < 20 && !deleted->has_value(); ++i) world.step();
    ASSERT_TRUE(deleted->has_value());
    for (int i = 0; i < turns; ++i) world.step();
    const bool done = !is_purging(world);
    world.restart();
    world.run_until_idle();
    EXPECT_EQ(keys(world), before) << turns;
    if (done) break;
  }
}

TEST_F(DeletedNamespace, DoesNotAffectANewNamespaceOfTheSameName) {
  fill(world, "a");
  for (int i = 0; i < 600; ++i) {
    world.command(StartInstance{.ns = "a", .workflow = "job"});
    if (i % 100 == 99) world.run_until_idle();
  }
  const Answered deleted = world.command(DeleteNamespace{.name = "a", .cancel = true});
  const Answered created = world.command(CreateNamespace{.name = "a"});
  while (!created->has_value()) world.step();
  ASSERT_TRUE(deleted->has_value());
  ASSERT_TRUE(is_purging(world)) << "the test needs a purge";
  fill(world, "a");
  EXPECT_FALSE(is_purging(world));
  const auto filled = keys(world);

  World fresh;  // does the same work, but has no deleted namespace
  fresh.receivers.answer = world.receivers.answer;
  fresh.apply(job("stays"));
  fresh.start("stays");
  fill(fresh, "a");
  EXPECT_EQ(filled.size(), keys(fresh).size());
  EXPECT_EQ(
      world.queries().workflows(*Snapshot::take(world.environment()), "a")->at("items").size(), 6U);
}

TEST_F(DeletedNamespace, KeepsItsDeadLettersApartFromThoseOfANewNamespaceOfTheSameName) {
  const auto publish = [&](const char* id, const char* type) {
    world.publish({.id = id, .source = "/test", .type = type}, "a");
    world.run_until_idle();
  };
  publish("1", "one");  // the namespace does not exist yet
  world.must(CreateNamespace{.name = "a"});
  world.apply(kGroups, "a");
  publish("2", "one");
  const Answered deleted = world.command(DeleteNamespace{.name = "a", .cancel = true});
  const Answered created = world.command(CreateNamespace{.name = "a"});
  world.run_until_idle();
  ASSERT_TRUE(created->has_value());
  std::vector<std::string> numbers;
  for (const auto& stored : world.broker.others()) {
    if (!stored.message.subject.starts_with("millrace.dlq.a.")) continue;
    const std::string* const number = find_header(stored.message.headers, kDeadLetterNamespace);
    numbers.push_back(number == nullptr ? "" : *number);
  }
  const auto now = read_namespace(*Snapshot::take(world.environment()), "a");
  ASSERT_TRUE(now && *now);
  EXPECT_EQ((*now)->number, NamespaceNumber(3));
  EXPECT_THAT(numbers, testing::ElementsAre("0", "2"));
}

TEST_F(DeletedNamespace, IsErasedInStepsThatLetOtherCommandsThrough) {
  world.must(CreateNamespace{.name = "a"});
  world.apply(job("job"), "a");
  for (int i = 0; i < 1'000; ++i) {
    world.command(StartInstance{.ns = "a", .workflow = "job"});
    if (i % 100 == 99) world.run_until_idle();
  }
  const Answered deleted = world.command(DeleteNamespace{.name = "a"});
  while (!deleted->has_value()) world.step();
  int turns = 0;
  double purged = world.metric("millrace_rows_purged_total");
  for (; is_purging(world); ++turns) {
    const Answered other = world.command(StartInstance{.ns = "default", .workflow = "stays"});
    world.step();
    ASSERT_TRUE(other->has_value()) << "the command waits for one step at most";
    const double now = world.metric("millrace_rows_purged_total");
    EXPECT_LE(now - purged, 1'100);
    purged = now;
  }
  EXPECT_THAT(turns, Gt(1));
}

TEST_F(DeletedNamespace, IsErasedOnlyAfterARecordedDeletion) {
  fill(world, "a");
  const auto filled = keys(world);
  world.crash();
  world.change_store([](Transaction& tx) { delete_names(tx, "a"); });
  world.checks_store = false;  // the check reports rows without a purge record
  for (int i = 0; i < 3; ++i) {
    world.recover();
    world.run_for(hours(1));
    world.crash();
  }
  world.recover();
  const auto left = keys(world);
  for (const std::string& key : filled) {
    const bool is_name = key.starts_with("namespaces/") || key.starts_with("workflows/") ||
                         key.starts_with("meta/retired/");
    EXPECT_TRUE(is_name || std::count(left.begin(), left.end(), key) == 1) << key;
  }
  EXPECT_EQ(world.must(CreateNamespace{.name = "a"})["created"], true);
}

TEST_F(DeletedNamespace, KeepsTheDefinitionsOfOtherNamespaces) {
  world.apply(job("deleted"));
  world.start("deleted");
  world.must(DeleteWorkflow{.ns = "default", .id = "deleted"});
  const auto filled = keys(world);
  world.must(CreateNamespace{.name = "a"});
  world.apply(job("job"), "a");
  std::vector<InstanceId> ids;
  for (int i = 0; i < 2; ++i) {
    const Json started = world.must(StartInstance{.ns = "a", .workflow = "job"});
    ids.push_back(*parse_instance_id(started["id"].get<std::string>()));
  }
  world.checks_store = false;
  world.crash();
  // As if the instances belonged to workflows of `default`.
  world.change_store([&](Transaction& tx) {
    for (size_t i = 0; i < ids.size(); ++i) {
      auto head = read_head_anywhere(tx, NamespaceNumber(2), ids[i]);
      ASSERT_TRUE(head && *head);
      (*head)->revision.workflow = WorkflowNumber(static_cast<uint32_t>(i) + 1);
      write_instance(tx, **head, {});
    }
  });
  world.recover();
  world.must(DeleteNamespace{.name = "a", .cancel = true});
  world.checks_store = true;
  world.restart();
  EXPECT_EQ(keys(world), filled);
  world.start("stays");
}

TEST(Deletion, ErasesALongHistoryInSteps) {
  constexpr int kEvents = 2'500;
  World world;
  world.apply(R"(
id: loops
states:
- {id: wait, type: consumeEvent, event: {type: go}, transition: wait}
)");
  const std::string id = world.start("loops")["id"];
  const auto before = keys(world).size();
  for (int i = 0; i < kEvents; ++i) {
    world.publish("go", std::to_string(i));
    world.run_until_idle();
  }
  // There is a history row for each event, and a row with the data, which now differs from the
  // input.
  ASSERT_EQ(keys(world).size(), before + kEvents + 1);
  const InstanceId instance = *parse_instance_id(id);
  world.must(CancelInstance{.ns = "default", .instance = instance});
  const Answered deleted = world.command(DeleteInstance{.ns = "default", .instance = instance});
  world.step();
  ASSERT_TRUE(deleted->has_value());
  EXPECT_TRUE(is_purging(world));
  world.restart();
  world.run_until_idle();
  EXPECT_THAT(keys(world), SizeIs(4))
      << "left are the namespace, the workflow, its definition, and the size of the definition";
}

}  // namespace
}  // namespace millrace
