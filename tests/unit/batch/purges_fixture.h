// The fixture for tests of purges: namespaces with rows of several kinds, and batches that erase
// them.
#pragma once

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "orchestrator/batch/groups.h"
#include "orchestrator/batch/purges.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/batch/batch_part_fixture.h"

namespace millrace {

inline constexpr const char* kDone = "id: done\nstates:\n- {id: a, type: noop}\n";

class PurgesTest : public BatchPartTest {
 protected:
  /// Creates a namespace with a workflow, variables, a secret and a task.
  NamespaceNumber fill(const std::string& name, int variables = 3) {
    const NamespaceNumber filled = create_namespace(name);
    auto workflow = load_stored(kDone);
    EXPECT_TRUE(catalog.apply(*tx, filled, kDone, *workflow, now));
    commit_catalog();
    const WorkflowEntry& entry = *catalog.find_workflow(filled, "done");
    EXPECT_TRUE(instances.start(now, entry, **workflow, {.data = Json::object()}));
    for (int i = 0; i < variables; ++i) {
      write_variable(*tx,
                     {owner_of(filled, {}, {}, VariableScope::kNamespace), "v" + std::to_string(i)},
                     {.bytes = "1"});
    }
    write_secret(*tx, filled, "key", "hidden");
    StartTask task{
        .ns = filled, .task = numbered_id(next_task++), .runs = NamedService{.name = "s"}};
    tasks.begin(*tx, task);
    commit_batch();
    return filled;
  }
  /// Deletes the namespace, in a batch of its own.
  void erase(NamespaceNumber number, const std::string& name) {
    catalog.remove_namespace(*tx, number);
    purges.begin(number, name);
    commit_batch();
  }
  Status try_go_on() {
    TRY(purges.go_on());
    return try_commit_batch();
  }
  void go_on() {
    const Status done = try_go_on();
    ASSERT_TRUE(done) << done.error().message;
  }
  void finish() {
    for (int i = 0; i < 100 && !purges.empty(); ++i) go_on();
    EXPECT_TRUE(purges.empty()) << "the purge does not end";
  }
  size_t purge_rows() {
    size_t count = 0;
    EXPECT_TRUE(each_purge(*tx, [&](const Purge&) { ++count; }));
    return count;
  }

  uint8_t next_task = 100;  ///< the number of the task of the next namespace
  Groups groups{batch, instances};
  Purges purges{batch, groups, instances};
};

}  // namespace millrace
