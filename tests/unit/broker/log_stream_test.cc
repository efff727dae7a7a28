#include "broker/log_stream.h"

#include <gtest/gtest.h>

#include "orchestrator/ports/clock.h"
#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

class LogStreamTest : public NatsFixture {
 protected:
  std::unique_ptr<Connection> connection_ = server_.connect();
  std::unique_ptr<RawNatsClient> client_ = server_.client();
  const StreamSettings log_ = log_stream("shop");
};

TEST_F(LogStreamTest, CreatesTheLogAtTheFoundingOnly) {
  const Result<StreamInfo> missing = find_log(*connection_, log_);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, "cluster.not_founded");

  const Result<StreamInfo> founded = found_log(*connection_, log_);
  ASSERT_TRUE(founded) << founded.error().message;
  EXPECT_EQ(founded->notes, std::vector<std::string>()) << "the server accepted all settings";
  EXPECT_EQ(founded->last_sequence, 0u);
  const Result<StreamInfo> again = found_log(*connection_, log_);
  ASSERT_TRUE(again) << "an earlier attempt has created the stream: " << again.error().message;
  EXPECT_EQ(again->created, founded->created);

  client_->publish_acked("millrace.log.shop.0", "", "x");
  const Result<StreamInfo> late = found_log(*connection_, log_);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, "cluster.founded");
  const Result<StreamInfo> found = find_log(*connection_, log_);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->last_sequence, 1u);
}

TEST_F(LogStreamTest, SaysTheTimeOfItsLeader) {
  const Result<TimePoint> missing = time_of_log(*connection_, log_);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, "cluster.not_founded");

  ASSERT_TRUE(found_log(*connection_, log_));
  const SystemClock clock;
  const TimePoint before = clock.now();
  const Result<TimePoint> time = time_of_log(*connection_, log_);
  if (client_->api("STREAM.INFO.MILLRACE_LOG_shop_0", Json::object()).contains("ts")) {
    ASSERT_TRUE(time) << time.error().message;
    EXPECT_GE(*time, before);  // the server runs on this machine
    EXPECT_LE(*time, clock.now());
  } else {
    ASSERT_FALSE(time) << "nats-server before 2.10 does not say its time";
    EXPECT_EQ(time.error().code, "cluster.broker");
  }
}

TEST_F(LogStreamTest, LetsNoClientDeleteAMessage) {
  ASSERT_TRUE(found_log(*connection_, log_));
  client_->publish_acked("millrace.log.shop.0", "", "x");
  const Json answer = client_->api("STREAM.MSG.DELETE.MILLRACE_LOG_shop_0", {{"seq", 1}});
  EXPECT_TRUE(answer.contains("error")) << answer;
}

TEST_F(LogStreamTest, IsTrimmedIfItIsTheLogThatIsMeant) {
  const Result<StreamInfo> founded = found_log(*connection_, log_);
  ASSERT_TRUE(founded) << founded.error().message;
  for (int i = 0; i < 5; ++i) client_->publish_acked("millrace.log.shop.0", "", "x");
  const struct {
    int64_t created;
    uint64_t before;
    const char* error;
    uint64_t first;
  } rows[] = {
      {founded->created + 1, 3, "log.recreated", 1},
      {founded->created, 6, "log.lost", 1},
      {founded->created, 0, "", 1},
      {founded->created, 1, "", 1},
      {founded->created, 3, "", 3},
      {founded->created, 2, "", 3},
      {founded->created, 5, "", 5},
  };
  for (const auto& row : rows) {
    const Status trimmed = trim_log(*connection_, log_, row.created, row.before);
    EXPECT_EQ(trimmed ? "" : trimmed.error().code, row.error) << row.before;
    const Result<StreamInfo> info = find_log(*connection_, log_);
    ASSERT_TRUE(info) << info.error().message;
    EXPECT_EQ(info->first_sequence, row.first) << row.before;
    EXPECT_EQ(info->last_sequence, 5u) << row.before;
  }
  client_->api("STREAM.DELETE." + log_.name);
  const Status missing = trim_log(*connection_, log_, founded->created, 3);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, "cluster.not_founded");
}

TEST_F(LogStreamTest, ContinuesBehindALaterSequenceIfItEndsBeforeThat) {
  const Result<StreamInfo> founded = found_log(*connection_, log_);
  ASSERT_TRUE(founded) << founded.error().message;
  for (int i = 0; i < 5; ++i) client_->publish_acked("millrace.log.shop.0", "", "x");
  const struct {
    int64_t created;
    uint64_t last;
    const char* error;
    uint64_t first_after;
    uint64_t last_after;
  } rows[] = {
      {founded->created + 1, 9, "log.recreated", 1, 5},
      {founded->created, 4, "log.diverged", 1, 5},
      {founded->created, 5, "", 1, 5},
      {founded->created, 9, "", 10, 9},
  };
  for (const auto& row : rows) {
    const Status skipped = skip_log_to(*connection_, log_, row.created, row.last);
    EXPECT_EQ(skipped ? "" : skipped.error().code, row.error) << row.last;
    const Result<StreamInfo> info = find_log(*connection_, log_);
    ASSERT_TRUE(info) << info.error().message;
    EXPECT_EQ(info->first_sequence, row.first_after) << row.last;
    EXPECT_EQ(info->last_sequence, row.last_after) << row.last;
  }
}

TEST_F(LogStreamTest, RefusesAStreamThatRemovesMessages) {
  client_->api("STREAM.CREATE.MILLRACE_LOG_shop_0", {{"name", "MILLRACE_LOG_shop_0"},
                                                     {"subjects", {"millrace.log.shop.0"}},
                                                     {"max_age", 3'600'000'000'000},
                                                     {"discard", "new"}});
  for (const Result<StreamInfo>& found :
       {find_log(*connection_, log_), found_log(*connection_, log_)}) {
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, "broker.stream");
    EXPECT_NE(found.error().message.find("max_age 3600000000000 instead of 0"), std::string::npos)
        << found.error().message;
  }
}

}  // namespace
}  // namespace millrace
