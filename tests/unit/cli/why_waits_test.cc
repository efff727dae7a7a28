// What an instance waits for besides events, as text: calls, delays and attempts.
#include "cli/why_waits.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "cli/why_text.h"

namespace millrace {
namespace {

/// The lines of one call, whose number and times are given; `members` has its other members.
std::string lines_of_call(const std::string& members) {
  return other_wait_lines(
      Json::parse(fmt::format(R"({{"id": "i", "waits": [{{"index": 0, "function": "approve",
          "attempt": 1, "since": "S", {}}}]}})",
                              members)),
      {.ns = "my shop"});
}

TEST(WhyWaits, SayForWhatACallWaits) {
  struct Row {
    std::string members;
    std::string lines;
  };
  const std::string begin = "  waits for call 0, approve: ";
  const Row rows[] = {
      {R"("for": "callback", "service": "mail", "task": "t", "deadline": "D")",
       begin + "the service mail has accepted it, and answers later; attempt 1, since S, until D "
               "at the latest\n"
               "    millrace -n 'my shop' call list --instance i\n"
               "    millrace -n 'my shop' call complete t -f FILE\n"},
      {R"("for": "subflow", "workflow": "w", "instance": "c")",
       begin + "the subflow of w has not ended; attempt 1, since S\n"
               "    millrace -n 'my shop' instance why c\n"},
      {R"("for": "answer", "service": "mail")",
       begin + "the service mail has not answered; attempt 1, since S\n"},
      {R"("for": "answer")", begin + "it has no answer yet; attempt 1, since S\n"},
      {R"("for": "worker", "service": "mail")",
       begin + "no worker of the service mail has taken it; attempt 1, since S\n"
               "    millrace -n 'my shop' function list\n"},
      {R"("for": "connection", "service": "mail")",
       begin + "it waits for a connection to the service mail; attempt 1, since S\n"},
      {R"("for": "slot", "service": "mail")",
       begin + "it waits for a slot of the service mail; attempt 1, since S\n"},
      {R"("for": "throttle", "service": "mail")",
       begin + "it waits for the throttle of the service mail; attempt 1, since S\n"},
      {R"("for": "slot")", begin + "it waits for a slot of its service; attempt 1, since S\n"},
      {R"("for": "service", "service": "mail")",
       begin + "the service mail is paused; attempt 1, since S\n"
               "    millrace -n 'my shop' function resume mail\n"},
      {R"("for": "service", "service": "mail", "global": true)",
       begin + "the service mail is paused; attempt 1, since S\n"
               "    millrace -n 'my shop' function resume mail\n"},
      {R"("for": "attempt", "nextRetryAt": "N", "lastError": {"code": "mail.down"})",
       begin + "attempt 1 has failed with mail.down, and the next one begins at N\n"},
      {R"("for": "attempt", "nextRetryAt": "N")",
       begin + "attempt 1 has failed, and the next one begins at N\n"},
      {R"("for": "resume")",
       begin + "it continues when the instance is resumed; attempt 1, since S\n"},
  };
  for (const Row& row : rows) EXPECT_EQ(lines_of_call(row.members), row.lines) << row.members;
}

TEST(WhyWaits, SayHowManyCallsHaveNotEnded) {
  EXPECT_EQ(other_wait_lines(Json::parse(R"({"id": "i", "waits": [{"index": 3, "attempt": 0,
                "since": "S", "for": "others", "compensates": true}], "moreWaits": 5})"),
                             {}),
            "  waits for call 3, a compensation: it begins when other calls of the state have "
            "ended; since S\n"
            "  and for 5 more; `millrace -n default instance calls i` lists all\n");
}

TEST(WhyWaits, SayUntilWhenAnInstanceWaits) {
  const auto lines_of = [](const std::string& members) {
    return other_wait_lines(Json::parse(R"({"waits": [{"until": "T", )" + members + R"(}]})"), {});
  };
  EXPECT_EQ(lines_of(R"("what": "delay", "then": "mail")"),
            "  waits until T: the end of its delay, then mail\n");
  EXPECT_EQ(lines_of(R"("what": "delay", "causes": "end", "ends": "complete")"),
            "  waits until T: the end of its delay, then completes\n");
  EXPECT_EQ(lines_of(R"("what": "delay", "held": true)"),
            "  waits until T: the end of its delay; the instance is paused, so this follows at its "
            "resume if the time has passed by then\n");
  EXPECT_EQ(lines_of(R"("what": "attempt")"), "  waits until T: the next attempt of its state\n");
  EXPECT_EQ(lines_of(R"("what": "run")"), "  waits until T: the next run of its workflow\n");
}

TEST(WhyWaits, LeaveTheEventsToTheOtherLines) {
  const Json instance =
      Json::parse(R"({"waits": [{"type": "paid"}, {"until": "T", "what": "delay"}]})");
  EXPECT_EQ(awaited_events(instance), Json::parse(R"([{"type": "paid"}])"));
  EXPECT_EQ(other_wait_lines(instance, {}), "  waits until T: the end of its delay\n");
  EXPECT_EQ(other_wait_lines(Json::object(), {}), "");
}

TEST(WhyWaits, ReplaceTheSentenceThatTheInstanceWaitsForNothing) {
  const std::string text = why_of_instance_text(Json::parse(R"({"instance": {"id": "i",
      "workflow": "w", "status": "waiting", "state": "s", "since": "t",
      "waits": [{"index": 0, "function": "f", "attempt": 1, "since": "S", "for": "answer"}]},
      "looked": 0, "events": [], "elsewhere": ["shop"]})"));
  EXPECT_EQ(text,
            "Instance i of w: waiting, state s, since t\n"
            "  waits for call 0, f: it has no answer yet; attempt 1, since S\n"
            "  Other namespaces got events of these types: shop.\n");
}

TEST(WhyWaits, AreShortInAList) {
  const auto short_of = [](const char* wait) { return short_wait(Json::parse(wait)); };
  EXPECT_EQ(short_of(R"({"index": 0, "function": "f", "status": "scheduled"})"), "call f");
  EXPECT_EQ(short_of(R"({"index": 0, "function": "f", "status": "running"})"), "call f");
  EXPECT_EQ(short_of(R"({"index": 0, "function": "f", "status": "queued"})"), "call f (queued)");
  EXPECT_EQ(short_of(R"({"index": 2, "status": "retrying"})"), "call 2 (retrying)");
  EXPECT_EQ(short_of(R"({"index": 0, "function": "f", "workflow": "w", "status": "running"})"),
            "subflow f");
  EXPECT_EQ(short_of(R"({"index": 0, "function": "f", "workflow": "w", "compensates": true,
                         "status": "running"})"),
            "compensation f");
  EXPECT_EQ(short_of(R"({"calls": 12, "function": "f"})"), "12 calls of f");
  EXPECT_EQ(short_of(R"({"calls": 12})"), "12 calls");
  EXPECT_EQ(short_of(R"({"until": "T", "what": "delay"})"), "delay until T");
  EXPECT_EQ(short_of(R"({"until": "T", "what": "run"})"), "next run at T");
}

}  // namespace
}  // namespace millrace
