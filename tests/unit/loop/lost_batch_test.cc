// A lost batch: afterwards the caches are equal to those of a fresh load of the store. Inputs of
// each kind are applied in a batch that is lost, and then again.
#include "orchestrator/loop/lost_batch.h"

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/mixed_definitions.h"
#include "tests/unit/loop/engine_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::Contains;
using testing::Gt;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* kDefinitions[] = {kWaits,      kGroups, kTicks,  kItem,
                                        kCallsItems, kOrder,  kReminds};

constexpr const char* kTypes[] = {"begin", "go", "one", "two", "item", "reminder"};

Event event_of(const std::string& type, uint64_t number) {
  return {.id = std::to_string(number), .source = "/s", .type = type};
}

/// Small limits, so that most work needs several batches.
EngineOptions small_batches() { return {.batch = {.woken = 2, .woken_later = 1, .messages = 1}}; }

class LostBatchTest : public EngineTest {
 protected:
  LostBatchTest() {
    restart(small_batches());
    backlog = {.has_steps = true, .has_purges = true};
  }

  /// What the caches of the engine have, as lines.
  std::vector<std::string> memory_of(EngineState& engine) const {
    std::vector<std::string> lines;
    for (const NamespaceNumber ns : engine.catalog.namespaces()) {
      const std::string& name = engine.catalog.name_of(ns);
      const NamespaceSettings& settings = engine.catalog.settings(ns);
      lines.push_back(fmt::format("namespace {} {} lifecycle {}", static_cast<uint32_t>(ns), name,
                                  settings.has_lifecycle_events()));
      for (const char* const type : kTypes) {
        if (engine.kept_events.wants(ns, type)) {
          lines.push_back(fmt::format("{} is wanted in {}", type, name));
        }
      }
    }
    for (const auto& [number, entry] : engine.catalog.workflows()) {
      lines.push_back(fmt::format("workflow {} {} revision {} paused {} groups from {} live {}",
                                  static_cast<uint32_t>(number), entry.id, entry.latest,
                                  entry.paused, entry.groups_from, engine.live.count(number)));
    }
    for (const char* const type : kTypes) {
      const Event event = event_of(type, 0);
      const Targets targets = engine.waiting.match("default", Attributes(event));
      for (const StartTarget& one : targets.starts) {
        lines.push_back(fmt::format("{} starts {}", type, static_cast<uint32_t>(one.workflow)));
      }
      for (const InstanceTarget& one : targets.instances) {
        lines.push_back(fmt::format("{} wakes {}", type, to_string(one.instance)));
      }
    }
    for (uint8_t id = 1; id <= last_id; ++id) {
      for (const InstanceId& task : engine.tasks.of(numbered_id(id))) {
        lines.push_back(fmt::format("task {} of {}", to_string(task), id));
      }
    }
    for (const auto& [number, type] : published) {
      const Fingerprint known_as = fingerprint_of("default", event_of(type, number));
      if (engine.dedupe.seen(known_as)) lines.push_back(fmt::format("event {} had effect", number));
      if (engine.kept_events.seen(known_as))
        lines.push_back(fmt::format("event {} is kept", number));
    }
    const auto shown = [](const std::optional<TimePoint>& at) {
      return at ? std::to_string(to_millis(*at)) : std::string("-");
    };
    lines.push_back(
        fmt::format("listeners {} timers {}", engine.waiting.listeners(), engine.waiting.timers()));
    lines.push_back(fmt::format("last kept {} webhook {} tasks {} outbox {} cursor {}",
                                engine.kept_events.last(), shown(engine.webhook_outbox.next_due()),
                                engine.tasks.size(), engine.outbox.bytes(),
                                engine.batch.cursor().sequence));
    return lines;
  }
  /// What another engine loads from a copy of the store.
  std::vector<std::string> fresh_memory() {
    const Folder copy;
    const auto data = copy.path() / "data";
    std::filesystem::copy(folder.path(), data, std::filesystem::copy_options::recursive);
    const auto store = Environment::open(data, EnvironmentOptions());
    EXPECT_TRUE(store) << store.error().message;
    uint8_t no_id = 0;
    ThreadlessEngine fresh(**store, clock, no_id, small_batches());
    const Status loaded = fresh.load();
    EXPECT_TRUE(loaded) << loaded.error().message;
    return memory_of(fresh.engine);
  }

  /// Applies the work and loses the batch.
  void lose(Work work) {
    const uint8_t ids_before = last_id;
    const Status applied = apply(work, turn());
    ASSERT_TRUE(applied) << applied.error().message;
    last_id = ids_before;
    const Status undone = undo(engine());
    ASSERT_TRUE(undone) << undone.error().message;
  }
  /// Applies one batch of the work and loses it, then applies and commits the batch. `rest` gets
  /// the work that the batch left.
  void run_batch(const Work& work) {
    lose(work);
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_EQ(memory_of(engine()), fresh_memory());
    ++losses;
    EngineTest::run(work);
    ASSERT_FALSE(HasFatalFailure());
    FollowingTurns next = rig().perform(outcome.actions);
    rest.continues = std::move(next.continues);
    rest.commands = std::move(next.commands);
  }
  /// Processes the work in as many batches as necessary.
  void run(Work work) {
    move_all(rest.continues, work.continues);
    move_all(rest.commands, work.commands);
    run_batch(work);
    for (int i = 0; i < 50 && !HasFatalFailure(); ++i) {
      if (rest.empty() && !backlog.has_steps && !backlog.has_purges) return;
      run_batch(std::exchange(rest, {}));
    }
  }
  void run(Command command) {
    Work work;
    work.commands.push_back({++requests, std::move(command)});
    run(std::move(work));
  }
  void publish(const std::string& type) {
    Work work;
    work.deliveries.emplace_back(event(type));
    published.emplace(sequence, type);
    run(std::move(work));
  }
  void open_stream() {
    Work work;
    work.deliveries.emplace_back(StreamOpened{.position = {.stream_created = 1}});
    work.deliveries.emplace_back(CaughtUp{});
    run(std::move(work));
  }
  /// Advances the clock and fires the due timers in one batch.
  void advance_time(Duration time) {
    clock.advance(time);
    run(Work());
  }
  void start(const std::string& workflow, Json input = Json::object()) {
    run(StartInstance{.ns = "default", .workflow = workflow, .input = std::move(input)});
  }
  void report(decltype(TaskReport::what) what) {
    const std::vector<InstanceId> tasks = rig().runner.take_ran();
    ASSERT_THAT(tasks, SizeIs(1));
    Work work;
    work.tasks.push_back({{.task = tasks.front(), .what = std::move(what)}});
    run(std::move(work));
  }

  /// Applies inputs of each kind.
  void run_all_inputs() {
    open_stream();
    for (const char* const text : kDefinitions) {
      run(ApplyWorkflow{.ns = "default", .text = text, .workflow = *load_stored(text)});
    }
    run(CreateNamespace{
        .name = "default",
        .settings = Json{{"lifecycle", true}, {"webhooks", {{{"url", "http://hook"}}}}}});
    run(PutSecret{.ns = "default", .name = "token", .value = "t"});
    for (const char* const type : {"begin", "begin", "begin", "one"}) publish(type);
    start("calls", {{"items", {1, 2, 3}}});
    start("reminds");
    publish("go");  // more instances than one batch may wake
    publish("item");
    publish("two");
    publish("one");
    publish("begin");
    advance_time(minutes(20));  // a tick
    run(PauseWorkflow{.ns = "default", .id = "waits"});
    run(PauseWorkflow{.ns = "default", .id = "waits", .paused = false});
    advance_time(minutes(40));  // waits time out, and the delayed event is published
    start("order");
    report(TaskEnded{.result = "1"});
    start("order");
    run(CreateNamespace{.name = "shop"});
    run(DeleteWorkflow{.ns = "default", .id = "order", .cancel = true});
    run(DeleteNamespace{.name = "shop"});
    run(DeleteNamespace{.name = "shop"});  // refused
    advance_time(hours(2));
  }

  std::map<uint64_t, std::string> published;
  size_t losses = 0;
};

TEST(CommitErrors, EndTheEngineIfNothingMayFollowTheCommit) {
  for (const char* const code : {"store.sync", "log.deposed", "log.lost", "log.closed"}) {
    EXPECT_TRUE(ends_engine(Error{code, "made to fail"})) << code;
  }
  for (const char* const code : {"store.full", "store.io", "store.corrupt", "log.diverged"}) {
    EXPECT_FALSE(ends_engine(Error{code, "made to fail"})) << code;
  }
}

TEST_F(LostBatchTest, LeavesCachesThatAreEqualToAFreshLoad) {
  run_all_inputs();
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_THAT(losses, Gt(40U));
  EXPECT_THAT(memory_of(engine()), Contains(StartsWith("workflow ")).Times(Gt(4U)));
}

TEST_F(LostBatchTest, CanBeRepairedByAFreshLoadIfTheUndoFails) {
  run_all_inputs();
  ASSERT_FALSE(HasFatalFailure());
  for (const char* const type : {"begin", "one"}) publish(type);
  const std::vector<std::string> before = memory_of(engine());
  const auto attempt = [&]() -> Status {
    Work work;
    for (const char* const type : {"go", "two", "begin"}) work.deliveries.emplace_back(event(type));
    TRY(apply(work, turn()));
    TRY(engine().tx.status());  // a commit would report the failed read
    TRY(undo(engine()));
    return engine().tx.status();
  };
  const uint64_t failed = fail_each_read(attempt, [&] {
    engine().tx.drop();
    const Status loaded = rig().load();
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(memory_of(engine()), before);
  });
  EXPECT_THAT(failed, Gt(5U));
  EXPECT_EQ(memory_of(engine()), before);
}

TEST_F(LostBatchTest, UndoesNothingIfNoBatchFollowedTheLastCommit) {
  for (const char* const text : {kWaits, kGroups, kTicks, kReminds, kOrder})
    run(apply_workflow(text));
  for (const char* const workflow : {"reminds", "order"}) start(workflow);
  Work work;
  for (const char* const type : {"begin", "one"}) work.deliveries.emplace_back(event(type));
  EngineTest::run(work);
  const std::vector<std::string> before = memory_of(engine());
  const auto rows_before = rows();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(undo(engine()));
    EXPECT_EQ(memory_of(engine()), before) << "there is no batch to undo";
  }
  EXPECT_EQ(rows(), rows_before);
}

TEST_F(LostBatchTest, LetsTheNextBatchApplyTheSameEvaluationResult) {
  run(apply_workflow(kComputesThenWaits));
  run(StartInstance{.ns = "default", .workflow = "computes", .input = Json::object()});
  const InstanceId id = numbered_id(last_id);
  const std::vector<Evaluate> asked = actions_of<Evaluate>(outcome);
  ASSERT_THAT(asked, SizeIs(1));
  Work work;
  work.evaluated.push_back({asked[0].ns, id, asked[0].step, {{QueryResult(Json{{"a", 1}})}}});
  run_batch(work);
  EXPECT_EQ(status_of(id), "waiting");
  EXPECT_TRUE(engine().waiting.listens(id));
}

TEST_F(LostBatchTest, LetsTheNextBatchApplyTheSameAcknowledgementsAndWebhookResults) {
  const Json settings{{"webhooks", {{{"url", "http://hook"}}}}};
  run(CreateNamespace{.name = "default", .settings = settings});
  open_stream();
  run(apply_workflow(kGeneratesEvents));
  run(start_instance("tells"));
  ASSERT_TRUE(engine().outbox.pump(engine().tx, clock.elapsed()));
  ASSERT_TRUE(engine().webhook_outbox.pump(engine().tx, clock.now()));
  ASSERT_THAT(rig().publisher.sent, SizeIs(1));
  ASSERT_THAT(rig().sender.sent, SizeIs(2))
      << "one delivery for the start of the instance, one for its end";
  Work work;
  work.acks.push_back({.number = 1, .ack = PublishAck{.sequence = 9}});
  work.webhook_results.push_back({1, std::nullopt});
  work.webhook_results.push_back({2, WebhookFailure{.error = {"webhook.status", "busy"}}});
  const auto before = rows();
  for (int i = 0; i < 2; ++i) {
    lose(work);
    EXPECT_EQ(rows(), before);
    EXPECT_EQ(engine().webhook_outbox.next_due(), std::nullopt) << "both deliveries are under way";
  }
  EngineTest::run(work);
  EXPECT_EQ(rows_of(Table::kSent), 1U);
  EXPECT_EQ(rows_of(Table::kWebhooks), 1U) << "the failed delivery is repeated";
  EXPECT_EQ(engine().outbox.bytes(), 0U);
  EXPECT_EQ(memory_of(engine()), fresh_memory());
}

TEST_F(LostBatchTest, CountsTheBytesOfAnAckedMessageInTheOutboxOnce) {
  open_stream();
  run(apply_workflow(kGeneratesEvents));
  run(start_instance("tells"));
  ASSERT_TRUE(engine().outbox.pump(engine().tx, clock.elapsed()));
  ASSERT_THAT(rig().publisher.sent, SizeIs(1));
  const uint64_t bytes = engine().outbox.bytes();
  Work acknowledged;
  acknowledged.acks.push_back({.number = 1, .ack = PublishAck{.sequence = 9}});
  lose(acknowledged);
  EngineTest::run(acknowledged);
  ASSERT_EQ(engine().outbox.bytes(), 0U);
  Work opened;
  opened.stream_changes.push_back(
      {.opened = StreamOpened{.position = {.stream_created = 1}, .intact_to = 8}, .openings = 1});
  EngineTest::run(opened);
  ASSERT_TRUE(engine().outbox.pump(engine().tx, clock.elapsed()));
  EXPECT_THAT(rig().publisher.sent, SizeIs(2)) << "the lost message is sent again";
  EXPECT_EQ(engine().outbox.bytes(), bytes);
  EXPECT_EQ(memory_of(engine()), fresh_memory());
}

TEST_F(LostBatchTest, HoldsOneCopyOfATimerThatAnEventMayOvertake) {
  run(apply_workflow(kWaits));
  publish("begin");
  deliver({StreamLost{}});
  clock.advance(hours(1));
  lose(Work());  // the stream may hold an event from before the timeout
  EXPECT_EQ(memory_of(engine()), fresh_memory());
  EngineTest::run(Work());
  EXPECT_EQ(outcome.counts.timers_fired, 0U);
  const TimePoint now = clock.now();
  EXPECT_THAT(engine().timers.take(now, {.held = true}), SizeIs(1));
}

TEST_F(LostBatchTest, StartsOneInstanceForATickThatHadToWait) {
  run(apply_workflow(kTicks));
  const WorkflowNumber ticks = engine().catalog.workflows().rbegin()->first;
  clock.advance(minutes(20));
  TurnState busy = turn();
  busy.takes_new_work = false;
  Work nothing;
  ASSERT_TRUE(apply(nothing, busy));
  ASSERT_TRUE(engine().timers.has_tick_of(ticks));
  ASSERT_TRUE(undo(engine()));
  EXPECT_FALSE(engine().timers.has_tick_of(ticks)) << "the timer of the tick is armed again";
  EXPECT_EQ(memory_of(engine()), fresh_memory());
  EngineTest::run(Work());
  EXPECT_EQ(outcome.counts.instances_started, 1U);
}

TEST_F(LostBatchTest, DropsTheTimersWhoseRowsAreDamaged) {
  run(apply_workflow(kReminds));
  run(apply_workflow(kGroups));
  start("reminds");
  publish("one");
  for (const Table table : {Table::kDelayed, Table::kGroups}) {
    for (const auto& [place, value] : rows()) {
      if (place.first == table) engine().tx.put(table, place.second, "rubbish");
    }
  }
  ASSERT_TRUE(commit_batch());
  ASSERT_EQ(engine().waiting.timers(), 2U);
  clock.advance(hours(1));
  lose(Work());
  EXPECT_EQ(engine().waiting.timers(), 0U);
  EngineTest::run(Work());
  EXPECT_EQ(outcome.counts.timers_fired, 0U);
}

TEST_F(LostBatchTest, LeavesCachesEqualToAFreshLoadIfTheBatchOnlyFreedSpace) {
  for (const char* const text : {kWaits, kOrder}) run(apply_workflow(text));
  publish("begin");
  start("order");
  const InstanceId id = numbered_id(last_id);
  Work work;
  work.commands.push_back(command(CancelInstance{.ns = "default", .instance = id, .now = true}));
  work.commands.push_back(command(DeleteWorkflow{.ns = "default", .id = "waits", .cancel = true}));
  const auto before = rows();
  ASSERT_TRUE(rig().applier.make_room(work, clock.now()));
  ASSERT_TRUE(undo(engine()));
  EXPECT_EQ(memory_of(engine()), fresh_memory());
  EXPECT_EQ(rows(), before);
  EXPECT_EQ(status_of(id), "waiting");
}

}  // namespace
}  // namespace millrace
