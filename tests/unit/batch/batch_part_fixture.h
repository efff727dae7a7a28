// The fixture for the parts of a batch: a store, its caches, a BatchState and the instances that it
// loads.
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

class BatchPartTest : public BatchStoreTest {
 protected:
  /// Stores a workflow in the default namespace and adds its listeners to the wait index.
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

  Status try_commit_batch() {
    TRY(instances.write());
    for (const auto& [counter, number] : batch.counters) write_counter(*tx, counter, number);
    TRY(tx->commit());
    batches.begin();
    batch.counters.clear();
    outcome = std::exchange(batch.outcome, {});
    return {};
  }
  void commit_batch() {
    const Status done = try_commit_batch();
    ASSERT_TRUE(done) << done.error().message;
  }
  void lose_batch() {
    tx->drop();
    instances.clear();
    batch.counters.clear();
    batch.messages.clear();
    batch.outcome = {};
    load_caches();
  }
  /// The stored status of the instance, which is live or has ended.
  std::string status_of(const InstanceId& id) {
    const auto instance = read_instance(*tx, ns, id);
    if (!instance || !*instance) return "none";
    return std::string(to_string((*instance)->status));
  }
  /// Overwrites every row of the table with bytes that do not decode, and commits.
  void damage(Table table) {
    for (const auto& [place, value] : rows()) {
      if (place.first == table) tx->put(table, place.second, "rubbish");
    }
    commit();
  }

  BatchState batch{parts()};
  Instances instances{batch};
  BatchOutcome outcome;  ///< the outcome of the last commit
};

}  // namespace millrace
