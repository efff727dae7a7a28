// What becomes of a message by a mapping. Queries beyond the fast lane have the results that the
// test gives.
#include "orchestrator/mapping/mapped_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/json_format.h"

namespace millrace {
namespace {

using testing::HasSubstr;

const TimePoint kNow = *parse_rfc3339("2026-01-02T03:04:05Z");

MappingInput order_input(const Projection& reads) {
  return message_input({.subject = "shop.orders.eu",
                        .headers = {{"Kind", "new"}},
                        .data = R"({"id": "o-1", "n": 7, "big": 5000000000, "half": 1.5,
                                    "at": "2026-01-01T00:00:00Z", "yes": true, "list": []})"},
                       "ORDERS", 17, kNow, reads);
}

/// The evaluation of the mapping; without an input for that of an order, with what is read of it.
MappingRun run_of(const char* settings, std::optional<MappingInput> input = std::nullopt) {
  auto mapping = parse_mapping("mapping", *parse_json(settings));
  EXPECT_TRUE(mapping) << mapping.error().message;
  if (!input) input = order_input(mapping->reads);
  return {std::make_shared<const EventMapping>(*std::move(mapping)),
          *std::move(input),
          {.source = "/d", .id = "d-1", .time = "2026-01-02T03:04:05Z"}};
}

Result<Event> mapped(const char* settings) {
  MappingRun run = run_of(settings);
  EXPECT_TRUE(run.queries().empty()) << settings;
  return std::move(run).finish({});
}

TEST(MappedEvent, HasTheDefaultsOfItsCaller) {
  const auto event = mapped(R"({"type": "order"})");
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->type, "order");
  EXPECT_EQ(event->source, "/d");
  EXPECT_EQ(event->id, "d-1");
  EXPECT_EQ(event->time, "2026-01-02T03:04:05Z");
  EXPECT_EQ(event->subject, std::nullopt);
  EXPECT_EQ(event->datacontenttype, "application/json");
  EXPECT_EQ(payload(*event)["id"], "o-1");
}

/// A mapping, and an attribute of the event that it makes.
struct MappedRow {
  const char* settings;
  const char* attribute;
  std::optional<std::string> value;
};

TEST(MappedEvent, HasWhatTheMappingSays) {
  const MappedRow rows[] = {
      {R"j({"type": "shop.jq(.headers.kind).jq(.tokens[2])"})j", "type", "shop.new.eu"},
      {R"j({"type": "jq(.stream)"})j", "type", "ORDERS"},
      {R"j({"type": "a", "source": "/shop/jq(.tokens[2])"})j", "source", "/shop/eu"},
      {R"j({"type": "a", "source": "jq(.data.none)"})j", "source", "/d"},
      {R"j({"type": "a", "id": "jq(.data.id)"})j", "id", "o-1"},
      {R"j({"type": "a", "id": "jq(.data.n)"})j", "id", "7"},
      {R"j({"type": "a", "id": "jq(.data.big)"})j", "id", "5000000000"},
      {R"j({"type": "a", "id": "jq(.data.none)"})j", "id", "d-1"},
      {R"j({"type": "a", "id": "jq(.stream)-jq(.sequence)"})j", "id", "ORDERS-17"},
      {R"j({"type": "a", "time": "jq(.data.at)"})j", "time", "2026-01-01T00:00:00Z"},
      {R"j({"type": "a", "time": "jq(.data.none)"})j", "time", "2026-01-02T03:04:05Z"},
      {R"j({"type": "a", "subject": "jq(.subject)"})j", "subject", "shop.orders.eu"},
      {R"j({"type": "a", "subject": "jq(.data.none)"})j", "subject", std::nullopt},
      {R"j({"type": "a", "attributes": {"order": "jq(.data.id)"}})j", "order", "o-1"},
      {R"j({"type": "a", "attributes": {"order": "jq(.data.none)"}})j", "order", std::nullopt},
      {R"({"type": "a", "attributes": {"order": ""}})", "order", ""},
      {R"j({"type": "a", "attributes": {"n": "jq(.data.n)"}})j", "n", "7"},
      {R"j({"type": "a", "attributes": {"n": "jq(.data.big)"}})j", "n", "5000000000"},
      {R"j({"type": "a", "attributes": {"n": "jq(.data.half)"}})j", "n", "1.5"},
      {R"({"type": "a", "attributes": {"n": -5}})", "n", "-5"},
      {R"j({"type": "a", "attributes": {"yes": "jq(.data.yes)"}})j", "yes", "true"},
  };
  for (const MappedRow& row : rows) {
    const auto event = mapped(row.settings);
    ASSERT_TRUE(event) << row.settings << ": " << event.error().message;
    EXPECT_EQ(attribute(*event, row.attribute), row.value) << row.settings;
  }
}

TEST(MappedEvent, HasNumbersAndTruthsAsTheirTypes) {
  const auto event = mapped(
      R"j({"type": "a", "attributes": {"n": "jq(.data.n)", "yes": "jq(.data.yes)",
"t": "jq(.data.n)."}})j");
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->extensions.at("n"), AttributeValue(int32_t{7}));
  EXPECT_EQ(event->extensions.at("yes"), AttributeValue(true));
  EXPECT_EQ(event->extensions.at("t"), AttributeValue("7."));
}

TEST(MappedEvent, HasTheDataOfTheMapping) {
  const auto some = mapped(R"j({"type": "a", "data": {"order": "jq(.data.id)", "v": 1}})j");
  ASSERT_TRUE(some) << some.error().message;
  EXPECT_EQ(payload(*some), *parse_json(R"({"order": "o-1", "v": 1})"));
  EXPECT_EQ(some->datacontenttype, "application/json");
  const auto none = mapped(R"({"type": "a", "data": null})");
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_EQ(none->data, std::nullopt);
  EXPECT_EQ(none->datacontenttype, std::nullopt);
}

TEST(MappedEvent, CarriesBytesAsBase64) {
  MappingRun run = run_of(R"({"type": "a"})", message_input({.subject = "a", .data = "\xff"}, "S",
                                                            1, kNow, kWholeValue));
  const auto event = std::move(run).finish({});
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event_to_json(*event)["data_base64"], "/w==");
}

/// A mapping that makes no event of the message, and the error.
struct RefusedRow {
  const char* settings;
  const char* code;
  const char* message;
};

TEST(MappedEvent, NamesThePlaceOfAResultThatIsNoValueOfItsAttribute) {
  const RefusedRow rows[] = {
      {R"j({"type": "jq(.data.none)"})j", "mapping.invalid",
       "mapping.type: the result is null; expected a text"},
      {R"j({"type": "jq(.data.list)"})j", "mapping.invalid",
       "mapping.type: the result is an array"},
      {R"j({"type": "jq(.data)"})j", "mapping.invalid", "mapping.type: the result is an object"},
      {R"j({"type": "jq(.data.id - 1)"})j", "mapping.failed", "mapping.type: "},
      {R"j({"type": "a", "id": "jq(\"\")"})j", "mapping.invalid",
       "mapping.id: the result is empty; expected a text"},
      {R"j({"type": "a", "id": "jq(.data[0])"})j", "mapping.failed", "mapping.id: "},
      {R"j({"type": "a", "source": "jq(.data.at + \" \")"})j", "mapping.invalid", "valid event"},
      {R"j({"type": "a", "time": "jq(.data.n)"})j", "mapping.invalid", "valid event"},
      {R"j({"type": "a", "attributes": {"x": "jq(.data.list)"}})j", "mapping.invalid",
       "mapping.attributes.x: the result is an array"},
      {R"j({"type": "a", "attributes": {"x": "jq(.data.id.id)" }})j", "mapping.failed",
       "mapping.attributes.x: "},
      {R"j({"type": "a", "data": {"x": "jq(.data.id.id)" }})j", "mapping.failed", "mapping.data: "},
  };
  for (const RefusedRow& row : rows) {
    const auto event = mapped(row.settings);
    ASSERT_FALSE(event) << row.settings;
    EXPECT_EQ(event.error().code, row.code) << row.settings;
    EXPECT_THAT(event.error().message, HasSubstr(row.message)) << row.settings;
  }
}

TEST(MappedEvent, SaysThatTheDataOfAMessageIsText) {
  MappingRun run =
      run_of(R"j({"type": "a", "id": "jq(.data.id)"})j",
             message_input({.subject = "a", .data = "no JSON"}, "S", 1, kNow, kWholeValue));
  const auto event = std::move(run).finish({});
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().code, "mapping.failed");
  EXPECT_THAT(event.error().message, HasSubstr("the data of the message is no JSON object"));
}

TEST(MappedEvent, HasTheLimitOfEvents) {
  const std::string half(size_t{600} << 10, 'a');
  MappingRun run = run_of(R"j({"type": "a", "data": ["jq(.)", "jq(.)"]})j",
                          message_input({.subject = "a", .data = half}, "S", 1, kNow, kWholeValue));
  EvaluationResult results;
  while (results.size() < run.queries().size()) results.emplace_back(LazyJson(Json(half)));
  const auto event = std::move(run).finish(std::move(results));
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().code, "event.too_large");
}

constexpr const char* kSlow =
    R"j({"type": "jq(.data.id | ascii_upcase)", "id": "jq(.data.n)",
         "subject": "jq(.data | keys | first)"})j";

TEST(MappedEvent, PassesQueriesBeyondTheFastLaneToAJqWorker) {
  Evaluation asked;
  std::optional<Result<Event>> made;
  map_event(
      run_of(kSlow), {.now = kNow, .lane = 3, .space = 4},
      [&](Evaluation evaluation, const std::function<void(EvaluationResult)>& done) {
        asked = evaluation;
        done({LazyJson(Json("O-1")), LazyJson(Json("at"))});
      },
      [&](Result<Event> event) { made = std::move(event); });
  ASSERT_EQ(asked.queries.size(), 2U);
  EXPECT_EQ(asked.queries[0].program, ".data.id | ascii_upcase");
  EXPECT_EQ(asked.queries[1].program, ".data | keys | first");
  EXPECT_EQ(*asked.queries[0].input, order_input(kWholeValue).json.text());
  EXPECT_EQ(asked.lane, 3U);
  EXPECT_EQ(asked.space, 4U);
  ASSERT_TRUE(made && *made);
  EXPECT_EQ((*made)->type, "O-1");
  EXPECT_EQ((*made)->id, "7");
  EXPECT_EQ((*made)->subject, "at");
}

TEST(MappedEvent, NamesThePlaceOfAQueryThatAJqWorkerCouldNotEvaluate) {
  const auto failed = run_of(kSlow).finish(
      {LazyJson(Json("O-1")), fail(std::string(kTaskTimeout), "it ran longer than 1 s")});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error(), (Error{"mapping.failed", "mapping.subject: it ran longer than 1 s"}));
  const auto short_of = run_of(kSlow).finish({});
  ASSERT_FALSE(short_of);
  EXPECT_EQ(short_of.error(),
            (Error{"mapping.failed", "mapping.type: the evaluation ended early"}));
}

}  // namespace
}  // namespace millrace
