// Sources on a real nats-server: what they read, consume and make, and that the streams of other
// programs stay as they are. source_crash_test.cc has the kills while a stream is filled.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

constexpr const char* kTakesOrders = R"(
id: takes-orders
start: {type: event, event: {type: order.placed}}
states:
- {id: done, type: noop}
)";

constexpr const char* kTakesSent = R"(
id: takes-sent
start: {type: event, event: {type: order.sent}}
states:
- {id: done, type: noop}
)";

class SourcesProgram : public MillraceTest {
 protected:
  void SetUp() override {
    MillraceTest::SetUp();
    make_stream("ORDERS", "shop.orders.*");
    millrace_.apply(kTakesOrders);
  }

  void make_stream(const std::string& name, const std::string& subject,
                   const std::string& retention = "limits") {
    const auto made =
        connection_->api("STREAM.CREATE." + name, {{"name", name},
                                                   {"subjects", Json::array({subject})},
                                                   {"retention", retention},
                                                   {"storage", "file"},
                                                   {"max_age", 0},
                                                   {"max_msgs", -1},
                                                   {"max_bytes", -1}});
    ASSERT_TRUE(made) << made.error().message;
  }
  Json config_of(const std::string& stream) {
    return connection_->api("STREAM.INFO." + stream, Json::object()).value()["config"];
  }
  Json consumers_of(const std::string& stream) {
    return connection_->api("CONSUMER.NAMES." + stream, Json::object()).value()["consumers"];
  }
  void place(int number) {
    client_->publish("shop.orders.eu",
                     fmt::format(R"({{"specversion":"1.0","id":"o-{}","source":"/shop",)"
                                 R"("type":"order.placed","data":{{"total":7}}}})",
                                 number));
  }
  void apply(const std::string& settings) {
    const HttpReply reply = millrace_.ask("PUT", "sources/orders", settings);
    ASSERT_TRUE(reply.status == 200 || reply.status == 201) << reply.body;
  }
  Json source() const { return millrace_.get("sources/orders"); }

  std::unique_ptr<Connection> connection_ = nats_.connect();
  std::unique_ptr<RawNatsClient> client_ = nats_.client();
};

TEST_F(SourcesProgram, StartAnInstanceForEachMessage) {
  place(1);
  client_->publish("shop.orders.eu", "no event");
  place(2);
  client_->flush();
  const Json before = config_of("ORDERS");
  apply(R"({"stream": "ORDERS", "subjects": ["shop.orders.*"], "begin": "all"})");
  ASSERT_TRUE(millrace_.has_instances("workflow=takes-orders&status=complete", 2));
  ASSERT_TRUE(eventually([&] { return source()["position"] == 3; }));
  EXPECT_EQ(source()["events"], 2);
  EXPECT_EQ(source()["refused"], 1);
  EXPECT_EQ(source()["lastRefusal"]["sequence"], 2);
  EXPECT_EQ(config_of("ORDERS"), before);
  ASSERT_EQ(consumers_of("ORDERS").size(), 1U);
  EXPECT_THAT(consumers_of("ORDERS")[0].get<std::string>(),
              testing::StartsWith("millrace-default-orders-"));
  place(3);
  client_->flush();
  ASSERT_TRUE(millrace_.has_instances("workflow=takes-orders&status=complete", 3));
}

TEST_F(SourcesProgram, MapMessagesThatAreNoEventsByAJqWorker) {
  client_->publish("shop.orders.eu", R"({"kind": "PLACED", "n": 7})");
  client_->publish("shop.orders.eu", "no JSON");
  client_->publish("shop.orders.us", R"({"kind": "placed", "n": 8})");
  place(1);
  client_->flush();
  EXPECT_EQ(millrace_
                .ask("PUT", "sources/orders",
                     R"j({"stream": "ORDERS", "mapping": {"type": "jq(.data | nothing)"}})j")
                .code(),
            "settings.invalid");
  apply(R"j({"stream": "ORDERS", "begin": "all",
             "mapping": {"type": "order.jq(.data.kind | ascii_downcase)",
                         "subject": "jq(.tokens[2])"}})j");
  ASSERT_TRUE(millrace_.has_instances("workflow=takes-orders&status=complete", 3));
  ASSERT_TRUE(eventually([&] { return source()["position"] == 4; }));
  EXPECT_EQ(source()["events"], 3);
  EXPECT_EQ(source()["refused"], 1);
  EXPECT_EQ(source()["lastRefusal"]["code"], "mapping.failed");
  EXPECT_EQ(source()["lastRefusal"]["sequence"], 2);
}

TEST_F(SourcesProgram, BeginBehindTheNewestMessageOfTheTimeWhenTheyAreApplied) {
  place(1);
  client_->flush();
  apply(R"({"stream": "ORDERS"})");
  place(2);
  client_->flush();
  ASSERT_TRUE(millrace_.has_instances("workflow=takes-orders&status=complete", 1));
  EXPECT_EQ(source()["events"], 1);
}

TEST_F(SourcesProgram, ReadSeveralSubjectsWithOneConsumer) {
  make_stream("SEVERAL", "several.>");
  apply(R"({"stream": "SEVERAL", "subjects": ["several.a.*", "several.b.*"], "begin": "all"})");
  for (const char* const subject : {"several.a.1", "several.c.1", "several.b.1"}) {
    client_->publish(subject, fmt::format(R"({{"specversion":"1.0","id":"{}","source":"/shop",)"
                                          R"("type":"order.placed"}})",
                                          subject));
  }
  client_->flush();
  // nats-server before 2.10 knows one filter only.
  ASSERT_TRUE(eventually([&] {
    const Json shown = source();
    return shown["position"] == 3 ||
           (shown.contains("waits") && shown["waits"]["code"] == "source.filters");
  }));
  const Json shown = source();
  EXPECT_EQ(shown["events"], shown["position"] == 3 ? 2 : 0);
}

TEST_F(SourcesProgram, AreRefusedForStreamsThatTheyMustNotRead) {
  make_stream("WORK", "work.>", "workqueue");
  make_stream("INTEREST", "interest.>", "interest");
  const struct {
    const char* settings;
    const char* code;
  } rows[] = {{R"({"stream": "WORK"})", "source.retention"},
              {R"({"stream": "INTEREST"})", "source.retention"},
              {R"({"stream": "MILLRACE_EVENTS"})", "source.own_stream"},
              {R"({"stream": "NONE"})", "source.no_stream"}};
  for (const auto& row : rows) {
    EXPECT_EQ(millrace_.ask("PUT", "sources/orders", row.settings).code(), row.code);
  }
}

TEST_F(SourcesProgram, ReadSubjectsThatNoStreamHasAndLeaveTheRepliesToOthers) {
  apply(R"j({"subjects": ["core.orders.*"], "mapping": {"type": "order.placed"}})j");
  const std::string stream = "MILLRACE_SOURCE_default+orders";
  EXPECT_EQ(source()["stream"], stream);
  EXPECT_EQ(config_of(stream)["no_ack"], true);
  const auto reply = connection_->request("core.orders.eu", R"({"n": 1})", Duration(300));
  ASSERT_FALSE(reply) << "the stream answered a request of another program: " << reply->data;
  client_->publish("core.orders.us", R"({"n": 2})");
  client_->flush();
  ASSERT_TRUE(millrace_.has_instances("workflow=takes-orders&status=complete", 2));

  EXPECT_EQ(millrace_.ask("PUT", "sources/more", R"({"subjects": ["core.>"]})").code(),
            "source.overlap");
  EXPECT_EQ(millrace_.ask("PUT", "sources/more", R"({"subjects": ["shop.>"]})").code(),
            "source.overlap");
  EXPECT_EQ(millrace_.ask("PUT", "sources/more", R"({"subjects": ["millrace.x.>"]})").code(),
            "source.own_subjects");
  EXPECT_EQ(millrace_.ask("PUT", "sources/more", R"({"stream": ")" + stream + "\"}").code(),
            "source.own_stream");

  ASSERT_TRUE(connection_->api("STREAM.DELETE." + stream, Json::object()));
  ASSERT_TRUE(eventually([&] { return source()["recreated"] == 1; }));
  client_->publish("core.orders.us", R"({"n": 3})");
  client_->flush();
  ASSERT_TRUE(millrace_.has_instances("workflow=takes-orders&status=complete", 3));
  EXPECT_EQ(millrace_.cli({"source", "delete", "orders"}).code, 0);
  EXPECT_EQ(connection_->api("STREAM.INFO." + stream, Json::object()).error().code,
            "broker.not_found");
}

TEST_F(SourcesProgram, ConsumeAWorkQueueAcrossKills) {
  make_stream("WORK", "work.*", "workqueue");
  const auto publish = [&](int number) {
    client_->publish("work.a", fmt::format(R"({{"specversion":"1.0","id":"w-{}","source":"/w",)"
                                           R"("type":"order.placed"}})",
                                           number));
  };
  EXPECT_EQ(
      millrace_
          .ask("PUT", "sources/orders", R"({"stream": "ORDERS", "begin": "all", "consume": true})")
          .code(),
      "source.retention");
  apply(R"({"stream": "WORK", "begin": "all", "consume": true})");
  int published = 0;
  for (int kill = 0; kill < 3; ++kill) {
    for (int i = 0; i < 200; ++i) publish(++published);
    client_->flush();
    ASSERT_TRUE(eventually([&] { return source()["events"] > 0; }));
    millrace_.kill();
    millrace_.start_ready();
  }
  ASSERT_TRUE(eventually([&] { return source()["position"] == published; }));
  EXPECT_EQ(source()["events"], published);
  EXPECT_TRUE(millrace_.has_usage(0, published));
  const auto left = [&] {
    return connection_->api("STREAM.INFO.WORK", Json::object()).value()["state"]["messages"];
  };
  EXPECT_TRUE(eventually([&] { return left() == 0; })) << "all are acknowledged";

  // Another consumer of the same messages is named.
  millrace_.cli({"source", "pause", "orders"});
  ASSERT_TRUE(eventually([&] { return consumers_of("WORK").empty(); }));
  // What waits can be looked at, and is not taken.
  publish(++published);
  client_->flush();
  ASSERT_TRUE(eventually([&] { return left() == 1; }));
  const Json tried = millrace_.ask("POST", "sources/orders/try").json();
  ASSERT_EQ(tried["items"].size(), 1U) << tried;
  EXPECT_EQ(tried["items"][0]["sequence"], published);
  EXPECT_EQ(tried["items"][0]["would"][0]["verdict"], "started") << tried;
  EXPECT_TRUE(consumers_of("WORK").empty());
  EXPECT_EQ(left(), 1);
  ASSERT_TRUE(connection_->api(
      "CONSUMER.CREATE.WORK.other",
      {{"stream_name", "WORK"},
       {"config", {{"name", "other"}, {"durable_name", "other"}, {"ack_policy", "explicit"}}}}));
  millrace_.cli({"source", "resume", "orders"});
  EXPECT_TRUE(eventually([&] {
    const Json shown = source();
    return shown.contains("waits") && shown["waits"]["code"] == "source.other_consumer";
  }));
}

TEST_F(SourcesProgram, ConsumeAStreamOfInterestAcrossKills) {
  make_stream("NOTES", "notes.*", "interest");
  int published = 0;
  const auto publish = [&](int count) {
    for (int i = 0; i < count; ++i) {
      client_->publish("notes.a", fmt::format(R"({{"specversion":"1.0","id":"n-{}","source":"/n",)"
                                              R"("type":"order.placed"}})",
                                              ++published));
    }
    client_->flush();
  };
  const auto left = [&] {
    return connection_->api("STREAM.INFO.NOTES", Json::object()).value()["state"]["messages"];
  };
  apply(R"({"stream": "NOTES", "begin": "all", "consume": true})");
  ASSERT_TRUE(eventually([&] { return source()["reading"] == true; }));
  for (int kill = 0; kill < 3; ++kill) {
    publish(100);
    ASSERT_TRUE(eventually([&] { return source()["events"] > 0; }));
    millrace_.kill();
    publish(100);
    millrace_.start_ready();
  }
  millrace_.stop();
  publish(1);
  millrace_.start_ready();
  millrace_.cli({"source", "pause", "orders"});
  ASSERT_TRUE(eventually([&] { return source()["reading"] == false; }));
  publish(1);
  millrace_.cli({"source", "resume", "orders"});
  ASSERT_TRUE(eventually([&] { return source()["position"] == published; }));
  EXPECT_EQ(source()["events"], published);
  EXPECT_EQ(source()["gone"], 0);
  EXPECT_TRUE(millrace_.has_usage(0, static_cast<size_t>(published)));
  EXPECT_TRUE(eventually([&] { return left() == 0; })) << "all are acknowledged";
  ASSERT_EQ(consumers_of("NOTES").size(), 1U);

  EXPECT_EQ(millrace_.cli({"source", "delete", "orders"}).code, 0);
  EXPECT_TRUE(eventually([&] { return consumers_of("NOTES").empty(); }));
  publish(1);
  EXPECT_EQ(left(), 0) << "the stream holds nothing for a source that was deleted";
}

TEST_F(SourcesProgram, LeaveNoConsumerIfMillraceIsKilledBeforeTheBrokerHasDeletedIt) {
  make_stream("NOTES", "notes.*", "interest");
  apply(R"({"stream": "NOTES", "begin": "all", "consume": true})");
  ASSERT_TRUE(eventually([&] { return source()["reading"] == true; }));
  ASSERT_EQ(consumers_of("NOTES").size(), 1U);
  nats_.process().kill();
  EXPECT_EQ(millrace_.cli({"source", "delete", "orders"}).code, 0);
  millrace_.kill();
  ASSERT_TRUE(nats_.process().start_again());
  ASSERT_TRUE(connection_->wait_until_connected(kPatience));
  ASSERT_EQ(consumers_of("NOTES").size(), 1U) << "the broker was not asked";
  millrace_.start_ready();
  EXPECT_TRUE(eventually([&] { return consumers_of("NOTES").empty(); }));
}

TEST_F(SourcesProgram, ComeBackWhenTheirConsumerOrTheirStreamWasDeleted) {
  apply(R"({"stream": "ORDERS", "begin": "all"})");
  place(1);
  client_->flush();
  ASSERT_TRUE(millrace_.has_instances("workflow=takes-orders&status=complete", 1));
  const std::string consumer = consumers_of("ORDERS")[0];
  ASSERT_TRUE(connection_->api("CONSUMER.DELETE.ORDERS." + consumer, Json::object()));
  place(2);
  client_->flush();
  ASSERT_TRUE(millrace_.has_instances("workflow=takes-orders&status=complete", 2));
  ASSERT_TRUE(connection_->api("STREAM.DELETE.ORDERS", Json::object()));
  make_stream("ORDERS", "shop.orders.*");
  place(3);
  client_->flush();
  ASSERT_TRUE(millrace_.has_instances("workflow=takes-orders&status=complete", 3));
  EXPECT_EQ(source()["recreated"], 1);
  EXPECT_EQ(source()["notice"]["code"], "source.recreated");
}

TEST_F(SourcesProgram, CountNoReplayOfAnEventThatTheyMade) {
  client_->publish("shop.orders.eu", R"({"kind": "placed"})");
  client_->publish("shop.orders.eu", R"({"kind": "sent"})");
  client_->flush();
  const char* const settings =
      R"j({{"stream": "ORDERS", "begin": {}, "mapping": {{"type": "order.jq(.data.kind)"}}}})j";
  apply(fmt::format(fmt::runtime(settings), R"("all")"));
  ASSERT_TRUE(millrace_.has_instances("workflow=takes-orders&status=complete", 1));
  ASSERT_TRUE(eventually([&] { return source()["position"] == 2; }));
  const auto expect_counts = [&](size_t events, size_t repeated) {
    const Json shown = source();
    EXPECT_EQ(shown["position"], 2);
    EXPECT_EQ(shown["events"], events);
    EXPECT_EQ(shown["repeated"], repeated);
    EXPECT_EQ(shown["refused"], 0);
  };
  const auto event_of = [&](const std::string& type) {
    return millrace_.get("events?type=" + type)["items"][0];
  };
  const auto replay = [&](const Json& event, const std::string& query = "") {
    return millrace_.ask("POST",
                         fmt::format("events/{}/replay{}", event["sequence"].dump(), query));
  };
  const Json placed = event_of("order.placed");
  const Json sent = event_of("order.sent");

  const HttpReply first = replay(placed);
  ASSERT_EQ(first.status, 202) << first.body;
  ASSERT_TRUE(millrace_.has_usage(0, 2)) << "it takes effect again";
  const Json replayed = millrace_.get(fmt::format("events/{}", first.json().at("sequence").dump()));
  EXPECT_EQ(replayed["replayof"], placed["id"]);
  EXPECT_EQ(replayed["event"]["source"], placed["source"]);
  EXPECT_EQ(replay(placed, "?id=same").code(), "event.id_known");
  expect_counts(2, 0);

  // Under the same id, an event that had no effect takes effect, and then is a duplicate.
  millrace_.apply(kTakesSent);
  EXPECT_EQ(replay(sent, "?id=same").status, 202);
  ASSERT_TRUE(millrace_.has_usage(0, 3));
  EXPECT_EQ(replay(sent, "?id=same").code(), "event.id_known");
  expect_counts(2, 0);

  // As a part of a range.
  const HttpReply range =
      millrace_.ask("POST", "replays",
                    fmt::format(R"({{"first": {}, "last": {}}})", placed["sequence"].dump(),
                                sent["sequence"].dump()));
  ASSERT_EQ(range.status, 202) << range.body;
  ASSERT_TRUE(millrace_.has_usage(0, 5));
  expect_counts(2, 0);

  // The source reads both messages again: their events are duplicates, also of the replay.
  apply(fmt::format(fmt::runtime(settings), R"({"sequence": 1})"));
  ASSERT_TRUE(eventually([&] { return source()["position"] == 2 && source()["events"] == 2; }));
  expect_counts(2, 0);
  EXPECT_TRUE(millrace_.has_usage(0, 5));

  EXPECT_EQ(millrace_.cli({"source", "delete", "orders"}).code, 0);
  EXPECT_EQ(replay(placed).status, 202);
  EXPECT_TRUE(millrace_.has_usage(0, 6)) << "also when the source is deleted";
  EXPECT_TRUE(millrace_.items("dlq").empty());
}

TEST_F(SourcesProgram, ShowHowManyMessagesWaitAlsoOfASlowSource) {
  apply(R"({"stream": "ORDERS", "begin": "all", "rate": 1, "mapping": {"type": "order.placed"}})");
  ASSERT_TRUE(eventually([&] { return source()["reading"] == true; }));
  const auto publish = [&](int count) {
    for (int i = 0; i < count; ++i) client_->publish("shop.orders.eu", "{}");
    client_->flush();
  };
  // They come while the source reads, one after the other.
  publish(30);
  const auto counts = [&](int all) {
    return eventually([&] {
      const Json shown = source();
      return shown.contains("lag") && shown["read"] >= 1 &&
             shown["lag"].get<int>() + shown["position"].get<int>() == all;
    });
  };
  EXPECT_TRUE(counts(30)) << source();
  publish(20);
  EXPECT_TRUE(counts(50)) << source();

  // What was counted stays when the source is paused.
  ASSERT_TRUE(connection_->api("STREAM.PURGE.ORDERS", {{"seq", 45}}));
  apply(
      R"({"stream": "ORDERS", "begin": "all", "rate": 100, "mapping": {"type": "order.placed"}})");
  ASSERT_TRUE(eventually([&] { return source()["position"] == 50 && source()["gone"] > 0; }))
      << source();
  const Json before = source();
  millrace_.cli({"source", "pause", "orders"});
  ASSERT_TRUE(eventually([&] { return source()["reading"] == false; }));
  EXPECT_EQ(source()["gone"], before["gone"]);
  EXPECT_EQ(source()["notice"], before["notice"]);
  EXPECT_FALSE(source().contains("lag"));
  millrace_.cli({"source", "resume", "orders"});
  ASSERT_TRUE(eventually([&] { return source()["reading"] == true; }));
  EXPECT_EQ(source()["gone"], before["gone"]);
}

TEST_F(SourcesProgram, ArePausedAndDeletedByTheCommandLine) {
  EXPECT_EQ(millrace_
                .cli({"source", "apply", "orders", "--settings",
                      R"({"stream": "ORDERS", "begin": "all"})"})
                .code,
            0);
  EXPECT_EQ(millrace_.cli({"source", "pause", "orders"}).code, 0);
  EXPECT_EQ(source()["paused"], true);
  EXPECT_EQ(millrace_.cli({"source", "resume", "orders"}).code, 0);
  place(1);
  client_->flush();
  ASSERT_TRUE(millrace_.has_instances("workflow=takes-orders&status=complete", 1));
  EXPECT_EQ(millrace_.cli({"source", "list", "-o", "name"}).output, "orders\n");
  EXPECT_EQ(millrace_.cli({"source", "delete", "orders"}).code, 0);
  EXPECT_EQ(millrace_.cli({"source", "describe", "orders"}).code, 3);
  EXPECT_TRUE(eventually([&] { return consumers_of("ORDERS").empty(); }));
}

}  // namespace
}  // namespace millrace
