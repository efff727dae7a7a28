// A lost batch: memory is then what a fresh load of the store makes of it. Each input of a life
// with something of every kind in it is lost first, and then applied.
#include "orchestrator/loop/lost_batch.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/definition/loader.h"
#include "orchestrator/loop/after_commit.h"
#include "orchestrator/loop/recovery.h"
#include "orchestrator/loop/work_applier.h"
#include "scenarios/virtual_clock.h"
#include "tests/support/mixed_definitions.h"
#include "tests/unit/support/catalog_store.h"
#include "tests/unit/support/recorders.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::Contains;
using testing::Gt;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* kDefinitions[] = {kWaits, kGroups, kTicks, kItem, kCalls, kOrder, kReminds};

constexpr const char* kTypes[] = {"begin", "go", "one", "two", "item", "reminder"};

Event event_of(const std::string& type, uint64_t number) {
  return {.id = std::to_string(number), .source = "/s", .type = type};
}

/// Sends nothing.
class NoPublisher final : public Publisher {
 public:
  void publish(NatsMessage, Done) override {}
};

/// An engine without its thread, and what it needs.
struct Rig {
  Rig(Environment& environment, const Clock& clock, uint8_t& last_id)
      : engine({.environment = environment,
                .clock = clock,
                .publisher = publisher,
                .functions = runner,
                .webhooks = sender,
                .definitions = definitions,
                .make_id = [&last_id](TimePoint) { return numbered_id(++last_id); },
                .id_key = "key",
                .begun_tasks = begun},
               {.batch = {.woken = 2, .woken_later = 1, .errands = 1}}, intake) {}

  Status load() {
    TRY(engine.outbox.load(engine.tx, engine.damages.noting()));
    left.continues = TRY(millrace::load(engine, read));
    return {};
  }

  NoPublisher publisher;
  RecordingRunner runner;
  RecordingSender sender;
  DefinitionCache definitions{load_stored};
  BegunTasks begun;
  Intake intake;
  EngineState engine;
  WorkApplier applier{engine, intake};
  EndWaiters end_waiters{engine.tx, engine.catalog};
  std::atomic<uint64_t> read = 0;
  Backlog backlog{.has_steps = true, .has_purges = true};
  Work left;  ///< of the last batch, for the next one
};

class LostBatchTest : public FaultyStoreTest {
 protected:
  LostBatchTest() {
    tx.reset();  // the engine has its own
    made.emplace(*environment, clock, last_id);
    const Status loaded = rig().load();
    EXPECT_TRUE(loaded) << loaded.error().message;
  }

  Rig& rig() { return *made; }

  /// All that memory has of the store, in lines.
  std::vector<std::string> memory_of(EngineState& engine) const {
    std::vector<std::string> lines;
    for (const NamespaceNumber space : engine.catalog.namespaces()) {
      const std::string& name = engine.catalog.name_of(space);
      const NamespaceSettings& settings = engine.catalog.settings(space);
      lines.push_back(fmt::format("namespace {} {} tells {}", static_cast<uint32_t>(space), name,
                                  settings.tells()));
      for (const char* const type : kTypes) {
        if (engine.recent.wants(space, type)) {
          lines.push_back(fmt::format("{} is wanted in {}", type, name));
        }
      }
    }
    for (const auto& [number, entry] : engine.catalog.workflows()) {
      lines.push_back(fmt::format("workflow {} {} revision {} paused {} groups from {} living {}",
                                  static_cast<uint32_t>(number), entry.id, entry.latest,
                                  entry.paused, entry.groups_from, engine.living.count(number)));
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
      if (engine.recent.seen(known_as)) lines.push_back(fmt::format("event {} is kept", number));
    }
    const auto shown = [](const std::optional<TimePoint>& at) {
      return at ? std::to_string(to_millis(*at)) : std::string("-");
    };
    lines.push_back(
        fmt::format("listeners {} timers {}", engine.waiting.listeners(), engine.waiting.timers()));
    lines.push_back(fmt::format("last kept {} webhook {} tasks {} outbox {} cursor {}",
                                engine.recent.last(), shown(engine.hooks.next_due()),
                                engine.tasks.size(), engine.outbox.bytes(),
                                engine.batch.cursor().sequence));
    return lines;
  }
  /// What another engine reads from a copy of the store.
  std::vector<std::string> fresh_memory() {
    const Folder copy;
    const auto data = copy.path() / "data";
    std::filesystem::copy(folder.path(), data, std::filesystem::copy_options::recursive);
    const auto store = Environment::open(data, EnvironmentOptions());
    EXPECT_TRUE(store) << store.error().message;
    uint8_t no_id = 0;
    Rig fresh(**store, clock, no_id);
    const Status loaded = fresh.load();
    EXPECT_TRUE(loaded) << loaded.error().message;
    return memory_of(fresh.engine);
  }

  Result<BatchOutcome> apply(Work work, Work& left) {
    return rig().applier.apply(work, left, {.now = clock.now(), .backlog = rig().backlog});
  }

  /// One batch, which is lost first.
  void run_batch(const Work& work) {
    const uint8_t ids_before = last_id;
    Work left;
    const Result<BatchOutcome> lost = apply(work, left);
    ASSERT_TRUE(lost) << lost.error().message;
    last_id = ids_before;
    const Status undone = undo(rig().engine);
    ASSERT_TRUE(undone) << undone.error().message;
    ASSERT_EQ(memory_of(rig().engine), fresh_memory());
    ++losses;

    left = {};
    Result<BatchOutcome> outcome = apply(work, left);
    ASSERT_TRUE(outcome) << outcome.error().message;
    const Status committed = rig().engine.tx.commit();
    ASSERT_TRUE(committed) << committed.error().message;
    rig().engine.batches.begin();
    rig().backlog = outcome->backlog;
    Evaluator evaluate;
    FollowingTurns next = perform({.outbox = rig().engine.outbox,
                                   .tasks = rig().engine.tasks,
                                   .evaluate = evaluate,
                                   .intake = rig().intake,
                                   .end_waiters = rig().end_waiters},
                                  std::move(outcome->actions));
    left.continues = std::move(next.continues);
    left.commands = std::move(next.commands);
    rig().left = std::move(left);
  }
  /// That batch, and those that go on with what is too much for one.
  void run(Work work) {
    move_all(rig().left.continues, work.continues);
    move_all(rig().left.commands, work.commands);
    run_batch(work);
    for (int i = 0; i < 50 && !HasFatalFailure(); ++i) {
      const bool is_done =
          rig().left.empty() && !rig().backlog.has_steps && !rig().backlog.has_purges;
      if (is_done) return;
      run_batch(std::exchange(rig().left, {}));
    }
  }
  void run(Command command) {
    Work work;
    work.commands.push_back({++requests, std::move(command)});
    run(std::move(work));
  }
  void publish(const std::string& type) {
    const uint64_t number = ++sequence;
    published.emplace(number, type);
    Work work;
    work.deliveries.emplace_back(EventInput{.space = "default",
                                            .sequence = number,
                                            .stamped = clock.now(),
                                            .event = EncodedEvent(event_of(type, number))});
    run(std::move(work));
  }
  void open_stream() {
    Work work;
    work.deliveries.emplace_back(StreamOpened{.position = {.stream_created = 1}});
    work.deliveries.emplace_back(CaughtUp{});
    run(std::move(work));
  }
  /// What is due by then is fired, in one batch.
  void pass(Duration time) {
    clock.advance(time);
    run(Work());
  }
  void start(const std::string& workflow, Json input = Json::object()) {
    run(StartInstance{.space = "default", .workflow = workflow, .input = std::move(input)});
  }
  void report(decltype(TaskReport::what) what) {
    const std::vector<InstanceId> tasks = rig().runner.take_ran();
    ASSERT_THAT(tasks, SizeIs(1));
    Work work;
    work.tasks.push_back({{.task = tasks.front(), .what = std::move(what)}});
    run(std::move(work));
  }

  /// A life with all of it.
  void live() {
    open_stream();
    for (const char* const text : kDefinitions) {
      run(ApplyWorkflow{.space = "default", .text = text, .workflow = *load_stored(text)});
    }
    run(CreateNamespace{
        .name = "default",
        .settings = Json{{"lifecycle", true}, {"webhooks", {{{"url", "http://hook"}}}}}});
    run(PutSecret{.space = "default", .name = "token", .value = "t"});
    for (const char* const type : {"begin", "begin", "begin", "one"}) publish(type);
    start("calls", {{"items", {1, 2, 3}}});
    start("reminds");
    publish("go");  // more than one batch wakes
    publish("item");
    publish("two");
    publish("one");
    publish("begin");
    pass(minutes(20));  // a tick
    run(PauseWorkflow{.space = "default", .id = "waits"});
    run(PauseWorkflow{.space = "default", .id = "waits", .paused = false});
    pass(minutes(40));  // what waits times out, what was delayed is published
    start("order");
    report(TaskEnded{.result = "1"});
    start("order");
    run(CreateNamespace{.name = "shop"});
    run(DeleteWorkflow{.space = "default", .id = "order", .cancel = true});
    run(DeleteNamespace{.name = "shop"});
    run(DeleteNamespace{.name = "shop"});  // refused
    pass(hours(2));
  }

  VirtualClock clock;
  uint8_t last_id = 0;
  std::optional<Rig> made;
  uint64_t sequence = 0;
  uint64_t requests = 0;
  std::map<uint64_t, std::string> published;
  size_t losses = 0;
};

TEST_F(LostBatchTest, LeavesOfEachInputWhatAFreshLoadFinds) {
  live();
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_THAT(losses, Gt(40U));
  EXPECT_THAT(memory_of(rig().engine), Contains(StartsWith("workflow ")).Times(Gt(4U)));
}

TEST_F(LostBatchTest, IsReadAnewWhereTakingItBackFails) {
  live();
  ASSERT_FALSE(HasFatalFailure());
  for (const char* const type : {"begin", "one"}) publish(type);
  const std::vector<std::string> before = memory_of(rig().engine);
  const auto attempt = [&]() -> Status {
    Work work;
    Work left;
    for (const char* const type : {"go", "two", "begin"}) {
      ++sequence;
      work.deliveries.emplace_back(EventInput{.space = "default",
                                              .sequence = sequence,
                                              .stamped = clock.now(),
                                              .event = EncodedEvent(event_of(type, sequence))});
    }
    TRY(apply(std::move(work), left));
    TRY(rig().engine.tx.status());  // what a commit says
    TRY(undo(rig().engine));
    return rig().engine.tx.status();
  };
  const uint64_t failed = fail_each_read(attempt, [&] {
    rig().engine.tx.drop();
    const Status loaded = rig().load();
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(memory_of(rig().engine), before);
  });
  EXPECT_THAT(failed, Gt(5U));
  EXPECT_EQ(memory_of(rig().engine), before);
}

}  // namespace
}  // namespace millrace
