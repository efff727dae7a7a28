// The masks of secrets: in which forms a value is found, and what stays.
#include "orchestrator/service/secret_masks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/excerpt.h"
#include "matchers/pattern.h"
#include "orchestrator/service/decoded_text.h"
#include "tests/support/leaks.h"

namespace millrace {
namespace {

using testing::IsEmpty;

constexpr const char* kValue = "correct-horse:battery/staple+7";

std::string mask(const std::vector<std::string>& values, std::string_view text) {
  MaskBudget budget;
  return SecretMasks::make(values).value().mask_text(text, budget).value();
}
std::string mask(std::string_view text) { return mask({kValue}, text); }

TEST(SecretMasks, ReplaceAValueInEachForm) {
  struct Row {
    std::string text;
    std::string shown;
  };
  const std::string value = kValue;
  const Row rows[] = {
      {"nothing to mask", "nothing to mask"},
      {"", ""},
      {value, "***"},
      {"curl -H 'X: " + value + "' twice " + value + ".", "curl -H 'X: ***' twice ***."},
      {value + value, "***"},
      {"?key=correct-horse%3Abattery%2Fstaple%2B7&x=%41", "?key=***&x=%41"},
      {"?key=%63orrect-horse%3abattery/staple%2b7", "?key=***"},
      {R"({\"key\": \"correct-horse:battery\/staple+7\"})", R"({\"key\": \"***\"})"},
      {R"(correct\u002dhorse:battery\\\/staple+7)", "***"},
      {R"(\u0063orrect-horse:battery/staple\u002B7!)", "***!"},
      {R"(^(?:correct\-horse:battery\/staple\+7)$)", "^(?:***)$"},
      {R"x("pattern": "(?:correct\\-horse:battery\\/staple\\+7)")x", R"x("pattern": "(?:***)")x"},
      {"0x" + to_hex(std::string_view(value)) + "00", "0x***00"},
      {"636F72726563742D686F7273653A626174746572792F737461706C652B37", "***"},
      {"correct-horse:battery/staple-7", "correct-horse:battery/staple-7"},
  };
  for (const Row& row : rows) EXPECT_EQ(mask(row.text), row.shown);
}

TEST(SecretMasks, FindAValueThatIsQuotedInAPattern) {
  const std::string marks = R"(a^b$c\d.e*f+g?h(i)j[k]l{m}n|o/p-q)";
  EXPECT_EQ(mask({marks}, "^x" + quote_pattern(marks) + "-\\d+$"), "^x(?:***)-\\d+$");
}

TEST(SecretMasks, FindAValueInBase64WhereverItBegins) {
  for (const std::string before : {"", "a", "ab", "user:", "Bearer "}) {
    for (const std::string after : {"", "x", "xy", "\n"}) {
      const std::string digits = base64_encode(before + kValue + after);
      const std::string shown = mask("Basic " + digits + " end");
      EXPECT_THAT(shown, testing::HasSubstr("***")) << before << "|" << after;
      EXPECT_THAT(shown, testing::HasSubstr(" end"));
      EXPECT_LE(shown.size(), digits.size() - base64_encode(kValue).size() + 20);
      std::string for_urls = digits;
      for (char& byte : for_urls) byte = byte == '+' ? '-' : byte == '/' ? '_' : byte;
      EXPECT_THAT(mask(for_urls), testing::HasSubstr("***"));
    }
  }
}

TEST(SecretMasks, LeaveNoFormThatTheSearchForLeaksFinds) {
  const std::string value = "p\"a\\ss\n\xc3\xa4wort 7";
  const Json texts = {value,
                      "a " + value + " b",
                      base64_encode(value),
                      to_hex(std::string_view(value)),
                      {{value, value}},
                      dump_json(Json(value)),
                      dump_json(Json(dump_json(Json(value))))};
  MaskBudget budget;
  const auto shown = SecretMasks::make({value}).value().mask_json(texts, budget);
  ASSERT_TRUE(shown);
  EXPECT_THAT(leaks_in("shown", dump_json(*shown), value), IsEmpty()) << dump_json(*shown);
}

TEST(SecretMasks, MaskTheBeginOfAValueThatWasCut) {
  const std::string value = kValue;
  const size_t half = value.size() / 2;
  for (size_t size = half; size < value.size(); ++size) {
    const std::string begin = value.substr(0, size);
    EXPECT_EQ(mask("said " + begin), "said ***") << size;
    EXPECT_EQ(mask("\"" + begin + "...\" is no number"), "\"***...\" is no number") << size;
    EXPECT_EQ(mask(begin + " is longer"), begin + " is longer") << "this text is not cut";
  }
  const std::string less = value.substr(0, half - 1);
  EXPECT_EQ(mask(less), less) << "a mask would say that a guess at the begin is right";
  EXPECT_EQ(mask(excerpt("x " + value, 25)), "x ***...");
}

TEST(SecretMasks, MaskTheLinesAndTheJsonLeavesOfAValue) {
  const std::string key = "-----BEGIN KEY-----\r\nMIIEvQIBADAN\nab\n";
  EXPECT_EQ(mask({key}, "line MIIEvQIBADAN, ab"), "line ***, ab") << "a short line stays";
  const std::string login =
      R"({"user": "ann", "login": {"pass": "hunter22", "pin": 47110}, "on": true})";
  EXPECT_EQ(mask({login}, "ann:hunter22 47110 true"), "ann:*** *** true");
  EXPECT_EQ(mask({"token-1\n"}, "token-1!"), "***!") << "without the line break";
}

TEST(SecretMasks, MaskNamesAndNumbersInJson) {
  const auto masks = SecretMasks::make({"471100", "a-key-name"});
  MaskBudget budget;
  const Json data = Json::parse(
      R"({"n": 471100, "more": [4711001, 5, true, null], "a-key-name": {"x": "471100"}})");
  EXPECT_EQ(masks->mask_json(data, budget).value(),
            Json::parse(R"({"n": "***", "more": ["***", 5, true, null], "***": {"x": "***"}})"));
}

TEST(SecretMasks, AreNotMadeForValuesThatCannotBeMasked) {
  EXPECT_FALSE(SecretMasks::make({"long enough", "abc"}));
  EXPECT_TRUE(SecretMasks::make({"", "abcd"}));
  std::string lines;
  for (int i = 0; i < 5'000; ++i) lines += std::to_string(100'000 + i) + "\n";
  EXPECT_FALSE(SecretMasks::make({lines})) << "too many parts";
  EXPECT_EQ(mask({}, "any text"), "any text");
}

TEST(SecretMasks, GiveUpASearchThatTakesTooLong) {
  const std::string run(size_t{60} << 10, 'a');
  std::vector<std::string> values;
  for (char end = 'b'; end <= 'z'; ++end) values.push_back(run + end);
  const auto masks = SecretMasks::make(values);
  ASSERT_TRUE(masks);
  MaskBudget budget;
  EXPECT_EQ(masks->mask_text("a short text", budget), "a short text");
  EXPECT_FALSE(masks->mask_text(std::string(size_t{1} << 20, 'a'), budget));
  EXPECT_FALSE(masks->mask_text("a short text", budget)) << "the query has used up its budget";
}

TEST(DecodedText, KnowsThePlaceOfEachByteInTheOriginal) {
  const DecodedText plain("a%41+\\n");
  const DecodedText percents = plain.without_percents();
  EXPECT_EQ(percents.text(), "aA \\n");
  EXPECT_EQ(percents.origin(1), 1U);
  EXPECT_EQ(percents.origin(2), 4U);
  EXPECT_EQ(percents.origin(percents.text().size()), 7U);
  const DecodedText both = percents.without_escapes();
  EXPECT_EQ(both.text(), "aA \n");
  EXPECT_EQ(both.origin(3), 5U);
  EXPECT_EQ(both.origin(4), 7U);
}

TEST(DecodedText, LeavesWhatIsNoEscape) {
  for (const char* text : {"%", "%4", "%4g", "100% of"}) {
    EXPECT_EQ(DecodedText(text).without_percents().text(), text);
  }
  for (const char* text : {"\\", "\\x41", "\\u12", "\\ud83d", "\\u00g0", "\\d"}) {
    EXPECT_EQ(DecodedText(text).without_escapes().text(), text);
  }
  EXPECT_EQ(DecodedText("\\ud83d\\ude00\\u00e4").without_escapes().text(), "😀ä");
}

}  // namespace
}  // namespace millrace
