// A faulty store (faulty_store.h) with everything on it that a batch works on, for the tests of the
// batch and of its parts. Ports are recorders; a lost batch is undone by reading all caches anew.
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

/// The actions of one kind that a batch asks for.
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
            .living = living,
            .dedupe = dedupe,
            .recent = recent,
            .tasks = tasks,
            .hooks = hooks,
            .in_hand = in_hand,
            .damages = damages,
            .batches = batches,
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
  /// While a batch is in hand that was lost: it is over when all have taken it back.
  Status read_caches() {
    waiting.clear();
    living.clear();
    TRY(catalog.load(*tx));
    TRY(dedupe.load(*tx));
    TRY(recent.load(*tx));
    TRY(tasks.load(*tx));
    TRY(hooks.load(*tx));
    for (const auto& [number, entry] : catalog.workflows()) {
      const auto workflow = TRY(catalog.definition(*tx, {number, entry.latest}));
      TRY(waiting.set_start(catalog.name_of(entry.space), number, workflow->start.events));
      const auto row = TRY(read_schedule(*tx, number));
      if (row && workflow->start.cron) {
        waiting.arm_schedule(number, workflow->start.cron->next(row->from));
      }
    }
    std::vector<Instance> heads;
    TRY(each_living(*tx, [&](Instance head) { heads.push_back(std::move(head)); }));
    for (const Instance& head : heads) {
      TRY(waiting.update(catalog.name_of(head.space), head));
      living.began(head.revision.workflow);
      if (!is_on_its_way(head)) continue;
      recent.update(head, TRY(catalog.awaited(*tx, head.revision, head.state)));
    }
    TRY(each_delayed(*tx, [&](uint64_t number, const DelayedRecord& record) {
      waiting.arm_delayed(number, record.at);
    }));
    TRY(each_grouped(*tx, [&](const GroupedEvent& event) {
      if (event.record.expires) waiting.arm_grouped(event.number, *event.record.expires);
    }));
    return {};
  }

  /// The instances that are stored and have not ended, by their ids.
  std::vector<Instance> stored_living() {
    std::vector<Instance> heads;
    EXPECT_TRUE(each_living(*tx, [&](Instance head) { heads.push_back(std::move(head)); }));
    return heads;
  }
  /// The subjects of the messages in the outbox, in their order.
  std::vector<std::string> outbox_subjects() {
    std::vector<std::string> subjects;
    EXPECT_TRUE(each_outbox(*tx, 0, [&](uint64_t number, std::string_view row) -> Result<bool> {
      subjects.push_back(TRY(decode_outbox(*tx, number, row)).message.subject);
      return true;
    }));
    return subjects;
  }
  /// The timers that are due by then, as their owners' kinds: the index in TimerInput::owner.
  std::vector<TimerInput> due(TimePoint by) {
    std::vector<TimerInput> timers;
    waiting.advance(by, timers);
    return timers;
  }

  uint8_t last_id = 0;  ///< of the instances that were made
  VirtualClock clock;
  RecordingRunner runner;
  RecordingSender sender;
  BegunTasks begun;
  Waiting waiting{batches};
  Living living{batches};
  Dedupe dedupe{DedupeWindow(), batches};
  Recent recent{damages, batches};
  Tasks tasks{runner, catalog, clock, begun, damages, batches};
  Hooks hooks{sender, catalog, damages, batches, [](const WebhookResult&) {}};
  InHand in_hand;
};

}  // namespace millrace
