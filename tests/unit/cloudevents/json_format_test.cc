#include "cloudevents/json_format.h"

#include <string>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "cloudevents/event_check.h"
#include "cloudevents/json_text.h"
#include "cloudevents/nats_binding.h"
#include "malformed_events.h"
#include "tests/unit/cloudevents/event_maker.h"

namespace millrace {
namespace {

Event minimal() { return {.id = "1", .source = "/s", .type = "t"}; }

std::string data_of(std::string_view members) {
  const Result<Event> event = decode_json_event(structured(members));
  return event ? event->data.value_or("(absent)") : event.error().message;
}

TEST(JsonFormat, ReadsEveryCoreAttribute) {
  const Result<Event> event = decode_json_event(R"({
    "specversion": "1.0", "id": "A234", "source": "https://example.com/orders", "type": "com.x.y",
    "subject": "larger context", "time": "2018-04-05T17:31:00.123456789+01:00",
    "datacontenttype": "text/xml; charset=utf-8", "dataschema": "https://example.com/s#/order",
    "data": "<a/>"})");
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(*event, (Event{.id = "A234",
                           .source = "https://example.com/orders",
                           .type = "com.x.y",
                           .subject = "larger context",
                           .time = "2018-04-05T17:31:00.123456789+01:00",
                           .datacontenttype = "text/xml; charset=utf-8",
                           .dataschema = "https://example.com/s#/order",
                           .data = "<a/>"}));
}

TEST(JsonFormat, ReadsNullAsAbsent) {
  EXPECT_EQ(decode_json_event(structured(R"(, "subject": null, "time": null, "x": null,
      "datacontenttype": null, "dataschema": null, "data": null, "data_base64": null)")),
            minimal());
  EXPECT_EQ(data_of(R"(, "data": null, "data_base64": "YQ==")"), "a");
}

TEST(JsonFormat, KeepsTheTypesOfExtensionAttributes) {
  const Result<Event> event =
      decode_json_event(structured(R"(, "yes": true, "no": false, "zero": -0, "low": -2147483648,
                      "high": 2147483647, "text": "7", "empty": "", "a1234567890123456789012": "long")"));
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->extensions, (std::map<std::string, AttributeValue>{
                                   {"yes", true},
                                   {"no", false},
                                   {"zero", 0},
                                   {"low", -2147483647 - 1},
                                   {"high", 2147483647},
                                   {"text", std::string("7")},
                                   {"empty", std::string()},
                                   {"a1234567890123456789012", std::string("long")}}));
}

TEST(JsonFormat, ReadsEscapesInNamesAndValues) {
  const Result<Event> event = decode_json_event(
      structured(R"(, "\u0073ubject": "\u20ac \ud83d\ude00 \"\/\\", "ext": "ä")"));
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->subject, "€ 😀 \"/\\");
  EXPECT_EQ(std::get<std::string>(event->extensions.at("ext")), "ä");
}

TEST(JsonFormat, ReadsUnusualButValidFormsOfAnEvent) {
  for (const char* members :
       {"", R"(, "time": "2018-04-05t17:31:00z")", R"(, "time": "2016-12-31T23:59:60Z")",
        R"(, "datacontenttype": "a/b;c=\"d;e\"")", R"(, "dataschema": "urn:x:y")",
        R"(, "x": "\ue000")"}) {
    const Result<Event> event = decode_json_event(structured(members));
    EXPECT_TRUE(event) << members << ": " << event.error().message;
  }
  EXPECT_TRUE(decode_json_event("\r\n\t " + structured("") + " \n"));
}

TEST(JsonFormat, KeepsTheTextOfJsonDataExceptForWhiteSpace) {
  const struct {
    const char* members;
    const char* data;
  } rows[] = {
      {R"(, "data": {"b": [1, 2.50, 1E5], "a": "x y\n"})", R"({"b":[1,2.50,1E5],"a":"x y\n"})"},
      {R"(, "data": 9007199254740993)", "9007199254740993"},
      {R"(, "data": 123456789012345678901234567890)", "123456789012345678901234567890"},
      {R"(, "data": "hello")", R"("hello")"},
      {R"(, "data": "{\"a\": 1}")", R"("{\"a\": 1}")"},
      {R"(, "data": "")", R"("")"},
      {R"(, "data": false)", "false"},
      {R"(, "data": { })", "{}"},
      {R"(, "data": [1], "datacontenttype": "application/json; charset=utf-8")", "[1]"},
      {R"(, "datacontenttype": "application/vnd.x+JSON", "data": "a")", R"("a")"},
      {R"(, "data": {"data": 1, "data": 2})", R"({"data":1,"data":2})"},
      {"", "(absent)"},
  };
  for (const auto& row : rows) EXPECT_EQ(data_of(row.members), row.data) << row.members;
}

TEST(JsonFormat, KnowsWhichDataIsJson) {
  const auto is_known = [](const std::string& members) {
    const auto event = decode_json_event(
        R"({"specversion": "1.0", "id": "1", "source": "/s", "type": "t")" + members + "}");
    return event.value().data_json.is_known;
  };
  EXPECT_TRUE(is_known(R"(, "data": {"a": 1})"));
  EXPECT_TRUE(is_known(R"(, "data": "a")"));
  EXPECT_TRUE(is_known(R"(, "data": {"a": 1}, "datacontenttype": "text/plain")"));
  EXPECT_FALSE(is_known(R"(, "data": "a", "datacontenttype": "text/plain")"));
  EXPECT_FALSE(is_known(R"(, "data_base64": "MQ==")"));
  EXPECT_FALSE(is_known(R"(, "data": null)"));
  EXPECT_FALSE(is_known(""));
}

TEST(JsonFormat, ReadsStringDataAsTextUnlessTheContentTypeIsJson) {
  const struct {
    const char* members;
    const char* data;
  } rows[] = {
      {R"(, "datacontenttype": "text/plain", "data": "hello\n\u20ac")", "hello\n€"},
      {R"(, "data": "behind", "datacontenttype": "text/plain")", "behind"},
      {R"(, "datacontenttype": "text/plain", "data": "")", ""},
      {R"(, "datacontenttype": "text/plain", "data": {"a": [1, 2]})", R"({"a":[1,2]})"},
      {R"(, "datacontenttype": "text/plain", "data": 1.50)", "1.50"},
      {R"(, "datacontenttype": "text/plain", "data": null)", "(absent)"},
  };
  for (const auto& row : rows) EXPECT_EQ(data_of(row.members), row.data) << row.members;
}

TEST(JsonFormat, DecodesBase64UnderAnyContentType) {
  EXPECT_EQ(data_of(R"(, "data_base64": "AP8Q")"), std::string("\0\xff\x10", 3));
  EXPECT_EQ(data_of(R"(, "data_base64": "eyJhIjoxfQ==", "datacontenttype": "application/json")"),
            R"({"a":1})");
  EXPECT_EQ(data_of(R"(, "data_base64": "")"), "");
}

TEST(JsonFormat, LimitsTheSizeOfAnEvent) {
  const auto of_size = [](size_t size) {
    std::string text = structured(R"(, "x": "")");
    text.insert(text.size() - 2, std::string(size - text.size(), 'x'));
    return text;
  };
  EXPECT_TRUE(decode_json_event(of_size(kMaxEventBytes)));
  ASSERT_FALSE(decode_json_event(of_size(kMaxEventBytes + 1)));
  EXPECT_EQ(decode_json_event(of_size(kMaxEventBytes + 1)).error(),
            (Error{"event.too_large", "the event has 1048577 bytes; expected at most 1048576"}));
  EXPECT_EQ(decode_json_event(of_size(200), {.event_bytes = 199}).error().code, "event.too_large");
}

TEST(JsonFormat, LimitsTheExtensionAttributesOfAnEvent) {
  EXPECT_TRUE(decode_json_event(structured(extensions(kMaxExtensions))));
  EXPECT_EQ(decode_json_event(structured(extensions(kMaxExtensions + 1))).error(),
            (Error{"event.too_many_attributes",
                   "the event has more than 256 extension attributes; expected at most 256: put "
                   "the others into the data"}));
}

TEST(JsonFormat, DoesNotCountTheAttributesThatMillraceAdds) {
  EXPECT_TRUE(decode_json_event(
      structured(extensions(kMaxExtensions) +
                 R"(, "millracehops": 1, "replayof": "2", "millraceonly": "a")")));
}

TEST(JsonFormat, ReadsAStoredEventWithMoreAttributesThanTheLimit) {
  const Result<Event> event =
      decode_json_event(structured(extensions(kMaxExtensions + 1)), kStoredEvents);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->extensions.size(), kMaxExtensions + 1);
}

TEST(JsonFormat, RefusesDataNestedDeeperThan127Levels) {
  EXPECT_TRUE(decode_json_event(structured(R"(, "data": )" + nested(127))));
  EXPECT_EQ(decode_json_event(structured(R"(, "data": )" + nested(128))).error().code,
            "event.depth");
  EXPECT_TRUE(decode_json_event(structured(R"(, "data": ")" + nested(500) + R"(")")));
  EXPECT_EQ(decode_json_event(std::string(100000, '[')).error().code, "event.depth");
}

TEST(JsonFormat, WritesOneLineWithMembersInAFixedOrder) {
  Event event = minimal();
  EXPECT_EQ(encode_json_event(event), R"({"specversion":"1.0","id":"1","source":"/s","type":"t"})");
  event.subject = "a \"b\" ä";
  event.time = "2021-09-01T12:00:00Z";
  event.datacontenttype = "application/json";
  event.dataschema = "urn:x";
  event.extensions = {{"n", -7}, {"flag", true}, {"text", std::string("7")}};
  event.data = "{\n \"b\": 1.50, \"a\": [ ] }\n";
  EXPECT_EQ(encode_json_event(event),
            R"({"specversion":"1.0","id":"1","source":"/s","type":"t","subject":"a \"b\" ä",)"
            R"("time":"2021-09-01T12:00:00Z","datacontenttype":"application/json",)"
            R"("dataschema":"urn:x","flag":true,"n":-7,"text":"7","data":{"b":1.50,"a":[]}})");
}

TEST(JsonFormat, WritesTextInDataAndOtherBytesInDataBase64) {
  const struct {
    const char* title;
    std::optional<std::string> content_type;
    std::string data;
    std::string member;
  } rows[] = {
      {"JSON without a content type", std::nullopt, "[1]", R"("data":[1])"},
      {"JSON under a JSON type", "application/json", R"("x")", R"("data":"x")"},
      {"text that is not JSON under a JSON type", "application/json", "hello",
       R"("data_base64":"aGVsbG8=")"},
      {"no bytes under a JSON type", "application/json", "", R"("data_base64":"")"},
      {"null under a JSON type", "application/json", "null", R"("data_base64":"bnVsbA==")"},
      {"a NUL after JSON", "application/json", std::string("1\0", 2), R"("data_base64":"MQA=")"},
      {"a byte order mark", "application/json", "\xef\xbb\xbf", R"("data_base64":"77u/")"},
      {"text under a text type", "text/plain", "a\"\n€", R"("data":"a\"\n€")"},
      {"JSON under a text type", "text/plain", "{}", R"("data":"{}")"},
      {"bytes that are not UTF-8 under a text type", "text/plain", "\xff",
       R"("data_base64":"/w==")"},
      {"bytes that are not UTF-8 without a content type", std::nullopt, "\xff",
       R"("data_base64":"/w==")"},
  };
  for (const auto& row : rows) {
    Event event = minimal();
    event.datacontenttype = row.content_type;
    event.data = row.data;
    const std::string text = encode_json_event(event);
    EXPECT_TRUE(text.ends_with("," + row.member + "}")) << row.title << ": " << text;
    EXPECT_EQ(decode_json_event(text), event) << row.title;
  }
}

TEST(JsonFormat, NeverWritesDeeperNestingThanItReads) {
  Event event = minimal();
  for (const size_t depth : {127U, 128U, 129U}) {
    event.data = nested(depth);
    EXPECT_EQ(decode_json_event(encode_json_event(event)), event) << depth;
  }
}

TEST(JsonFormat, ConvertsAnEventToAJsonValue) {
  Event event = minimal();
  event.extensions = {{"n", -7}};
  event.data = R"({"a": [1, 9007199254740993]})";
  EXPECT_EQ(event_to_json(event), Json::parse(R"({"specversion": "1.0", "id": "1", "source": "/s",
      "type": "t", "n": -7, "data": {"a": [1, 9007199254740993]}})"));
}

TEST(JsonFormat, WritesJsonStringsAndOtherScalarsAsTheyAre) {
  Event event = minimal();
  for (const char* const data : {R"("plain [{")", R"("a\"b")", R"("é")", "7", "true", "false"}) {
    event.data = data;
    EXPECT_EQ(event_to_json(event)["data"], Json::parse(data)) << data;
    EXPECT_EQ(decode_json_event(encode_json_event(event)), event) << data;
  }
}

TEST(JsonFormat, FindsTheDataUnderEachFormOfItsName) {
  EXPECT_EQ(json_event_data(R"({"datas":1,"data":[ 2 ]})", std::nullopt), "[2]");
  EXPECT_EQ(json_event_data(R"({"\"dat":1,"d\u0061ta":2})", std::nullopt), "2");
  EXPECT_EQ(json_event_data(R"({"data":null})", std::nullopt), std::nullopt);
}

TEST(JsonFormat, ReadsTheEventsOfABatchInOrder) {
  const Result<std::vector<Event>> events = decode_json_batch(
      " [" + structured("") + " ,\n" + structured(R"(, "subject": "[,]\"")") + "] ");
  ASSERT_TRUE(events) << events.error().message;
  ASSERT_EQ(events->size(), 2U);
  EXPECT_EQ((*events)[0], minimal());
  EXPECT_EQ((*events)[1].subject, "[,]\"");
}

TEST(JsonFormat, ReadsAnEmptyBatch) { EXPECT_EQ(decode_json_batch("[ ]"), std::vector<Event>()); }

TEST(JsonFormat, NamesTheMalformedEventOfABatch) {
  const auto error = [](std::string_view third, const EventLimits& limits = {}) {
    const std::string good = structured("");
    return decode_json_batch("[" + good + "," + good + "," + std::string(third) + "]", limits)
        .error();
  };
  EXPECT_EQ(error(structured(R"(, "time": "x")")).code, "event.time");
  EXPECT_TRUE(error(structured(R"(, "time": "x")")).message.starts_with("[2]: attribute \"time\""));
  EXPECT_EQ(error("7").code, "event.not_object");
  EXPECT_TRUE(error("7").message.starts_with("[2]: "));
  EXPECT_EQ(error("x").code, "event.malformed_json");
  EXPECT_EQ(error("[]").code, "event.not_object");
  EXPECT_EQ(error(structured(R"(, "data": )" + nested(128))).code, "event.depth");
  EXPECT_EQ(error(structured(R"(, "x": "long")"), {.event_bytes = structured("").size()}).message,
            "[2]: the event has 75 bytes; expected at most 62");
}

TEST(JsonFormat, RefusesABatchThatIsNoArrayOrHasTooManyEvents) {
  EXPECT_EQ(decode_json_batch("{}").error().code, "event.not_array");
  EXPECT_EQ(decode_json_batch("").error().code, "event.malformed_json");
  EXPECT_EQ(decode_json_batch("[" + structured("") + ",]").error().code, "event.malformed_json");
  EXPECT_EQ(decode_json_batch("[" + structured("")).error().code, "event.malformed_json");
  EXPECT_EQ(decode_json_batch("[\xff]").error().code, "event.not_utf8");
  EXPECT_TRUE(decode_json_batch("[" + structured("") + "]", {.batch_events = 1}));
  EXPECT_EQ(
      decode_json_batch("[" + structured("") + "," + structured("") + "]", {.batch_events = 1})
          .error(),
      (Error{"event.batch_too_large", "the batch has 2 events; expected at most 1"}));
  EXPECT_TRUE(decode_json_batch("[" + structured(R"(, "data": )" + nested(127)) + "]"))
      << "an event in a batch may nest as deep as a single event";
}

/// Whether the data is JSON with white space outside strings, which encoding removes.
bool has_json_with_white_space(const Event& event) {
  return event.data && is_json_content_type(event.datacontenttype) && is_json_text(*event.data) &&
         compact_json(*event.data) != *event.data;
}

TEST(JsonFormat, ReadsBackEveryEventThatItWrites) {
  EventMaker maker(1);
  for (int round = 0; round < 5000; ++round) {
    const Event event = maker.event();
    ASSERT_TRUE(check_event(event)) << check_event(event).error().message;
    if (has_json_with_white_space(event)) continue;
    const std::string text = encode_json_event(event);
    ASSERT_LE(text.size(), most_encoded_bytes(event)) << text;
    const Result<Event> again = decode_json_event(text);
    ASSERT_TRUE(again) << text << "\n" << again.error().message;
    ASSERT_EQ(*again, event) << text;
    ASSERT_EQ(encode_json_event(*again), text) << "data that is known to be JSON is not read again";
    if (again->data_json.is_known) {
      ASSERT_TRUE(is_json(*again->data)) << *again->data;
    }
    ASSERT_EQ(decode_nats(encode_nats(event)), event) << text;
  }
}

TEST(JsonFormat, BoundsTheSizeOfTheTextForTheLongestEscapes) {
  const std::string worst(1'000, '\x01');
  Event event{.id = worst, .source = worst, .type = worst, .subject = worst};
  event.dataschema = worst;
  event.datacontenttype = "text/plain";
  event.data = worst;
  event.extensions.emplace("text", worst);
  event.extensions.emplace("number", -2'147'483'647);
  EXPECT_GT(encode_json_event(event).size(), 6 * worst.size() * 6);
  EXPECT_LE(encode_json_event(event).size(), most_encoded_bytes(event));
}

TEST(JsonFormat, KeepsThePayloadIfTheJsonDataHasWhiteSpace) {
  Event event{.id = "1", .source = "/s", .type = "t"};
  event.data = " {\"a\" : [1, 2]}\n";
  const Result<Event> again = decode_json_event(encode_json_event(event));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->data, "{\"a\":[1,2]}");
  EXPECT_EQ(payload(*again), payload(event));
}

TEST(JsonFormat, KeepsThePayloadAndTheAttributesOfAnEventInAJsonValue) {
  EventMaker maker(2);
  for (int round = 0; round < 2000; ++round) {
    const Event event = maker.event();
    Result<Event> again = decode_json_event(dump_json(event_to_json(event)));
    ASSERT_TRUE(again) << again.error().message;
    ASSERT_EQ(payload(*again), payload(event));
    again->data = event.data;
    ASSERT_EQ(*again, event);
  }
}

TEST(JsonFormat, ReadsADamagedTextOnlyIfItIsStillJson) {
  EventMaker maker(4);
  size_t accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = encode_json_event(maker.event());
    maker.damage(text);
    const Result<Event> event = decode_json_event(text);
    if (!event) {
      EXPECT_TRUE(is_utf8(event.error().message));
      if (event.error().code == "event.malformed_json") {
        ASSERT_FALSE(is_json_text(text)) << text;
      }
      continue;
    }
    ++accepted;
    ASSERT_TRUE(is_json_text(text)) << text;
    ASSERT_TRUE(check_event(*event)) << text;
    if (!has_json_with_white_space(*event)) {
      ASSERT_EQ(decode_json_event(encode_json_event(*event)), event) << text;
    }
  }
  EXPECT_GT(accepted, 1000U) << "too few damaged texts are still events";
}

}  // namespace
}  // namespace millrace
