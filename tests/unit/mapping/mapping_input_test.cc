// What the jq programs of a mapping read of a message, and the data of its event.
#include "orchestrator/mapping/mapping_input.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

const TimePoint kTime = *parse_rfc3339("2026-01-02T03:04:05Z");

TEST(MappingInput, HasThePartsOfAMessage) {
  const MappingInput input = message_input(
      {.subject = "shop.orders.eu", .headers = {{"X-Kind", "a"}, {"x-kind", "b"}}, .data = "{}"},
      "ORDERS", 17, kTime, kWholeValue);
  EXPECT_EQ(input.json.value(), *parse_json(R"({
      "subject": "shop.orders.eu", "tokens": ["shop", "orders", "eu"],
      "headers": {"x-kind": "a, b"}, "data": {}, "stream": "ORDERS", "sequence": 17,
      "time": "2026-01-02T03:04:05.000Z"})"));
}

TEST(MappingInput, HasThePartsOfARequest) {
  const MappingInput input =
      request_input({{"X-GitHub-Event", "push"}}, {{"tenant", "a"}}, R"({"n": 1})", "git", kTime)
          .value();
  EXPECT_EQ(input.json.value(), *parse_json(R"({
      "headers": {"x-github-event": "push"}, "query": {"tenant": "a"}, "data": {"n": 1},
      "time": "2026-01-02T03:04:05.000Z", "hook": "git"})"));
}

TEST(MappingInput, HasTheFieldsOfAForm) {
  const Headers headers = {{"content-type", "application/x-www-form-urlencoded; charset=utf-8"}};
  const auto input = request_input(headers, {}, "text=to+me&to=a&to=b", "chat", kTime);
  ASSERT_TRUE(input) << input.error().message;
  EXPECT_EQ(input->json.value()["data"], (Json{{"text", "to me"}, {"to", {"a", "b"}}}));
  EXPECT_EQ(input->data, R"({"text":"to me","to":["a","b"]})");
  EXPECT_EQ(input->content_type, "application/json");
  const auto empty = request_input(headers, {}, "", "chat", kTime);
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_EQ(empty->data, "{}");
  const auto wrong = request_input(headers, {}, "text=100%", "chat", kTime);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, "mapping.form");
  const auto text = request_input({}, {}, "text=100%", "chat", kTime);
  ASSERT_TRUE(text) << "without the content type it is a text";
  EXPECT_EQ(text->json.value()["data"], "text=100%");
}

TEST(MappingInput, HasTheTextOfAMessageWithTheContentTypeOfAForm) {
  const MappingInput input =
      message_input({.subject = "a",
                     .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
                     .data = "a=b"},
                    "S", 1, kTime, kWholeValue);
  EXPECT_EQ(input.json.value()["data"], "a=b") << "forms are sent over HTTP";
}

/// What becomes of the bytes of a message.
struct DataRow {
  std::string bytes;
  Json seen;                                ///< by jq
  std::optional<std::string> data;          ///< of the event
  std::optional<std::string> content_type;  ///< of the event
};

TEST(MappingInput, KeepsJsonAndTextAndEncodesOtherBytes) {
  const std::string json = "application/json";
  const std::string deep = std::string(127, '[') + std::string(127, ']');
  const std::string too_deep = std::string(128, '[') + std::string(128, ']');
  const DataRow rows[] = {
      {R"({ "a" : 1.0 })", {{"a", 1.0}}, R"({ "a" : 1.0 })", json},
      {"12345678901234567890123", *parse_json("12345678901234567890123"), "12345678901234567890123",
       json},
      {R"("text")", "text", R"("text")", json},
      {"text", "text", R"("text")", json},
      {"{\"a\":", "{\"a\":", R"("{\"a\":")", json},
      {"caf\xc3\xa9", "caf\xc3\xa9", "\"caf\xc3\xa9\"", json},
      {deep, *parse_json(deep), deep, json},
      {too_deep, too_deep, '"' + too_deep + '"', json},
      {std::string("\xff\x00", 2), "/wA=", std::string("\xff\x00", 2), "application/octet-stream"},
      {"null", nullptr, std::nullopt, std::nullopt},
      {"", nullptr, std::nullopt, std::nullopt},
  };
  for (const DataRow& row : rows) {
    const MappingInput input =
        message_input({.subject = "a", .data = row.bytes}, "S", 1, kTime, kWholeValue);
    EXPECT_EQ(input.json.value()["data"], row.seen) << row.bytes;
    EXPECT_EQ(input.data, row.data) << row.bytes;
    EXPECT_EQ(input.content_type, row.content_type) << row.bytes;
    EXPECT_TRUE(is_json(input.json.text())) << row.bytes;
  }
}

TEST(MappingInput, IsJsonWhateverBytesHeadersAndParametersHave) {
  const MappingInput request =
      request_input({{"x", "\xff"}}, {{"\xfe", "\xff"}}, "\xff", "a", kTime).value();
  EXPECT_TRUE(is_json(request.json.text()));
  EXPECT_EQ(request.json.value()["headers"]["x"], "\xef\xbf\xbd");
  const MappingInput message =
      message_input({.subject = "a.\xff", .headers = {}, .data = ""}, "S", 1, kTime, kWholeValue);
  EXPECT_TRUE(is_json(message.json.text()));
}

TEST(MessageInput, HasOnlyWhatIsRead) {
  Projection reads;
  for (const std::vector<std::string>& path :
       {std::vector<std::string>{"sequence"}, {"data", "customer", "id"}}) {
    reads.add(path);
  }
  const std::string order =
      R"({"customer": {"id": "c-1", "name": "x"}, "lines": [1, 2], "note": "y"})";
  const MappingInput input = message_input({.subject = "a", .data = order}, "S", 1, kTime, reads);
  EXPECT_EQ(input.json.value(),
            *parse_json(R"({"sequence": 1, "data": {"customer": {"id": "c-1"}}})"));
  EXPECT_EQ(input.data, order) << "the event has all of it";

  const MappingInput text = message_input({.subject = "a", .data = "x"}, "S", 1, kTime, reads);
  EXPECT_EQ(text.json.value(), *parse_json(R"({"sequence": 1, "data": "x"})"));
  const MappingInput none = message_input({.subject = "a", .data = order}, "S", 1, kTime, {});
  EXPECT_EQ(none.json.value(), Json::object());
  EXPECT_EQ(none.content_type, "application/json");
}

}  // namespace
}  // namespace millrace
