// EarlyEventFeed: what it has of a namespace, since when, and when it begins anew.
#include "orchestrator/service/early_event_feed.h"

#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/service/early_event_fixture.h"

namespace millrace {
namespace {

TimePoint stamp_at(uint64_t sequence) {
  return from_millis(1'000 + static_cast<int64_t>(sequence));
}

EventInput fed_event(const std::string& ns, uint64_t sequence, size_t bytes = 0) {
  Event event{.id = std::to_string(sequence), .source = "/s", .type = "a"};
  if (bytes > 0) event.subject = std::string(bytes, 's');
  return {.ns = ns,
          .sequence = sequence,
          .stamped = stamp_at(sequence),
          .event = EncodedEvent(std::move(event))};
}

std::string text_of_fed(const FedEvents& fed) {
  if (fed.created == 0) return "nothing";
  if (!fed.continues) return fmt::format("from {} to {}", fed.first, fed.last);
  std::string text = fmt::format("{}-{}:", fed.first, fed.last);
  for (const FedEvent& one : fed.events) {
    text += fmt::format(" {}", one.sequence);
    EXPECT_EQ(one.attributes.find("id"), std::to_string(one.sequence));
    EXPECT_EQ(one.stamped, stamp_at(one.sequence));
  }
  return text;
}

class EarlyEventFeedTest : public testing::Test {
 protected:
  /// Plays a script, each word of which is a call:
  ///   open:5       the stream is opened after the message 5      lost      the connection is lost
  ///   default:6    the event 6 of the namespace `default`        dead:7    the message 7, no event
  ///   follow       `default` is followed                         forget    no longer
  ///   take:6       the search has read up to 6
  /// Returns what take() returned.
  std::string play(const std::string& script) {
    std::string taken;
    std::istringstream words(script);
    for (std::string word; words >> word;) {
      const size_t colon = word.find(':');
      const std::string what = word.substr(0, colon);
      const uint64_t number = colon == std::string::npos ? 0 : std::stoull(word.substr(colon + 1));
      if (what == "follow") {
        feed_.follow("default");
      } else if (what == "forget") {
        feed_.forget("default");
      } else if (what == "take") {
        latest_ = feed_.take("default", kFakeStream, number);
        taken += (taken.empty() ? "" : "; ") + text_of_fed(latest_);
      } else if (what == "open") {
        deliver(StreamOpened{.position = {.stream_created = kFakeStream, .sequence = number}});
      } else if (what == "lost") {
        deliver(StreamLost{});
      } else if (what == "dead") {
        deliver(UnreadableInput{.sequence = number, .stamped = stamp_at(number)});
      } else {
        deliver(fed_event(what, number));
      }
    }
    return taken;
  }
  void deliver(Delivery delivery) {
    std::vector<Delivery> deliveries;
    deliveries.push_back(std::move(delivery));
    EXPECT_TRUE(feed_.deliver(std::move(deliveries)));
  }

  CountingSink sink_;
  EarlyEventFeed feed_{sink_};
  FedEvents latest_;  ///< what take() returned last
};

TEST_F(EarlyEventFeedTest, HasWhatWasDeliveredSinceTheNamespaceIsFollowed) {
  struct Row {
    const char* script;
    const char* taken;
  };
  for (const Row& row : std::vector<Row>{
           {"open:0 default:1 take:0", "nothing"},
           {"open:0 default:1 follow take:1", "nothing"},
           {"open:0 default:1 follow default:2 other:3 default:4 take:1", "2-4: 2 4"},
           {"follow open:5 default:6 take:5", "6-6: 6"},
           {"open:0 follow other:1 other:2 take:0", "1-2:"},
           {"open:0 follow dead:1 default:2 dead:3 take:0", "1-3: 2"},
           {"open:0 follow default:1 default:2 default:3 take:2", "1-3: 3"},
           {"open:0 follow default:1 default:4 take:0", "1-4: 1 4"},
           {"open:0 follow default:1 take:0 take:1 default:2 take:1", "1-1: 1; 2-1:; 2-2: 2"},
           {"open:0 follow default:1 follow default:2 take:0", "1-2: 1 2"},
           {"open:0 follow default:1 forget default:2 take:0", "nothing"},
           {"open:0 follow default:1 forget default:2 follow default:3 take:2", "3-3: 3"},
       }) {
    SCOPED_TRACE(row.script);
    feed_.forget("default");
    deliver(StreamLost{});
    EXPECT_EQ(play(row.script), row.taken);
  }
}

TEST_F(EarlyEventFeedTest, KeepsWhatDoesNotContinueWhatWasRead) {
  struct Row {
    const char* script;
    const char* taken;
  };
  for (const Row& row : std::vector<Row>{
           {"open:0 default:1 default:2 follow default:3 take:1 take:2", "from 3 to 3; 3-3: 3"},
           {"open:0 follow default:1 take:2 default:2 take:2 default:3 take:2",
            "from 1 to 1; 1-2:; 3-3: 3"},
       }) {
    SCOPED_TRACE(row.script);
    feed_.forget("default");
    deliver(StreamLost{});
    EXPECT_EQ(play(row.script), row.taken);
  }
}

TEST_F(EarlyEventFeedTest, BeginsAnewWithTheStream) {
  struct Row {
    const char* script;
    const char* taken;
  };
  for (const Row& row : std::vector<Row>{
           {"open:0 follow default:1 lost take:0 open:1 default:2 take:0 take:1",
            "nothing; from 2 to 2; 2-2: 2"},
           {"open:0 follow default:1 open:1 take:0 take:1 default:2 take:1",
            "from 2 to 1; 2-1:; 2-2: 2"},
           {"open:0 follow default:1 default:2 default:3 open:1 default:2 take:3 default:3 "
            "default:4 take:3",
            "from 2 to 2; 2-4: 4"},
           {"open:0 follow default:1 default:2 default:3 default:2 take:0 take:1",
            "from 2 to 2; 2-2: 2"},
       }) {
    SCOPED_TRACE(row.script);
    feed_.forget("default");
    deliver(StreamLost{});
    EXPECT_EQ(play(row.script), row.taken);
  }
  EXPECT_EQ(feed_.take("default", kFakeStream + 1, 1).created, 0) << "another stream";
}

TEST_F(EarlyEventFeedTest, ShowsWhetherTheStreamWasInterrupted) {
  struct Row {
    const char* script;
    bool is_interrupted;
  };
  for (const Row& row : std::vector<Row>{{"default:2", false},
                                         {"dead:2 other:3", false},
                                         {"default:3", true},
                                         {"default:1", true},
                                         {"open:1", true},
                                         {"lost open:1", true},
                                         {"forget open:1 follow default:2", true},
                                         {"forget default:3 follow default:4", true}}) {
    SCOPED_TRACE(row.script);
    play("open:0 follow default:1 take:0");
    const uint64_t stretch = latest_.stretch;
    EXPECT_NE(stretch, 0U);
    play(row.script);
    play("take:1");
    EXPECT_EQ(latest_.created, kFakeStream);
    EXPECT_EQ(latest_.stretch != stretch, row.is_interrupted);
  }
}

TEST_F(EarlyEventFeedTest, HasTheStampOfTheNewestMessage) {
  play("open:3 follow other:4 default:5 take:3");
  EXPECT_EQ(latest_.stamped, stamp_at(5));
  play("other:6 take:5");
  EXPECT_EQ(latest_.stamped, stamp_at(6));
  play("dead:7 take:6");
  EXPECT_EQ(latest_.stamped, stamp_at(7));
  play("open:7 take:7");
  EXPECT_EQ(latest_.stamped, std::nullopt) << "the message 7 may be another one by now";
}

TEST_F(EarlyEventFeedTest, DropsTheEventsOfANamespaceThatHasTooMany) {
  EarlyEventFeed feed(sink_, {.namespace_bytes = 3'000});
  feed.follow("default");
  feed.follow("other");
  EXPECT_TRUE(feed.deliver({StreamOpened{.position = {.stream_created = kFakeStream}}}));
  EXPECT_TRUE(feed.deliver({fed_event("other", 1, 1'000)}));
  for (uint64_t i = 2; i <= 4; ++i) EXPECT_TRUE(feed.deliver({fed_event("default", i, 1'000)}));
  EXPECT_EQ(text_of_fed(feed.take("default", kFakeStream, 1)), "from 5 to 4");
  EXPECT_TRUE(feed.deliver({fed_event("default", 5, 1'000), fed_event("default", 6, 1'000)}));
  EXPECT_EQ(text_of_fed(feed.take("default", kFakeStream, 1)), "from 5 to 6");
  EXPECT_EQ(text_of_fed(feed.take("default", kFakeStream, 4)), "5-6: 5 6");
  EXPECT_EQ(text_of_fed(feed.take("other", kFakeStream, 0)), "1-6: 1");
}

TEST_F(EarlyEventFeedTest, DropsTheEventsOfTheLargestNamespaceIfAllHaveTooMany) {
  EarlyEventFeed feed(sink_, {.namespace_bytes = 3'000, .all_bytes = 4'000});
  for (const char* const ns : {"x", "y", "z"}) feed.follow(ns);
  EXPECT_TRUE(feed.deliver({StreamOpened{.position = {.stream_created = kFakeStream}},
                            fed_event("x", 1, 1'000), fed_event("y", 2, 1'000),
                            fed_event("y", 3, 1'000), fed_event("z", 4, 1'000)}));
  EXPECT_EQ(text_of_fed(feed.take("y", kFakeStream, 0)), "from 5 to 4");
  EXPECT_EQ(text_of_fed(feed.take("x", kFakeStream, 0)), "1-4: 1");
  EXPECT_EQ(text_of_fed(feed.take("z", kFakeStream, 0)), "1-4: 4");
  EXPECT_TRUE(
      feed.deliver({fed_event("x", 5, 1'000), fed_event("y", 6, 1'000), fed_event("z", 7, 1'000)}));
  EXPECT_EQ(text_of_fed(feed.take("y", kFakeStream, 4)), "5-7: 6")
      << "what was taken does not count";
}

TEST_F(EarlyEventFeedTest, PassesEverythingOn) {
  for (const bool is_followed : {false, true}) {
    if (is_followed) feed_.follow("default");
    sink_.delivered = 0;
    EXPECT_TRUE(feed_.deliver({StreamOpened{}, fed_event("default", 1), CaughtUp{}, StreamLost{}}));
    EXPECT_EQ(sink_.delivered, 4U) << is_followed;
  }
  feed_.opening();
  EXPECT_EQ(sink_.openings, 1);
  sink_.is_closed = true;
  EXPECT_FALSE(feed_.deliver({CaughtUp{}}));
}

TEST_F(EarlyEventFeedTest, LosesNothingWhileTheReaderDelivers) {
  constexpr uint64_t kMany = 20'000;
  feed_.follow("default");
  deliver(StreamOpened{.position = {.stream_created = kFakeStream}});
  std::thread reader([&] {
    for (uint64_t i = 1; i <= kMany; ++i) deliver(fed_event("default", i));
  });
  std::vector<uint64_t> taken;
  for (uint64_t read_to = 0; read_to < kMany;) {
    const FedEvents fed = feed_.take("default", kFakeStream, read_to);
    for (const FedEvent& one : fed.events) taken.push_back(one.sequence);
    read_to = fed.last;
    std::this_thread::yield();
  }
  reader.join();
  std::vector<uint64_t> all(kMany);
  std::iota(all.begin(), all.end(), 1U);
  EXPECT_EQ(taken, all);
}

}  // namespace
}  // namespace millrace
