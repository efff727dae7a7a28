#include "orchestrator/batch/commands/instance_commands.h"

#include <chrono>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/work_budget.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "tests/unit/batch/commands/command_rig.h"
#include "tests/unit/batch/commands/definitions.h"

namespace millrace {
namespace {

class InstanceCommandsTest : public testing::Test {
 protected:
  InstanceCommandsTest() {
    for (const char* text : {kWaits, kEnds, kFailsAtOnce})
      rig.must(CommandRig::apply_workflow(text));
  }

  CommandRig rig;
};

TEST_F(InstanceCommandsTest, StartWithAKnownIdempotencyKeyReturnsTheInstanceOfThatKey) {
  StartInstance start{
      .ns = "default", .workflow = "waits", .input = {{"a", 1}}, .idempotency_key = "key"};
  const Json first = rig.must(start);
  EXPECT_EQ(first["created"], true);
  EXPECT_EQ(rig.must(start), (Json{{"id", first["id"]}, {"created", false}}));
  start.input = {{"a", 2}};
  EXPECT_EQ(rig.refusal(start).code, "start.conflict");
}

TEST_F(InstanceCommandsTest, CancelEndsAnInstanceOnce) {
  const InstanceId id = rig.start("waits");
  const CancelInstance cancel{.ns = "default", .instance = id};
  EXPECT_EQ(rig.must(cancel), (Json{{"id", to_string(id)}, {"cancelled", true}}));
  EXPECT_EQ(rig.instance(id).status, InstanceStatus::kCancelled);
  const Error error = rig.refusal(cancel);
  EXPECT_EQ(error.code, "instance.ended");
  EXPECT_NE(error.message.find("its status is cancelled: it cannot be cancelled"),
            std::string::npos)
      << error.message;
}

TEST_F(InstanceCommandsTest, PauseAndResumeReportWhetherTheyChangedTheInstance) {
  const InstanceId id = rig.start("waits");
  const Json name = to_string(id);
  EXPECT_EQ(rig.must(ResumeInstance{.ns = "default", .instance = id}),
            (Json{{"id", name}, {"resumed", false}}));
  EXPECT_EQ(rig.must(PauseInstance{.ns = "default", .instance = id}),
            (Json{{"id", name}, {"paused", true}}));
  EXPECT_EQ(rig.must(PauseInstance{.ns = "default", .instance = id}),
            (Json{{"id", name}, {"paused", false}}));
  EXPECT_EQ(rig.must(ResumeInstance{.ns = "default", .instance = id}),
            (Json{{"id", name}, {"resumed", true}}));
}

TEST_F(InstanceCommandsTest, RetryRestartRerunAndDeleteAreRefusedForALiveInstance) {
  const InstanceId id = rig.start("waits");
  for (const Command& command :
       {Command(RetryInstance{.ns = "default", .instance = id}),
        Command(RestartInstance{.ns = "default", .instance = id}),
        Command(RerunInstance{.ns = "default", .instance = id, .state = "wait"}),
        Command(DeleteInstance{.ns = "default", .instance = id})}) {
    EXPECT_EQ(rig.refusal(command).code, "instance.living");
  }
}

TEST_F(InstanceCommandsTest, RetryIsRefusedUnlessTheInstanceFailed) {
  const InstanceId complete = rig.start("ends");
  EXPECT_EQ(rig.refusal(RetryInstance{.ns = "default", .instance = complete}).code,
            "instance.not_failed");
  const InstanceId failed = rig.start("fails-at-once");
  EXPECT_EQ(rig.must(RetryInstance{.ns = "default", .instance = failed}),
            (Json{{"id", to_string(failed)}, {"run", 1}}))
      << "a retry continues the run";
}

TEST_F(InstanceCommandsTest, RestartIncrementsTheNumberOfTheRun) {
  const InstanceId id = rig.start("ends");
  EXPECT_EQ(rig.must(RestartInstance{.ns = "default", .instance = id})["run"], 2);
  EXPECT_EQ(rig.must(RestartInstance{.ns = "default", .instance = id})["run"], 3);
}

TEST_F(InstanceCommandsTest, RerunNeedsAStateWithStoredData) {
  const InstanceId id = rig.start("ends");
  EXPECT_EQ(rig.refusal(RerunInstance{.ns = "default", .instance = id, .state = "none"}).code,
            "instance.no_state");
  EXPECT_EQ(rig.refusal(RerunInstance{.ns = "default", .instance = id, .state = "end"}).code,
            "instance.no_data")
      << "no data is stored: the state neither waited nor acted";
  const InstanceId waited = rig.start("waits");
  rig.must(CancelInstance{.ns = "default", .instance = waited});
  EXPECT_EQ(rig.must(RerunInstance{.ns = "default", .instance = waited, .state = "wait"})["run"],
            2);
}

TEST_F(InstanceCommandsTest, RerunIsRefusedIfTheHistoryWithTheDataWasTrimmed) {
  const InstanceId id = rig.start("waits");
  rig.must(CancelInstance{.ns = "default", .instance = id});
  Transaction& tx = rig.batch().tx;
  Instance ended = rig.instance(id);
  const uint64_t first = read_history_link(tx, ended.last_history).value()->previous;
  ended.history_trimmed = read_history_link(tx, first).value()->records;
  ASSERT_TRUE(begin_history_at(tx, ended.last_history));
  write_instance(tx, ended, {});
  ASSERT_TRUE(rig.commit());
  const Error error = rig.refusal(RerunInstance{.ns = "default", .instance = id, .state = "wait"});
  EXPECT_EQ(error.code, "instance.no_data");
  EXPECT_NE(error.message.find("records were erased"), std::string::npos) << error.message;
  EXPECT_EQ(rig.must(RestartInstance{.ns = "default", .instance = id})["run"], 2);
}

TEST_F(InstanceCommandsTest, RerunSearchesALongHistoryInSeveralBatches) {
  const InstanceId id = rig.start("waits");
  rig.must(CancelInstance{.ns = "default", .instance = id});
  Transaction& tx = rig.batch().tx;
  Instance ended = rig.instance(id);
  constexpr uint64_t kRows = 1'500;
  for (uint64_t i = 0; i < kRows; ++i) {
    const uint64_t previous = ended.last_history++;
    write_history(tx, ended.last_history,
                  {.ns = ended.ns,
                   .instance = id,
                   .previous = previous,
                   .records = {{.time = ended.started_at, .kind = HistoryKind::kLog}}});
  }
  ended.history_count += kRows;
  write_instance(tx, ended, {});
  write_counter(tx, Counter::kHistory, ended.last_history);
  ASSERT_TRUE(rig.commit());
  const auto first = rig.run(RerunInstance{.ns = "default", .instance = id, .state = "wait"});
  ASSERT_TRUE(first) << first.error().message;
  const auto* const rest = std::get_if<Command>(&*first);
  ASSERT_NE(rest, nullptr) << "the search continues in the next batch";
  ASSERT_TRUE(rig.commit());
  EXPECT_EQ(rig.must(*rest)["run"], 2);
}

/// A unit of work that is over before its first step.
struct SpentUnit final : WorkBudget {
  bool is_spent(size_t) const override { return true; }
};

TEST_F(InstanceCommandsTest, ReachTheirEndAlthoughToReadTheInstanceTakesAWholeUnitOfWork) {
  SpentUnit unit;
  // The answer after at most that many batches.
  const auto answer_of = [&](Command command, int batches) {
    for (; batches > 0; --batches) {
      CommandContext context = rig.context();
      context.unit = &unit;
      Result<CommandProgress> progress = carry_out(context, command);
      EXPECT_TRUE(progress) << progress.error().message;
      EXPECT_TRUE(rig.commit());
      if (!progress) break;
      if (auto* const answer = std::get_if<Json>(&*progress)) return std::move(*answer);
      command = std::get<Command>(*std::move(progress));
    }
    return Json();
  };
  const InstanceId waited = rig.start("waits");
  rig.must(CancelInstance{.ns = "default", .instance = waited});
  const Json rerun =
      answer_of(RerunInstance{.ns = "default", .instance = waited, .state = "wait"}, 3);
  EXPECT_EQ(rerun, (Json{{"id", to_string(waited)}, {"run", 2}}));

  const InstanceId failed = rig.start("fails-at-once");
  const Json retried = answer_of(RetryInstance{.ns = "default", .instance = failed}, 3);
  EXPECT_EQ(retried, (Json{{"id", to_string(failed)}, {"run", 1}}));

  const InstanceId id = rig.start("ends");
  for (const char* const key : {"a", "b"}) {
    rig.must(PutVariable{.place = {.ns = "default", .instance = id}, .key = key, .value = {}});
  }
  const Json deleted = answer_of(DeleteInstance{.ns = "default", .instance = id}, 2);
  EXPECT_EQ(deleted, (Json{{"id", to_string(id)}, {"deleted", true}}));
}

TEST_F(InstanceCommandsTest, DeleteErasesTheInstanceWithItsHistoryAndVariables) {
  const InstanceId id = rig.start("ends");
  const VariablePlace place{.ns = "default", .instance = id};
  rig.must(PutVariable{.place = place, .key = "k", .value = {}});
  EXPECT_EQ(rig.must(DeleteInstance{.ns = "default", .instance = id}),
            (Json{{"id", to_string(id)}, {"deleted", true}}));
  for (const Table table : {Table::kEnded, Table::kHistory, Table::kVariables}) {
    size_t rows = 0;
    rig.batch().tx.scan(table, "", [&](std::string_view, std::string_view) {
      ++rows;
      return true;
    });
    EXPECT_EQ(rows, 0U) << table_name(table);
  }
}

TEST_F(InstanceCommandsTest, DeleteOfAFilterRecordsAPurge) {
  using enum InstanceStatus;
  rig.start("ends");
  const TimePoint before = rig.now += std::chrono::seconds(1);
  EXPECT_EQ(rig.must(DeleteInstances{.ns = "default",
                                     .workflow = "ends",
                                     .statuses = {kFailed, kComplete, kFailed},
                                     .before = before}),
            (Json{{"deleting", true}}));
  std::vector<Purge> purges;
  ASSERT_TRUE(each_purge(rig.batch().tx, [&](Purge one) { purges.push_back(std::move(one)); }));
  ASSERT_EQ(purges.size(), 1U);
  EXPECT_EQ(purges[0].kind, Purge::Kind::kInstances);
  EXPECT_EQ(purges[0].record.ns, "default");
  EXPECT_EQ(purges[0].record.workflow, "ends");
  const EndedFilter& filter = *purges[0].record.ended;
  EXPECT_EQ(filter.ns, NamespaceNumber(1));
  EXPECT_EQ(filter.workflow, rig.batch().catalog.find_workflow(NamespaceNumber(1), "ends")->number);
  EXPECT_EQ(filter.statuses, (std::vector{kComplete, kFailed})) << "ascending, each once";
  EXPECT_EQ(filter.before, before);
  EXPECT_EQ(
      rig.refusal(DeleteInstances{.ns = "default", .workflow = "none", .statuses = {kFailed}}).code,
      "workflow.not_found");
}

TEST_F(InstanceCommandsTest, DeleteOfAFilterThatMatchesNoInstanceRecordsNoPurge) {
  using enum InstanceStatus;
  rig.start("ends");
  rig.start("waits");
  const DeleteInstances none[] = {
      {.ns = "default", .statuses = {kFailed, kCancelled, kTimedOut}},
      {.ns = "default", .workflow = "waits", .statuses = {kComplete}},
      {.ns = "default", .statuses = {kComplete}, .before = rig.now},
  };
  for (const DeleteInstances& one : none) {
    EXPECT_EQ(rig.must(one), (Json{{"deleting", false}}));
  }
  EXPECT_TRUE(each_purge(rig.batch().tx, [](const Purge&) { ADD_FAILURE() << "a purge began"; }));
}

TEST(InstanceCommands, LoseTheBatchWhenAReadOfTheStoreFails) {
  using MakeCommand = Command (*)(const InstanceId& id);
  struct Case {
    const char* definition;
    const char* workflow;
    MakeCommand command;
  };
  const Case cases[] = {
      {kWaits, "waits",
       [](const InstanceId& id) -> Command {
         return CancelInstance{"default", id};
       }},
      {kWaits, "waits",
       [](const InstanceId& id) -> Command {
         return PauseInstance{"default", id};
       }},
      {kWaits, "waits",
       [](const InstanceId& id) -> Command {
         return ResumeInstance{"default", id};
       }},
      {kFailsAtOnce, "fails-at-once",
       [](const InstanceId& id) -> Command {
         return RetryInstance{"default", id};
       }},
      {kEnds, "ends",
       [](const InstanceId& id) -> Command {
         return RestartInstance{"default", id};
       }},
      {kFailsAtOnce, "fails-at-once",
       [](const InstanceId& id) -> Command {
         return RerunInstance{"default", id, "stop"};
       }},
      {kEnds, "ends",
       [](const InstanceId& id) -> Command {
         return DeleteInstance{"default", id};
       }},
      {kEnds, "ends",
       [](const InstanceId&) -> Command {
         return DeleteInstances{.ns = "default", .statuses = {InstanceStatus::kComplete}};
       }},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.definition);
    expect_every_read_fault_loses_the_batch([&](CommandRig& rig) {
      rig.must(CommandRig::apply_workflow(one.definition));
      return one.command(rig.start(one.workflow));
    });
  }
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) -> Command {
    rig.must(CommandRig::apply_workflow(kWaits));
    return StartInstance{
        .ns = "default", .workflow = "waits", .input = Json::object(), .idempotency_key = "key"};
  });
}

}  // namespace
}  // namespace millrace
