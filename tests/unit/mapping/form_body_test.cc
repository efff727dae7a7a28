// Bodies of HTTP requests that are forms.
#include "orchestrator/mapping/form_body.h"

#include <string>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(FormBody, IsKnownByItsContentType) {
  struct TypeRow {
    const char* type;
    bool is_form;
  };
  const TypeRow rows[] = {{"application/x-www-form-urlencoded", true},
                          {"Application/X-WWW-Form-Urlencoded; charset=UTF-8", true},
                          {"application/json", false},
                          {"multipart/form-data; boundary=a", false},
                          {"application/x-www-form-urlencoded-2", false},
                          {"", false}};
  for (const TypeRow& row : rows) {
    EXPECT_EQ(is_form({{"Content-Type", row.type}}), row.is_form) << row.type;
  }
  EXPECT_FALSE(is_form({}));
}

TEST(FormBody, HasATextForEachFieldAndAListForAFieldThatIsRepeated) {
  struct FormRow {
    std::string body;
    Json fields;
  };
  const FormRow rows[] = {
      {"", Json::object()},
      {"a=1", {{"a", "1"}}},
      {"command=%2Fweather&text=94070+now&team_id=T1",
       {{"command", "/weather"}, {"team_id", "T1"}, {"text", "94070 now"}}},
      {"payload=%7B%22type%22%3A%22a%2Bb%22%7D", {{"payload", R"({"type":"a+b"})"}}},
      {"to=b&n=1&to=a&to=", {{"n", "1"}, {"to", {"b", "a", ""}}}},
      {"&a=1&&b=2&", {{"a", "1"}, {"b", "2"}}},
      {"a&b=", {{"a", ""}, {"b", ""}}},
      {"=x", {{"", "x"}}},
      {"a=b=c", {{"a", "b=c"}}},
      {"a[b]=1&a%5Bb%5D=2&a.c=3", {{"a[b]", {"1", "2"}}, {"a.c", "3"}}},
      {"caf%C3%A9=\xc3\xa9&%E2%82%AC=%00",
       {{"caf\xc3\xa9", "\xc3\xa9"}, {"\xe2\x82\xac", std::string(1, '\0')}}},
  };
  for (const FormRow& row : rows) {
    const Result<Json> fields = form_fields(row.body);
    ASSERT_TRUE(fields) << row.body << ": " << fields.error().message;
    EXPECT_EQ(*fields, row.fields) << row.body;
  }
}

TEST(FormBody, IsRefusedWithTheNumberOfTheFieldThatIsWrong) {
  struct WrongRow {
    std::string body;
    const char* message;
  };
  const WrongRow rows[] = {
      {"a=1&b=100%",
       "the body is not a valid form: field 2 has a `%` that two hexadecimal digits do not follow; "
       "send `%25` for it"},
      {"a%2=1",
       "the body is not a valid form: field 1 has a `%` that two hexadecimal digits do not follow; "
       "send `%25` for it"},
      {"&&a=%zz",
       "the body is not a valid form: field 1 has a `%` that two hexadecimal digits do not follow; "
       "send `%25` for it"},
      {"a=%FF",
       "the body is not a valid form: field 1 is not UTF-8; send its text as percent-encoded "
       "UTF-8"},
      {"a=1&\xe9=2",
       "the body is not a valid form: field 2 is not UTF-8; send its text as percent-encoded "
       "UTF-8"},
  };
  for (const WrongRow& row : rows) {
    const Result<Json> fields = form_fields(row.body);
    ASSERT_FALSE(fields) << row.body;
    EXPECT_EQ(fields.error(), (Error{"mapping.form", row.message})) << row.body;
  }
}

TEST(FormBody, HasAThousandFieldsAtMost) {
  std::string body;
  for (size_t i = 0; i < kMostFormFields; ++i) body += "a=1&";
  const Result<Json> fields = form_fields(body);
  ASSERT_TRUE(fields) << fields.error().message;
  EXPECT_EQ(fields->at("a").size(), kMostFormFields);
  const Result<Json> more = form_fields(body + "b");
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error(), (Error{"mapping.form",
                                 "the body is not a valid form: it has more than 1000 fields; send "
                                 "fewer fields"}));
}

}  // namespace
}  // namespace millrace
