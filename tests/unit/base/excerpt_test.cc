#include "base/excerpt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/time.h"

namespace millrace {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Le;
using testing::SizeIs;
using testing::StartsWith;

TEST(Excerpt, ShowsAShortTextUnchanged) {
  EXPECT_EQ(excerpt(""), "");
  EXPECT_EQ(excerpt("order/7 \"x\""), "order/7 \"x\"");
  EXPECT_EQ(excerpt("Größe 1 µm, 漢字, 🙂"), "Größe 1 µm, 漢字, 🙂");
}

TEST(Excerpt, CutsALongTextAndMarksTheCut) {
  std::string cut(kExcerptBytes, '7');
  cut += "...";
  EXPECT_EQ(excerpt(std::string(5'000, '7')), cut);
  EXPECT_EQ(excerpt("abcdef", 6), "abcdef");
  EXPECT_EQ(excerpt("abcdef", 5), "abcde...");
}

TEST(Excerpt, CutsATextBetweenCharactersOnly) {
  for (size_t most = 0; most < 12; ++most) {
    const std::string cut = excerpt("aß漢🙂z", most);
    EXPECT_TRUE(is_utf8(cut)) << most;
    EXPECT_THAT(cut, testing::Not(HasSubstr("?"))) << most;
  }
}

TEST(Excerpt, ShowsControlCharactersAndInvalidUtf8AsQuestionMarks) {
  EXPECT_EQ(excerpt("a\nb\x7f"), "a?b?");
  EXPECT_EQ(excerpt("a\xff\xc3z"), "a??z");
}

TEST(Excerpt, KeepsTheLineBreaksOfAShortenedText) {
  EXPECT_EQ(shorten("one\ntwo\nthree", 7), "one\ntwo...");
}

TEST(Excerpt, LimitsTheLengthOfMessagesAboutMalformedJson) {
  const std::string digits(5'000, '9');
  const std::string word = '"' + std::string(5'000, 'a');
  const std::string mixed = digits + 'x';
  for (const std::string* const one : {&digits, &word, &mixed}) {
    const std::string& text = *one;
    const Result<Json> parsed = parse_json(text);
    ASSERT_FALSE(parsed) << text.substr(0, 10);
    EXPECT_THAT(parsed.error().message, SizeIs(Le(250U)));
    EXPECT_THAT(parsed.error().message, HasSubstr("..."));
  }
  EXPECT_THAT(parse_json(digits).error().message,
              testing::AllOf(StartsWith("number overflow parsing '9999"),
                             EndsWith("...'; expected a number of at most about 1.8e308")));
}

TEST(Excerpt, LimitsTheLengthOfMessagesAboutMalformedIdsAndTimes) {
  const std::string text(5'000, '7');
  EXPECT_THAT(parse_instance_id(text).error().message, SizeIs(Le(200U)));
  EXPECT_THAT(parse_rfc3339(text).error().message, SizeIs(Le(200U)));
}

}  // namespace
}  // namespace millrace
