// The answers of `why` as text: which command shows the event, and which listeners are shown.
#include "cli/why_text.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(WhyText, ShowsEffectsAndErrors) {
  EXPECT_EQ(why_of_event_text(Json::parse(R"({"event": {"sequence": 3}, "applied": true,
    "effects": [{"what": "refused"}, {"what": "woke", "instance": "i"}],
    "error": {"code": "c", "msg": "no JSON"}})")),
            "Event #3\nThe whole message: millrace -n default event get 3\nWhat came of it: "
            "refused, woke i.\n"
            "  refused: it became a dead letter; `millrace dlq list` shows the reason\n"
            "The message is not an event: no JSON\n");
  EXPECT_EQ(why_of_instance_text(Json::parse(R"({"instance": {"id": "i", "workflow": "w",
    "status": "complete", "state": "s", "since": "t", "waits": []}, "looked": 7, "events": [],
    "elsewhere": ["shop"]})")),
            "Instance i of w: complete, state s, since t\nIt waits for no event now.\n"
            "  Other namespaces got events of these types: shop.\n");
  EXPECT_EQ(
      why_of_instance_text(Json::parse(R"({"instance": {"id": "i", "workflow": "w",
    "status": "waiting", "state": "s", "since": "t", "waits": [{"type": "paid"}]}, "looked": 7,
    "of": 5, "complete": false, "lookedFrom": "T", "next": "17", "events": [{"sequence": 3, "verdict": "predicate", "says": "no"}],
    "elsewhere": ["shop"], "elsewhereEvents": [{"namespace": "shop", "sequence": 4}]})")),
      "Instance i of w: waiting, state s, since t\n  waits for paid\n"
      "  Other namespaces got events that fit, and this one got none: shop. If they were meant for "
      "this namespace, send them here:\n    Event #4\n"
      "      millrace -n shop event replay 4 --to-namespace default\n"
      "The nearest 1 of 5 events of these types; the newest 7 messages of the namespace were "
      "read.\n"
      "There are older messages, which were not read (before T):\n"
      "    millrace -n default instance why i --cursor 17\n\n  1. Event #3\n     Predicate: no\n");
}

TEST(WhyText, NamesTheCommandThatShowsTheWholeEvent) {
  const Json stored = Json::parse(R"({"event": {"sequence": 7}, "looked": 1, "near": []})");
  EXPECT_TRUE(why_of_event_text(stored, {.ns = "shop"})
                  .starts_with("Event #7\nThe whole event: millrace -n shop event get 7\n"))
      << why_of_event_text(stored, {.ns = "shop"});
  const Json tried = Json::parse(R"({"event": {"id": "e"}, "looked": 1, "near": []})");
  EXPECT_EQ(why_of_event_text(tried).find("event get"), std::string::npos)
      << "an event that was not sent cannot be read";
}

TEST(WhyText, SaysThatOnlyTheNamedInstanceIsShown) {
  struct Row {
    std::string members;
    std::string line;
  };
  const std::string advice =
      "; name the instance that you expected with --instance, or its value with --attribute and "
      "--value.\n";
  const Row rows[] = {
      {R"("complete": true)", "Judged 2 of 3 listeners for this type.\n"},
      {R"("complete": false)", "Judged 2 of 3 listeners for this type" + advice},
      {R"("complete": true, "instance": "i")",
       "Judged 2 of 3 listeners for this type; only the instance that you named is shown.\n"},
      {R"("complete": false, "instance": "i")",
       "Judged 2 of 3 listeners for this type; only the instance that you named is shown.\n"},
  };
  for (const Row& row : rows) {
    const std::string text = why_of_event_text(Json::parse(
        R"({"event": {"id": "e"}, "looked": 2, "of": 3, "near": [], )" + row.members + "}"));
    EXPECT_NE(text.find(row.line), std::string::npos) << text;
  }
}

TEST(WhyText, SaysInOneLineWhatTheLimitsWouldDoWithAStart) {
  struct Row {
    std::string start;
    std::string line;
  };
  const Row rows[] = {
      {R"({"outcome": "starts"})", "starts at once"},
      {R"({"outcome": "waits", "reason": "concurrency", "key": "a", "limit": 2, "held": 2,
           "waiting": 4, "before": 3, "priority": 0})",
       "waits for concurrency (limit 2, key \"a\"), 3 starts before it"},
      {R"({"outcome": "waits", "reason": "throttle", "limit": 10, "period": "PT1M", "waiting": 1,
           "before": 1, "priority": 0, "nextAt": "T"})",
       "waits for throttle (limit 10 in PT1M), 1 start before it, permitted from T"},
      {R"({"outcome": "waits", "reason": "concurrency", "limit": 1, "held": 1, "waiting": 2000,
           "priority": 0})",
       "waits for concurrency (limit 1), more than 1000 starts before it"},
      {R"({"outcome": "replaces", "reason": "concurrency", "limit": 1, "instance": "i"})",
       "replaces instance i, by concurrency (limit 1)"},
      {R"({"outcome": "debounced", "reason": "debounce", "key": 7, "startsAt": "T"})",
       "put off by debounce (key 7) until T"},
      {R"({"outcome": "batched", "reason": "batch", "limit": 4, "size": 3, "startsAt": "T"})",
       "added to batch (limit 4), input 3, starts at T at the latest"},
      {R"({"outcome": "skipped", "reason": "singular",
           "error": {"code": "direktiv.mutex", "msg": "m"}})",
       "skipped by singular: direktiv.mutex"},
      {R"({"outcome": "skipped", "reason": "rateLimit", "limit": 1, "period": "PT1H", "key": "a",
           "error": {"code": "millrace.rateLimit", "msg": "m"}})",
       "skipped by rateLimit (limit 1 in PT1H, key \"a\"): millrace.rateLimit"},
      {R"({"outcome": "refused", "reason": "quota",
           "error": {"code": "millrace.quota.instances", "msg": "m"}})",
       "refused by quota: millrace.quota.instances"},
  };
  for (const Row& row : rows) {
    const std::string text = why_of_event_text(
        Json::parse(R"({"event": {"id": "e"}, "looked": 1, "near": [{"kind": "start",
                        "workflow": "w", "verdict": "started", "says": "s", "start": )" +
                    row.start + "}]}"));
    EXPECT_NE(text.find("  1. Start of w\n     Started: s\n     Limits: " + row.line + "\n"),
              std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace millrace
