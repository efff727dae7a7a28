// Recovery: what is loaded at the start, how damaged rows are treated, and what is restored after a
// lost batch.
#include "orchestrator/loop/recovery.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/index_build.h"
#include "tests/support/mixed_definitions.h"
#include "tests/unit/loop/engine_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class RecoveryTest : public EngineTest {
 protected:
  /// Stores something of each kind that is loaded at the start.
  void fill() {
    const Json settings{{"lifecycle", true}, {"webhooks", {{{"url", "http://hook"}}}}};
    run(CreateNamespace{.name = "default", .settings = settings});
    for (const char* const text : {kWaits, kGroups, kTicks, kReminds, kOrder, kComputesThenWaits}) {
      run(apply_workflow(text));
    }
    deliver({StreamOpened{.position = {.stream_created = 1}}, CaughtUp{}});
    deliver({event("begin")});
    EXPECT_TRUE(each_live(engine().tx, [&](const Instance& head) { waits = head.id; }));
    deliver({event("one")});
    start("reminds");
    orders = start("order");
    computes = start("computes");
  }
  /// The contents of the caches, as lines.
  std::vector<std::string> facts() {
    const WaitIndex& index = engine().waiting;
    std::vector<std::string> lines;
    for (const auto& [number, entry] : engine().catalog.workflows()) {
      lines.push_back(fmt::format("{} revision {} live {}", entry.id, entry.latest,
                                  engine().live.count(number)));
    }
    lines.push_back(fmt::format("listeners {} timers {}", index.listeners(), index.timers()));
    lines.push_back(fmt::format("tasks {} webhooks {}", engine().tasks.size(),
                                engine().webhook_outbox.next_due().has_value()));
    for (const char* const type : {"begin", "go", "one", "computed"}) {
      const Event one{.id = "1", .source = "/s", .type = type};
      const Targets targets = index.match("default", Attributes(one));
      lines.push_back(fmt::format("{} starts {} wakes {} wanted {}", type, targets.starts.size(),
                                  targets.instances.size(),
                                  engine().kept_events.wants(default_ns(), type)));
    }
    for (const char* const id : {"1", "2", "3"}) {
      const Event one{.id = id, .source = "/s", .type = "any"};
      const bool had_effect = engine().dedupe.seen(fingerprint_of("default", one));
      lines.push_back(fmt::format("event {} had effect {}", id, had_effect));
    }
    lines.push_back(fmt::format("cursor {}", engine().batch.cursor().sequence));
    return lines;
  }
  WorkflowNumber number_of(const std::string& workflow) {
    const WorkflowEntry* const entry = engine().catalog.find_workflow(default_ns(), workflow);
    EXPECT_NE(entry, nullptr);
    return entry == nullptr ? WorkflowNumber() : entry->number;
  }
  size_t starts_with(const std::string& type) {
    const Event one{.id = "1", .source = "/s", .type = type};
    return engine().waiting.match("default", Attributes(one)).starts.size();
  }
  void commit_rows() {
    const Status done = engine().tx.commit();
    ASSERT_TRUE(done) << done.error().message;
  }
  /// Overwrites every row of the table with bytes that do not decode. Returns the old rows.
  std::vector<std::pair<std::string, std::string>> damage(Table table) {
    std::vector<std::pair<std::string, std::string>> undamaged;
    for (const auto& [place, value] : rows()) {
      if (place.first != table) continue;
      undamaged.emplace_back(place.second, value);
      engine().tx.put(table, place.second, "rubbish");
    }
    commit_rows();
    return undamaged;
  }
  void write_back(Table table, const std::vector<std::pair<std::string, std::string>>& undamaged) {
    for (const auto& [key, value] : undamaged) engine().tx.put(table, key, value);
    commit_rows();
  }
  /// Removes the instance from the caches.
  void forget(const InstanceId& id) {
    ASSERT_TRUE(engine().waiting.update("", Instance{.id = id, .ns = default_ns()}));
    engine().kept_events.forget(id);
  }

  InstanceId waits;     ///< waits for an event or a timeout
  InstanceId orders;    ///< waits for its task
  InstanceId computes;  ///< evaluates, and then waits for an event
};

// check_store.

TEST_F(RecoveryTest, RefusesAStoreOfAnotherFormatOrWithImpossibleRows) {
  Transaction& store = engine().tx;
  const TimePoint now = clock.now();
  const struct {
    const char* what;
    std::function<void()> write;
    std::string code;
  } cases[] = {
      {"an undamaged store", [] {}, ""},
      {"a newer format",
       [&] { store.put(Table::kMeta, "format", std::string("\0\0\0\0\0\0\0\x63", 8)); },
       "store.version"},
      {"a history number above the counter",
       [&] { write_history(store, 9, {.ns = default_ns(), .instance = numbered_id(1)}); },
       std::string(kDamagedRow)},
      {"an engine time far in the future",
       [&] { write_engine_time(store, now + std::chrono::years(101)); }, std::string(kDamagedRow)},
      {"an engine time within a century",
       [&] { write_engine_time(store, now + std::chrono::years(99)); }, ""},
  };
  for (const auto& [what, write, code] : cases) {
    write();
    const Status checked = check_store(engine());
    EXPECT_EQ(checked ? "" : checked.error().code, code) << what;
    store.drop();
  }
}

TEST_F(RecoveryTest, ReportsAFailedReadDuringTheCheckOfTheStore) {
  fill();
  EXPECT_GE(fail_each_read([&] { return check_store(engine()); }, [&] { engine().tx.drop(); }), 5U);
}

// build_missing_index.

TEST_F(RecoveryTest, CountsTheInstancesOfTheIndexApartFromTheLiveInstances) {
  fill();
  request_index_build(engine().tx);
  commit_rows();
  StartProgress progress;
  const Status built = build_missing_index(engine(), progress);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_FALSE(is_index_incomplete(engine().tx));
  EXPECT_FALSE(progress.builds_index.load());
  EXPECT_GE(progress.indexed.load(), 3U);
  EXPECT_EQ(progress.read.load(), 0U);
}

TEST_F(RecoveryTest, DescribesTheProgressOfEachPartOfAStart) {
  StartProgress progress;
  progress.indexed = 7;
  EXPECT_EQ(describe(progress), "loading the store: 0 live instances read so far");
  progress.builds_index = true;
  EXPECT_EQ(describe(progress), "computing the index: 7 instances so far");
  progress.builds_index = false;
  progress.read = 3;
  EXPECT_EQ(describe(progress), "loading the store: 3 live instances read so far");
}

// load.

TEST_F(RecoveryTest, CreatesTheDefaultNamespaceOnlyInANewStore) {
  EXPECT_EQ(default_ns(), NamespaceNumber(1));
  restart();
  EXPECT_EQ(default_ns(), NamespaceNumber(1));
  EXPECT_EQ(rows_of(Table::kNamespaces), 1U);

  erase_namespace(engine().tx, kDefaultNamespace);
  commit_rows();
  const Status loaded = rig().load();
  ASSERT_FALSE(loaded) << "a new default namespace would have another number";
  EXPECT_EQ(loaded.error().code, kDamagedRow);
}

TEST_F(RecoveryTest, RebuildsTheCachesThatThePreviousProcessHad) {
  fill();
  const std::vector<std::string> before = facts();
  restart();
  EXPECT_EQ(facts(), before);
  EXPECT_EQ(rig().progress.read.load(), 3U) << "live instances";
  EXPECT_TRUE(engine().waiting.listens(waits));
  EXPECT_TRUE(engine().tasks.has_due()) << "the task is due to be handed out again";
  EXPECT_GT(engine().outbox.bytes(), 0U) << "the messages are sent again";
  const Status again = rig().load();
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(facts(), before) << "a second load adds nothing";
  EXPECT_EQ(rig().progress.read.load(), 3U);
}

TEST_F(RecoveryTest, ReturnsTheInstancesThatHaveToContinue) {
  fill();
  clock.advance(minutes(20));
  run(Work());
  const InstanceId ticked = numbered_id(last_id);
  restart();
  std::vector<InstanceId> ids;
  for (const ContinueInput& one : rig().unfinished) ids.push_back(one.instance);
  EXPECT_THAT(ids, ElementsAre(computes, ticked));
  Work work;
  work.continues = rig().unfinished;
  run(std::move(work));
  EXPECT_THAT(actions_of<Evaluate>(outcome), SizeIs(1)) << "the evaluation is requested again";
  EXPECT_EQ(status_of(ticked), "complete");
}

TEST_F(RecoveryTest, DropsWhatOnlyMemoryHasWhenItLoadsTheStoreAgain) {
  fill();
  clock.advance(hours(2));
  engine().timers.hold({clock.now(), TimerInput::OfSchedule{number_of("ticks")}});
  engine().timers.put_back_tick({clock.now(), TimerInput::OfSchedule{number_of("ticks")}});
  const InstanceId task = engine().tasks.of(orders).at(0);
  engine().tasks.heard(task);
  ASSERT_TRUE(rig().started.contains(task));
  const Status loaded = rig().load();
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_FALSE(rig().started.contains(task));
  size_t ticks = 0;
  const auto due = engine().timers.take(clock.now(), {.held = true, .ticks = true});
  for (const TimerInput& one : due) ticks += is_tick(one) ? 1 : 0;
  EXPECT_EQ(ticks, 1U) << "only the tick of the stored row is left";
}

TEST_F(RecoveryTest, SkipsDamagedRowsAndLoadsAllOthers) {
  fill();
  const std::vector<std::string> whole = facts();
  for (const Table table : {Table::kLive, Table::kDefinitions, Table::kSchedules, Table::kDelayed,
                            Table::kGroups, Table::kTasks, Table::kWebhooks, Table::kDedupe}) {
    SCOPED_TRACE(static_cast<int>(table));
    const auto undamaged = damage(table);
    ASSERT_THAT(undamaged, testing::Not(IsEmpty()));
    restart();
    EXPECT_GE(engine().damages.count(), 1U);
    EXPECT_NE(facts(), whole);
    EXPECT_EQ(engine().batch.cursor().sequence, 2U);
    write_back(table, undamaged);
    restart();
    EXPECT_EQ(engine().damages.count(), 0U);
    EXPECT_EQ(facts(), whole);
  }
}

TEST_F(RecoveryTest, FailsIfTheRowsOfNamespacesWorkflowsOrTheCursorAreDamaged) {
  fill();
  for (const Table table : {Table::kNamespaces, Table::kWorkflows, Table::kMeta}) {
    const auto undamaged = damage(table);
    const Status loaded = rig().load();
    ASSERT_FALSE(loaded) << static_cast<int>(table);
    EXPECT_TRUE(loaded.error().code.starts_with("store.")) << loaded.error().code;
    write_back(table, undamaged);
  }
  restart();
}

TEST_F(RecoveryTest, ReportsAMissingRowOfASchedule) {
  fill();
  erase_schedule(engine().tx, number_of("ticks"));
  commit_rows();
  const size_t timers = engine().waiting.timers();
  restart();
  EXPECT_EQ(engine().damages.count(), 1U);
  EXPECT_EQ(engine().waiting.timers(), timers - 1) << "only this schedule has no timer";
}

TEST_F(RecoveryTest, SkipsInstancesOfUnknownNamespaces) {
  run(CreateNamespace{.name = "shop"});
  const auto workflow = load_stored(kWaits);
  run(ApplyWorkflow{.ns = "shop", .text = kWaits, .workflow = *workflow});
  run(StartInstance{.ns = "shop", .workflow = "waits", .input = Json::object()});
  const InstanceId id = numbered_id(last_id);
  ASSERT_TRUE(engine().waiting.listens(id));
  const NamespaceNumber shop = *engine().catalog.find_namespace("shop");
  const WorkflowNumber number = engine().catalog.find_workflow(shop, "waits")->number;
  erase_namespace(engine().tx, "shop");
  commit_rows();
  restart();
  EXPECT_FALSE(engine().waiting.listens(id));
  EXPECT_EQ(engine().waiting.timers(), 0U);
  EXPECT_FALSE(engine().live.any(number));
}

TEST_F(RecoveryTest, LoadsCompletelyOnceAllReadsSucceed) {
  fill();
  const std::vector<std::string> before = facts();
  const uint64_t failed = fail_each_read([&] { return rig().load(); }, [&] { engine().tx.drop(); });
  EXPECT_GE(failed, 20U);
  EXPECT_EQ(facts(), before);
  EXPECT_EQ(rig().progress.read.load(), 3U);
  ASSERT_THAT(rig().unfinished, SizeIs(1));
  EXPECT_EQ(rig().unfinished[0].instance, computes);
}

// restore_workflow, restore_instance.

TEST_F(RecoveryTest, RestoresWhatTheCachesHaveOfAWorkflow) {
  fill();
  const std::vector<std::string> before = facts();
  ASSERT_TRUE(engine().waiting.set_start("default", number_of("waits"), {}));
  engine().waiting.disarm_schedule(number_of("ticks"));
  ASSERT_EQ(starts_with("begin"), 0U);
  ASSERT_TRUE(restore_workflow(engine(), number_of("waits")));
  ASSERT_TRUE(restore_workflow(engine(), number_of("ticks")));
  ASSERT_TRUE(restore_workflow(engine(), number_of("ticks")));
  EXPECT_EQ(facts(), before);

  const WorkflowNumber gone[] = {number_of("waits"), number_of("ticks")};
  const size_t timers = engine().waiting.timers();
  for (const WorkflowNumber number : gone) {
    engine().catalog.remove_workflow(engine().tx, number);
    ASSERT_TRUE(restore_workflow(engine(), number));
  }
  EXPECT_EQ(starts_with("begin"), 0U);
  EXPECT_EQ(engine().waiting.timers(), timers - 1)
      << "the schedule of a deleted workflow has no timer";
}

TEST_F(RecoveryTest, DoesNotArmTheTimerOfAScheduleWhoseTickWaits) {
  fill();
  const WorkflowNumber ticks = number_of("ticks");
  clock.advance(minutes(20));
  TurnState busy = turn();
  busy.takes_new_work = false;
  run(Work(), busy);
  ASSERT_TRUE(engine().timers.has_tick_of(ticks));
  const size_t timers = engine().waiting.timers();
  ASSERT_TRUE(restore_workflow(engine(), ticks));
  EXPECT_EQ(engine().waiting.timers(), timers);
  clock.advance(minutes(1));
  run(Work());
  EXPECT_EQ(outcome.counts.instances_started, 1U);
}

TEST_F(RecoveryTest, RestoresWhatTheCachesHaveOfAnInstance) {
  fill();
  const std::vector<std::string> before = facts();
  for (const InstanceId& id : {waits, orders, computes}) {
    forget(id);
    ASSERT_TRUE(restore_instance(engine(), default_ns(), id));
    ASSERT_TRUE(restore_instance(engine(), default_ns(), id));
    EXPECT_EQ(facts(), before);
  }
}

TEST_F(RecoveryTest, RemovesAMissingOrDamagedInstanceFromTheCaches) {
  fill();
  ASSERT_TRUE(restore_instance(engine(), NamespaceNumber(77), waits));
  EXPECT_FALSE(engine().waiting.listens(waits)) << "the namespace does not exist";
  ASSERT_TRUE(restore_instance(engine(), default_ns(), waits));
  EXPECT_TRUE(engine().waiting.listens(waits));

  damage(Table::kLive);
  ASSERT_TRUE(engine().kept_events.wants(default_ns(), "computed"));
  for (const InstanceId& id : {waits, computes}) {
    ASSERT_TRUE(restore_instance(engine(), default_ns(), id));
  }
  EXPECT_FALSE(engine().waiting.listens(waits));
  EXPECT_FALSE(engine().kept_events.wants(default_ns(), "computed"));
}

TEST_F(RecoveryTest, RestoresTheCachesOnceAllReadsSucceed) {
  fill();
  const std::vector<std::string> before = facts();
  engine().waiting.disarm_schedule(number_of("ticks"));
  forget(waits);
  forget(computes);
  const auto restore = [&]() -> Status {
    TRY(restore_workflow(engine(), number_of("ticks")));
    TRY(restore_instance(engine(), default_ns(), waits));
    return restore_instance(engine(), default_ns(), computes);
  };
  EXPECT_GE(fail_each_read(restore, [&] { engine().tx.drop(); }), 3U);
  EXPECT_EQ(facts(), before);
}

}  // namespace
}  // namespace millrace
