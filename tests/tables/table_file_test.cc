#include "tests/tables/table_file.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

constexpr std::string_view kTable = R"(workflow:
  id: w
  states:
  - {id: wait, type: consumeEvent, event: {type: t}}

case: first
input: {"a":1}
  0s | enter | wait | waiting | listens [0] t

case after enter: second
  1s | event t | wait | complete | data {"a":1,"t":null}
)";

std::vector<TableCase> parsed(std::string_view text) {
  const auto cases = parse_table("x.table", text);
  EXPECT_TRUE(cases) << cases.error().message;
  return cases.value_or(std::vector<TableCase>());
}

std::string error_of(std::string_view text) {
  const auto cases = parse_table("x.table", text);
  return cases ? "" : cases.error().message;
}

TEST(TableFile, CopiesTheInputAndTheFirstRowOfTheCaseAboveIntoACaseAfterEnter) {
  const auto cases = parsed(kTable);
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[1].input, Json({{"a", 1}}));
  ASSERT_EQ(cases[1].rows.size(), 2u);
  EXPECT_TRUE(cases[1].rows[0].is_inherited);
  EXPECT_EQ(cases[1].rows[0].row.input, "enter");
  EXPECT_THAT(cases[1].rows[0].row.does, ElementsAre("listens [0] t"));
  EXPECT_EQ(cases[1].rows[1].row.input, "event t");
  EXPECT_EQ(replace_rows(kTable, cases[1], cases[1].rows), kTable)
      << "an inherited row is not written";
}

TEST(TableFile, RefusesACaseAfterEnterIfNoCaseAboveItEnters) {
  const std::string workflow = "workflow:\n  id: w\n";
  EXPECT_THAT(error_of(workflow + "case after enter: a\n"),
              HasSubstr("x.table:3: above it there is no"));
  EXPECT_THAT(error_of(workflow + "case: a\n  0s | load\ncase after enter: b\n"),
              HasSubstr("x.table:5: above it there is no"));
  EXPECT_THAT(error_of(std::string(kTable) + "workflow:\n  id: v\ncase after enter: c\n"),
              HasSubstr("above it there is no"));
  EXPECT_THAT(error_of(workflow + "case: a\n  0s | enter\ncase after enter: b\ninput: {}\n"),
              HasSubstr("x.table:6: `input:` stands right behind"));
}

TEST(TableFile, FoldsAWideRowOfACaseAndReadsTheRowAgain) {
  const std::string word(70, 'x');
  const std::string text = word + " " + word + " " + word;
  auto cases = parsed(kTable);
  cases[0].rows[0].row.does = {text, "-"};
  const std::string written = replace_rows(kTable, cases[0], cases[0].rows);
  EXPECT_THAT(written, HasSubstr("\n  0s | enter | wait | waiting\n     => " + word + " " + word +
                                 "\n     .. " + word + "\n     => -\n"));
  const auto again = parsed(written);
  ASSERT_EQ(again.size(), 2u);
  EXPECT_THAT(again[0].rows[0].row.does, ElementsAre(text, "-"));
  EXPECT_THAT(again[1].rows[0].row.does, ElementsAre(text, "-"));
}

TEST(TableFile, RefusesACommandThatNoOperatorHas) {
  constexpr std::string_view workflow = "workflow:\n  id: w\n  states: [{id: a, type: noop}]\n";
  for (const char* const input : {"command stop", "command rerun b {}"}) {
    const auto cases =
        parsed(std::string(workflow) + "case: a\n  0s | enter\n  0s | " + input + "\n");
    ASSERT_EQ(cases.size(), 1u);
    const auto played = run_case(cases[0]);
    ASSERT_FALSE(played) << input;
    EXPECT_THAT(played.error().message, HasSubstr("x.table:6: ")) << input;
  }
}

TEST(TableFile, RefusesAContinuationLineWithoutARowAboveThatLine) {
  const std::string workflow = "workflow:\n  id: w\ncase: a\n";
  EXPECT_THAT(error_of(workflow + "  => x\n"), EndsWith("there is no row above it"));
  EXPECT_THAT(error_of(workflow + "  .. x\n"), EndsWith("there is no row above it"));
}

}  // namespace
}  // namespace millrace
