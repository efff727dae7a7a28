#include "broker/resume.h"

#include <deque>
#include <numeric>

#include <gtest/gtest.h>

#include "broker/pull_status.h"
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
  EXPECT_TRUE(window.take_request());
  EXPECT_TRUE(window.take_request());
  EXPECT_FALSE(window.take_request());
  window.count();
  window.count();
  EXPECT_FALSE(window.take_request());
  window.count();
  EXPECT_TRUE(window.take_request()) << "as many came as one asks for";
  window.count();
  window.ended(2);
  EXPECT_TRUE(window.take_request()) << "the rest of one will not come";
  EXPECT_FALSE(window.take_request());
  window.ended(77);
  EXPECT_EQ(window.open(), 0u) << "never less than none";
  window.count();
  EXPECT_EQ(window.open(), 0u);
}

/// Servers spread messages over the open requests, end each when it is filled or out of time, and
/// say how many it had left.
TEST(PullWindow, AgreesWithAServerThatSpreadsMessagesOverTheRequests) {
  constexpr size_t kBatch = 8;
  PullWindow window(3, kBatch);
  std::deque<size_t> at_server;
  for (size_t step = 0; step < 10'000; ++step) {
    while (window.take_request()) at_server.push_back(kBatch);
    ASSERT_LE(at_server.size(), 8u);
    if (step % 7 == 3) {  // the oldest is out of time
      window.ended(at_server.front());
      at_server.pop_front();
      continue;
    }
    window.count();
    const size_t left = at_server.front() - 1;
    at_server.pop_front();
    if (left > 0) {
      at_server.push_back(left);
    } else {
      window.ended(0);
    }
    ASSERT_EQ(window.open(), std::accumulate(at_server.begin(), at_server.end(), size_t{0}));
  }
}

/// What servers 2.9 to 2.15 send to pull requests.
TEST(PullStatuses, AreClassified) {
  using enum PullStatus;
  const struct {
    const char* code;
    const char* description;
    PullStatus meaning;
  } rows[] = {
      {"100", "Idle Heartbeat", kAlive},
      {"100", "FlowControl Request", kAlive},
      {"404", "No Messages", kRequestEnded},
      {"408", "Request Timeout", kRequestEnded},
      {"408", "Interest Expired", kRequestEnded},
      {"408", "Requests Pending", kRequestEnded},
      {"409", "Batch Completed", kRequestEnded},
      {"409", "Message Size Exceeds MaxBytes", kRequestEnded},
      {"409", "Consumer Deleted", kConsumerLost},
      {"409", "Leadership Change", kConsumerLost},
      {"409", "Server Shutdown", kConsumerLost},
      {"503", "", kConsumerLost},
      {"503", "No Responders", kConsumerLost},
      {"400", "Bad Request", kRefused},
      {"400", "Bad Request - heartbeat value too large", kRefused},
      {"409", "Consumer is push based", kRefused},
      {"409", "Exceeded MaxWaiting", kRefused},
      {"409", "Exceeded MaxRequestBatch of 100", kRefused},
      {"409", "Exceeded MaxRequestExpires of 1s", kRefused},
      {"409", "Exceeded MaxRequestMaxBytes of 1024", kRefused},
      {"412", "Nats-Pin-Id mismatch", kRefused},
      {"423", "Nats-Pin-Id mismatch", kRefused},
      {"409", "", kRefused},
      {"", "", kRefused},
      {"1000", "", kRefused},
      {"999", "Something new", kRefused},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(classify_pull_status(row.code, row.description), row.meaning)
        << row.code << ' ' << row.description;
  }
}

TEST(PullStatuses, SayHowManyMessagesTheRequestHadLeft) {
  EXPECT_EQ(messages_left("Request Timeout", "17", 512), 17u);
  EXPECT_EQ(messages_left("Request Timeout", "0", 512), 0u);
  EXPECT_EQ(messages_left("Request Timeout", "513", 512), 512u) << "not more than it asked for";
  EXPECT_EQ(messages_left("Request Timeout", "", 512), 512u);
  EXPECT_EQ(messages_left("Request Timeout", "-1", 512), 512u);
  EXPECT_EQ(messages_left("Request Timeout", "many", 512), 512u);
  EXPECT_EQ(messages_left("Batch Completed", "", 512), 0u);
  EXPECT_EQ(messages_left("Batch Completed", "0", 512), 0u);
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
