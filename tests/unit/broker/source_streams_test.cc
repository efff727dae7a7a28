// The streams that millrace makes for sources: their names, settings and marks, and what a
// nats-server of any version makes of them.
#include "broker/source_streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/origin_streams.h"
#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

using testing::HasSubstr;

SourceStream wanted_stream(std::vector<std::string> subjects = {"shop.>"}) {
  return {.ns = "default",
          .source = "orders",
          .subjects = std::move(subjects),
          .max_bytes = 1'000'000,
          .max_age = std::chrono::hours(1)};
}

TEST(SourceStreams, HaveANameOfTheirOwnForEachSource) {
  EXPECT_EQ(source_stream_name("millrace", "shop", "orders"), "MILLRACE_SOURCE_shop+orders");
  EXPECT_EQ(source_stream_name("a-b", "x.y", "z"), "A-B_SOURCE_x%2Ey+z");
  EXPECT_NE(source_stream_name("millrace", "a-b", "c"), source_stream_name("millrace", "a", "b-c"));
  EXPECT_TRUE(is_own_stream("millrace", source_stream_name("millrace", "shop", "orders")));
}

TEST(SourceStreams, AreMadeWithoutAcknowledgementsAndWithLimits) {
  const Json config = source_stream_config({.replicas = 3, .cluster = "east"}, wanted_stream());
  EXPECT_EQ(config["no_ack"], true);
  EXPECT_EQ(config["discard"], "old");
  EXPECT_EQ(config["subjects"], Json::array({"shop.>"}));
  EXPECT_EQ(config["max_bytes"], 1'000'000);
  EXPECT_EQ(config["max_age"], 3'600'000'000'000);
  EXPECT_EQ(config["num_replicas"], 3);
  EXPECT_EQ(config["placement"], (Json{{"cluster", "east"}}));
}

TEST(SourceStreams, AreKnownByTheirMark) {
  Json config = source_stream_config({}, wanted_stream());
  EXPECT_TRUE(is_source_stream(config, "default", "orders"));
  EXPECT_FALSE(is_source_stream(config, "default", "other"));
  config.erase("metadata");
  EXPECT_TRUE(is_source_stream(config, "default", "orders")) << "nats-server before 2.10";
  EXPECT_FALSE(is_source_stream(config, "defaul", "t/orders"));
  config["description"] = "orders of the shop";
  EXPECT_FALSE(is_source_stream(config, "default", "orders"));
  EXPECT_FALSE(is_source_stream(Json(), "default", "orders"));
}

TEST(SourceStreams, KeepWhatAnOperatorHasChangedBesidesTheirSettings) {
  const Json wanted = source_stream_config({}, wanted_stream());
  Json found = wanted;
  found["num_replicas"] = 3;
  EXPECT_EQ(changed_source_stream(found, wanted), std::nullopt);
  found["no_ack"] = false;
  found["max_bytes"] = 7;
  const auto changed = changed_source_stream(found, wanted);
  ASSERT_TRUE(changed);
  EXPECT_EQ((*changed)["no_ack"], true);
  EXPECT_EQ((*changed)["max_bytes"], 1'000'000);
  EXPECT_EQ((*changed)["num_replicas"], 3);
}

TEST(SourceStreams, AreRefusedForSubjectsOfMillrace) {
  const StreamOptions options{.prefix = "shop"};
  for (const char* const subject : {"millrace.events.default.x", "millrace.>", "millrace", "shop",
                                    "shop.tasks.>", "_INBOX.a", "own.inbox.x", "own.>", "own.*"}) {
    const Status checked = check_source_stream(options, "own.inbox", wanted_stream({"a", subject}));
    ASSERT_FALSE(checked) << subject;
    EXPECT_EQ(checked.error().code, "source.own_subjects") << subject;
  }
  EXPECT_TRUE(check_source_stream(options, "own.inbox", wanted_stream({"shops.>", "own.other.>"})));
}

TEST(SourceStreams, AreRefusedIfTheirNameWouldBeTooLong) {
  SourceStream wanted = wanted_stream();
  wanted.ns = std::string(128, '.');
  const Status checked = check_source_stream({}, "_INBOX", wanted);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, "settings.invalid");
}

class SourceStreamsOfABroker : public NatsFixture {
 protected:
  std::unique_ptr<Connection> connection_ = server_.connect();
  std::unique_ptr<RawNatsClient> client_ = server_.client();
  JetStreamOrigins origins_{*connection_, {}, "_INBOX"};

  Json config() {
    return connection_->api("STREAM.INFO.MILLRACE_SOURCE_default+orders", Json::object())
        .value()["config"];
  }
};

TEST_F(SourceStreamsOfABroker, AreMadeChangedAndDeleted) {
  EXPECT_EQ(origins_.find_source_stream("default", "orders").error().code, "source.no_stream");
  const auto made = origins_.ensure_source_stream(wanted_stream());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->first, 1U);
  EXPECT_EQ(config()["no_ack"], true);
  client_->publish("shop.a", "x");
  client_->flush();
  SourceStream changed = wanted_stream({"shop.a", "store.>"});
  changed.max_bytes = 2'000'000;
  const auto again = origins_.ensure_source_stream(changed);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->created, made->created) << "it is the same stream";
  EXPECT_EQ(again->last, 1U);
  EXPECT_EQ(config()["subjects"], (Json::array({"shop.a", "store.>"})));
  EXPECT_EQ(config()["max_bytes"], 2'000'000);
  EXPECT_EQ(origins_.find("MILLRACE_SOURCE_default+orders").error().code, "source.own_stream");
  EXPECT_TRUE(origins_.remove_source_stream("default", "orders"));
  EXPECT_TRUE(origins_.remove_source_stream("default", "orders")) << "there is none";
  EXPECT_EQ(origins_.find_source_stream("default", "orders").error().code, "source.no_stream");
}

TEST_F(SourceStreamsOfABroker, AreRefusedIfAnotherStreamHasTheSubjects) {
  client_->api("STREAM.CREATE.ORDERS", {{"name", "ORDERS"}, {"subjects", {"shop.orders.*"}}});
  const auto made = origins_.ensure_source_stream(wanted_stream());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "source.overlap");
  EXPECT_THAT(made.error().message, HasSubstr("stream ORDERS has"));
  ASSERT_TRUE(origins_.ensure_source_stream(wanted_stream({"store.>"})));
  const auto changed = origins_.ensure_source_stream(wanted_stream({"shop.*.eu", "store.>"}));
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, "source.overlap");
  EXPECT_THAT(changed.error().message, HasSubstr("stream ORDERS has"));
}

TEST_F(SourceStreamsOfABroker, LeaveAStreamThatMillraceDidNotMake) {
  const std::string name = origins_.source_stream_name("default", "orders");
  client_->api("STREAM.CREATE." + name, {{"name", name}, {"subjects", {"shop.>"}}});
  EXPECT_EQ(origins_.ensure_source_stream(wanted_stream()).error().code, "source.stream_taken");
  EXPECT_EQ(origins_.find_source_stream("default", "orders").error().code, "source.stream_taken");
  EXPECT_TRUE(origins_.remove_source_stream("default", "orders"));
  EXPECT_EQ(config()["subjects"], Json::array({"shop.>"}));
}

}  // namespace
}  // namespace millrace
