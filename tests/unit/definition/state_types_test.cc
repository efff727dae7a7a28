// StateTypes: each state type is in the grammar, in docs/language.md and in the tables of test
// cases.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "language/grammar.h"
#include "states/state.h"
#include "tests/unit/definition/corpus.h"

namespace millrace {
namespace {

TEST(StateTypes, AreAllInTheGrammar) {
  for (const StateType* type : state_types()) {
    const Mapping* const table = state_grammar().kind(type->name);
    ASSERT_NE(table, nullptr) << type->name;
    EXPECT_EQ(table->types[0], type->name);
    EXPECT_EQ(find_state_type(type->name), type);
  }
  EXPECT_EQ(find_state_type("eventsXor"), find_state_type("eventXor"));
  EXPECT_EQ(find_state_type("Noop"), nullptr);
}

TEST(StateTypes, HaveATableOfTestCasesAndARowInTheLanguageReference) {
  const std::string common = read_text_file("tests/tables/common.table");
  const std::string reference = read_text_file("docs/language.md");
  for (const StateType* type : state_types()) {
    const std::string name(type->name);
    EXPECT_TRUE(std::filesystem::exists("tests/tables/" + name + ".table")) << name;
    EXPECT_NE(common.find("type: " + name + "\n"), std::string::npos)
        << "tests/tables/common.table has no state of type " << name;
    EXPECT_NE(reference.find("| [" + name + "](#"), std::string::npos)
        << "the table of state types in docs/language.md has no " << name;
  }
}

}  // namespace
}  // namespace millrace
