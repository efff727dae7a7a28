// What a message of an origin stream becomes: which messages stay what they are, which are mapped,
// and why others become dead letters.
#include "orchestrator/service/source_mapping.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/json_format.h"

namespace millrace {
namespace {

using testing::HasSubstr;

const TimePoint kStored = from_millis(1'700'000'000'123);

OriginMessage stored_message(std::string data, Headers headers = {}) {
  return {.sequence = 17,
          .stamped = kStored,
          .message = {
              .subject = "shop.orders.eu", .headers = std::move(headers), .data = std::move(data)}};
}

SourceMapping mapping_of(const char* mapping = nullptr) {
  SourceMapping made{.stream = "ORDERS", .source = source_attribute("shop", "orders"), .lane = 3};
  if (mapping != nullptr) {
    made.mapping = std::make_shared<const EventMapping>(
        parse_mapping("mapping", *parse_json(mapping)).value());
  }
  return made;
}

/// What the message becomes at once, without a jq worker.
Result<Event> made_at_once(const SourceMapping& mapping, const OriginMessage& message) {
  MadeEvent event = make_event(mapping, message, kStored, nullptr);
  EXPECT_TRUE(event.is_known());
  return event.take();
}

constexpr const char* kCarried =
    R"({"specversion": "1.0", "id": "7", "source": "/s", "type": "t", "data": 1})";

TEST(SourceMapping, LeavesACloudEventAsItIs) {
  for (const SourceMapping& mapping : {mapping_of(), mapping_of(R"({"type": "mapped"})")}) {
    for (const OriginMessage& message :
         {stored_message(kCarried),
          stored_message(kCarried, {{"content-type", "application/cloudevents+json"}}),
          stored_message("1", {{"ce-specversion", "1.0"},
                               {"ce-id", "7"},
                               {"ce-source", "/s"},
                               {"ce-type", "t"},
                               {"content-type", "application/json"}})}) {
      const Result<Event> event = made_at_once(mapping, message);
      ASSERT_TRUE(event) << event.error().message;
      EXPECT_EQ(event->type, "t");
      EXPECT_EQ(event->id, "7");
    }
  }
}

TEST(SourceMapping, MapsAnyOtherMessageWithDefaultsOfTheMessage) {
  const auto event = made_at_once(mapping_of(R"j({"type": "jq(.tokens[1]).jq(.data.kind)"})j"),
                                  stored_message(R"({"kind": "new"})"));
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->type, "orders.new");
  EXPECT_EQ(event->source, "/v1/ns/shop/sources/orders");
  EXPECT_EQ(event->id, "ORDERS-17-1700000000123");
  EXPECT_EQ(event->time, "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(payload(*event), (Json{{"kind", "new"}}));
}

TEST(SourceMapping, HasAnotherIdForAnotherMessageOfTheSameSequence) {
  EXPECT_EQ(message_id_of("S", 1, kStored), message_id_of("S", 1, kStored));
  EXPECT_NE(message_id_of("S", 1, kStored), message_id_of("S", 1, kStored + Duration(1)));
  EXPECT_NE(message_id_of("S", 1, kStored), message_id_of("S", 2, kStored));
  EXPECT_NE(message_id_of("S", 1, kStored), message_id_of("T", 1, kStored));
}

TEST(SourceMapping, GivesJqTheMessage) {
  const auto event = made_at_once(
      mapping_of(
          R"j({"type": "a", "data": "jq([.subject, .tokens, .headers, .data, .stream, .sequence, .time])"})j"),
      stored_message("text", {{"Kind", "new"}}));
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(payload(*event),
            *parse_json(R"(["shop.orders.eu", ["shop", "orders", "eu"], {"kind": "new"}, "text",
                            "ORDERS", 17, "2023-11-14T22:13:20.123Z"])"));
}

TEST(SourceMapping, CarriesTextAsJsonAndOtherBytesAsBase64) {
  const SourceMapping mapping = mapping_of(R"({"type": "a"})");
  EXPECT_EQ(payload(made_at_once(mapping, stored_message("a \"text\"")).value()), "a \"text\"");
  EXPECT_EQ(event_to_json(made_at_once(mapping, stored_message("\xff")).value())["data_base64"],
            "/w==");
  EXPECT_EQ(made_at_once(mapping, stored_message("")).value().data, std::nullopt);
}

/// A message that becomes a dead letter, and why.
struct RefusedMessageRow {
  const char* mapping;  ///< null: none
  OriginMessage message;
  const char* code;
  const char* text;
};

TEST(SourceMapping, SaysWhyAMessageBecomesADeadLetter) {
  const Headers structured = {{"content-type", "application/cloudevents+json"}};
  const std::vector<RefusedMessageRow> rows = {
      {nullptr, stored_message("no event"), "source.no_mapping", "set `mapping` in its settings"},
      {nullptr, stored_message("{}"), "source.no_mapping", "set `mapping` in its settings"},
      {nullptr, stored_message("{}", structured), "event.missing_attribute", ""},
      {R"({"type": "a"})", stored_message("{}", structured), "event.missing_attribute", ""},
      {R"j({"type": "jq(.data.kind)"})j", stored_message("{}"), "mapping.invalid",
       "mapping.type: the result is null"},
      {R"j({"type": "a", "time": "jq(.data)"})j", stored_message("7"), "mapping.invalid",
       "valid event"},
      {R"j({"type": "a", "subject": "jq(.data.a.b)"})j", stored_message(R"({"a": 1})"),
       "mapping.failed", "mapping.subject: "},
      {R"j({"type": "a", "data": "jq(.data | nothing)"})j", stored_message("{}"), "jq.unavailable",
       "needs a jq worker"},
  };
  for (const RefusedMessageRow& row : rows) {
    const Result<Event> event = made_at_once(mapping_of(row.mapping), row.message);
    ASSERT_FALSE(event) << row.code;
    EXPECT_EQ(event.error().code, row.code);
    EXPECT_THAT(event.error().message, HasSubstr(row.text));
  }
}

TEST(SourceMapping, WaitsForAJqWorkerWithoutTheThreadThatAsks) {
  std::vector<Evaluation> asked;
  std::function<void(EvaluationResult)> answer;
  const Evaluator evaluate = [&](Evaluation evaluation,
                                 std::function<void(EvaluationResult)> done) {
    asked.push_back(std::move(evaluation));
    answer = std::move(done);
  };
  MadeEvent event = make_event(mapping_of(R"j({"type": "jq(.data | nothing)"})j"),
                               stored_message("{}"), kStored, evaluate);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].lane, 3U);
  EXPECT_EQ(asked[0].now, kStored);
  EXPECT_FALSE(event.is_known());
  answer({LazyJson(Json("done"))});
  EXPECT_TRUE(event.is_known());
  EXPECT_EQ(event.take().value().type, "done");
}

}  // namespace
}  // namespace millrace
