#include "cloudevents/event_check.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(EventCheck, AcceptsOnlyLowerCaseLettersAndDigitsInAttributeNames) {
  for (const char* name : {"a", "7", "traceparent", "abc123", "averyveryverylongname0123"}) {
    EXPECT_TRUE(is_attribute_name(name)) << name;
  }
  for (const char* name : {"", "A", "a-b", "a_b", "a.b", "a b", "ä", "data", "data_base64"}) {
    EXPECT_FALSE(is_attribute_name(name)) << name;
  }
}

TEST(EventCheck, RefusesControlCharactersAndNoncharactersInAttributes) {
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

TEST(EventCheck, TakesWholeNumbersOf32BitsAsIntegers) {
  for (const Json& number : {Json(0U), Json(2147483647U), Json(2147483647), Json(-2147483648)}) {
    EXPECT_EQ(attribute_integer(number), number.get<int32_t>());
  }
  for (const Json& other :
       {Json(2147483648U), Json(int64_t{2147483648}), Json(int64_t{-2147483649}), Json(1.0),
        Json(18446744073709551615U), Json("1"), Json(true), Json()}) {
    EXPECT_EQ(attribute_integer(other), std::nullopt) << other;
  }
}

TEST(EventCheck, AcceptsEventsThatTheDecodersAccept) {
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

TEST(EventCheck, ProposesTheLowerCaseNameOfAnAttribute) {
  Event event{.id = "1", .source = "/s", .type = "t"};
  event.extensions["orderId"] = 1;
  EXPECT_EQ(check_event(event).error().message,
            "attribute name \"orderId\" is not valid; expected lower-case letters and digits only, "
            "and no reserved name: write orderid");
  event.extensions = {{"Type", 1}};
  EXPECT_THAT(check_event(event).error().message, testing::EndsWith("no reserved name"));
}

}  // namespace
}  // namespace millrace
