#include <gtest/gtest.h>

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
  for (const char* changes : {R"({"config":null})", R"({"state":[]})", R"({"created":"today"})"}) {
    const Result<StreamInfo> other = check_stream(answer(changes), events_stream());
    ASSERT_FALSE(other) << changes;
    EXPECT_EQ(other.error().code, "broker.protocol") << changes;
  }
}

}  // namespace
}  // namespace millrace
