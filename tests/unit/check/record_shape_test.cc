#include "orchestrator/check/record_shape.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::Optional;

constexpr const char* kWaitsForRetry = R"(
id: retries
states:
- {id: fail, type: error, error: e, message: m}
retries: {maximumAttempts: 3, initialInterval: PT1H}
)";

std::optional<std::string> wrong_in(HistoryKind kind, const std::string& detail) {
  return wrong_shape({.kind = kind, .detail = LazyJson::of_text(detail)});
}

TEST(RecordShapeTest, AcceptsTheDetailsThatReleasesWrite) {
  using enum HistoryKind;
  const std::initializer_list<std::pair<HistoryKind, const char*>> written = {
      {kStarted, R"({"by":"call","revision":1})"},
      {kStarted, R"({"by":"event","event":{"type":"t","source":"s","id":"1"},"revision":1})"},
      {kStarted, R"({"by":"schedule","revision":1,"tick":"2021-09-01T12:30:00.000Z"})"},
      {kStarted, R"({"by":"schedule","revision":1,"triggered":true})"},
      {kStarted, R"({"by":"subflow","parent":"p","revision":1})"},
      {kEntered, "null"},
      {kWoken, R"({"id":"1","source":"s","type":"t"})"},
      {kElapsed, "null"},
      {kPublished, R"({"id":"1","type":"t"})"},
      {kPublished, R"({"at":"a","id":"1","type":"t"})"},
      {kPublished, R"({"at":"a","deadLetter":"d","id":"1","type":"t"})"},
      {kLog, R"({"value":{"a":[1]}})"},
      {kLog, R"({"value":null})"},
      {kRaised, R"({"code":"c","msg":"m"})"},
      {kCaught, R"({"error":"*"})"},
      {kFixed, R"({"code":"c","msg":"m"})"},
      {kCancelled, R"({"code":"c","msg":"m"})"},
      {kEnded, R"({"status":"complete"})"},
      {kCalled, R"({"attempt":1,"function":"f","index":0,"task":"i"})"},
      {kCalled, R"({"attempt":1,"function":"f","index":0,"instance":"i","workflow":"w"})"},
      {kCalled, R"({"async":true,"function":"f","task":"i"})"},
      {kCalled, R"({"async":true,"function":"f","instance":"i","workflow":"w"})"},
      {kReturned, R"({"attempt":1,"index":0,"task":"i"})"},
      {kReturned, R"({"attempt":1,"code":"c","index":0,"instance":"i","msg":"m"})"},
      {kReturned, R"({"attempt":1,"by":"operator","index":0,"task":"i"})"},
      {kReturned, R"({"attempt":1,"by":"httpCallback","index":0,"task":"i"})"},
      {kReturned, R"({"attempt":1,"by":"natsCallback","code":"c","index":0,"msg":"m","task":"i"})"},
      {kRetrying, R"({"at":"a","attempt":2})"},
      {kRetrying, R"({"at":"a","attempt":2,"index":0})"},
      {kRetrying, R"({"at":"a","run":2})"},
      {kTimedOut, R"({"attempt":1,"code":"c","index":0})"},
      {kSkipped, R"({"function":"f","index":0})"},
      {kRun, R"({"run":2})"},
      {kOutput, R"({"index":0,"text":"x"})"},
      {kPaused, "null"},
      {kResumed, "null"},
      {kRevived, R"({"how":"retry"})"},
      {kNoted, R"({"function":"f","number":1})"},
      {kCompensating, R"({"by":"operator","left":2,"past":2,"status":"failed"})"},
      {kUndoing, R"({"function":"f","number":1})"},
      {kUndone, R"({"number":1})"},
      {kCompensationStopped, R"({"left":1})"},
      {kQueued, R"({"priority":0})"},
      {kQueued, R"({"key":"\"c-1\"","priority":-5})"},
      {kAdmitted, "null"},
      {kThrottled, R"({"priority":0})"},
      {kThrottled, R"({"key":"\"c-1\"","priority":-5})"},
      {kReleased, "null"},
  };
  for (const auto& [kind, detail] : written) {
    EXPECT_EQ(wrong_in(kind, detail), std::nullopt) << to_string(kind) << " " << detail;
  }
}

TEST(RecordShapeTest, RefusesMissingAndUnknownMembersAndOtherTypes) {
  using enum HistoryKind;
  EXPECT_EQ(wrong_in(kRetrying, R"({"attempt":2,"ax":"a"})"),
            "a record `retrying` has the members (attempt: number, ax: text), expected (at: text, "
            "attempt: number) or (at: text, attempt: number, index: number) or (at: text, run: "
            "number)");
  const std::initializer_list<std::pair<HistoryKind, const char*>> damaged = {
      {kStarted, "null"},
      {kStarted, R"({"bx":"call","revision":1})"},
      {kStarted, R"({"by":"call"})"},
      {kStarted, R"({"by":"chance","revision":1})"},
      {kStarted, R"({"by":"event","revision":1})"},
      {kStarted, R"({"by":"event","event":{"type":"t","source":"s","ix":"1"},"revision":1})"},
      {kStarted, R"({"by":"subflow","qarent":"p","revision":1})"},
      {kEnded, R"({"statur":"complete"})"},
      {kEnded, R"({"status":1})"},
      {kEnded, R"(["status"])"},
      {kCalled, R"({"atteppt":1,"function":"f","index":0,"task":"i"})"},
      {kReturned, R"({"attempt":1,"by":"oparator","index":0,"task":"i"})"},
      {kReturned, R"({"attempt":1,"by":"operator","index":0,"instance":"i"})"},
      {kRun, R"({"run":-1})"},
      {kRevived, R"({"how":"reset"})"},
      {kPaused, R"({"by":"call"})"},
      {kLog, R"({"valuf":1})"},
  };
  for (const auto& [kind, detail] : damaged) {
    EXPECT_THAT(wrong_in(kind, detail), Optional(HasSubstr("has the members"))) << detail;
  }
}

TEST(RecordShapeTest, LeavesWhatIsNotJsonToAnotherCheck) {
  EXPECT_EQ(wrong_in(HistoryKind::kEnded, "rubbish"), std::nullopt);
}

class CheckRecordShapeTest : public CheckTest {};

TEST_F(CheckRecordShapeTest, FindsARetryWithoutItsTime) {
  define(kWaitsForRetry);
  const InstanceId id = start("retries");
  ASSERT_EQ(read_live(*tx, ns, id).value()->phase, Phase::kWaiting);
  expect_sound();
  expect_only("a record `retrying` has the members (ax: text, run: number), expected",
              [&](Transaction& in) {
                edit_history(read_live(in, ns, id).value()->last_history, [](HistoryRow& row) {
                  HistoryRecord& last = row.records.back();
                  last.detail = Json{{"run", 2}, {"ax", last.detail.value().at("at")}};
                });
              });
}

}  // namespace
}  // namespace millrace
