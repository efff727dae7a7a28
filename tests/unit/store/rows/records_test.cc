// Records: what is written is read again as it was, and nothing that is cut short is taken.
#include "orchestrator/store/rows/records.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

InstanceId id(uint8_t last) {
  InstanceId made;
  made.bytes[15] = last;
  return made;
}

const TimePoint kNow = from_millis(1'704'067'200'000);

Caller caller() { return {.instance = id(7), .entered = 300, .index = 4096, .attempt = 3}; }

/// Every record that is cut short, or has a byte too many, is refused.
template <class Decode>
void expect_whole(const std::string& bytes, Decode decode) {
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(decode(bytes.substr(0, size)).error().code, "store.corrupt") << size;
  }
  EXPECT_FALSE(decode(bytes + "x"));
}

TEST(HeadRecord, KeepsWhatBelongsToCallsAndRetries) {
  Instance head;
  head.id = id(1);
  head.entered = 12;
  head.attempt = 4;
  head.caller = caller();
  head.depth = 19;
  head.hops = 3;
  head.calls.resize(1000);
  head.timers = {{TimerKind::kKill, kNow}, {TimerKind::kRetry, kNow}};
  const Instance read = decode_head(encode_head(head)).value();
  EXPECT_EQ(read.entered, 12u);
  EXPECT_EQ(read.attempt, 4u);
  EXPECT_EQ(read.caller, caller());
  EXPECT_EQ(read.depth, 19u);
  EXPECT_EQ(read.hops, 3u);
  EXPECT_EQ(read.calls.size(), 1000u) << "their number; they have rows of their own";
  EXPECT_EQ(read.timers, head.timers);
  expect_whole(encode_head(head), decode_head);
}

TEST(HeadRecord, TellsOfRunsPausesAndWhoStartedIt) {
  Instance head{.id = id(1), .run = 3};
  head.awaits_run = head.failing = head.paused = head.cancelling = head.retried = true;
  head.started_at = kNow;
  head.execution_from = kNow + std::chrono::hours(2);
  head.held_timers = {{TimerKind::kCalls, kNow}};
  head.own_policy = R"({"runTimeout":"1h"})";
  head.traceparent = "00-a-b-01";
  head.correlation = "c";
  const Instance read = decode_head(encode_head(head)).value();
  EXPECT_EQ(read.run, 3u);
  EXPECT_TRUE(read.awaits_run && read.failing && read.paused && read.cancelling && read.retried);
  EXPECT_EQ(read.execution_from, head.execution_from);
  EXPECT_EQ(read.held_timers, head.held_timers);
  EXPECT_EQ(read.own_policy, head.own_policy);
  EXPECT_EQ(read.traceparent, head.traceparent);
  EXPECT_EQ(read.correlation, head.correlation);
  expect_whole(encode_head(head), decode_head);
}

TEST(HeadRecord, WithAPolicyThatDoesNotReadIsDamaged) {
  for (const char* const policy :
       {"{", "[]", R"({"runTimeout":5})", R"({"runTimeout":"soon"})", R"({"retries":"{}x"})"}) {
    const Instance head{.id = id(1), .own_policy = policy};
    const auto read = decode_head(encode_head(head));
    ASSERT_FALSE(read) << policy;
    EXPECT_EQ(read.error().code, "store.corrupt");
  }
}

TEST(WorkflowRecord, OfOlderVersionsIsRead) {
  const WorkflowRecord first = decode_workflow(std::string("\1\7\3", 3)).value();
  EXPECT_EQ(first.number, WorkflowNumber(7));
  EXPECT_EQ(first.latest, 3U);
  EXPECT_FALSE(first.paused);
  const WorkflowRecord second = decode_workflow(std::string("\2\7\3\1", 4)).value();
  EXPECT_TRUE(second.paused);
  EXPECT_EQ(second.groups_from, 0U);
  const WorkflowRecord written{
      .number = WorkflowNumber(7), .latest = 3, .paused = true, .groups_from = 2};
  EXPECT_EQ(decode_workflow(encode(written)).value().groups_from, 2U);
}

TEST(HeadRecord, TellsWhencePoliciesCountAndWhetherTheFailedStatesDataIsKept) {
  Instance head{.id = id(1), .run = 9, .first_run = 7};
  head.started_at = kNow;
  head.runs_from = kNow + std::chrono::hours(2);
  head.state_from = kNow + std::chrono::hours(3);
  EXPECT_FALSE(decode_head(encode_head(head)).value().failed_data);
  head.failed_data = LazyJson(Json{{"n", 1}});
  head.failed_attempt = 300;
  const Instance read = decode_head(encode_head(head)).value();
  EXPECT_EQ(read.first_run, 7u);
  EXPECT_EQ(read.runs_from, head.runs_from);
  EXPECT_EQ(read.state_from, head.state_from);
  EXPECT_TRUE(read.failed_data) << "it has a row of its own";
  EXPECT_EQ(read.failed_attempt, 300u);
  expect_whole(encode_head(head), decode_head);
}

TEST(TaskRecord, IsReadAsItWasWritten) {
  StartTask task{.space = NamespaceNumber(2),
                 .task = id(1),
                 .caller = caller(),
                 .by = id(4),
                 .workflow = WorkflowNumber(7),
                 .state = "pay",
                 .function = "charge",
                 .attempt = 3,
                 .runs = Container{.isolated = true,
                                   .image = "busybox",
                                   .cmd = "cat",
                                   .size = ContainerSize::kLarge,
                                   .scale = 2},
                 .files = {{"key", VariableScope::kWorkflow, "as", FileType::kTarGz}},
                 .input = Json{{"n", 1}},
                 .deadline = kNow,
                 .heartbeat = std::chrono::seconds(5),
                 .start_to_close = std::chrono::minutes(2)};
  const StartTask read = decode_task(encode(task)).value();
  EXPECT_EQ(read.task, task.task);
  EXPECT_EQ(read.caller, task.caller);
  EXPECT_EQ(read.by, task.by);
  EXPECT_EQ(read.workflow, task.workflow);
  EXPECT_EQ(read.state + read.function, "paycharge");
  EXPECT_EQ(read.attempt, 3u);
  EXPECT_EQ(read.runs, task.runs);
  EXPECT_EQ(read.files, task.files);
  EXPECT_EQ(read.input.text(), R"({"n":1})");
  EXPECT_EQ(read.deadline, task.deadline);
  EXPECT_EQ(read.heartbeat, task.heartbeat);
  EXPECT_EQ(read.start_to_close, task.start_to_close);
  task.runs = NamedService{"charge", true};
  EXPECT_EQ(decode_task(encode(task)).value().runs, task.runs);
  expect_whole(encode(task), decode_task);

  task.start_to_close.reset();
  std::string of_version_1 = encode(task);
  of_version_1.front() = 1;
  of_version_1.pop_back();  // what version 2 has behind it
  const StartTask older = decode_task(of_version_1).value();
  EXPECT_EQ(older.heartbeat, task.heartbeat);
  EXPECT_FALSE(older.start_to_close);
}

TEST(HeadRecord, OfOlderVersionsIsRead) {
  const Instance head{.id = id(1), .step = 9};
  std::string bytes = encode_head(head);
  // Version 6 added the attempts of the failed state: a byte.
  bytes.resize(bytes.size() - 1);
  bytes[0] = 5;
  EXPECT_EQ(decode_head(bytes).value().failed_attempt, 0u);
  EXPECT_EQ(decode_head(bytes).value().first_run, 1u);
  // Version 5 added from which run and from when on policies count, twice the latter: a byte each.
  bytes.resize(bytes.size() - 3);
  bytes[0] = 4;
  EXPECT_EQ(decode_head(bytes).value().first_run, 1u);
  EXPECT_EQ(decode_head(bytes).value().runs_from, head.started_at);
  EXPECT_EQ(decode_head(bytes).value().state_from, head.started_at);
  // Version 4 added run, flags, when the execution began to count, no held timers and three empty
  // texts: a byte each.
  bytes.resize(bytes.size() - 7);
  bytes[0] = 3;
  EXPECT_EQ(decode_head(bytes).value().step, 9u);
  EXPECT_EQ(decode_head(bytes).value().run, 1u);
  // Version 3 added entered, attempt, no caller, depth and no calls: the same.
  bytes.resize(bytes.size() - 5);
  bytes[0] = 2;
  const Instance read = decode_head(bytes).value();
  EXPECT_EQ(read.step, 9u);
  EXPECT_EQ(read.attempt, 1u);
  EXPECT_TRUE(read.calls.empty());
}

TEST(HeadRecord, OfMoreCallsThanAnInstanceMakesIsRefused) {
  Instance head;
  head.calls.resize(kMostCalls + 1);
  EXPECT_FALSE(decode_head(encode_head(head)));
}

TEST(CallRecord, IsReadAsItWasWritten) {
  const Call call{.status = Call::Status::kBetween,
                  .attempt = 2,
                  .id = id(3),
                  .retry_at = kNow,
                  .input = Json{{"n", 1}},
                  .result = Json("x")};
  const Call read = decode_call(encode_call(call)).value();
  EXPECT_EQ(read.status, call.status);
  EXPECT_EQ(read.attempt, 2u);
  EXPECT_EQ(read.id, id(3));
  EXPECT_EQ(read.retry_at, kNow);
  EXPECT_EQ(read.input.text(), R"({"n":1})");
  EXPECT_EQ(read.result.text(), R"("x")");
  expect_whole(encode_call(call), decode_call);
}

TEST(CallRecord, KeepsWhyItsLastAttemptFailed) {
  Call call{.status = Call::Status::kBetween, .attempt = 2};
  call.last_error = {.error = {"down", "no route"}, .at = kNow};
  EXPECT_EQ(decode_call(encode_call(call)).value().last_error, call.last_error);
  expect_whole(encode_call(call), decode_call);
}

TEST(CallRecord, OfOlderVersionsIsRead) {
  const Call call{.status = Call::Status::kBetween, .attempt = 2, .outside = true};
  std::string bytes = encode_call(call);
  // Version 3 added that there is no last error: a byte.
  bytes.resize(bytes.size() - 1);
  bytes[0] = 2;
  EXPECT_TRUE(decode_call(bytes).value().outside);
  EXPECT_FALSE(decode_call(bytes).value().last_error);
  // Version 2 added two booleans, no time of a first attempt and no deadlines: a byte each.
  bytes.resize(bytes.size() - 7);
  bytes[0] = 1;
  EXPECT_EQ(decode_call(bytes).value().attempt, 2u);
}

TEST(InboxRecord, KeepsAChildThatIsToStart) {
  const InboxRecord record{.errand = StartChild{.space = NamespaceNumber(2),
                                                .child = id(1),
                                                .workflow = "charge",
                                                .input = Json{{"a", 1}},
                                                .caller = caller(),
                                                .by = id(7),
                                                .depth = 5,
                                                .hops = 6},
                           .listen_from = 77};
  const InboxRecord read = decode_inbox(encode(record)).value();
  EXPECT_EQ(read.listen_from, 77u);
  const auto& start = std::get<StartChild>(read.errand);
  EXPECT_EQ(start.space, NamespaceNumber(2));
  EXPECT_EQ(start.child, id(1));
  EXPECT_EQ(start.workflow, "charge");
  EXPECT_EQ(start.input.text(), R"({"a":1})");
  EXPECT_EQ(start.caller, caller());
  EXPECT_EQ(start.by, id(7));
  EXPECT_EQ(start.depth, 5u);
  EXPECT_EQ(start.hops, 6u);
  expect_whole(encode(record), decode_inbox);
}

TEST(InboxRecord, KeepsAChildThatIsToBeCancelled) {
  const InboxRecord record{.errand = CancelChild{NamespaceNumber(1), id(9)}};
  EXPECT_EQ(std::get<CancelChild>(decode_inbox(encode(record)).value().errand).child, id(9));
  expect_whole(encode(record), decode_inbox);
}

TEST(InboxRecord, KeepsWhatACallReturns) {
  const InboxRecord value{
      .errand = ReturnResult{NamespaceNumber(1), caller(), LazyJson(Json::array({1, 2}))}};
  const InboxRecord read = decode_inbox(encode(value)).value();
  EXPECT_EQ(std::get<ReturnResult>(read.errand).to, caller());
  EXPECT_EQ(std::get<ReturnResult>(read.errand).result->text(), "[1,2]");

  const InboxRecord error{
      .errand = ReturnResult{NamespaceNumber(1), caller(), tl::unexpected(Error{"a.b", "why"})}};
  EXPECT_EQ(std::get<ReturnResult>(decode_inbox(encode(error)).value().errand).result.error(),
            (Error{"a.b", "why"}));
  expect_whole(encode(error), decode_inbox);
}

}  // namespace
}  // namespace millrace
