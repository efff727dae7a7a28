// The origin streams of JetStream: what the answer to STREAM.INFO says, and which streams are
// millrace's own.
#include "broker/origin_streams.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

Json answer_with(const Json& config, const Json& state) {
  return {{"created", "2026-01-02T03:04:05.000000006Z"}, {"config", config}, {"state", state}};
}

TEST(OriginStreams, ReadTheStateOfAStream) {
  const auto state = read_origin_state(answer_with(
      {{"retention", "limits"}}, {{"messages", 3U}, {"first_seq", 5U}, {"last_seq", 9U}}));
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(state->created, 1'767'323'045'000'000'006U);
  EXPECT_EQ(state->first, 5U);
  EXPECT_EQ(state->last, 9U);
  EXPECT_TRUE(state->keeps_messages);
}

TEST(OriginStreams, BeginBehindTheLastMessageIfTheyAreEmpty) {
  const auto state = read_origin_state(answer_with(
      {{"retention", "limits"}}, {{"messages", 0U}, {"first_seq", 0U}, {"last_seq", 9U}}));
  ASSERT_TRUE(state);
  EXPECT_EQ(state->first, 10U);
}

TEST(OriginStreams, RemoveMessagesWithTheRetentionOfQueuesAndOfInterest) {
  for (const char* const retention : {"workqueue", "interest"}) {
    const auto state = read_origin_state(answer_with({{"retention", retention}}, Json::object()));
    ASSERT_TRUE(state);
    EXPECT_FALSE(state->keeps_messages) << retention;
    EXPECT_EQ(state->is_work_queue, std::string(retention) == "workqueue");
  }
}

TEST(OriginStreams, RefuseAnAnswerWithoutATime) {
  const auto state = read_origin_state(Json::object());
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, "broker.protocol");
}

TEST(OriginStreams, KnowTheStreamsOfMillrace) {
  EXPECT_TRUE(is_own_stream("millrace", "MILLRACE_EVENTS"));
  EXPECT_TRUE(is_own_stream("shop", "SHOP_DLQ"));
  EXPECT_FALSE(is_own_stream("shop", "MILLRACE_EVENTS")) << "another millrace may be read";
  EXPECT_FALSE(is_own_stream("millrace", "ORDERS"));
  EXPECT_FALSE(is_own_stream("millrace", "MILLRACE"));
}

TEST(OriginStreams, KnowCopiesOfTheStreamsOfMillrace) {
  const auto behind = [](const Json& config) {
    return own_stream_behind("millrace", answer_with(config, Json::object()));
  };
  EXPECT_EQ(behind({{"mirror", {{"name", "MILLRACE_EVENTS"}}}}), "MILLRACE_EVENTS");
  EXPECT_EQ(behind({{"sources",
                     Json::array({Json{{"name", "ORDERS"}}, Json{{"name", "MILLRACE_EVENTS"}}})}}),
            "MILLRACE_EVENTS");
  EXPECT_EQ(behind({{"mirror", {{"name", "ORDERS"}}}}), "");
  EXPECT_EQ(behind({{"mirror", {{"name", "MILLRACE_EVENTS"}, {"external", {{"api", "x"}}}}}}), "")
      << "a stream of another account";
  EXPECT_EQ(behind(Json::object()), "");
  EXPECT_EQ(behind({{"mirror", 7}, {"sources", Json::array({7})}}), "");
}

}  // namespace
}  // namespace millrace
