#include "broker/streams.h"

#include <gtest/gtest.h>

#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

class StreamsTest : public NatsFixture {
 protected:
  std::unique_ptr<Connection> connection_ = server_.connect();
  std::unique_ptr<RawNatsClient> client_ = server_.client();
};

TEST_F(StreamsTest, CreatesAStreamOnceAndFindsItAfterwards) {
  EXPECT_EQ(find_stream(*connection_, events_stream()).error().code, "broker.not_found");
  const Result<StreamInfo> made = ensure_stream(*connection_, events_stream());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_GT(made->created, 0);
  EXPECT_EQ(made->subjects, std::vector<std::string>{"millrace.events.>"});
  EXPECT_EQ(made->notes, std::vector<std::string>()) << "the server accepted all settings";

  const Result<StreamInfo> found = ensure_stream(*connection_, events_stream());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->created, made->created);
  EXPECT_EQ(found->notes, std::vector<std::string>());

  client_->publish_acked("millrace.events.a.b", "", "x");
  const Result<StreamInfo> filled = ensure_stream(*connection_, events_stream());
  ASSERT_TRUE(filled);
  EXPECT_EQ(filled->first_sequence, 1u);
  EXPECT_EQ(filled->last_sequence, 1u);
}

TEST_F(StreamsTest, AcceptsAStreamWithOtherUsableSettingsAndNotesTheDifference) {
  client_->api("STREAM.CREATE.MILLRACE_DLQ",
               {{"name", "MILLRACE_DLQ"}, {"subjects", {"millrace.dlq.>"}}, {"storage", "memory"}});
  const Result<StreamInfo> found = ensure_stream(*connection_, dead_letters_stream());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->notes.size(), 2u) << testing::PrintToString(found->notes);
}

TEST_F(StreamsTest, RefusesAStreamThatLacksSubjects) {
  client_->api("STREAM.CREATE.MILLRACE_EVENTS",
               {{"name", "MILLRACE_EVENTS"}, {"subjects", {"millrace.events.default.>"}}});
  const Result<StreamInfo> found = ensure_stream(*connection_, events_stream());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, "broker.stream");
}

TEST_F(StreamsTest, ReportsThatAServerWithoutAClusterHasNoReplicas) {
  const Result<StreamInfo> made = ensure_stream(*connection_, events_stream({.replicas = 3}));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "broker.replicas") << made.error().message;
}

TEST_F(StreamsTest, ReportsSubjectsThatOverlapWithAnotherStream) {
  client_->api("STREAM.CREATE.OTHER", {{"name", "OTHER"}, {"subjects", {"millrace.>"}}});
  const Result<StreamInfo> made = ensure_stream(*connection_, events_stream());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "broker.refused");
  EXPECT_NE(made.error().message.find("subjects overlap"), std::string::npos)
      << made.error().message;
}

}  // namespace
}  // namespace millrace
