#include "base/lazy_json.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/big_integer.h"

namespace millrace {
namespace {

TEST(LazyJson, ReturnsItsTextUnchangedAndTheValueOfTheText) {
  const LazyJson lazy = LazyJson::of_text(R"({"b":1,"a":[2]})");
  EXPECT_EQ(lazy.text(), R"({"b":1,"a":[2]})") << "the text is unchanged";
  EXPECT_EQ(lazy.value(), Json({{"a", {2}}, {"b", 1}}));
}

TEST(LazyJson, LeavesItsCopiesUnchangedWhenItIsEdited) {
  LazyJson one = {{"a", 1}};
  const LazyJson other = one;
  one.edit()["a"] = 2;
  EXPECT_EQ(one.text(), R"({"a":2})");
  EXPECT_EQ(other.text(), R"({"a":1})");
}

TEST(LazyJson, IsEditedInPlaceIfItsCopiesHaveNoTree) {
  LazyJson one = LazyJson::of_stored(R"({"a":1})").value();
  const Json* const tree = &one.value();
  const LazyJson before = one.without_tree();
  one.edit()["a"] = 2;
  EXPECT_EQ(&one.value(), tree);
  EXPECT_EQ(before.text(), R"({"a":1})");
  EXPECT_EQ(before.value(), Json({{"a", 1}}));
  const LazyJson without_text = one.without_tree();
  EXPECT_EQ(&without_text.value(), tree) << "the tree is all that it has";
}

TEST(LazyJson, AcceptsMoreLevelsOfNestingThanJsonFromOutsideMayHave) {
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  EXPECT_TRUE(nests_deeper(LazyJson::of_text(deep).value(), 199));
  EXPECT_FALSE(nests_deeper(LazyJson::of_text(deep).value(), 200));
}

TEST(LazyJson, ReadsAStringOfATextWithWhiteSpaceAroundIt) {
  EXPECT_EQ(LazyJson::of_checked_text(" \"a\\u0062\"\n").string(), "ab");
  EXPECT_EQ(LazyJson::of_checked_text("\t\"\" ").string(), "");
  const std::string large(kLargeJson, 'x');
  EXPECT_EQ(LazyJson::of_bytes(" \"" + large + "\" ").string(), large);
}

// Large values. Each operation on a text gives the text that the same operation on the tree gives.

Json big_text() { return std::string(kLargeJson, 'x'); }

/// Values with odd keys, escapes, large integers, and empty and nested parts; each is also made
/// large by a member or element that is a long string.
std::vector<Json> objects() {
  std::vector<Json> all = {
      Json::object(),
      {{"a", 1}},
      {{"b", 1}, {"d", {{"e", Json::array()}}}},
      {{"", 0}, {"a\"b", "\"}"}, {"a\\", "\\"}, {"c\n", "{[,:"}, {"\x01", nullptr}, {"é", "€😀"}},
      {{"big", *parse_json("123456789012345678901234567890")}, {"n", -1.5e300}, {"u", UINT64_MAX}},
      {{"a", {1, {{"b", {2, "]"}}}, Json::object()}}, {"z", true}},
  };
  for (size_t i = 0, count = all.size(); i < count; ++i) {
    Json large = all[i];
    large["b"] = big_text();
    all.push_back(std::move(large));
  }
  return all;
}

TEST(LazyJson, IsLargeIfItsTextHasMoreThan64Kilobytes) {
  const std::string most(kLargeJson - 2, 'x');
  EXPECT_FALSE(LazyJson(Json(most)).is_large());
  EXPECT_TRUE(LazyJson(Json(most + "x")).is_large());
  EXPECT_FALSE(LazyJson::of_text("\"" + most + "\"").is_large());
  EXPECT_TRUE(LazyJson::of_text("\"" + most + "x\"").is_large());
  // Escapes count, whether the value has a text or not.
  const Json escaped = std::string(kLargeJson / 4, '\x01');
  EXPECT_TRUE(LazyJson(escaped).is_large());
  EXPECT_TRUE(LazyJson::of_text(dump_json(escaped)).is_large());
  EXPECT_FALSE(LazyJson().is_large());
  EXPECT_FALSE(LazyJson(Json::array()).is_large());
}

TEST(LazyJson, EstimatesTheSizeOfItsTextToASixth) {
  std::vector<Json> values = objects();
  for (const Json& value : {Json(), Json(true), Json(1e-300), Json(std::string(100, '\x02')),
                            *parse_json("9" + std::string(307, '1')), Json{1, 2, 3}}) {
    values.push_back(value);
  }
  for (const Json& value : values) {
    const LazyJson tree(value);
    EXPECT_LE(tree.text().size(), 6 * LazyJson(value).weight()) << value;
    EXPECT_EQ(tree.weight(), tree.text().size()) << value;
  }
}

TEST(LazyJson, SetsAMemberOfATextAsOfATree) {
  const std::vector<Json> members = {1, nullptr, Json::object(), "\"\n", {{"b", {1}}}, big_text()};
  for (const Json& object : objects()) {
    for (const char* key : {"", "a", "a\"b", "a\\", "b", "c", "c\n", "\x01", "é", "zz"}) {
      for (const Json& member : members) {
        Json expected = object;
        expected[key] = member;
        LazyJson of_tree(object);
        of_tree.set(key, member);
        EXPECT_EQ(of_tree.text(), dump_json(expected)) << key;
        LazyJson of_text = LazyJson::of_text(dump_json(object));
        of_text.set(key, LazyJson::of_text(dump_json(member)));
        EXPECT_EQ(of_text.text(), dump_json(expected)) << key;
        EXPECT_TRUE(of_text.has_member(key)) << key;
      }
    }
  }
}

TEST(LazyJson, SaysWhetherAnObjectHasAMember) {
  for (const Json& object : objects()) {
    for (const char* key : {"", "a", "a\"b", "b", "c", "e", "\x01"}) {
      EXPECT_EQ(LazyJson(object).has_member(key), object.contains(key)) << key;
      EXPECT_EQ(LazyJson::of_text(dump_json(object)).has_member(key), object.contains(key)) << key;
    }
  }
}

TEST(LazyJson, SetsAMemberOfATextInAnotherForm) {
  const std::string text = "{ \"z\" : 1 ,\n \"\\u0061\" : [ 2 ] }";
  LazyJson json = LazyJson::of_text(text);
  json.set("m", big_text());
  EXPECT_EQ(json.value(), Json({{"a", {2}}, {"m", big_text()}, {"z", 1}}));
  json.set("a", Json(3));
  EXPECT_EQ(json.value(), Json({{"a", 3}, {"m", big_text()}, {"z", 1}}));
}

TEST(LazyJson, SetsTheMemberThatCountsIfSeveralHaveItsName) {
  for (const char* const text : {R"({"a":1,"a":2})", R"({"a":1,"b":{"a":3},"\u0061":2,"c":4})"}) {
    LazyJson json = LazyJson::of_text(text);
    Json expected = json.value();
    ASSERT_EQ(expected["a"], 2);
    json = LazyJson::of_text(text);
    json.set("m", big_text());
    json.set("a", Json(5));
    expected["a"] = 5;
    expected["m"] = big_text();
    EXPECT_EQ(json.value(), expected) << text;
  }
}

TEST(LazyJson, LeavesItsCopiesUnchangedWhenAMemberIsSet) {
  for (const Json& member : {Json(2), big_text()}) {
    LazyJson one = {{"a", 1}};
    const LazyJson other = one;
    const LazyJson part = one.part(one.value()["a"]);
    one.set("a", member);
    EXPECT_EQ(one.value()["a"], member);
    EXPECT_EQ(other.text(), R"({"a":1})");
    EXPECT_EQ(part.text(), "1");
  }
}

TEST(LazyJson, SharesItsTreeWithItsParts) {
  const LazyJson whole = {{"a", {{"b", 1}}}};
  LazyJson part = whole.part(whole.value()["a"]);
  EXPECT_EQ(&part.value(), &whole.value()["a"]);
  part.edit()["b"] = 2;
  EXPECT_EQ(part.text(), R"({"b":2})");
  EXPECT_EQ(whole.text(), R"({"a":{"b":1}})");
}

TEST(LazyJson, JoinsMembersAndElementsAsATreeDoes) {
  const std::vector<Json> values = objects();
  for (size_t i = 0; i + 2 < values.size(); ++i) {
    const std::vector<LazyJson> elements(values.begin() + static_cast<std::ptrdiff_t>(i),
                                         values.begin() + static_cast<std::ptrdiff_t>(i + 2));
    EXPECT_EQ(LazyJson::of_elements(elements).text(), dump_json({values[i], values[i + 1]}));
    EXPECT_EQ(LazyJson::of_members({{"b\n", elements[0]}, {"a\"", elements[1]}}).text(),
              dump_json({{"b\n", values[i]}, {"a\"", values[i + 1]}}));
  }
  EXPECT_EQ(LazyJson::of_elements({}).text(), "[]");
  EXPECT_EQ(LazyJson::of_members({}).text(), "{}");
}

TEST(LazyJson, JoinsValuesByPointersAsItJoinsElements) {
  for (const Json& value : {Json(1), big_text()}) {
    const std::vector<LazyJson> elements = {value, LazyJson(), LazyJson::of_text("[2]")};
    const std::vector<const LazyJson*> pointers = {&elements[0], &elements[1], &elements[2]};
    EXPECT_EQ(LazyJson::of_pointers(pointers).text(), LazyJson::of_elements(elements).text());
    EXPECT_EQ(LazyJson::of_pointers(pointers).text(), dump_json({value, nullptr, {2}}));
  }
  EXPECT_EQ(LazyJson::of_pointers({}).text(), "[]");
}

TEST(LazyJson, SharesOneTextAmongDefaultValues) {
  EXPECT_EQ(LazyJson().text(), "null");
  EXPECT_EQ(LazyJson().shared_text(), LazyJson().shared_text());
  EXPECT_TRUE(LazyJson().value().is_null());
}

TEST(LazyJson, SplitsAnArrayIntoItsElements) {
  for (const Json& last : {Json(1), big_text()}) {
    Json array = objects();
    array.push_back("],");
    array.push_back(last);
    for (const LazyJson& whole : {LazyJson(array), LazyJson::of_text(dump_json(array))}) {
      EXPECT_EQ(whole.size(), array.size());
      const std::vector<LazyJson> elements = whole.elements();
      ASSERT_EQ(elements.size(), array.size());
      for (size_t i = 0; i < array.size(); ++i) {
        EXPECT_EQ(elements[i].text(), dump_json(array[i]));
      }
    }
  }
  EXPECT_TRUE(LazyJson(Json::array()).elements().empty());
}

TEST(LazyJson, NamesItsTypeWithoutATree) {
  for (const char* text : {"null", "true", "false", "0", "-1", "1.5", "\"a\"", "[]", "{}",
                           "123456789012345678901234567890"}) {
    const Json tree = *parse_json(text);
    for (const LazyJson& json : {LazyJson(tree), LazyJson::of_text(text)}) {
      EXPECT_EQ(std::string(json.type_name()), type_name_of(tree)) << text;
      EXPECT_EQ(json.is_null(), tree.is_null()) << text;
      EXPECT_EQ(json.is_string(), tree.is_string()) << text;
      EXPECT_EQ(json.is_array(), tree.is_array()) << text;
      EXPECT_EQ(json.is_object(), tree.is_object()) << text;
    }
  }
  EXPECT_TRUE(LazyJson().is_null());
  EXPECT_TRUE(LazyJson::of_text(" [1]").is_array());
}

TEST(LazyJson, GivesTheCharactersOfAString) {
  for (const std::string& characters :
       {std::string(), std::string("a\"\\\n\x01é€😀"), std::string(kLargeJson, '\n')}) {
    EXPECT_EQ(LazyJson(Json(characters)).string(), characters);
    EXPECT_EQ(LazyJson::of_text(dump_json(characters)).string(), characters);
  }
}

TEST(LazyJson, MeasuresHowDeepALargeTextNests) {
  const std::string deep = std::string(10, '[') + dump_json(big_text()) + std::string(10, ']');
  EXPECT_TRUE(LazyJson::of_text(deep).nests_deeper(9));
  EXPECT_FALSE(LazyJson::of_text(deep).nests_deeper(10));
  EXPECT_TRUE(LazyJson::of_text("[[1]]").nests_deeper(1));
  EXPECT_FALSE(LazyJson(Json{1}).nests_deeper(1));
}

TEST(LazyJson, DoesNotSearchALargeTextForItsDepthThatWasChecked) {
  const std::string deep = std::string(200, '[') + dump_json(big_text()) + std::string(200, ']');
  EXPECT_TRUE(LazyJson::of_text(deep).nests_deeper(kMaxJsonDepth));
  // The text does not fulfil the precondition; the answer shows that it is not read.
  LazyJson checked = LazyJson::of_checked_text(deep);
  EXPECT_FALSE(checked.nests_deeper(kMaxJsonDepth));
  EXPECT_FALSE(checked.without_tree().nests_deeper(kMaxJsonDepth));
  EXPECT_TRUE(checked.nests_deeper(kMaxJsonDepth - 1)) << "this was not checked";
  checked.edit();
  EXPECT_TRUE(checked.nests_deeper(kMaxJsonDepth)) << "it may have changed";
  EXPECT_TRUE(LazyJson::of_tree(LazyJson::of_text(deep).value()).nests_deeper(kMaxJsonDepth));
  EXPECT_FALSE(LazyJson::of_tree(big_text()).nests_deeper(kMaxJsonDepth));
}

TEST(LazyJson, ReadsBytesFromOutsideAsJsonOrAsBase64) {
  EXPECT_EQ(LazyJson::of_bytes(" [ 1 ]").text(), "[1]");
  EXPECT_EQ(LazyJson::of_bytes("hello").text(), R"("aGVsbG8=")");
  EXPECT_EQ(LazyJson::of_bytes("").text(), R"("")");
  const std::string json = "[ " + dump_json(big_text()) + " ]";
  EXPECT_EQ(LazyJson::of_bytes(json).text(), json) << "a large text is not written again";
  const LazyJson other = LazyJson::of_bytes(std::string(kLargeJson + 1, '\xff'));
  EXPECT_TRUE(other.is_string());
  EXPECT_EQ(other.text().substr(0, 5), "\"////");
}

}  // namespace
}  // namespace millrace
