#include "broker/resume.h"

#include <gtest/gtest.h>

#include "broker/pull_window.h"
#include "broker/streams.h"

namespace millrace {
namespace {

TEST(ResumePoint, IsDecidedByWhatTheStreamHas) {
  const TimePoint then = from_millis(5000);
  const TimePoint other = from_millis(5001);
  using Kind = BrokerLoss::Kind;
  const auto dropped = [](uint64_t first, uint64_t last) {
    return BrokerLoss{Kind::kDropped, first, last};
  };
  const auto tail = [](uint64_t first, uint64_t last) {
    return BrokerLoss{Kind::kTail, first, last};
  };
  const auto anew = [](uint64_t last) { return BrokerLoss{Kind::kStream, last, last}; };
  const struct {
    const char* name;
    Cursor cursor;
    StreamState stream;
    std::optional<TimePoint> stamped;
    ResumePoint expected;
  } rows[] = {
      {"nothing was applied yet", {}, {7, 1, 9}, {}, {1}},
      {"nothing was applied yet, the oldest are gone", {}, {7, 4, 9}, {}, {4}},
      {"an empty stream", {7, 0, {}}, {7, 1, 0}, {}, {1}},
      {"the oldest went before any was applied", {7, 0, {}}, {7, 4, 9}, {}, {4, {}, dropped(1, 3)}},
      {"the next one", {7, 5, then}, {7, 1, 9}, then, {6}},
      {"all was applied", {7, 9, then}, {7, 1, 9}, then, {10}},
      {"the cursor's message was deleted by hand", {7, 5, then}, {7, 1, 9}, {}, {6}},
      {"the cursor's message went by age", {7, 5, then}, {7, 6, 9}, {}, {6}},
      {"messages behind the cursor went", {7, 5, then}, {7, 8, 9}, {}, {8, {}, dropped(6, 7)}},
      {"all messages went", {7, 5, then}, {7, 10, 9}, {}, {10, {}, dropped(6, 9)}},
      {"all applied messages went", {7, 9, then}, {7, 10, 9}, {}, {10}},
      {"another stream", {6, 5, then}, {7, 1, 9}, {}, {1, {}, anew(5)}},
      {"another stream, the oldest are gone", {6, 5, then}, {7, 3, 9}, {}, {3, {}, anew(5)}},
      {"the tail was lost", {7, 12, then}, {7, 1, 9}, {}, {1, then, tail(1, 12)}},
      {"the tail was lost and written anew", {7, 5, then}, {7, 1, 9}, other, {1, then, tail(1, 5)}},
      {"the tail was lost before any was applied",
       {7, 12, {}},
       {7, 3, 9},
       {},
       {3, {}, tail(3, 12)}},
      {"the whole stream was lost", {7, 12, then}, {7, 1, 0}, {}, {1, then, tail(1, 12)}},
  };
  for (const auto& row : rows) {
    const ResumePoint point = resume_point(row.cursor, row.stream, row.stamped);
    EXPECT_EQ(point.sequence, row.expected.sequence) << row.name;
    EXPECT_EQ(point.since, row.expected.since) << row.name;
    EXPECT_EQ(point.loss, row.expected.loss) << row.name;
  }
}

TEST(ResumePoint, KeepsTheTimeUpToWhichAllIsDealtWith) {
  const TimePoint then = from_millis(5000);
  EXPECT_EQ(position_at({.sequence = 8}, {7, 5, then}, {7, 8, 9}), (Cursor{7, 7, then}));
  EXPECT_EQ(position_at({.sequence = 1}, {6, 5, then}, {7, 1, 9}), (Cursor{7, 0, {}}));
}

TEST(ResumePoint, WantsTheTimeOfAMessageThatMayBeThere) {
  EXPECT_TRUE(must_ask_for_stamp({7, 5, {}}, {7, 1, 9}));
  EXPECT_TRUE(must_ask_for_stamp({7, 9, {}}, {7, 9, 9}));
  EXPECT_FALSE(must_ask_for_stamp({6, 5, {}}, {7, 1, 9})) << "another stream";
  EXPECT_FALSE(must_ask_for_stamp({7, 0, {}}, {7, 0, 9})) << "nothing applied";
  EXPECT_FALSE(must_ask_for_stamp({7, 10, {}}, {7, 1, 9})) << "beyond the end";
  EXPECT_FALSE(must_ask_for_stamp({7, 5, {}}, {7, 6, 9})) << "gone";
}

TEST(AckSubjects, AreReadInBothForms) {
  const DeliveryNumbers numbers{22, 21, 1700000000123456789, 5};
  EXPECT_EQ(parse_ack_subject("$JS.ACK.MILLRACE_EVENTS.uoC1.1.22.21.1700000000123456789.5"),
            numbers);
  EXPECT_EQ(parse_ack_subject("$JS.ACK.hub.Ac3.MILLRACE_EVENTS.uoC1.1.22.21.1700000000123456789.5"),
            numbers);
  EXPECT_EQ(
      parse_ack_subject("$JS.ACK._.Ac3.MILLRACE_EVENTS.uoC1.1.22.21.1700000000123456789.5.rnd"),
      numbers);
}

TEST(AckSubjects, NameTheirConsumer) {
  EXPECT_EQ(consumer_of_ack("$JS.ACK.MILLRACE_TASKS.shop+charge.1.22.21.17.5"), "shop+charge");
  EXPECT_EQ(consumer_of_ack("$JS.ACK.hub.Ac3.MILLRACE_TASKS.shop+charge.1.22.21.17.5"),
            "shop+charge");
  EXPECT_EQ(consumer_of_ack("$JS.ACK.MILLRACE_TASKS.shop+charge"), "");
}

TEST(AckSubjects, AreNothingElse) {
  for (const char* subject :
       {"", "_INBOX.x", "$JS.ACK.", "$JS.ACK.E.c.1.22.21.17", "$JS.ACK.E.c.1.22.21.17.5.6",
        "$JS.ACK.E.c.1.x.21.17.5", "$JS.ACK.E.c.1.22..17.5", "$JS.ACK.E.c.1.22.21.17.-5",
        "$JS.ACK.a.b.c.d.e.f.g.h.i.j.k"}) {
    EXPECT_EQ(parse_ack_subject(subject), std::nullopt) << subject;
  }
}

TEST(PullWindow, KeepsSoManyRequestsOpen) {
  PullWindow window(2, 3);
  EXPECT_EQ(window.next_request(), 1u);
  EXPECT_EQ(window.next_request(), 2u);
  EXPECT_EQ(window.next_request(), std::nullopt);
  window.count();
  window.count();
  EXPECT_EQ(window.next_request(), std::nullopt);
  window.count();
  EXPECT_EQ(window.next_request(), 3u) << "the first is used up";
  window.ended(2);
  EXPECT_EQ(window.next_request(), 4u) << "the server ended the second";
  window.ended(2);
  window.ended(77);
  EXPECT_EQ(window.next_request(), std::nullopt) << "what is not open cannot end";
}

TEST(StreamDescriptions, AreComparedWithWhatIsWanted) {
  const auto answer = [](const char* changes) {
    Json json = *parse_json(R"({"created":"2026-11-21T08:20:54.102239813Z","config":{
      "name":"MILLRACE_EVENTS","subjects":["millrace.events.>"],"retention":"limits",
      "max_consumers":-1,"max_msgs":-1,"max_bytes":-1,"max_age":604800000000000,"max_msg_size":-1,"discard":"old",
      "storage":"file","num_replicas":1,"duplicate_window":120000000000},
      "state":{"messages":3,"first_seq":4,"last_seq":6}})");
    json.merge_patch(*parse_json(changes));
    return json;
  };
  const Result<StreamInfo> info = check_stream(answer("{}"), events_stream());
  ASSERT_TRUE(info);
  EXPECT_EQ(info->created, 1795249254102239813);
  EXPECT_EQ(info->first_sequence, 4u);
  EXPECT_EQ(info->last_sequence, 6u);
  EXPECT_EQ(info->notes, std::vector<std::string>());

  const Result<StreamInfo> wider = check_stream(
      answer(R"({"config":{"subjects":["x","millrace.>"],"max_age":0}})"), events_stream());
  ASSERT_TRUE(wider);
  EXPECT_EQ(wider->notes, std::vector<std::string>{
                              "stream MILLRACE_EVENTS has max_age 0 instead of "
                              "604800000000000: what is older goes, read or not (nanoseconds; 0: "
                              "nothing goes)"});

  for (const char* changes :
       {R"({"config":{"discard":"new"}})", R"({"config":{"storage":"memory"}})",
        R"({"config":{"max_msgs":1000}})", R"({"config":{"max_bytes":1000}})",
        R"({"config":{"max_msg_size":1000}})", R"({"config":{"max_consumers":1}})",
        R"({"config":{"duplicate_window":0}})", R"({"config":{"num_replicas":3}})"}) {
    const Result<StreamInfo> other = check_stream(answer(changes), events_stream());
    ASSERT_TRUE(other) << changes;
    EXPECT_EQ(other->notes.size(), 1u) << changes;
  }

  const Result<StreamInfo> empty = check_stream(
      answer(R"({"state":{"messages":0,"first_seq":0,"last_seq":0}})"), events_stream());
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->first_sequence, 1u);

  for (const char* changes :
       {R"({"config":{"subjects":["millrace.events.*"]}})", R"({"config":{"subjects":null}})",
        R"({"config":{"retention":"workqueue"}})", R"({"config":{"retention":"interest"}})",
        R"({"config":{"max_msgs_per_subject":1}})", R"({"config":{"no_ack":true}})",
        R"({"config":{"sealed":true}})"}) {
    const Result<StreamInfo> other = check_stream(answer(changes), events_stream());
    ASSERT_FALSE(other) << changes;
    EXPECT_EQ(other.error().code, "broker.stream") << changes;
  }
  for (const char* changes : {R"({"config":null})", R"({"state":[]})", R"({"created":"today"})"}) {
    const Result<StreamInfo> other = check_stream(answer(changes), events_stream());
    ASSERT_FALSE(other) << changes;
    EXPECT_EQ(other.error().code, "broker.protocol") << changes;
  }
}

}  // namespace
}  // namespace millrace
