#include "orchestrator/store/rows/call_rows.h"

#include <gtest/gtest.h>

#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

// The numbers on disk are fixed: an enumerator without a number does not compile (-Wswitch).

int pinned(Call::Status status) {
  switch (status) {
    case Call::Status::kQueued:
      return 0;
    case Call::Status::kRunning:
      return 1;
    case Call::Status::kBetween:
      return 2;
    case Call::Status::kDone:
      return 3;
    case Call::Status::kFailed:
      return 4;
  }
  return -1;
}

int pinned(TimeoutKind kind) {
  switch (kind) {
    case TimeoutKind::kScheduleToClose:
      return 0;
    case TimeoutKind::kStartToClose:
      return 1;
    case TimeoutKind::kHeartbeat:
      return 2;
    case TimeoutKind::kScheduleToStart:
      return 3;
  }
  return -1;
}

TEST(CallRows, EncodeAndDecodeACallWithoutChange) {
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

TEST(CallRows, KeepTheErrorOfTheLatestAttempt) {
  Call call{.status = Call::Status::kBetween, .attempt = 2};
  call.last_error = {.error = {"down", "no route"}, .at = kNow};
  EXPECT_EQ(decode_call(encode_call(call)).value().last_error, call.last_error);
  expect_whole(encode_call(call), decode_call);
}

TEST(CallRows, HaveAFurtherVersionOnlyWithProgress) {
  Call call{.status = Call::Status::kRunning, .attempt = 2};
  EXPECT_EQ(encode_call(call).front(), 3);
  call.progress = {.json = R"({"done":3})", .at = kNow};
  const std::string bytes = encode_call(call);
  EXPECT_EQ(bytes.front(), 4);
  EXPECT_EQ(decode_call(bytes).value().progress, call.progress);
  expect_whole(bytes, decode_call);
}

TEST(CallRows, DecodeOlderVersions) {
  const Call call{.status = Call::Status::kBetween, .attempt = 2, .outside = true};
  std::string bytes = encode_call(call);
  // Version 3 added the last error, which is one byte if there is no error.
  bytes.resize(bytes.size() - 1);
  bytes[0] = 2;
  EXPECT_TRUE(decode_call(bytes).value().outside);
  EXPECT_FALSE(decode_call(bytes).value().last_error);
  // Version 2 added two flags, the time of the first attempt and the deadlines. Each is one byte if
  // it is empty.
  bytes.resize(bytes.size() - 7);
  bytes[0] = 1;
  EXPECT_EQ(decode_call(bytes).value().attempt, 2u);
}

TEST(CallRows, StoreEnumeratorsAsFixedNumbers) {
  expect_pinned<Call::Status>("call", pinned, [](Call::Status status) {
    const auto read = decode_call(encode_call({.status = status}));
    return read && read->status == status;
  });
  EXPECT_EQ(kTimeoutKinds, 4U);
  for (const auto kind : {TimeoutKind::kScheduleToClose, TimeoutKind::kStartToClose,
                          TimeoutKind::kHeartbeat, TimeoutKind::kScheduleToStart}) {
    EXPECT_EQ(pinned(kind), static_cast<int>(kind));
    Call call;
    call.deadlines[static_cast<size_t>(kind)] = from_millis(5);
    EXPECT_EQ(decode_call(encode_call(call))->deadlines, call.deadlines);
  }
}

TEST(CallRows, RefuseUnknownVersions) { expect_known_versions(encode_call({}), 4, decode_call); }

class CallRowsTest : public StoreTest {};

TEST_F(CallRowsTest, AreComparedOnlyIfTheirCallsMayHaveChanged) {
  Instance instance{.id = id(1), .ns = NamespaceNumber(1), .revision = {WorkflowNumber(1), 1}};
  instance.input = Json::object();
  instance.calls.resize(10);
  const std::vector<Call> none;
  write_instance(*tx, instance, {.input = true, .calls = &none});
  const std::vector<Call> before = instance.calls;
  for (Call& call : instance.calls) call.attempt = 7;
  const std::vector<size_t> some = {2, 5};
  std::vector<size_t> written;
  write_instance(*tx, instance,
                 {.calls = &before, .changed_calls = &some, .written_calls = &written});
  EXPECT_EQ(written, some);
  const std::vector<Call> read = read_live(*tx, instance.ns, instance.id).value()->calls;
  for (size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i].attempt, i == 2 || i == 5 ? 7U : 0U);
  instance.calls.resize(5);
  written.clear();
  write_instance(*tx, instance,
                 {.calls = &before, .changed_calls = &some, .written_calls = &written});
  EXPECT_EQ(written, std::vector<size_t>{2}) << "the other one was removed";
  EXPECT_EQ(read_live(*tx, instance.ns, instance.id).value()->calls.size(), 5U);
  instance.calls.resize(11);
  written.clear();
  write_instance(*tx, instance,
                 {.calls = &before, .changed_calls = &some, .written_calls = &written});
  EXPECT_GT(written.size(), some.size()) << "with more calls, any may have changed";
}

TEST_F(CallRowsTest, CountTheBytesOfTheRowsThatAreLeft) {
  Instance instance{.id = id(1), .ns = NamespaceNumber(1), .revision = {WorkflowNumber(1), 1}};
  instance.input = Json::object();
  const std::vector<Call> none;
  for (const size_t length : {size_t{1}, size_t{10}, size_t{100}, size_t{1'000}}) {
    instance.calls.push_back(
        {.status = Call::Status::kDone, .attempt = 1, .result = Json(std::string(length, 'x'))});
  }
  write_instance(*tx, instance, {.input = true, .calls = &none});
  uint64_t expected = 0;
  for (size_t i = 0; i < 2; ++i) expected += encode_call(instance.calls[i]).size();
  const std::vector<Call> before = instance.calls;
  instance.calls.resize(2);
  write_instance(*tx, instance, {.calls = &before});
  EXPECT_EQ(instance.part_bytes[static_cast<size_t>(Part::kCall)], expected);
}

TEST_F(CallRowsTest, AreWrittenWhenACallChangesAndErasedWhenItIsRemoved) {
  Instance instance{.id = id(1), .ns = NamespaceNumber(1), .revision = {WorkflowNumber(1), 1}};
  instance.input = Json::object();
  instance.calls.resize(3);
  const std::vector<Call> none;
  write_instance(*tx, instance, {.input = true, .calls = &none});
  const auto read = [&] { return read_live(*tx, instance.ns, instance.id).value()->calls; };
  EXPECT_EQ(read().size(), 3U);
  const std::vector<Call> before = instance.calls;
  instance.calls.resize(2);
  instance.calls[1].attempt = 7;
  write_instance(*tx, instance, {.calls = &before});
  EXPECT_EQ(read().size(), 2U);
  EXPECT_EQ(read()[1].attempt, 7U);
}

TEST_F(CallRowsTest, AreReadAllOrOneByItsIndex) {
  Instance instance{.id = id(1), .ns = NamespaceNumber(1), .revision = {WorkflowNumber(1), 1}};
  instance.input = Json::object();
  instance.calls.resize(300);
  for (size_t i = 0; i < instance.calls.size(); ++i) {
    instance.calls[i].attempt = static_cast<uint32_t>(i + 1);
  }
  const std::vector<Call> none;
  write_instance(*tx, instance, {.input = true, .calls = &none});
  const auto all = read_live(*tx, instance.ns, instance.id).value()->calls;
  ASSERT_EQ(all.size(), 300U);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].attempt, i + 1);
    EXPECT_TRUE(all[i].result.is_null());
  }
  const auto caller = read_caller(*tx, instance.ns, {.instance = instance.id, .index = 257});
  ASSERT_TRUE(caller && *caller);
  ASSERT_EQ((*caller)->calls.size(), 300U);
  EXPECT_EQ((*caller)->calls[257].attempt, 258U);
  EXPECT_EQ((*caller)->calls[256].attempt, 0U) << "the other rows are not read";
  EXPECT_TRUE(read_caller(*tx, instance.ns, {.instance = instance.id, .index = 300}).value());
  EXPECT_FALSE(read_caller(*tx, instance.ns, {.instance = id(2)}).value());
}

TEST_F(CallRowsTest, AreReadFromAnIndexOn) {
  Instance instance{.id = id(1), .ns = NamespaceNumber(1), .revision = {WorkflowNumber(1), 1}};
  instance.input = Json::object();
  instance.calls.resize(300);
  for (size_t i = 0; i < instance.calls.size(); ++i) {
    instance.calls[i].attempt = static_cast<uint32_t>(i + 1);
  }
  const std::vector<Call> none;
  write_instance(*tx, instance, {.input = true, .calls = &none});
  const Instance head = *read_live_head(*tx, instance.ns, instance.id).value();
  const auto attempts = [&](size_t first, size_t most) {
    std::vector<uint32_t> found;
    const std::vector<Call> calls = read_some_calls(*tx, head, first, most).value();
    for (const Call& call : calls) {
      found.push_back(call.attempt);
    }
    return found;
  };
  EXPECT_EQ(attempts(0, 2), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(attempts(256, 2), (std::vector<uint32_t>{257, 258}));
  EXPECT_EQ(attempts(298, 9), (std::vector<uint32_t>{299, 300}));
  EXPECT_TRUE(attempts(300, 9).empty());
  EXPECT_EQ(attempts(0, 1'000).size(), 300U);
}

TEST_F(CallRowsTest, AreReportedAsDamagedIfARowBetweenOthersIsMissing) {
  Instance instance{.id = id(1), .ns = NamespaceNumber(1), .revision = {WorkflowNumber(1), 1}};
  instance.input = Json::object();
  instance.calls.resize(3);
  const std::vector<Call> none;
  write_instance(*tx, instance, {.input = true, .calls = &none});
  const std::string part = part_key(rows::instance_prefix(instance.ns, instance.id), Part::kCall);
  tx->erase(Table::kLive, part + std::string("\0\0\0\1", 4));
  EXPECT_EQ(read_live(*tx, instance.ns, instance.id).error().code, kDamagedRow);
  for (const size_t first : {0, 1}) {
    const auto some = read_some_calls(*tx, instance, first, 2);
    ASSERT_FALSE(some) << first;
    EXPECT_EQ(some.error().code, kDamagedRow) << first;
  }
  EXPECT_TRUE(read_some_calls(*tx, instance, 0, 1)) << "the missing row is not among these";
  EXPECT_TRUE(read_some_calls(*tx, instance, 2, 1));
}

TEST_F(CallRowsTest, AreReportedAsDamagedIfTheRowOfACallIsMissing) {
  Instance instance{.id = id(1), .ns = NamespaceNumber(1), .revision = {WorkflowNumber(1), 1}};
  instance.input = Json::object();
  instance.calls.resize(1);
  write_instance(*tx, instance, {.input = true});
  EXPECT_EQ(read_live(*tx, instance.ns, instance.id).error().code, kDamagedRow);
}

}  // namespace
}  // namespace millrace
