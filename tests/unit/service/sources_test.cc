// Sources: what the requests about sources do and show. The threads that read are not started;
// tests/simulation/sources_test.cc has the reading.
#include "orchestrator/service/sources.h"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/source_rows.h"
#include "tests/unit/service/local_service_fixture.h"

namespace millrace {
namespace {

class SourcesTest : public LocalServiceTest {
 protected:
  /// What a Sources object without threads uses.
  SourceParts source_parts() {
    return {.environment = world.environment(),
            .clock = world.clock,
            .origins = origins,
            .publisher = publisher,
            .events = stored_events,
            .admit = nullptr,
            .command = nullptr};
  }
  SourcesTest() {
    for (int i = 0; i < 5; ++i) origins.add_event("ORDERS", "shop.orders", "order", "1");
  }

  Result<Json> answer(const std::function<void(const SourceDesk::Done&)>& ask) {
    std::optional<Result<Json>> got;
    ask([&](const Result<Json>& answered) { got = answered; });
    world.run_until_idle();
    return got.value_or(fail("none", "no answer"));
  }
  Result<Json> apply(const std::string& settings, const std::string& name = "orders",
                     const std::string& ns = "default") {
    return answer([&](const SourceDesk::Done& done) {
      service->source_desk().apply(ns, name, parse_json(settings).value(), done);
    });
  }
  Json shown(const std::string& name = "orders") {
    const auto source = service->source_desk().get("default", name);
    EXPECT_TRUE(source) << source.error().message;
    return source.value_or(Json::object());
  }
};

TEST_F(SourcesTest, BeginWhereTheirSettingsSay) {
  world.clock.advance(origins.streams["ORDERS"].messages.at(5).stamped - world.clock.now());
  const std::string at_third = format_rfc3339(origins.streams["ORDERS"].messages.at(3).stamped);
  const struct {
    std::string begin;
    int position;
  } rows[] = {{R"("new")", 5},
              {R"("all")", 0},
              {R"({"sequence":3})", 2},
              {R"({"sequence":6})", 5},
              {R"({"time":")" + at_third + R"("})", 2}};
  int number = 0;
  for (const auto& row : rows) {
    SCOPED_TRACE(row.begin);
    const std::string name = "s" + std::to_string(++number);
    const auto applied = apply(R"({"stream":"ORDERS","begin":)" + row.begin + "}", name);
    ASSERT_TRUE(applied) << applied.error().message;
    EXPECT_EQ((*applied)["created"], true);
    EXPECT_EQ(shown(name)["position"], row.position);
    EXPECT_EQ(dump_json(shown(name)["begin"]), row.begin);
  }
}

TEST_F(SourcesTest, DoNotBeginBehindTheEndOfTheirStream) {
  const auto refusal = [&](const std::string& begin) {
    return apply(R"({"stream":"ORDERS","begin":)" + begin + "}").error();
  };
  EXPECT_EQ(refusal(R"({"sequence":7})"),
            (Error{"settings.invalid",
                   "begin.sequence: stream \"ORDERS\" ends with sequence 5; write at most 6, or "
                   "\"new\""}));
  EXPECT_EQ(refusal(R"({"time":"2100-01-01T00:00:00Z"})"),
            (Error{"settings.invalid",
                   "begin.time: 2100-01-01T00:00:00.000Z is in the future; write a time that has "
                   "come, or \"new\""}));
}

TEST_F(SourcesTest, BeginWithTheOldestMessageThatTheStreamStillHas) {
  origins.streams["ORDERS"].messages.erase(1);
  origins.streams["ORDERS"].messages.erase(2);
  ASSERT_TRUE(apply(R"({"stream":"ORDERS","begin":"all"})"));
  EXPECT_EQ(shown()["position"], 2);
}

TEST_F(SourcesTest, ContinueWithoutTheBrokerIfTheirStreamAndBeginAreTheSame) {
  ASSERT_TRUE(apply(R"({"stream":"ORDERS"})"));
  origins.failure = Error{"broker.unreachable", "no connection"};
  const auto again = apply(R"({"stream":"ORDERS","rate":7,"begin":"new"})");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)["continues"], true);
  EXPECT_EQ(shown()["rate"], 7);
  EXPECT_EQ(code_of(apply(R"({"stream":"OTHER"})")), "broker.unreachable");
  EXPECT_EQ(shown()["stream"], "ORDERS") << "a refused request changes nothing";
}

TEST_F(SourcesTest, AreRefusedWithANamedError) {
  EXPECT_EQ(code_of(apply(R"({"stream":"NONE"})")), "source.no_stream");
  EXPECT_EQ(code_of(apply(R"({"stream":"ORDERS","rate":0})")), "settings.invalid");
  EXPECT_EQ(code_of(apply(R"({"stream":"ORDERS","consume":true})")), "settings.invalid");
  EXPECT_EQ(code_of(apply(R"({"stream":"ORDERS","consume":true,"begin":"all"})")),
            "source.retention");
  EXPECT_EQ(code_of(apply(R"({"stream":"ORDERS"})", "orders", "nowhere")), "namespace.not_found");
  wrong = Error{"jq.syntax", "it is wrong"};
  const auto refused = apply(R"j({"stream":"ORDERS","mapping":{"type":"jq(.a | nothing)"}})j");
  EXPECT_EQ(refused.error(),
            (Error{"settings.invalid", "mapping.type: jq(.a | nothing): it is wrong"}));
  EXPECT_EQ(code_of(service->source_desk().try_messages(
                "default", "orders",
                Json{{"stream", "ORDERS"}, {"mapping", {{"type", "jq(.a | nothing)"}}}})),
            "settings.invalid");
  origins.streams["ORDERS"].keeps_messages = false;
  EXPECT_EQ(code_of(apply(R"({"stream":"ORDERS"})")), "source.retention");
  EXPECT_EQ(code_of(service->source_desk().get("default", "orders")), "source.not_found");
}

TEST_F(SourcesTest, ConsumeStreamsThatDoNotKeepTheirMessages) {
  origins.streams["ORDERS"].keeps_messages = false;
  ASSERT_TRUE(apply(R"({"stream":"ORDERS","consume":true,"begin":"all"})", "of-interest"));
  origins.streams["ORDERS"].is_work_queue = true;
  ASSERT_TRUE(apply(R"({"stream":"ORDERS","consume":true,"begin":"all"})"));
  const auto faster = apply(R"({"stream":"ORDERS","consume":true,"begin":"all","rate":7})");
  ASSERT_TRUE(faster);
  ASSERT_EQ((*faster)["warnings"].size(), 1U) << *faster;
  EXPECT_EQ((*faster)["warnings"][0]["path"], "mapping");
  EXPECT_EQ((*faster)["continues"], true);
  const auto other =
      apply(R"({"stream":"ORDERS","consume":true,"begin":"all","subjects":["shop.b"]})");
  ASSERT_TRUE(other);
  EXPECT_EQ((*other)["continues"], false) << "the queue may have older messages of this subject";
}

TEST_F(SourcesTest, AreListedByName) {
  ASSERT_TRUE(apply(R"({"stream":"ORDERS","subjects":["shop.>"]})", "b"));
  ASSERT_TRUE(apply(R"({"stream":"ORDERS"})", "a"));
  const Json items = service->source_desk().list("default").value()["items"];
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0]["name"], "a");
  EXPECT_EQ(items[1]["subjects"], Json::array({"shop.>"}));
  EXPECT_EQ(items[1]["reading"], false);
  EXPECT_FALSE(items[1].contains("settings"));
  EXPECT_EQ(shown("b")["settings"]["stream"], "ORDERS");
  EXPECT_EQ(code_of(service->source_desk().list("nowhere")), "namespace.not_found");
}

TEST_F(SourcesTest, ArePausedAndDeleted) {
  ASSERT_TRUE(apply(R"({"stream":"ORDERS"})"));
  EXPECT_TRUE(answer([&](const SourceDesk::Done& done) {
    service->source_desk().pause("default", "orders", true, done);
  }));
  EXPECT_EQ(shown()["paused"], true);
  const auto removed = answer([&](const SourceDesk::Done& done) {
    service->source_desk().remove("default", "orders", done);
  });
  ASSERT_TRUE(removed);
  EXPECT_EQ(code_of(service->source_desk().get("default", "orders")), "source.not_found");
}

TEST_F(SourcesTest, AskForAttentionWhileTheyArePaused) {
  ASSERT_TRUE(apply(R"({"stream":"ORDERS","paused":true})"));
  EXPECT_EQ(service->overview("default").value().at("attention"),
            Json::parse(R"([{"kind": "pausedSource", "source": "orders"}])"));
}

TEST_F(SourcesTest, HaveAStreamOfMillraceIfTheyNameNone) {
  const std::string stream = "MILLRACE_SOURCE_default+orders";
  EXPECT_EQ(code_of(service->source_desk().try_messages(
                "default", "orders", Json{{"subjects", Json::array({"shop.>"})}})),
            "source.no_stream")
      << "a trial makes no stream";
  ASSERT_TRUE(apply(R"({"subjects":["shop.>"],"maxBytes":"2MiB","maxAge":"1h"})"));
  ASSERT_TRUE(origins.streams.contains(stream));
  EXPECT_EQ(origins.wishes.at(stream).subjects, std::vector<std::string>{"shop.>"});
  EXPECT_EQ(origins.wishes.at(stream).max_bytes, uint64_t{2} << 20);
  EXPECT_EQ(origins.wishes.at(stream).max_age, std::chrono::hours(1));
  EXPECT_EQ(shown()["stream"], stream);
  EXPECT_EQ(shown()["ownStream"], true);
  origins.add_event(stream, "shop.a", "order", "1");
  Sources trying(source_parts(),
                 [](std::string_view, const Event&) -> Result<Json> { return Json::object(); });
  const auto tried = trying.try_messages("default", "orders", std::nullopt);
  ASSERT_TRUE(tried) << tried.error().message;
  EXPECT_EQ((*tried)["stream"], stream);
  EXPECT_EQ((*tried)["items"].size(), 1U);

  const auto again = apply(R"({"subjects":["shop.a","shop.b"]})");
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)["continues"], true);
  EXPECT_EQ(origins.wishes.at(stream).subjects, (std::vector<std::string>{"shop.a", "shop.b"}));
  origins.failure = Error{"broker.unreachable", "no connection"};
  EXPECT_EQ(code_of(apply(R"({"subjects":["shop.c"]})")), "broker.unreachable");
  EXPECT_EQ(shown()["subjects"], (Json::array({"shop.a", "shop.b"})));
}

TEST_F(SourcesTest, LoseTheirStreamOfMillraceWhenTheyAreDeletedOrReadAnother) {
  const std::string stream = "MILLRACE_SOURCE_default+orders";
  const auto remove = [&] {
    return answer([&](const SourceDesk::Done& done) {
      service->source_desk().remove("default", "orders", done);
    });
  };
  ASSERT_TRUE(apply(R"({"subjects":["shop.>"]})"));
  origins.failure = Error{"broker.unreachable", "no connection"};
  EXPECT_EQ(code_of(remove()), "broker.unreachable");
  EXPECT_EQ(shown()["stream"], stream) << "it stays until its stream is deleted";
  origins.failure.reset();
  ASSERT_TRUE(apply(R"({"stream":"ORDERS"})"));
  EXPECT_FALSE(origins.streams.contains(stream));
  EXPECT_EQ(shown()["ownStream"], false);
  ASSERT_TRUE(apply(R"({"subjects":["shop.>"]})"));
  ASSERT_TRUE(origins.streams.contains(stream));
  ASSERT_TRUE(remove());
  EXPECT_FALSE(origins.streams.contains(stream));
  EXPECT_TRUE(origins.streams.contains("ORDERS"));
  EXPECT_EQ(code_of(remove()), "source.not_found");
}

TEST_F(SourcesTest, LeaveNoStreamOfASourceThatIsRefused) {
  for (size_t i = 0; i < kMostSourcesOfNamespace; ++i) {
    ASSERT_TRUE(apply(R"({"stream":"ORDERS","paused":true})", "s" + std::to_string(i)));
  }
  SourceParts parts = source_parts();
  parts.command = [&](Command command, const std::function<void(Result<Json>)>& done) {
    const Answered answered = world.command(std::move(command));
    world.run_until_idle();
    done(answered->value_or(fail("none", "no answer")));
  };
  Sources sources(std::move(parts), nullptr);
  std::optional<Result<Json>> refused;
  sources.apply("default", "more", Json{{"subjects", Json::array({"shop.>"})}},
                [&](const Result<Json>& answered) { refused = answered; });
  ASSERT_TRUE(refused);
  EXPECT_EQ(code_of(*refused), "source.too_many");
  EXPECT_TRUE(origins.streams.contains("MILLRACE_SOURCE_default+more"));
  sources.start_threads();
  sources.stop_threads();
  EXPECT_FALSE(origins.streams.contains("MILLRACE_SOURCE_default+more"));
}

TEST_F(SourcesTest, SayWhatTheNewestMessagesWouldDo) {
  std::vector<std::string> judged;
  Sources sources(source_parts(), [&](std::string_view ns, const Event& event) -> Result<Json> {
    judged.push_back(std::string(ns) + " " + event.type);
    Json near = Json::array();
    near.push_back({{"verdict", "started"}, {"workflow", "takes-orders"}});
    near.push_back({{"verdict", "predicate"}, {"workflow", "other"}});
    return Json{{"near", near}};
  });
  for (int i = 0; i < 10; ++i) origins.add("ORDERS", "shop.other", "x");
  origins.add("ORDERS", "shop.orders", "no event");
  const Json settings = {{"stream", "ORDERS"}, {"subjects", Json::array({"shop.orders"})}};
  const auto tried = sources.try_messages("default", "orders", settings);
  ASSERT_TRUE(tried) << tried.error().message;
  const Json& items = (*tried)["items"];
  ASSERT_EQ(items.size(), 6U);
  EXPECT_EQ(items[0]["sequence"], 16);
  EXPECT_EQ(items[0]["error"]["code"], "source.no_mapping");
  EXPECT_EQ(items[1]["sequence"], 5);
  EXPECT_EQ(items[1]["event"]["type"], "order");
  ASSERT_EQ(items[1]["would"].size(), 1U);
  EXPECT_EQ(items[1]["would"][0]["workflow"], "takes-orders");
  EXPECT_EQ(judged, std::vector<std::string>(5, "default order"));
  EXPECT_TRUE(publisher.messages.empty());
  EXPECT_EQ(code_of(sources.try_messages("default", "orders", std::nullopt)), "source.not_found");
}

TEST_F(SourcesTest, LookAtTheNewestMessagesWithoutAConsumer) {
  Sources sources(source_parts(),
                  [](std::string_view, const Event&) -> Result<Json> { return Json::object(); });
  FakeOrigins::Stream& jobs = origins.streams["JOBS"];
  jobs.keeps_messages = false;
  jobs.is_work_queue = true;
  for (int i = 1; i <= 300; ++i) origins.add_event("JOBS", "jobs.a", "job", std::to_string(i));
  for (const uint64_t done : {300, 298}) jobs.messages.erase(done);
  const auto of = [&](const char* subject) {
    const auto tried = sources.try_messages("default", "jobs",
                                            Json{{"stream", "JOBS"},
                                                 {"subjects", Json::array({subject})},
                                                 {"begin", "all"},
                                                 {"consume", true}});
    std::vector<uint64_t> sequences;
    for (const Json& item : tried.value()["items"]) sequences.push_back(item["sequence"]);
    return sequences;
  };
  EXPECT_THAT(of("jobs.*"), testing::ElementsAre(299, 297, 296, 295, 294, 293, 292, 291, 290, 289))
      << "other consumers have acknowledged two";
  EXPECT_EQ(origins.fetched, 12U);
  EXPECT_THAT(of("jobs.b"), testing::IsEmpty());
  EXPECT_EQ(origins.fetched, 212U) << "no further than the newest 200";
  EXPECT_TRUE(origins.opened.empty()) << "a consumer would take messages from others";
}

TEST_F(SourcesTest, SayWhatTheNewestMessagesBecomeByAMapping) {
  std::vector<Event> judged;
  SourceParts parts = source_parts();
  std::vector<uint64_t> lanes;
  parts.evaluate = [&](const Evaluation& evaluation, const auto& done) {
    lanes.push_back(evaluation.lane);
    const bool is_paid = evaluation.queries[0].input->find("PAID") != std::string::npos;
    done({is_paid ? QueryResult(LazyJson(Json("paid")))
                  : QueryResult(fail(std::string(kJqBadCommand), "null has no kind"))});
  };
  Sources sources(std::move(parts), [&](std::string_view, const Event& event) -> Result<Json> {
    judged.push_back(event);
    return Json{{"similarTypes", Json::array({"payed"})}};
  });
  origins.add("ORDERS", "shop.orders", R"({"kind": "PAID"})");
  origins.add("ORDERS", "shop.orders", "{}");
  const Json settings = {{"stream", "ORDERS"},
                         {"mapping", {{"type", "jq(.data.kind | ascii_downcase)"}}}};
  const auto tried = sources.try_messages("default", "orders", settings);
  ASSERT_TRUE(tried) << tried.error().message;
  const Json& items = (*tried)["items"];
  ASSERT_EQ(items.size(), 7U);
  EXPECT_EQ(items[0]["error"]["code"], "mapping.failed");
  EXPECT_EQ(items[0]["error"]["msg"], "mapping.type: null has no kind");
  EXPECT_EQ(items[1]["event"]["type"], "paid");
  EXPECT_EQ(items[1]["similarTypes"], Json::array({"payed"}));
  EXPECT_EQ(items[1]["event"]["source"], "/v1/ns/default/sources/orders");
  EXPECT_EQ(items[2]["event"]["type"], "order") << "a CloudEvent stays what it is";
  ASSERT_EQ(judged.size(), 6U);
  EXPECT_EQ(judged[0].type, "paid");
  ASSERT_EQ(lanes.size(), 2U) << "a CloudEvent is not mapped";
  EXPECT_EQ(lanes[0], lanes[1]);
}

TEST_F(SourcesTest, ShowWhyAMessageBecameADeadLetter) {
  ASSERT_TRUE(apply(R"({"stream":"ORDERS","begin":"all"})"));
  const SourceRecord record = read_source(Snapshot::take(world.environment()).value(),
                                          {.ns = NamespaceNumber(1), .name = "orders"})
                                  .value()
                                  .value();
  world.must(RefuseMessages{.ns = "default",
                            .name = "orders",
                            .origin = record.origin,
                            .messages = {{.previous = 0,
                                          .sequence = 1,
                                          .stamped = from_millis(5),
                                          .reason = {"event.id", "the event has no id"},
                                          .message = {.subject = "shop.orders"}}}});
  EXPECT_EQ(shown()["refused"], 1);
  EXPECT_EQ(shown()["position"], 1);
  EXPECT_EQ(shown()["lastRefusal"]["code"], "event.id");
  EXPECT_EQ(shown()["lastRefusal"]["sequence"], 1);
  EXPECT_THAT(world.dead_letters(), testing::SizeIs(1));
}

}  // namespace
}  // namespace millrace
