// The fixture for the batch and its parts: a faulty store (faulty_store.h) with all caches that a
// batch uses. Ports are recorders (recorders.h). After a lost batch all caches are read again.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orchestrator/batch/batch.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "scenarios/virtual_clock.h"
#include "tests/unit/support/catalog_store.h"
#include "tests/unit/support/recorders.h"

namespace millrace {

/// Does all the work that earlier batches left and that this batch may do.
inline Status go_on_with_all(Batch& batch, TimePoint now) {
  for (const WorkLane& lane : batch.unfinished()) {
    while (batch.may_go_on(lane)) TRY(batch.go_on(now, lane));
  }
  return {};
}

/// The actions of one kind that a batch returned.
template <class Action>
std::vector<Action> actions_of(const BatchOutcome& outcome) {
  std::vector<Action> found;
  for (const AfterCommit& action : outcome.actions) {
    if (const auto* one = std::get_if<Action>(&action)) found.push_back(*one);
  }
  return found;
}

class BatchStoreTest : public CatalogStoreTest {
 protected:
  BatchStoreTest() { load_caches(); }

  BatchParts parts() {
    return {.tx = *tx,
            .catalog = catalog,
            .waiting = waiting,
            .live = live,
            .dedupe = dedupe,
            .kept_events = kept_events,
            .tasks = tasks,
            .webhook_outbox = webhook_outbox,
            .crash_note = crash_note,
            .damages = damages,
            .batches = batches,
            .meter = meter,
            .make_id = [this](TimePoint) { return numbered_id(++last_id); },
            .id_key = "key",
            .limits = {}};
  }

  /// Reads all caches from the store.
  void load_caches() {
    const Status loaded = try_load_caches();
    ASSERT_TRUE(loaded) << loaded.error().message;
  }
  Status try_load_caches() {
    tasks.undo();
    batches.end();
    TRY(read_caches());
    batches.begin();
    return {};
  }
  /// Reads the caches after a lost batch, while the batch is still open. The batch ends once all
  /// caches are undone.
  Status read_caches() {
    waiting.clear();
    live.clear();
    TRY(catalog.load(*tx));
    TRY(dedupe.load(*tx));
    TRY(kept_events.load(*tx));
    TRY(tasks.load(*tx));
    TRY(webhook_outbox.load(*tx));
    for (const auto& [number, entry] : catalog.workflows()) {
      const auto workflow = TRY(catalog.definition(*tx, {number, entry.latest}));
      TRY(waiting.set_start(catalog.name_of(entry.ns), number, workflow->start.events));
      const auto row = TRY(read_schedule(*tx, number));
      if (row && workflow->start.cron) {
        waiting.arm_schedule(number, workflow->start.cron->next(row->from));
      }
    }
    std::vector<Instance> heads;
    TRY(each_live(*tx, [&](Instance head) { heads.push_back(std::move(head)); }));
    for (const Instance& head : heads) {
      TRY(waiting.update(catalog.name_of(head.ns), head));
      live.began(head.ns, head.revision.workflow);
      if (!may_come_to_listen(head)) continue;
      kept_events.update(head, TRY(catalog.awaited(*tx, head.revision, head.state)));
    }
    TRY(each_delayed(*tx, [&](uint64_t number, const DelayedRecord& record) {
      waiting.arm_delayed(number, record.at);
    }));
    TRY(each_grouped(*tx, [&](const GroupedEvent& event) {
      if (event.record.expires) waiting.arm_grouped(event.number, *event.record.expires);
    }));
    return {};
  }

  /// The stored heads of live instances, by id.
  std::vector<Instance> stored_live() {
    std::vector<Instance> heads;
    EXPECT_TRUE(each_live(*tx, [&](Instance head) { heads.push_back(std::move(head)); }));
    return heads;
  }
  /// The subjects of the messages in the outbox, in order.
  std::vector<std::string> outbox_subjects() {
    std::vector<std::string> subjects;
    EXPECT_TRUE(each_outbox(*tx, 0, [&](uint64_t number, std::string_view row) -> Result<bool> {
      subjects.push_back(TRY(decode_outbox(*tx, number, row)).message.subject);
      return true;
    }));
    return subjects;
  }
  /// The timers that are due by then; they leave the wait index.
  std::vector<TimerInput> due(TimePoint by) {
    std::vector<TimerInput> timers;
    waiting.advance(by, timers);
    return timers;
  }

  uint8_t last_id = 0;  ///< the last assigned instance id
  VirtualClock clock;
  UnitMeter meter{clock};
  RecordingRunner runner;
  RecordingSender sender;
  StartedTasks started;
  WaitIndex waiting{batches};
  LiveCounts live{batches};
  Dedupe dedupe{DedupeWindow(), batches};
  KeptEvents kept_events{damages, batches};
  TaskDispatch tasks{runner, catalog, clock, started, damages, batches};
  WebhookOutbox webhook_outbox{sender, catalog, damages, batches, [](const WebhookResult&) {}};
  CrashNote crash_note;
};

}  // namespace millrace
