// RetentionTest: a namespace with ended instances, and passes of the retention over them.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/batch/retention.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/index_rows.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/batch/batch_part_fixture.h"

namespace millrace {

class RetentionTest : public BatchPartTest {
 protected:
  static constexpr const char* kPasses = "id: passes\nstates:\n- {id: a, type: noop}\n";
  static constexpr const char* kFailsNow =
      "id: fails\nstates:\n- {id: a, type: error, error: no.use, message: gone}\n";

  RetentionTest() {
    passes = define(kPasses);
    fails = define(kFailsNow);
  }

  void keep(const char* rules) { set_settings({{"retention", Json::parse(rules)}}); }

  /// Starts an instance that ends at once, without a commit. Its id has the time `now`.
  InstanceId add(const WorkflowEntry& workflow) {
    std::array<uint8_t, 10> rest{};
    ++last;
    rest[8] = static_cast<uint8_t>(last >> 8);
    rest[9] = static_cast<uint8_t>(last);
    const auto id = instances.start(now, workflow, *definition(workflow),
                                    {.data = Json::object(), .id = make_instance_id(now, rest)});
    EXPECT_TRUE(id) << id.error().message;
    return id.value_or(InstanceId());
  }
  Status try_commit_all() {
    TRY(instances.write());
    for (const auto& [of, row] : std::exchange(batch.trimmed_rows, {})) {
      purges.begin_history(of, row);
    }
    TRY(batch.index.write(*tx, damages.noting()));
    return try_commit_batch();
  }
  void commit_all() {
    const Status done = try_commit_all();
    ASSERT_TRUE(done) << done.error().message;
  }
  InstanceId end(const WorkflowEntry& workflow) {
    const InstanceId id = add(workflow);
    commit_all();
    return id;
  }
  std::vector<InstanceId> end(const WorkflowEntry& workflow, size_t count) {
    std::vector<InstanceId> ids;
    for (size_t i = 0; i < count; ++i) ids.push_back(add(workflow));
    commit_all();
    return ids;
  }
  void lose_all() {
    retention.undo();
    purges.undo();
    batch.index.clear();
    lose_batch();
  }

  Status try_step() {
    TRY(purges.go_on());
    TRY(retention.go_on(now));
    return try_commit_all();
  }
  uint64_t step() {
    const Status done = try_step();
    EXPECT_TRUE(done) << done.error().message;
    return outcome.counts.deleted[static_cast<size_t>(DeletionReason::kRetention)];
  }
  /// Runs one pass; returns how many instances it deleted.
  uint64_t pass() {
    now += std::chrono::minutes(1);
    uint64_t deleted = step();
    for (int i = 0; i < 100 && (retention.is_running() || !purges.empty()); ++i) deleted += step();
    EXPECT_FALSE(retention.is_running()) << "the pass does not end";
    return deleted;
  }
  /// The ids of all ended instances, ascending.
  std::vector<InstanceId> ended() {
    std::vector<InstanceId> ids;
    EXPECT_TRUE(each_ended(*tx, ns, std::nullopt, [&](const Instance& head) {
      ids.push_back(head.id);
      return true;
    }));
    return ids;
  }
  uint64_t used() { return batch.index.bytes(*tx, ns).value(); }

  WorkflowEntry passes;
  WorkflowEntry fails;
  uint32_t last = 0;
  Groups groups{batch, instances};
  Purges purges{batch, groups, instances};
  Retention retention{batch, purges, instances};
};

}  // namespace millrace
