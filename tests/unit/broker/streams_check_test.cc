#include <gtest/gtest.h>

#include "broker/log_stream.h"
#include "broker/snapshot_stream.h"
#include "broker/streams.h"

namespace millrace {
namespace {

TEST(Streams, ComparesAStreamWithTheSettingsThatMillraceExpects) {
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
  EXPECT_EQ(wider->notes,
            std::vector<std::string>{"stream MILLRACE_EVENTS has max_age 0 instead of "
                                     "604800000000000: the broker removes older messages, read or "
                                     "not (nanoseconds; 0: no limit)"});

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
  for (const char* changes : {R"({"config":null})", R"({"state":[]})", R"({"created":"today"})",
                              R"({"created":"0001-01-01T00:00:00Z"})"}) {
    const Result<StreamInfo> other = check_stream(answer(changes), events_stream());
    ASSERT_FALSE(other) << changes;
    EXPECT_EQ(other.error().code, "broker.protocol") << changes;
  }
}

TEST(Streams, RefusesALogThatCouldLoseCommits) {
  const auto answer = [](const char* changes) {
    Json json = *parse_json(R"({"created":"2026-11-21T08:20:54.102239813Z","config":{
      "name":"MILLRACE_LOG_shop_0","subjects":["millrace.log.shop.0"],"retention":"limits",
      "max_consumers":-1,"max_msgs":-1,"max_bytes":-1,"max_age":0,"max_msgs_per_subject":-1,
      "max_msg_size":-1,"discard":"new","storage":"file","num_replicas":3,
      "duplicate_window":120000000000,"allow_direct":false,"deny_delete":true},
      "state":{"messages":0,"first_seq":0,"last_seq":0}})");
    json.merge_patch(*parse_json(changes));
    return json;
  };
  const StreamSettings log = log_stream("shop", {.replicas = 3});
  const Result<StreamInfo> info = check_stream(answer("{}"), log);
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->notes, std::vector<std::string>());

  const struct {
    const char* changes;
    const char* setting;
  } refused[] = {
      {R"({"config":{"discard":"old"}})", "discard \"old\" instead of \"new\""},
      {R"({"config":{"storage":"memory"}})", "storage \"memory\" instead of \"file\""},
      {R"({"config":{"max_age":1000000000}})", "max_age 1000000000 instead of 0"},
      {R"({"config":{"max_msgs":5}})", "max_msgs 5 instead of -1"},
      {R"({"config":{"max_bytes":1000}})", "max_bytes 1000 instead of -1"},
      {R"({"config":{"retention":"workqueue"}})", "retention \"workqueue\" instead of \"limits\""},
      {R"({"config":{"max_msgs_per_subject":1}})", "max_msgs_per_subject 1 instead of -1"},
      {R"({"config":{"subjects":["millrace.log.other.0"]}})", "and not millrace.log.shop.0"},
  };
  for (const auto& one : refused) {
    const Result<StreamInfo> other = check_stream(answer(one.changes), log);
    ASSERT_FALSE(other) << one.changes;
    EXPECT_EQ(other.error().code, "broker.stream") << one.changes;
    EXPECT_NE(other.error().message.find(one.setting), std::string::npos) << other.error().message;
    EXPECT_NE(other.error().message.find("with `nats stream edit MILLRACE_LOG_shop_0`, and do not "
                                         "delete the stream"),
              std::string::npos)
        << other.error().message;
  }
  for (const char* changes :
       {R"({"config":{"deny_delete":false}})", R"({"config":{"num_replicas":1}})"}) {
    const Result<StreamInfo> other = check_stream(answer(changes), log);
    ASSERT_TRUE(other) << changes;
    EXPECT_EQ(other->notes.size(), 1u) << changes;
  }
  const Result<StreamInfo> other_window =
      check_stream(answer(R"({"config":{"duplicate_window":1000000000}})"), log);
  ASSERT_TRUE(other_window);
  EXPECT_EQ(other_window->notes, std::vector<std::string>()) << "the log needs no such window";
}

TEST(Streams, RefusesAStreamThatCouldLoseSnapshots) {
  const auto answer = [](const char* changes) {
    Json json = *parse_json(R"({"created":"2026-11-21T08:20:54.102239813Z","config":{
      "name":"MILLRACE_SNAPSHOTS_shop","subjects":["millrace.snapshots.shop.0.>"],
      "retention":"limits","max_consumers":-1,"max_msgs":-1,"max_bytes":-1,"max_age":0,
      "max_msgs_per_subject":-1,"max_msg_size":-1,"discard":"new","storage":"file",
      "num_replicas":1,"duplicate_window":120000000000},
      "state":{"messages":2,"bytes":77,"first_seq":3,"last_seq":4}})");
    json.merge_patch(*parse_json(changes));
    return json;
  };
  const StreamSettings snapshots = snapshot_stream("shop");
  const Result<StreamInfo> info = check_stream(answer("{}"), snapshots);
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->notes, std::vector<std::string>());
  EXPECT_EQ(info->bytes, 77u);

  for (const auto& [changes, why] : std::vector<std::pair<const char*, const char*>>{
           {R"({"config":{"discard":"old"}})", "would remove its oldest snapshots"},
           {R"({"config":{"storage":"memory"}})", "would lose all snapshots"},
           {R"({"config":{"max_age":1000000000}})", "would remove snapshots after that time"},
           {R"({"config":{"max_msgs":5}})", "would accept no snapshots above that limit"},
           {R"({"config":{"max_bytes":1000}})", "would accept no snapshots above that limit"}}) {
    const Result<StreamInfo> other = check_stream(answer(changes), snapshots);
    ASSERT_FALSE(other) << changes;
    EXPECT_EQ(other.error().code, "broker.stream") << changes;
    EXPECT_NE(other.error().message.find(why), std::string::npos) << other.error().message;
    EXPECT_NE(other.error().message.find("a new node of the cluster needs it"), std::string::npos)
        << other.error().message;
  }
}

TEST(Streams, ReportsThatTheBrokerHasTooFewServersForTheReplicas) {
  const struct {
    std::string meaning;
    int replicas;
    std::vector<std::string> tags;
    int64_t reason;
    std::string code;
    std::string text;
  } cases[] = {
      {"the NATS server is in no cluster",
       3,
       {},
       10074,
       "broker.replicas",
       "stream MILLRACE_EVENTS with --stream-replicas 3 needs 3 NATS servers with JetStream in one "
       "cluster, and the broker does not have them: start them, or set --stream-replicas to the "
       "number of NATS servers; request to S: refused (10074)"},
      {"the cluster is too small",
       5,
       {"ssd"},
       10005,
       "broker.replicas",
       "stream MILLRACE_EVENTS with --stream-replicas 5 needs 5 NATS servers with JetStream in one "
       "cluster that fit --stream-cluster and --stream-tags, and the broker does not have them: "
       "start them, or set --stream-replicas to the number of NATS servers; request to S: refused "
       "(10005)"},
      {"no NATS server has the tags",
       1,
       {"ssd"},
       10005,
       "broker.refused",
       "request to S: refused (10005)"},
      {"another reason", 3, {}, 10065, "broker.refused", "request to S: refused (10065)"},
  };
  for (const auto& one : cases) {
    const Json answer = {
        {"error", {{"code", 400}, {"err_code", one.reason}, {"description", "refused"}}}};
    const Result<StreamInfo> made = check_created(
        read_api_answer("S", answer), events_stream({.replicas = one.replicas, .tags = one.tags}));
    ASSERT_FALSE(made) << one.meaning;
    EXPECT_EQ(made.error(), (Error{one.code, one.text})) << one.meaning;
  }
}

TEST(Streams, ReadsTimesWhoseNanosecondsFitInto64Bits) {
  EXPECT_EQ(parse_nanoseconds("1970-01-01T00:00:01.5Z"), 1'500'000'000);
  EXPECT_EQ(parse_nanoseconds("1969-12-31T23:59:59.999999999Z"), -1);
  EXPECT_EQ(parse_nanoseconds("2262-04-11T23:47:15.999999999Z"), 9'223'372'035'999'999'999);
  for (const char* text : {"2262-04-11T23:47:16Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z",
                           "1677-09-21T00:12:43Z", "today"}) {
    const Result<int64_t> read = parse_nanoseconds(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, "broker.protocol") << text;
  }
}

TEST(Streams, AreCompleteFromATimeOn) {
  const TimePoint now = from_millis(1'800'000'000'000);
  const TimePoint oldest = now - std::chrono::hours(2);
  const Duration slack = std::chrono::minutes(1);
  const std::string stamped = format_rfc3339(oldest);
  const struct {
    std::string meaning;
    StreamInfo info;
    TimePoint since;
  } cases[] = {
      {"no message was removed",
       {.first_sequence = 1, .last_sequence = 9, .first_stamped = stamped, .may_be_full = true},
       TimePoint::min()},
      {"it is empty, and never had a message", {.first_sequence = 1}, TimePoint::min()},
      {"only an operator removes messages",
       {.first_sequence = 3, .last_sequence = 9, .first_stamped = stamped},
       TimePoint::min()},
      {"messages become too old",
       {.first_sequence = 3,
        .last_sequence = 9,
        .first_stamped = stamped,
        .max_age = std::chrono::hours(5)},
       now - std::chrono::hours(5) + slack},
      {"the oldest message is older than the limit of age says",
       {.first_sequence = 3,
        .last_sequence = 9,
        .first_stamped = stamped,
        .max_age = std::chrono::hours(1)},
       oldest + Duration(1)},
      {"messages become too many",
       {.first_sequence = 3,
        .last_sequence = 9,
        .first_stamped = stamped,
        .max_age = std::chrono::hours(5),
        .may_be_full = true},
       oldest + Duration(1)},
      {"all messages were removed, perhaps because they were too many",
       {.first_sequence = 10, .last_sequence = 9, .may_be_full = true},
       TimePoint::max()},
      {"all messages became too old",
       {.first_sequence = 10, .last_sequence = 9, .max_age = std::chrono::hours(5)},
       now - std::chrono::hours(5) + slack},
  };
  for (const auto& one : cases) EXPECT_EQ(complete_since(one.info, now), one.since) << one.meaning;
}

TEST(Streams, MayBeFullWithHalfOfWhatTheyKeep) {
  const auto info = [](const char* changes) {
    Json json = *parse_json(R"({"created":"2026-11-21T08:20:54Z","config":{
      "subjects":["millrace.events.>"],"retention":"limits","max_msgs":10,"max_bytes":1000,
      "max_age":3600000000000},"state":{"messages":4,"bytes":499,"first_seq":4,"last_seq":7,
      "first_ts":"2026-11-21T08:30:00Z"}})");
    json.merge_patch(*parse_json(changes));
    return check_stream(json, events_stream()).value();
  };
  EXPECT_FALSE(info("{}").may_be_full);
  EXPECT_EQ(info("{}").max_age, std::chrono::hours(1));
  EXPECT_EQ(info("{}").first_stamped, "2026-11-21T08:30:00Z");
  EXPECT_TRUE(info(R"({"state":{"messages":5}})").may_be_full);
  EXPECT_TRUE(info(R"({"state":{"bytes":500}})").may_be_full);
  EXPECT_FALSE(info(R"({"config":{"max_msgs":-1,"max_bytes":-1}})").may_be_full);
}

}  // namespace
}  // namespace millrace
