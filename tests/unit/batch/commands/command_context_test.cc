// CommandContext: what the lookups of commands find, and the errors that they return.
#include "orchestrator/batch/commands/command_context.h"

#include <functional>

#include <gtest/gtest.h>

#include "orchestrator/store/rows/history_rows.h"
#include "tests/unit/batch/commands/command_rig.h"
#include "tests/unit/batch/commands/definitions.h"

namespace millrace {
namespace {

class CommandContextTest : public testing::Test {
 protected:
  /// Writes a chain of history rows of the instance; returns the number of the last row.
  uint64_t write_rows(const InstanceId& id, size_t count) {
    const uint64_t first = last_ + 1;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t number = ++last_;
      write_history(rig.batch().tx, number,
                    {.ns = NamespaceNumber(1),
                     .instance = id,
                     .previous = number == first ? 0 : number - 1,
                     .records = {{.time = rig.now, .kind = HistoryKind::kLog}}});
    }
    commit();
    return last_;
  }
  void commit() {
    const Status done = rig.commit();
    ASSERT_TRUE(done) << done.error().message;
  }
  size_t history_rows() {
    size_t count = 0;
    rig.batch().tx.scan(Table::kHistory, "", [&](std::string_view, std::string_view) {
      ++count;
      return true;
    });
    return count;
  }
  static InstanceId id_of(uint8_t number) {
    InstanceId id;
    id.bytes.back() = number;
    return id;
  }

  CommandRig rig;

 private:
  uint64_t last_ = 0;  ///< the last history row
};

TEST_F(CommandContextTest, FindsANamespaceByItsName) {
  EXPECT_EQ(find_namespace(rig.context(), "default").value(), NamespaceNumber(1));
  const auto none = find_namespace(rig.context(), "shop");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "namespace.not_found");
  EXPECT_EQ(none.error().message,
            "there is no namespace \"shop\"; create it with `millrace namespace create shop`");
}

TEST_F(CommandContextTest, FindsAWorkflowOnlyInItsNamespace) {
  rig.must(CommandRig::apply_workflow(kEnds));
  const auto found = find_workflow(rig.context(), "default", "ends");
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_NE(*found, nullptr);
  EXPECT_EQ((*found)->id, "ends");
  EXPECT_EQ((*found)->latest, 1U);

  rig.must(CreateNamespace{.name = "shop"});
  const auto elsewhere = find_workflow(rig.context(), "shop", "ends");
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().code, "workflow.not_found");
  EXPECT_EQ(elsewhere.error().message, "there is no workflow \"ends\" in namespace \"shop\"");
  EXPECT_EQ(find_workflow(rig.context(), "nowhere", "ends").error().code, "namespace.not_found");
}

TEST_F(CommandContextTest, FindsAWorkflowOfTheCurrentBatch) {
  ASSERT_TRUE(rig.run(CommandRig::apply_workflow(kEnds)));
  EXPECT_TRUE(find_workflow(rig.context(), "default", "ends"));
}

TEST_F(CommandContextTest, FindsLiveAndEndedInstances) {
  rig.must(CommandRig::apply_workflow(kWaits));
  rig.must(CommandRig::apply_workflow(kEnds));
  const struct {
    const char* workflow;
    InstanceStatus status;
  } cases[] = {{"waits", InstanceStatus::kWaiting}, {"ends", InstanceStatus::kComplete}};
  for (const auto& [workflow, status] : cases) {
    const InstanceId id = rig.start(workflow);
    const auto found = find_instance(rig.context(), "default", id);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->id, id);
    EXPECT_EQ(found->status, status);
    EXPECT_EQ(find_instance(rig.context(), "nowhere", id).error().code, "namespace.not_found");
  }
  const auto none = find_instance(rig.context(), "default", id_of(9));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "instance.not_found");
  EXPECT_EQ(none.error().message,
            "there is no instance 00000000-0000-0000-0000-000000000009 in namespace \"default\"");
}

TEST_F(CommandContextTest, FindsAnInstanceAsTheLastCommitLeftIt) {
  rig.must(CommandRig::apply_workflow(kWaits));
  const InstanceId id = rig.start("waits");
  ASSERT_TRUE(rig.run(PauseInstance{.ns = "default", .instance = id}));
  EXPECT_FALSE(find_instance(rig.context(), "default", id)->paused);
  commit();
  EXPECT_TRUE(find_instance(rig.context(), "default", id)->paused);
}

TEST_F(CommandContextTest, ErasesTheHistoryOfTheGivenInstanceOnly) {
  const uint64_t other = write_rows(id_of(1), 3);
  const uint64_t last = write_rows(id_of(2), 4);
  ASSERT_TRUE(erase_history(rig.context(), NamespaceNumber(1), last, id_of(2)));
  EXPECT_EQ(history_rows(), 3U);
  EXPECT_TRUE(rig.context().purges.empty()) << "no purge is needed";
  ASSERT_TRUE(erase_history(rig.context(), NamespaceNumber(1), other, id_of(2)));
  EXPECT_EQ(history_rows(), 3U) << "the rows belong to another instance";
}

TEST_F(CommandContextTest, LeavesTheRestOfALongHistoryToAPurge) {
  const size_t most_in_a_batch = PurgeBudget().rows;
  const uint64_t last = write_rows(id_of(1), most_in_a_batch + 200);
  ASSERT_TRUE(erase_history(rig.context(), NamespaceNumber(1), last, id_of(1)));
  commit();
  EXPECT_EQ(history_rows(), 200U);
  EXPECT_FALSE(rig.context().purges.empty());
  ASSERT_TRUE(rig.context().purges.go_on());
  commit();
  EXPECT_EQ(history_rows(), 0U);
  EXPECT_TRUE(rig.context().purges.empty());
}

TEST_F(CommandContextTest, ReturnsTheErrorOfEachFailedRead) {
  rig.must(CommandRig::apply_workflow(kWaits));
  const InstanceId id = rig.start("waits");
  const uint64_t last = find_instance(rig.context(), "default", id)->last_history;
  const std::function<Status()> calls[] = {
      [&]() -> Status {
        TRY(find_instance(rig.context(), "default", id));
        return {};
      },
      [&] { return erase_history(rig.context(), NamespaceNumber(1), last, id); }};
  for (const auto& call : calls) {
    uint64_t nth = 0;
    for (bool has_failed = true; has_failed && nth < 100; rig.batch().tx.drop()) {
      rig.fail_read(++nth);
      const Status done = call();
      has_failed = rig.has_failed();
      EXPECT_EQ(bool(done), !has_failed) << "read " << nth;
      if (!done) {
        EXPECT_EQ(done.error().code, "store.io") << done.error().message;
      }
    }
    EXPECT_GT(nth, 1U) << "the call read nothing";
    EXPECT_LT(nth, 100U) << "the call does not end";
    rig.fail_read(std::nullopt);
  }
  EXPECT_EQ(history_rows(), 1U);
}

}  // namespace
}  // namespace millrace
