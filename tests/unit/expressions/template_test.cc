#include "expressions/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

enum class Field { kLiteral, kCommand, kQuery };

Result<Template> read(Field field, const Json& value) {
  switch (field) {
    case Field::kLiteral:
      return Template::literal_or_jq(value, Template::Dot::kLiteral);
    case Field::kCommand:
      return Template::literal_or_jq(value, Template::Dot::kIdentity);
    case Field::kQuery:
      return Template::query(value);
  }
  return fail("test", "no such field");
}

std::vector<std::string> texts(const Template& of) {
  std::vector<std::string> all;
  for (const Program& program : of.programs()) all.push_back(program.text);
  return all;
}

TEST(Template, FindsItsProgramsAndInsertsTheirResults) {
  struct Row {
    Field field;
    Json value;
    std::vector<std::string> programs;
    std::vector<Json> results;
    Json assembled;
  };
  const Row rows[] = {
      // literals
      {Field::kLiteral, "hello", {}, {}, "hello"},
      {Field::kLiteral, "", {}, {}, ""},
      {Field::kLiteral, " .a ", {}, {}, " .a "},
      {Field::kLiteral, "jq (.a)", {}, {}, "jq (.a)"},
      {Field::kLiteral, 7, {}, {}, 7},
      {Field::kLiteral, nullptr, {}, {}, nullptr},
      {Field::kLiteral, {{"a", {1, "x"}}}, {}, {}, {{"a", {1, "x"}}}},
      {Field::kLiteral, ".", {}, {}, "."},
      // a value that is one program keeps the type of the result
      {Field::kLiteral, "jq(.a)", {".a"}, {{{"b", 1}}}, {{"b", 1}}},
      {Field::kLiteral, " \n jq(.a)\t", {".a"}, {7}, 7},
      {Field::kLiteral, "jq( .a )", {" .a "}, {"x"}, "x"},
      {Field::kLiteral, R"x(jq(.a | test(")")))x", {R"x(.a | test(")"))x"}, {true}, true},
      {Field::kLiteral, R"x(jq("\(.a + ")")"))x", {R"x("\(.a + ")")")x"}, {"x)"}, "x)"},
      {Field::kLiteral, "jq(.a # )\n)", {".a # )\n"}, {1}, 1},
      // in a text, strings are inserted without quotes, other values as compact JSON
      {Field::kLiteral, "id jq(.a)", {".a"}, {"x"}, "id x"},
      {Field::kLiteral, " jq(.a)!", {".a"}, {"x"}, " x!"},
      {Field::kLiteral, "xjq(.a)", {".a"}, {"x"}, "xx"},
      {Field::kLiteral, "jq(.a)jq(.b)", {".a", ".b"}, {"x", 2}, "x2"},
      {Field::kLiteral,
       "a jq(.a) b jq(.b) c",
       {".a", ".b"},
       {nullptr, {{"k", {1, "s"}}}},
       R"(a null b {"k":[1,"s"]} c)"},
      {Field::kLiteral, "jq(.a))", {".a"}, {"x"}, "x)"},
      // values of objects and elements of arrays may have programs, keys may not
      {Field::kLiteral,
       {{"b", "jq(.b)"}, {"a", {1, "n jq(.a)", "."}}, {"jq(.k)", true}},
       {".a", ".b"},
       {2, false},
       {{"b", false}, {"a", {1, "n 2", "."}}, {"jq(.k)", true}}},
      // in a jq command "." is the whole input
      {Field::kCommand, ".", {"."}, {{{"all", 1}}}, {{"all", 1}}},
      {Field::kCommand, ".a", {}, {}, ".a"},
      {Field::kCommand, {"."}, {}, {}, {"."}},
      // in a query a plain string is a program
      {Field::kQuery, ".", {"."}, {1}, 1},
      {Field::kQuery, ".x > 5", {".x > 5"}, {true}, true},
      {Field::kQuery, "jq(.x > 5)", {".x > 5"}, {true}, true},
      {Field::kQuery, "a jq(.x)", {".x"}, {1}, "a 1"},
      {Field::kQuery, {{"a", "jq(.x)"}, {"b", ".y"}}, {".x"}, {1}, {{"a", 1}, {"b", ".y"}}},
      {Field::kQuery, true, {}, {}, true},
  };
  for (const Row& row : rows) {
    const Result<Template> made = read(row.field, row.value);
    ASSERT_TRUE(made) << row.value << made.error().message;
    EXPECT_EQ(texts(*made), row.programs) << row.value;
    EXPECT_EQ(made->is_constant(), row.programs.empty()) << row.value;
    const std::vector<LazyJson> results(row.results.begin(), row.results.end());
    EXPECT_EQ(made->assemble(results).text(), dump_json(row.assembled)) << row.value;
  }
}

TEST(Template, InsertsLargeResultsIntoTheTextThatATreeWouldHave) {
  const std::string quotes(kLargeJson, '"');
  struct Row {
    Json value;
    std::vector<Json> results;
    Json assembled;
  };
  const Row rows[] = {
      {"jq(.a)", {quotes}, quotes},
      {"<jq(.a)|jq(.b)>", {quotes, 1}, "<" + quotes + "|1>"},
      {"<jq(.a)>", {Json::array({quotes})}, "<" + dump_json(Json::array({quotes})) + ">"},
      {{{"b\"", {1, "jq(.a)", {{"c", "\n"}}}}, {"a", "x jq(.b)"}, {"e", Json::object()}},
       {2, {{"k", quotes}}},
       {{"a", "x 2"}, {"b\"", {1, {{"k", quotes}}, {{"c", "\n"}}}}, {"e", Json::object()}}},
  };
  for (const Row& row : rows) {
    const Result<Template> made = read(Field::kLiteral, row.value);
    ASSERT_TRUE(made) << row.value << made.error().message;
    const std::vector<LazyJson> trees(row.results.begin(), row.results.end());
    EXPECT_EQ(made->assemble(trees).text(), dump_json(row.assembled)) << row.value;
    std::vector<LazyJson> texts;
    for (const Json& result : row.results) texts.push_back(LazyJson::of_text(dump_json(result)));
    EXPECT_EQ(made->assemble(texts).text(), dump_json(row.assembled)) << row.value;
  }
}

TEST(Template, ReportsWhereAProgramIsWrong) {
  struct Row {
    Field field;
    Json value;
    std::string_view code;
    std::string_view message;
  };
  const Row rows[] = {
      {Field::kLiteral, "id jq(.a", "jq.unterminated",
       "the `jq(` at column 4 has no closing parenthesis; write `)` after the query"},
      {Field::kLiteral, R"(jq(".a))", "jq.unterminated",
       "the `jq(` at column 1 has no closing parenthesis; write `)` after the query"},
      {Field::kLiteral, "jq(.a # )", "jq.unterminated",
       "the `jq(` at column 1 has no closing parenthesis; write `)` after the query"},
      {Field::kLiteral,
       {{"k", {"jq(.a) jq("}}},
       "jq.unterminated",
       "the `jq(` at column 8 has no closing parenthesis; write `)` after the query"},
      {Field::kLiteral, "jq(.a])", "jq.unbalanced",
       "the `]` at column 6 has no matching opening bracket in the `jq(` at column 1"},
      {Field::kLiteral, "jq((.a])", "jq.unbalanced",
       "the `(` at column 4 is not closed; write `)` before the `]` at column 7"},
      {Field::kLiteral, "jq([.a)", "jq.unbalanced",
       "the `[` at column 4 is not closed; write `]` before the `)` at column 7"},
      {Field::kLiteral, "jq()", "jq.empty",
       "the jq program is empty; `.` stands for the whole input"},
      {Field::kQuery, "", "jq.empty", "the jq program is empty; `.` stands for the whole input"},
      {Field::kQuery, ".a)", "jq.unbalanced",
       "the `)` at column 3 of the jq program has no matching opening bracket; remove it, or write "
       "the opening bracket"},
      {Field::kLiteral, "jq(" + std::string(4097, '1') + ")", "jq.too_long",
       "the jq program has 4097 bytes, the limit is 4096"},
  };
  for (const Row& row : rows) {
    const Result<Template> made = read(row.field, row.value);
    ASSERT_FALSE(made) << row.value;
    EXPECT_EQ(made.error().code, row.code) << row.value;
    EXPECT_EQ(made.error().message, row.message) << row.value;
  }
}

TEST(Template, ReturnsItsProgramIfTheWholeTemplateIsOneProgram) {
  EXPECT_EQ(read(Field::kLiteral, " jq(.a) ")->whole()->text, ".a");
  EXPECT_EQ(read(Field::kQuery, ".a")->whole()->text, ".a");
  EXPECT_EQ(read(Field::kLiteral, "x jq(.a)")->whole(), nullptr);
  EXPECT_EQ(read(Field::kLiteral, {"jq(.a)"})->whole(), nullptr);
  EXPECT_EQ(read(Field::kLiteral, "x")->whole(), nullptr);
}

TEST(Template, SplitsAStringIntoTextsAndPrograms) {
  using Part = Template::Part;
  EXPECT_THAT(
      read(Field::kLiteral, "^a jq(.a)jq(.b)$")->parts(),
      ElementsAre(Part{"^a ", std::nullopt}, Part{"", 0}, Part{"", 1}, Part{"$", std::nullopt}));
  EXPECT_THAT(read(Field::kLiteral, "jq(.a)")->parts(), ElementsAre(Part{"", 0}));
  EXPECT_THAT(read(Field::kLiteral, "a")->parts(), ElementsAre(Part{"a", std::nullopt}));
  EXPECT_THAT(read(Field::kLiteral, {"jq(.a)"})->parts(), IsEmpty());
  EXPECT_THAT(read(Field::kLiteral, 7)->parts(), IsEmpty());
}

TEST(Template, CompilesAProgramForTheFastLaneIfPossible) {
  EXPECT_NE(read(Field::kLiteral, "jq(.a)")->programs()[0].fast, nullptr);
  EXPECT_EQ(read(Field::kLiteral, "jq(.a | keys)")->programs()[0].fast, nullptr);
}

TEST(Template, IsNullByDefault) {
  EXPECT_TRUE(Template().is_constant());
  EXPECT_TRUE(Template().assemble({}).is_null());
}

}  // namespace
}  // namespace millrace
