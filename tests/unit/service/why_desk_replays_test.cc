// LocalWhyDesk: what came of the replays of an event.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/service/why_desk_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;

class ReplaysWhyTest : public LocalWhyDeskTest {
 protected:
  static constexpr const char* kReplay = R"(,"replayof":"e","orderid":"o-1")";

  /// Each replay as `other #3: started`.
  static std::vector<std::string> replays(const Json& answer) {
    std::vector<std::string> all;
    const Json shown = answer.value("replays", Json::array());
    for (const Json& one : shown) {
      std::string text = one["namespace"].get<std::string>() + " #" + one["sequence"].dump() + ":";
      for (const Json& effect : one["effects"]) text += " " + effect["what"].get<std::string>();
      if (one["applied"] == false) text += " not applied";
      all.push_back(text);
    }
    return all;
  }
};

TEST_F(ReplaysWhyTest, HaveWhatCameOfThem) {
  apply(kStart);
  create_namespace("other");
  send();                                          // 1: the event
  send(kReplay);                                   // 2: the replay
  send(R"(,"replayof":"other-event")");            // 3: of another event
  send(R"(,"replayof":"e","data":{})", "closed");  // 4: with another type
  send(kReplay, "paid", "other");                  // 5: to another namespace
  apply_event(2, {{.kind = EventEffect::Kind::kStarted, .instance = numbered_id(7)}});
  EXPECT_THAT(replays(of_event(1)), ElementsAre("default #4: not applied", "default #2: started",
                                                "other #5: not applied"));
  EXPECT_THAT(replays(of_event(1, {.shows_others = false})),
              ElementsAre("default #4: not applied", "default #2: started"));
  EXPECT_THAT(replays(of_event(4)), ElementsAre("other #5: not applied"))
      << "a replay comes after the event";
}

TEST_F(ReplaysWhyTest, AreTheNewestThree) {
  apply(kStart);
  for (int i = 0; i < 6; ++i) send(i == 0 ? "" : kReplay);
  apply_event(6);
  EXPECT_THAT(replays(of_event(1)), ElementsAre("default #6:", "default #5:", "default #4:"));
}

}  // namespace
}  // namespace millrace
