// A commit in the making and the instances in it, for the tests of the parts of a batch, each on
// its own.
#pragma once

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/instances.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "tests/unit/support/batch_store.h"

namespace millrace {

inline constexpr const char* kWaits = R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: go}}
)";

inline constexpr const char* kTicks = R"(
id: ticks
start: {type: scheduled, cron: '0 * * * *'}
states:
- {id: done, type: noop}
)";

class DraftTest : public BatchStoreTest {
 protected:
  /// Stores a workflow of the default namespace, whose start is listened for.
  const WorkflowEntry& define(const std::string& text) {
    const WorkflowNumber number = apply(text);
    load_caches();
    return *catalog.find_workflow(number);
  }
  std::shared_ptr<const Workflow> definition(const WorkflowEntry& entry) {
    const auto workflow = catalog.definition(*tx, {entry.number, entry.latest});
    EXPECT_TRUE(workflow) << workflow.error().message;
    return *workflow;
  }
  Result<InstanceId> try_start(const WorkflowEntry& entry) {
    return instances.start(now, entry, *definition(entry), {.data = Json::object()});
  }
  InstanceId start(const WorkflowEntry& entry) {
    const auto id = try_start(entry);
    EXPECT_TRUE(id) << id.error().message;
    return id.value_or(InstanceId());
  }

  Status try_commit_draft() {
    TRY(instances.write());
    for (const auto& [counter, number] : draft.counters) write_counter(*tx, counter, number);
    TRY(tx->commit());
    batches.begin();
    draft.counters.clear();
    outcome = std::exchange(draft.outcome, {});
    return {};
  }
  void commit_draft() {
    const Status done = try_commit_draft();
    ASSERT_TRUE(done) << done.error().message;
  }
  void lose_draft() {
    tx->drop();
    instances.clear();
    draft.counters.clear();
    draft.errands.clear();
    draft.outcome = {};
    load_caches();
  }
  /// As it is stored, living or ended.
  std::string status_of(const InstanceId& id) {
    const auto instance = read_instance(*tx, space, id);
    if (!instance || !*instance) return "none";
    return std::string(to_string((*instance)->status));
  }
  /// Every row of that table holds rubbish, and that is committed.
  void damage(Table table) {
    for (const auto& [place, value] : rows()) {
      if (place.first == table) tx->put(table, place.second, "rubbish");
    }
    commit();
  }

  Draft draft{parts()};
  Instances instances{draft};
  BatchOutcome outcome;  ///< of the last commit
};

}  // namespace millrace
