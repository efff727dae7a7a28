// The text of why_of_instance_text() about an instance that waits before its first run, and about
// events that came for a namespace that does not exist.
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "cli/why_text.h"

namespace millrace {
namespace {

TEST(WhyInstanceText, SaysUntilWhenAStartWaitsForTheThrottle) {
  const std::string text = why_of_instance_text(Json::parse(R"({"instance": {"id": "i",
    "workflow": "notify", "throttled": {"key": "c-1", "limit": 10, "period": "PT1M", "priority": 2,
    "waiting": 3, "nextAt": "T", "until": "U", "error": "millrace.throttle.timeout"}},
    "events": [], "looked": 0})"));
  EXPECT_NE(
      text.find("It waits for the throttle of its workflow (10 in PT1M) of the key \"c-1\", with "
                "the priority 2: 3 starts wait. The next of them may begin at T. `millrace -n "
                "default instance list --workflow notify --status pending` lists them.\n"
                "  If it still waits at U, it fails with millrace.throttle.timeout.\n"),
      std::string::npos)
      << text;
  const std::string bare = why_of_instance_text(Json::parse(R"({"instance": {"id": "i",
    "workflow": "w", "throttled": {"priority": 0, "waiting": 1}}, "events": [], "looked": 0})"));
  EXPECT_NE(bare.find("of its workflow, with the priority 0: 1 start waits. `millrace"),
            std::string::npos)
      << bare;
}

TEST(WhyInstanceText, SaysUntilWhenAStartWaitsForASlotAndWhoHoldsIt) {
  const std::string text = why_of_instance_text(Json::parse(R"({"instance": {"id": "i",
    "workflow": "ship", "slot": {"queued": true, "key": "c-1", "priority": 2, "held": 5,
    "limit": 4, "waiting": 1, "until": "U", "error": "millrace.concurrency.timeout",
    "holdersPaused": true, "workflowPaused": true, "holders": [
      {"instance": "a", "since": "S", "paused": true},
      {"instance": "b", "since": "S", "paused": true, "waitsFor": "throttle"},
      {"instance": "c", "since": "S", "waitsFor": "throttle"}]}}, "events": [], "looked": 0})"));
  EXPECT_NE(text.find("It waits for a slot of the key \"c-1\" of its workflow, with the priority "
                      "2: 5 of 4 held, 1 start waits; `millrace -n default instance list "
                      "--workflow ship --status pending,paused` lists them.\n"
                      "  held by a since S, which is paused\n"
                      "  held by b since S, which is paused and waits for the throttle\n"
                      "  held by c since S, which waits for the throttle\n"
                      "  `millrace -n default queue holders --workflow ship` lists all holders\n"
                      "  All that hold a slot are paused: none gets free before one of them is "
                      "resumed.\n"
                      "  Its workflow is paused, and no start that waits begins; what resumes the "
                      "workflow:\n"
                      "    millrace -n default workflow resume ship\n"
                      "  If it still waits at U, it fails with millrace.concurrency.timeout.\n"),
            std::string::npos)
      << text;
  const std::string bare = why_of_instance_text(Json::parse(R"({"instance": {"id": "i",
    "workflow": "ship", "slot": {"queued": true, "priority": 0, "held": 1, "waiting": 1,
    "holders": []}}, "events": [], "looked": 0})"));
  EXPECT_NE(bare.find("with the priority 0: 1 held, 1 start waits; `millrace -n default instance "
                      "list --workflow ship --status pending` lists them.\n"),
            std::string::npos)
      << bare;
}

TEST(WhyInstanceText, SaysFirstThatAnInstanceIsPausedAndWhatResumesIt) {
  const auto text_of = [](const char* by, const char* more) {
    return why_of_instance_text(
        Json::parse(fmt::format(R"({{"instance": {{"id": "i", "workflow": "ship",
          "status": "paused", "state": "a", "since": "E", "paused": "{}"{}}}, "events": [],
          "looked": 0}})",
                                by, more)),
        {.ns = "my shop"});
  };
  EXPECT_EQ(text_of("instance", ""),
            "Instance i of ship: paused, state a, since E\n"
            "It is paused by itself, and its workflow is not; what resumes it:\n"
            "    millrace -n 'my shop' instance resume i\n");
  EXPECT_EQ(text_of("workflow", R"(, "throttled": {"limit": 2, "period": "PT2M", "priority": 0,
                "waiting": 0, "workflowPaused": true, "nextAt": "T", "until": "U", "paused": true,
                "error": "millrace.throttle.timeout"})"),
            "Instance i of ship: paused, state a, since E\n"
            "It is paused with its workflow; what resumes the workflow and its instances:\n"
            "    millrace -n 'my shop' workflow resume ship\n"
            "It waits for the throttle of its workflow (2 in PT2M), with the priority 0: it has no "
            "turn while it is paused; without paused starts, 0 starts wait. `millrace -n 'my shop' "
            "instance list --workflow ship --status pending,paused` lists them.\n"
            "  Its wait has a timeout (millrace.throttle.timeout), which begins again when the "
            "instance is resumed.\n");
}

TEST(WhyInstanceText, SaysThatAnInstanceHasAStepToMakeAndHowManyEvaluationsWait) {
  EXPECT_EQ(why_of_instance_text(
                Json::parse(R"({"instance": {"id": "i", "workflow": "ship", "status": "running",
                  "state": "a", "since": "E", "waits": [], "step": {"evaluations": {
                  "fast": {"waiting": 3, "running": 2}, "slow": {"waiting": 4, "running": 1}}}},
                  "events": [], "looked": 0})"),
                {.ns = "shop"}),
            "Instance i of ship: running, state a, since E\n"
            "It has a step to make, and waits for its turn, for a jq evaluation, or for the search "
            "for early events.\n"
            "Evaluations of its namespace now: 3 with a jq worker, 7 that wait for one.\n");
}

TEST(WhyInstanceText, SaysWithWhichErrorItEndedAndForWhatItHadWaited) {
  const auto text = [](const std::string& more) {
    return why_of_instance_text(
        Json::parse(R"({"instance": {"id": "i", "workflow": "ship", "status": "failed",
                        "state": "a", "since": "E", "error": {"code": "c", "msg": "too late"})" +
                    more + R"(}, "events": [], "looked": 0})"));
  };
  EXPECT_TRUE(
      text("").starts_with("Instance i of ship: failed, state a, since E\n"
                           "It ended with c: too late\n"
                           "It waits for no event now.\n"))
      << text("");
  EXPECT_NE(text(R"(, "waited": {"for": "slot", "key": 7, "since": "S"})")
                .find("  It had waited for a slot of the key 7 of its workflow since S.\n"),
            std::string::npos);
  EXPECT_NE(text(R"(, "waited": {"for": "throttle", "since": "S"})")
                .find("  It had waited for the throttle of its workflow since S.\n"),
            std::string::npos);
}

TEST(WhyInstanceText, SaysForWhichThrottleACallWaits) {
  const std::string text = why_of_instance_text(Json::parse(R"({"instance": {"id": "i",
    "workflow": "w", "waitingCalls": [
      {"index": 2, "throttled": {"service": "bank", "key": "c-1", "limit": 10, "period": "PT1M",
        "priority": 0, "waiting": 3, "nextAt": "T", "until": "U"}},
      {"index": 4, "throttled": {"image": "busybox", "limit": 1, "period": "1h", "priority": 0,
        "waiting": 0, "paused": true, "nextAt": "T"}}]}, "events": [], "looked": 0})"));
  EXPECT_NE(text.find("Call 2 waits for the throttle of service bank with the key \"c-1\", "
                      "with the priority 0: 10 in PT1M, 3 calls wait. The next of them may be made "
                      "at T. If it still "
                      "waits at U, it fails with millrace.throttle.timeout.\n"
                      "Call 4 waits for the throttle of image busybox, with the priority 0: 1 in "
                      "1h, it has no turn before its instance is resumed; without the calls of "
                      "paused instances, 0 calls wait.\n"
                      "  `millrace -n default queue list` shows each key for which calls wait, and "
                      "the call that is next.\n"),
            std::string::npos)
      << text;
}

TEST(WhyInstanceText, NamesANamespaceThatDoesNotExistAndWhatCorrectsIt) {
  const std::string text = why_of_instance_text(Json::parse(R"({"instance": {"id": "i",
    "waits": [{"type": "paid"}]}, "events": [], "looked": 0, "unknownNamespaces": [
    {"namespace": "shopp", "sequence": 7, "id": "e-4", "type": "paid", "source": "bank",
     "time": "T", "fits": true, "deadLetter": "12"},
    {"namespace": "my shop", "sequence": 8, "type": "paid", "time": "T", "fits": false}]})"),
                                                {.ns = "shop"});
  EXPECT_TRUE(text.ends_with(
      "  An event that fits came for the namespace shopp, which does not exist, and became dead "
      "letter 12:\n"
      "    Event #7  type paid  source bank  id e-4  stored T\n"
      "    Correct the namespace in its sender, and send it again to shop; or create the "
      "namespace, "
      "and replay the dead letter:\n"
      "      millrace -n shopp dlq show 12\n"
      "      millrace namespace create shopp\n"
      "      millrace -n shopp dlq replay 12\n"
      "  An event of such a type, which does not fit, came for the namespace my shop, which does "
      "not "
      "exist, and became a dead letter:\n"
      "    Event #8  type paid  stored T\n"
      "    Correct the namespace in its sender, and send it again to shop:\n"
      "      millrace -n 'my shop' dlq list\n"))
      << text;
}

TEST(WhyInstanceText, SaysWhichNamesWithoutANamespaceWereLookedAt) {
  const std::string text = why_of_instance_text(Json::parse(R"({"instance": {"id": "i"},
    "events": [], "looked": 0, "elsewhereLook": {"from": "T", "unknown": ["a", "b"]}})"));
  EXPECT_TRUE(
      text.ends_with("  In other namespaces, the events that are older than T were not looked at.\n"
                     "  Of the names without a namespace, only a, b were looked at.\n"))
      << text;
}

}  // namespace
}  // namespace millrace
