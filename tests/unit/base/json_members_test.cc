// Several members that are added to the text of an object at once, as one after the other in a
// tree.
#include "base/json_members.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"

namespace millrace {
namespace {

TEST(JsonMembers, AreAddedToATextAsToATree) {
  const std::vector<Json> objects = {
      Json::object(), {{"b", 1}}, {{"a", {1, 2}}, {"c", "}"}, {"x", nullptr}}};
  const std::vector<std::vector<JsonTextMember>> all = {
      {},
      {{"a", "1"}},
      {{"a", "1"}, {"b", "{}"}, {"c", "[3]"}},
      {{"", "0"}, {"aa", "1"}, {"ab", "2"}, {"y", "3"}, {"z\"", "4"}},
      {{"b", "7"}, {"x", "\"y\""}, {"y", "8"}}};
  for (const Json& object : objects) {
    for (const std::vector<JsonTextMember>& members : all) {
      Json expected = object;
      for (const auto& [name, value] : members) {
        expected[std::string(name)] = parse_json(value).value();
      }
      EXPECT_EQ(text_with(dump_json(object), members), dump_json(expected));
    }
  }
}

TEST(JsonMembers, KeepTheFormOfTheRestOfTheText) {
  const std::vector<JsonTextMember> members = {{"a", "5"}, {"m", "6"}, {"n", "7"}};
  EXPECT_EQ(text_with(R"({ "z" : 1 , "a":2, "\u0061": 3 })", members),
            R"({ "m":6,"n":7,"z" : 1 , "a":2, "\u0061": 5 })");
  EXPECT_EQ(text_with("{ }", members), R"({ "a":5,"m":6,"n":7})");
}

}  // namespace
}  // namespace millrace
