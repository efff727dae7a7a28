#include "cloudevents/event_check.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "cloudevents/json_text.h"
#include "cloudevents/media_type.h"
#include "cloudevents/uri.h"

namespace millrace {
namespace {

TEST(AttributeNames, AreLowerCaseLettersAndDigits) {
  for (const char* name : {"a", "7", "traceparent", "abc123", "averyveryverylongname0123"}) {
    EXPECT_TRUE(is_attribute_name(name)) << name;
  }
  for (const char* name : {"", "A", "a-b", "a_b", "a.b", "a b", "ä", "data", "data_base64"}) {
    EXPECT_FALSE(is_attribute_name(name)) << name;
  }
}

TEST(AttributeStrings, HoldNoControlCharactersAndNoncharacters) {
  for (const char* text :
       {"", "plain", " \u00a0", "ä€😀", "\ufdcf", "\ufdf0", "\ufffd", "\U000f0000", "\U0010fffd"}) {
    EXPECT_TRUE(is_attribute_string(text)) << text;
  }
  for (const char* text : {"\t", "a\x1f", "\x7f", "\u0080", "\u009f", "\ufdd0", "\ufdef", "\ufffe",
                           "\uffff", "\U0001fffe", "\U0010ffff", "\xff", "\xed\xa0\x80"}) {
    EXPECT_FALSE(is_attribute_string(text)) << text;
  }
  EXPECT_FALSE(is_attribute_string(std::string_view("\0", 1)));
}

TEST(Uris, AreThoseOfTheirGrammar) {
  for (const char* text :
       {"", "#fragment", "?q=/?", "/a/b;c=d", "a/b:c", "../x", "//host/path", "1-555-123-4567",
        "https://user:pw@example.com:8080/a%20b?x=y&z#f/?", "mailto:cncf-wg@lists.cncf.io",
        "urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66", "http://[2001:db8::1]:80/", "file:///x",
        "tag:a@b,2021:x", "x:", "http://host:/"}) {
    EXPECT_TRUE(is_uri_reference(text)) << text;
  }
  for (const char* text : {"a b",
                           "a\"b",
                           "<a>",
                           "a\\b",
                           "{a}",
                           "a|b",
                           "a^b",
                           "a`b",
                           "ä",
                           "%",
                           "%4",
                           "%zz",
                           "a#b#c",
                           "1:a",
                           "10.0.0.1:80/x",
                           ":a",
                           "http://host:x/",
                           "http://[::1",
                           "http://[]/",
                           "http://a[b",
                           "a[0]",
                           "http://a@b@c/"}) {
    EXPECT_FALSE(is_uri_reference(text)) << text;
  }
  for (const char* text : {"urn:x", "https://example.com/s#/definitions/order"}) {
    EXPECT_TRUE(is_absolute_uri(text)) << text;
  }
  for (const char* text : {"", "/x", "//host/x", "a/b:c", "#x", "1:a", "urn:a b"}) {
    EXPECT_FALSE(is_absolute_uri(text)) << text;
  }
}

TEST(MediaTypes, AreReadWithTheirParameters) {
  EXPECT_EQ(parse_media_type("Text/Plain"), (MediaType{"text/plain", {}}));
  EXPECT_EQ(parse_media_type(R"( a/b+c ; Charset=UTF-8;x="a;\"b" ;; )"),
            (MediaType{"a/b+c", {{"charset", "UTF-8"}, {"x", "a;\"b"}}}));
  for (const char* text :
       {"", "a", "a/", "/b", "a/b/c", "a /b", "a/b c", "a/b;c", "a/b;=c", "a/b;c=", "a/b;c=\"d",
        "a/b;c=\"d\\", "a/b,c/d", "ä/b", "a/b;c=\"ä\"", "a/b;c=d e", "a/b\r\nx: y"}) {
    EXPECT_EQ(parse_media_type(text), std::nullopt) << text;
  }
}

TEST(JsonTexts, AreOneJsonAndNothingElse) {
  for (const char* text : {"1", " [1] ", "\"\\u0000\"", "null"}) EXPECT_TRUE(is_json_text(text));
  EXPECT_FALSE(is_json_text(std::string_view("1\0x", 3)));
  EXPECT_FALSE(is_json_text("\xef\xbb\xbf{}"));
  EXPECT_FALSE(is_json_text(""));
  EXPECT_EQ(compact_json(" { \"a b\" : [ 1 , \"\\\" \" ] }\n"), "{\"a b\":[1,\"\\\" \"]}");
  EXPECT_EQ(depth_of_json("7"), 0U);
  EXPECT_EQ(depth_of_json(R"([{"[[[\"[":[]},[]])"), 3U);
}

TEST(EventCheck, TakesWhatTheDecodersTake) {
  Event event{.id = "1", .source = "#x", .type = "t"};
  EXPECT_TRUE(check_event(event));
  event.subject = "ä";
  event.time = "2021-09-01T12:00:00Z";
  event.datacontenttype = "application/json";
  event.dataschema = "urn:x";
  event.extensions = {{"a", true}, {"b", 1}, {"c", std::string()}};
  event.data = "\xff";
  EXPECT_TRUE(check_event(event));
}

TEST(EventCheck, FindsEachBrokenRuleOfAGeneratedEvent) {
  const struct {
    std::function<void(Event&)> change;
    const char* code;
  } rows[] = {
      {[](Event& e) { e.id = ""; }, "event.empty_attribute"},
      {[](Event& e) { e.source = ""; }, "event.empty_attribute"},
      {[](Event& e) { e.type = ""; }, "event.empty_attribute"},
      {[](Event& e) { e.subject = ""; }, "event.empty_attribute"},
      {[](Event& e) { e.id = "a\nb"; }, "event.attribute_value"},
      {[](Event& e) { e.id = "\xff"; }, "event.attribute_value"},
      {[](Event& e) { e.source = "a b"; }, "event.attribute_value"},
      {[](Event& e) { e.time = "now"; }, "event.time"},
      {[](Event& e) { e.datacontenttype = "json"; }, "event.content_type"},
      {[](Event& e) { e.dataschema = "schema"; }, "event.attribute_value"},
      {[](Event& e) { e.extensions["x"] = std::string("\x01"); }, "event.attribute_value"},
      {[](Event& e) { e.extensions["X"] = 1; }, "event.attribute_name"},
      {[](Event& e) { e.extensions[""] = 1; }, "event.attribute_name"},
      {[](Event& e) { e.extensions["data"] = 1; }, "event.attribute_name"},
      {[](Event& e) { e.extensions["specversion"] = std::string("1.0"); }, "event.attribute_name"},
      {[](Event& e) { e.extensions["time"] = std::string("x"); }, "event.attribute_name"},
  };
  for (const auto& row : rows) {
    Event event{.id = "1", .source = "/s", .type = "t"};
    row.change(event);
    const Status status = check_event(event);
    ASSERT_FALSE(status) << row.code;
    EXPECT_EQ(status.error().code, row.code) << status.error().message;
  }
}

}  // namespace
}  // namespace millrace
