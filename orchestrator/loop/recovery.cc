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
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/pending_start_rows.h"

namespace millrace {
namespace {

/// How many instances are read, in about a second, before the progress is logged again.
constexpr uint64_t kLogEach = 1'000'000;

/// How many rows one step of a build of the index reads, in some milliseconds.
constexpr size_t kRowsOfAStep = 4'096;

/// A waiting instance has at least two rows, the head and the input.
constexpr size_t kRowsOfAWaiter = 2;

/// Checks the stored engine time. Engine time never goes back, so millrace would keep a wrong time
/// from a damaged row.
Status check_time(const EngineState& engine) {
  constexpr auto kFarthest = std::chrono::duration_cast<Duration>(std::chrono::years(100));
  const TimePoint stored = TRY(read_engine_time(engine.tx));
  const TimePoint now = engine.clock.now();
  if (stored <= now + kFarthest) return {};
  return tl::unexpected(damaged_engine_time(
      fmt::format("it is {}, more than 100 years after {}, the time of the system's clock",
                  format_rfc3339(stored), format_rfc3339(now))));
}

/// Loads the listeners and the schedule of a workflow's newest revision.
Status load_workflow(EngineState& engine, const WorkflowEntry& entry) {
  const WorkflowNumber number = entry.number;
  const auto workflow = TRY(engine.catalog.definition(engine.tx, {number, entry.latest}));
  TRY(engine.waiting.set_start(engine.catalog.name_of(entry.ns), number, workflow->start.events));
  // So that Catalog::known_types() knows those of the instances that wait since an earlier process.
  TRY(engine.catalog.awaited(engine.tx, {number, entry.latest}, workflow->start.state));
  if (!workflow->start.cron) return {};
  const auto row = TRY(read_schedule(engine.tx, number));
  if (!row) {
    return tl::unexpected(damaged_schedule(
        number, fmt::format("it is missing, and workflow \"{}\" has a schedule; "
                            "apply the workflow without its schedule, then with it",
                            entry.id)));
  }
  if (engine.timers.has_tick_of(number)) return {};
  engine.waiting.arm_schedule(number, workflow->start.cron->next(row->from));
  return {};
}

/// Reads the heads of all live instances. Returns the instances that continue, or may come to
/// listen for events (may_come_to_listen), without another input.
Result<std::vector<Instance>> load_instances(EngineState& engine, std::atomic<uint64_t>& read) {
  const OnDamage damaged = engine.damages.noting();
  std::vector<Instance> without_input;
  read = 0;
  engine.waiting.reserve(engine.tx.about_rows(Table::kLive) / kRowsOfAWaiter);
  size_t orphans = 0;
  const auto heads = [&](const auto& put) { return each_live(engine.tx, put, damaged); };
  TRY(read_ahead<Instance>(heads, [&](Instance&& head) {
    if (++read % kLogEach == 0)
      spdlog::info("{} live instances have been read so far", read.load());
    if (!engine.catalog.has_namespace(head.ns)) {
      ++orphans;
      return;
    }
    if (const Status owned = engine.catalog.check_owner(head); !owned) {
      damaged(owned.error());
      return;
    }
    const Status waits = engine.waiting.update(engine.catalog.name_of(head.ns), head);
    if (!waits) damaged(damaged_instance(head.ns, head.id, waits.error().message));
    engine.live.began(head.ns, head.revision.workflow);
    if (waits_to_start(head)) {  // only its admission continues it
      engine.live.queued(head.ns);
      return;
    }
    if (may_come_to_listen(head) || head.phase != Phase::kWaiting) {
      without_input.push_back(std::move(head));
    }
  }));
  if (orphans > 0) {
    spdlog::warn("{} live instances belong to namespaces that do not exist; they are skipped",
                 orphans);
  }
  return without_input;
}

Status load_numbered_timers(EngineState& engine) {
  const OnDamage damaged = engine.damages.noting();
  TRY(each_delayed(
      engine.tx,
      [&](uint64_t number, const DelayedRecord& record) {
        if (!engine.catalog.has_namespace(record.ns)) return;
        engine.waiting.arm_delayed(number, record.at);
      },
      damaged));
  if (const auto first = TRY(first_pending_start(engine.tx))) {
    engine.waiting.arm_starts(first->listed);
  }
  return each_grouped(
      engine.tx,
      [&](const GroupedEvent& event) {
        if (event.record.expires) engine.waiting.arm_grouped(event.number, *event.record.expires);
      },
      damaged);
}

Status make_default_namespace(EngineState& engine) {
  if (engine.catalog.find_namespace(kDefaultNamespace)) return {};
  if (TRY(read_counter(engine.tx, Counter::kNamespace)) >
      0) {  // the default namespace cannot be deleted
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

std::string describe(const StartProgress& progress) {
  if (progress.builds_index) {
    return fmt::format("computing the index: {} instances so far", progress.indexed.load());
  }
  return fmt::format("loading the store: {} live instances read so far", progress.read.load());
}

Status build_missing_index(EngineState& engine, StartProgress& progress) {
  if (!is_index_incomplete(engine.tx)) return engine.tx.status();
  spdlog::info("the index, or what it lacks, is computed from the other rows");
  progress.builds_index = true;
  uint64_t logged = 0;
  do {
    progress.indexed = TRY(build_index_step(engine.tx, kRowsOfAStep, engine.damages.noting()));
    TRY(engine.tx.commit(Limit::kPassed));
    if (progress.indexed - logged < kLogEach) continue;
    logged = progress.indexed;
    spdlog::info("the index has {} instances so far", logged);
  } while (is_index_incomplete(engine.tx));
  TRY(engine.tx.status());
  spdlog::info("the index is complete: {} instances were added", progress.indexed.load());
  progress.builds_index = false;
  return {};
}

Result<std::vector<ContinueInput>> load(EngineState& engine, StartProgress& progress) {
  engine.tasks.undo();  // only memory has which tasks have started, and undo() restores that
  engine.batches.end();
  engine.waiting.clear();
  engine.live.clear();
  engine.timers.clear();
  const OnDamage damaged = engine.damages.noting();
  TRY(engine.catalog.load(engine.tx));
  TRY(engine.dedupe.load(engine.tx, damaged));
  TRY(engine.kept_events.load(engine.tx));
  TRY(engine.tasks.load(engine.tx));
  TRY(engine.webhook_outbox.load(engine.tx));
  for (const auto& [number, entry] : engine.catalog.workflows()) {
    TRY(engine.damages.pass_over(load_workflow(engine, entry)));
  }
  const std::vector<Instance> without_input = TRY(load_instances(engine, progress.read));
  std::vector<ContinueInput> unfinished;
  for (const Instance& head : without_input) {
    const auto awaited = engine.catalog.awaited(engine.tx, head.revision, head.state);
    if (!awaited && is_damaged_row(awaited.error())) {
      damaged(awaited.error());
      continue;
    }
    engine.kept_events.update(head, TRY(awaited));
    if (head.phase == Phase::kWaiting) continue;
    // The instance stopped in a transient phase or during an evaluation, and continues from there.
    unfinished.push_back({head.ns, head.id, head.revision.workflow});
  }
  TRY(load_numbered_timers(engine));
  TRY(make_default_namespace(engine));
  TRY(engine.batch.load());
  engine.batch.note_loaded(engine.clock.now());
  engine.batches.begin();
  return unfinished;
}

Status restore_workflow(EngineState& engine, WorkflowNumber number) {
  const WorkflowEntry* const entry = engine.catalog.find_workflow(number);
  engine.waiting.disarm_schedule(number);
  if (entry == nullptr) return engine.waiting.set_start("", number, {});
  return engine.damages.pass_over(load_workflow(engine, *entry));
}

Status restore_instance(EngineState& engine, NamespaceNumber ns, const InstanceId& id) {
  const auto read = read_live_head(engine.tx, ns, id);
  if (!read && !is_damaged_row(read.error())) return tl::unexpected(read.error());
  const std::optional<Instance> head = read.value_or(std::nullopt);
  if (!head || !engine.catalog.has_namespace(ns)) {
    engine.kept_events.forget(id);
    return engine.waiting.update("", Instance{.id = id, .ns = ns});
  }
  const Status waits = engine.waiting.update(engine.catalog.name_of(ns), *head);
  if (!waits) engine.damages.note(damaged_instance(ns, id, waits.error().message));
  const auto awaited = engine.catalog.awaited(engine.tx, head->revision, head->state);
  if (!awaited && is_damaged_row(awaited.error())) {
    engine.kept_events.forget(id);
    return {};
  }
  engine.kept_events.update(*head, TRY(awaited));
  return {};
}

}  // namespace millrace
