// What a transform was given, read from its result.
#include "orchestrator/made_scenario/member_before.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

std::string text_of(const std::optional<Json>& found) {
  return found ? dump_json(*found) : "not shown";
}

TEST(MemberBefore, IsReadFromTheResultOfAProgram) {
  struct Row {
    const char* program;
    const char* after;
    const char* member;
  };
  const Row rows[] = {
      {".", R"({"id":1,"return":{"a":2}})", R"({"a":2})"},
      {".", R"({"id":1})", "not shown"},
      {".return", R"([1,2])", "[1,2]"},
      {" .return.receipt ", R"("r-1")", R"({"receipt":"r-1"})"},
      {R"(.["return"].a)", "1", R"({"a":1})"},
      {R"(.return["a"])", "1", R"({"a":1})"},
      {"{id, receipt: .return.receipt}", R"({"id":1,"receipt":"r-1"})", R"({"receipt":"r-1"})"},
      {"{return}", R"({"return":7})", "7"},
      {R"({"a b": .return.a, c: {d: .return.e}})", R"({"a b":1,"c":{"d":2}})", R"({"a":1,"e":2})"},
      {"{all: .return, one: .return.a}", R"({"all":{"a":1,"b":2},"one":1})", R"({"a":1,"b":2})"},
      {"{one: .return.a, all: .return}", R"({"all":{"a":1,"b":2},"one":1})", R"({"a":1,"b":2})"},
      {"{id: .id, n: (.n + 1.5)}", R"({"id":1,"n":2.5})", "null"},
      {"del(.return)", R"({"id":1})", "null"},
      {"{total: (.return.price + 1)}", R"({"total":4})", "not shown"},
      {"{id: .id, all: (. | length)}", R"({"id":1,"all":2})", "not shown"},
      {"[.return[].price] | add", "7", "not shown"},
      {". + {a: 1}", R"({"a":1,"return":2})", "not shown"},
      {"{a: 1} | {b: .return}", R"({"b":null})", "not shown"},
      {"{a: .return} # }", R"({"a":1})", "not shown"},
      {"{(.key): .return}", R"({"a":1})", "not shown"},
      {"{a: .return, b: .other}", R"({"b":1})", "not shown"},
  };
  for (const Row& row : rows) {
    const Transformed transformed{.after = Json::parse(row.after), .member = "return"};
    EXPECT_EQ(text_of(member_by_program(row.program, transformed)), row.member) << row.program;
  }
}

TEST(MemberBefore, IsReadFromAValueWithPrograms) {
  const Json transform =
      Json::parse(R"j({"id":"jq(.id)","got":"jq(.return.a)","list":["x","jq(.return.b)"],"n":1})j");
  const Json after = Json::parse(R"({"id":3,"got":1,"list":["x",{"c":2}],"n":1})");
  EXPECT_EQ(text_of(member_by_value(transform, {.after = after, .member = "return"})),
            R"({"a":1,"b":{"c":2}})");
  const Json text = {{"says", "it is jq(.return)"}};
  EXPECT_EQ(text_of(member_by_value(text, {.after = {{"says", "it is 3"}}, .member = "return"})),
            "not shown");
  const Json other = {{"says", "it is jq(.id)"}};
  EXPECT_EQ(text_of(member_by_value(other, {.after = {{"says", "it is 3"}}, .member = "return"})),
            "null");
}

TEST(MemberBefore, IsNotReadFromAMemberThatMayHaveChangedSince) {
  const Json after = {{"error", 1}, {"id", 2}};
  const Transformed changed{.after = after, .later = {"error"}, .member = "return"};
  EXPECT_EQ(text_of(member_by_program("{error: .return, id: .id}", changed)), "not shown");
  EXPECT_EQ(text_of(member_by_program("{id: .return}", changed)), "2");
  const Transformed itself{.after = {{"return", 1}}, .later = {"return"}, .member = "return"};
  EXPECT_EQ(text_of(member_by_program(".", itself)), "not shown");
}

}  // namespace
}  // namespace millrace
