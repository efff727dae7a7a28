// A store that is restored later than the duplicate windows of the streams, beside a NATS server
// that is ahead of the backup: each message of millrace is in its stream once. The windows are the
// shortest that nats-server permits.
#include <numeric>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "broker/streams.h"
#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

constexpr const char* kCountsOut = R"(
id: counts
start: {type: event, event: {type: count}}
states:
- {id: out, type: generateEvent, event: {type: counted.out, source: /counts, data: 1}}
)";

class RestoredMessages : public testing::Test {
 protected:
  void SetUp() override {
    const std::unique_ptr<Connection> connection = nats_.connect();
    for (StreamSettings stream : {events_stream(), dead_letters_stream(), lifecycle_stream()}) {
      stream.duplicate_window = Duration(100);
      const Result<StreamInfo> made = ensure_stream(*connection, stream);
      ASSERT_TRUE(made) << made.error().message;
    }
    millrace_.start_ready();
    const HttpReply set = millrace_.ask("PUT", "/v1/ns/default", R"({"lifecycle": true})");
    ASSERT_LT(set.status, 300) << set.body;
    millrace_.apply(kCountsOut);
  }

  void publish_count(std::string_view id) {
    const Json ack = client_->publish_acked(
        "millrace.events.default.count", "",
        fmt::format(R"({{"specversion":"1.0","id":"{}","source":"/t","type":"count"}})", id));
    ASSERT_TRUE(ack.contains("seq")) << ack;
  }

  /// The number of messages that the stream has on the subjects.
  size_t messages(std::string_view stream, std::string_view subjects) {
    const Json info = client_->api(fmt::format("STREAM.INFO.{}", stream),
                                   {{"subjects_filter", std::string(subjects)}});
    const Json found = info.at("state").value("subjects", Json::object());
    return std::accumulate(found.begin(), found.end(), size_t{0},
                           [](size_t sum, const Json& count) { return sum + count.get<size_t>(); });
  }
  size_t generated() { return messages("MILLRACE_EVENTS", "millrace.events.default.counted.out"); }
  size_t lifecycle_events() {
    return messages("MILLRACE_LIFECYCLE", "millrace.lifecycle.*.counts.>");
  }
  size_t dead_letters() { return messages("MILLRACE_DLQ", "millrace.dlq.default.>"); }

  /// Returns when the broker does not recognize the ids of the messages so far any more: it stores
  /// a message a second time under the same id.
  void pass_windows() {
    for (const char* const subject :
         {"millrace.events.default.probe", "millrace.dlq.probe.x", "millrace.lifecycle.probe.x"}) {
      const std::string_view headers = "Nats-Msg-Id: probe\r\n";
      const std::string_view event =
          R"({"specversion":"1.0","id":"p","source":"/t","type":"probe"})";
      client_->publish_acked(subject, headers, event);
      while (client_->publish_acked(subject, headers, event).value("duplicate", false)) {
      }
    }
  }

  /// Makes a backup, lets the original server apply further events, and restores the backup later
  /// than the duplicate windows.
  void restore_late() {
    publish_count("c1");
    ASSERT_TRUE(millrace_.has_instances("workflow=counts&status=complete", 1));
    const std::string backup = (folder_.path() / "backup").string();
    const ProcessEnd made = millrace_.cli({"backup", backup});
    ASSERT_EQ(made.code, 0) << made.errors;
    publish_count("c2");
    publish_count("c3");
    client_->publish_acked("millrace.events.default.bad", "", "no event");
    ASSERT_TRUE(eventually(
        [&] { return generated() == 3 && lifecycle_events() == 6 && dead_letters() == 1; }));
    millrace_.stop();
    pass_windows();
    const ProcessEnd end =
        run_process({.command = {millrace_program(), "restore", backup, "--data",
                                 restored_.data().string(), "--secret-key-file",
                                 (millrace_.data() / "secret-key").string(), "--copy-key"}});
    ASSERT_EQ(end.code, 0) << end.errors;
    restored_.start_ready();
  }

  /// Publishes one more event to the restored server, whose messages come after all others, and
  /// stops the server.
  void finish() {
    publish_count("c4");
    ASSERT_TRUE(restored_.has_instances("workflow=counts&status=complete", 4));
    ASSERT_TRUE(eventually([&] { return generated() >= 4 && lifecycle_events() >= 8; }));
    restored_.stop();
  }

  NatsServer nats_;
  std::unique_ptr<RawNatsClient> client_ = nats_.client();
  MillraceServer millrace_{nats_.url()};
  MillraceServer restored_{nats_.url()};
  Folder folder_;
};

TEST_F(RestoredMessages, AreInTheirStreamsOnce) {
  restore_late();
  finish();
  EXPECT_EQ(generated(), 4U);
  EXPECT_EQ(lifecycle_events(), 8U);
  EXPECT_EQ(dead_letters(), 1U);
}

TEST_F(RestoredMessages, AreInTheirStreamsOnceAlsoIfTheRestoredServerIsKilledTwice) {
  restore_late();
  for (int i = 0; i < 2; ++i) {
    restored_.kill();
    pass_windows();
    restored_.start_ready();
  }
  finish();
  EXPECT_EQ(generated(), 4U);
  EXPECT_EQ(lifecycle_events(), 8U);
  EXPECT_EQ(dead_letters(), 1U);
}

TEST_F(RestoredMessages, AreShownInTheMetrics) {
  restore_late();
  finish();
  restored_.start_ready();
  const std::string metrics = restored_.ask("GET", "/metrics").body;
  EXPECT_EQ(metrics.find("\nmillrace_messages_noted 0\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("\nmillrace_messages_unread 0\n"), std::string::npos) << metrics;
  restored_.stop();
}

}  // namespace
}  // namespace millrace
