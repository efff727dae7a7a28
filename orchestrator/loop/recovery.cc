#include "orchestrator/loop/recovery.h"

#include <algorithm>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "orchestrator/memory/read_ahead.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/meta_rows.h"

namespace millrace {
namespace {

/// A start logs how far it is each time it has read so many instances: every second, about.
constexpr uint64_t kLogEach = 1'000'000;

/// An instance that waits has two rows at least, the head and the input.
constexpr size_t kRowsOfAWaiter = 2;

/// The engine's time never goes back, so one from a damaged row would stay.
Status check_time(const EngineState& engine) {
  constexpr auto kFarthest = std::chrono::duration_cast<Duration>(std::chrono::years(100));
  const TimePoint stored = TRY(read_engine_time(engine.tx));
  const TimePoint now = engine.clock.now();
  if (stored <= now + kFarthest) return {};
  return tl::unexpected(damaged_engine_time(
      fmt::format("it is {}, more than 100 years after {}, the time of the system's clock",
                  format_rfc3339(stored), format_rfc3339(now))));
}

/// What the newest revision of a workflow listens and waits for.
Status load_workflow(EngineState& engine, const WorkflowEntry& entry) {
  const WorkflowNumber number = entry.number;
  const auto workflow = TRY(engine.catalog.definition(engine.tx, {number, entry.latest}));
  TRY(engine.waiting.set_start(engine.catalog.name_of(entry.space), number,
                               workflow->start.events));
  if (!workflow->start.cron) return {};
  const auto row = TRY(read_schedule(engine.tx, number));
  if (!row) {
    return tl::unexpected(
        damaged_schedule(number, fmt::format("it is missing, and workflow \"{}\" has a schedule; "
                                             "apply it without, then with its schedule",
                                             entry.id)));
  }
  if (engine.timers.has_tick_of(number)) return {};
  engine.waiting.arm_schedule(number, workflow->start.cron->next(row->from));
  return {};
}

/// Reads the heads of all living instances. Returns those that are on their way to a wait.
Result<std::vector<Instance>> load_instances(EngineState& engine, std::atomic<uint64_t>& read) {
  const OnDamage damaged = engine.damages.noting();
  std::vector<Instance> on_their_way;
  read = 0;
  engine.waiting.reserve(engine.tx.about_rows(Table::kLive) / kRowsOfAWaiter);
  size_t orphans = 0;
  const auto heads = [&](const auto& put) { return each_living(engine.tx, put, damaged); };
  TRY(read_ahead<Instance>(heads, [&](Instance head) {
    if (++read % kLogEach == 0) spdlog::info("{} living instances are read", read.load());
    if (!engine.catalog.has_namespace(head.space)) {
      ++orphans;
      return;
    }
    if (const Status owned = engine.catalog.check_owner(head); !owned) {
      damaged(owned.error());
      return;
    }
    const Status waits = engine.waiting.update(engine.catalog.name_of(head.space), head);
    if (!waits) damaged(damaged_instance(head.space, head.id, waits.error().message));
    engine.living.began(head.revision.workflow);
    if (is_on_its_way(head)) on_their_way.push_back(std::move(head));
  }));
  if (orphans > 0) {
    spdlog::warn("{} living instances are of namespaces that do not exist; they are skipped",
                 orphans);
  }
  return on_their_way;
}

Status load_numbered_timers(EngineState& engine) {
  const OnDamage damaged = engine.damages.noting();
  TRY(each_delayed(
      engine.tx,
      [&](uint64_t number, const DelayedRecord& record) {
        if (!engine.catalog.has_namespace(record.space)) return;
        engine.waiting.arm_delayed(number, record.at);
      },
      damaged));
  return each_grouped(
      engine.tx,
      [&](const GroupedEvent& event) {
        if (event.record.expires) engine.waiting.arm_grouped(event.number, *event.record.expires);
      },
      damaged);
}

Status make_default_namespace(EngineState& engine) {
  if (engine.catalog.find_namespace(kDefaultNamespace)) return {};
  if (TRY(read_counter(engine.tx, Counter::kNamespace)) > 0) {  // it can't be deleted
    return tl::unexpected(damaged_row(Table::kNamespaces, kDefaultNamespace, "it is missing"));
  }
  TRY(engine.catalog.create_namespace(engine.tx, std::string(kDefaultNamespace),
                                      engine.clock.now()));
  return engine.tx.commit();
}

}  // namespace

Status check_store(EngineState& engine) {
  TRY(check_format(engine.tx));
  TRY(check_counters(engine.tx));
  return check_time(engine);
}

Result<std::vector<ContinueInput>> load(EngineState& engine, std::atomic<uint64_t>& read) {
  engine.tasks.undo();  // no row has which tasks a worker has begun; these notes do
  engine.batches.end();
  engine.waiting.clear();
  engine.living.clear();
  engine.timers.clear();
  const OnDamage damaged = engine.damages.noting();
  TRY(engine.catalog.load(engine.tx));
  TRY(engine.dedupe.load(engine.tx, damaged));
  TRY(engine.recent.load(engine.tx));
  TRY(engine.tasks.load(engine.tx));
  TRY(engine.hooks.load(engine.tx));
  for (const auto& [number, entry] : engine.catalog.workflows()) {
    TRY(engine.damages.pass_over(load_workflow(engine, entry)));
  }
  const std::vector<Instance> on_their_way = TRY(load_instances(engine, read));
  std::vector<ContinueInput> unfinished;
  for (const Instance& head : on_their_way) {
    const auto awaited = engine.catalog.awaited(engine.tx, head.revision, head.state);
    if (!awaited && is_damaged_row(awaited.error())) {
      damaged(awaited.error());
      continue;
    }
    engine.recent.update(head, TRY(awaited));
    if (head.phase == Phase::kWaiting) continue;
    // It stopped between two states, or an evaluation was under way: it goes on from there.
    unfinished.push_back({head.space, head.id});
  }
  TRY(load_numbered_timers(engine));
  TRY(make_default_namespace(engine));
  TRY(engine.batch.load());
  engine.batches.begin();
  return unfinished;
}

Status restore_workflow(EngineState& engine, WorkflowNumber number) {
  const WorkflowEntry* const entry = engine.catalog.find_workflow(number);
  engine.waiting.disarm_schedule(number);
  if (entry == nullptr) return engine.waiting.set_start("", number, {});
  return engine.damages.pass_over(load_workflow(engine, *entry));
}

Status restore_instance(EngineState& engine, NamespaceNumber space, const InstanceId& id) {
  const auto read = read_living_head(engine.tx, space, id);
  if (!read && !is_damaged_row(read.error())) return tl::unexpected(read.error());
  const std::optional<Instance> head = read.value_or(std::nullopt);
  if (!head || !engine.catalog.has_namespace(space)) {
    engine.recent.forget(id);
    return engine.waiting.update("", Instance{.id = id, .space = space});
  }
  const Status waits = engine.waiting.update(engine.catalog.name_of(space), *head);
  if (!waits) engine.damages.note(damaged_instance(space, id, waits.error().message));
  const auto awaited = engine.catalog.awaited(engine.tx, head->revision, head->state);
  if (!awaited && is_damaged_row(awaited.error())) {
    engine.recent.forget(id);
    return {};
  }
  engine.recent.update(*head, TRY(awaited));
  return {};
}

}  // namespace millrace
