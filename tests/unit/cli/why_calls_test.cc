// The text about an instance whose calls wait for a slot.
#include <string>

#include <gtest/gtest.h>

#include "base/json.h"
#include "cli/why_text.h"

namespace millrace {
namespace {

TEST(WhyOfInstance, NamesTheSlotForWhichACallWaits) {
  const std::string text = why_of_instance_text(Json::parse(R"({"instance": {
      "id": "i", "waitingCalls": [{"index": 4, "slot": {
          "service": "bank", "key": "c-1", "limit": 3, "priority": 2, "queued": true, "held": 3,
          "waiting": 2, "until": "2026-01-01T00:00:00Z", "holders": [
            {"task": "t", "instance": "a", "since": "S", "waitsFor": "throttle"},
            {"task": "u", "since": "S"}]}}]}, "events": [], "looked": 0})"));
  EXPECT_NE(text.find("Call 4 waits for a slot of service bank with the key \"c-1\", with the "
                      "priority 2: 3 of 3 held, 2 calls wait. If it still waits at "
                      "2026-01-01T00:00:00Z, it fails with "
                      "millrace.concurrency.timeout.\n"
                      "  held by task t of instance a since S, which waits for the throttle\n"
                      "  held by task u since S\n"
                      "  `millrace -n default queue holders --service bank --key '\"c-1\"'` lists "
                      "all holders\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("`millrace -n default queue list` shows each key for which calls wait, and "
                      "the call that is next.\n"),
            std::string::npos)
      << text;
  const std::string paused = why_of_instance_text(Json::parse(R"({"instance": {
      "id": "i", "waitingCalls": [{"index": 0, "slot": {
          "image": "paint", "limit": 1, "priority": 0, "queued": true, "paused": true, "held": 1,
          "waiting": 0}}]}, "events": [], "looked": 0})"));
  EXPECT_NE(paused.find("Call 0 waits for a slot of image paint, with the priority 0: 1 of 1 "
                        "held, it has no turn before its instance is resumed; without the calls "
                        "of paused instances, 0 calls wait.\n"
                        "  `millrace -n default queue holders --image paint` lists all holders\n"),
            std::string::npos)
      << paused;
}

TEST(WhyOfInstance, ListsAllHoldersOfASlotWhoseKeyIsSealed) {
  const std::string text = why_of_instance_text(Json::parse(R"({"instance": {
      "id": "i", "waitingCalls": [{"index": 0, "slot": {
          "service": "bank", "key": "***", "keySealed": true, "limit": 1, "queued": true,
          "held": 1, "waiting": 2}}]}, "events": [], "looked": 0})"));
  EXPECT_NE(text.find("  `millrace -n default queue holders --service bank` lists all holders\n"),
            std::string::npos)
      << text;
}

TEST(WhyOfInstance, NamesTheCommandThatResumesAPausedHolder) {
  const std::string text = why_of_instance_text(Json::parse(R"({"instance": {
      "id": "i", "waitingCalls": [{"index": 0, "slot": {
          "service": "bank", "limit": 3, "queued": true, "held": 3, "waiting": 2, "holders": [
            {"task": "t", "instance": "a", "since": "S"},
            {"task": "u", "instance": "b", "since": "S", "paused": true},
            {"task": "v", "instance": "c", "since": "S", "paused": true}]}}]},
      "events": [], "looked": 0})"));
  EXPECT_NE(text.find("  held by task v of instance c since S, which is paused\n"
                      "    millrace -n default instance resume b\n"),
            std::string::npos)
      << text;
}

TEST(WhyOfInstance, SaysThatTheInstanceIsBeingCancelled) {
  const auto text = [](const char* cancelling) {
    return why_of_instance_text({{"instance",
                                  {{"id", "i"},
                                   {"workflow", "w"},
                                   {"status", "waiting"},
                                   {"state", "a"},
                                   {"since", "E"},
                                   {"cancelling", Json::parse(cancelling)}}},
                                 {"events", Json::array()},
                                 {"looked", 0}});
  };
  EXPECT_TRUE(
      text(R"({"tasks": 2, "since": "S"})")
          .starts_with("Instance i of w: waiting, state a, since E\n"
                       "It is cancelled, by a cancel that came at S, and ends when its running "
                       "tasks have ended (2); its compensations follow if its definition asks for "
                       "them. What does not wait for the tasks:\n"
                       "    millrace -n default instance cancel i --now\n"));
  EXPECT_NE(text(R"({"tasks": 1})")
                .find("It is cancelled, and ends when its running task has ended (1);"),
            std::string::npos);
}

TEST(WhyOfInstance, SaysThatAPausedServiceHoldsTheLimitsOfItsCalls) {
  const std::string text = why_of_instance_text(Json::parse(R"({"instance": {"id": "i",
      "waits": [{"index": 0, "function": "f", "attempt": 1, "since": "S", "for": "service",
                 "service": "bank"}],
      "waitingCalls": [
        {"index": 0, "slot": {"service": "bank", "key": "fresh", "limit": 3, "priority": 0,
          "queued": true, "servicePaused": true, "held": 0, "waiting": 1}},
        {"index": 1, "throttled": {"service": "bank", "limit": 2, "period": "PT1M", "priority": 0,
          "servicePaused": true, "waiting": 1}}]},
      "events": [], "looked": 0})"));
  EXPECT_NE(text.find("Call 0 waits for a slot of service bank with the key \"fresh\", with "
                      "the priority 0: 0 of 3 held, 1 call waits; the service is paused, and no "
                      "call gets a slot.\n"
                      "Call 1 waits for the throttle of service bank, with the priority 0: 2 in "
                      "PT1M, 1 call waits; "
                      "the service is paused, and no call passes the throttle.\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  waits for call 0, f: the service bank is paused; attempt 1, since S\n"
                      "    millrace -n default function resume bank\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace millrace
