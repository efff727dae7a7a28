// The lines of the log: quoted, bounded, and few of each kind.
#include "os/log_lines.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(LogLine, IsOneLineOfPrintableText) {
  struct Row {
    std::string text;
    std::string line;
  };
  const Row rows[] = {{"a plain message", "a plain message"},
                      {"Zürich → 東京 😀", "Zürich → 東京 😀"},
                      {"two\r\nlines\t.", "two\\r\\nlines\\t."},
                      {"\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"},
                      {std::string("a\0b\x7f", 4), "a\\x00b\\x7f"},
                      {"\xc2\x9b"
                       "31m",
                       "\\x9b31m"},
                      {"user\xe2\x80\xaetxt.exe", "user\\u202etxt.exe"},
                      {"\xff\xc3", "\\xff\\xc3"},
                      {"", ""}};
  for (const Row& row : rows) EXPECT_EQ(one_line(row.text, 1'000), row.line);
}

TEST(LogLine, IsCutBetweenTwoCharacters) {
  EXPECT_EQ(one_line("abcdef", 6), "abcdef");
  EXPECT_EQ(one_line("abcdef", 5), "abcde...");
  EXPECT_EQ(one_line("ab\xc3\xbc", 3), "ab...");
  EXPECT_EQ(one_line("ab\x01", 3), "ab...") << "an escape is not cut";
}

TEST(KindOfMessage, LeavesOutWhatDiffersBetweenMessages) {
  const auto kind = kind_of_message("message 17 of stream S on a.b.c (\"x y\") failed: no /etc.");
  EXPECT_EQ(kind, "message # of stream S on # # failed: no #");
  EXPECT_EQ(kind_of_message("subject `a b` of 12 answers"), "subject # of # answers");
  EXPECT_EQ(kind_of_message("an open \"quote"), "an open #");
  EXPECT_EQ(kind_of_message("events are read."), "events are read.");
  EXPECT_LE(kind_of_message(std::string(10'000, 'a')).size(), 103U);
}

class LogLinesTest : public testing::Test {
 protected:
  /// Adds that many messages of one kind; returns the lines.
  std::vector<std::string> add(size_t count, const std::string& begin = "answer") {
    std::vector<std::string> lines;
    for (size_t i = 0; i < count; ++i) {
      for (std::string& one : lines_.add(fmt::format("{} {} is stray", begin, i), now_)) {
        lines.push_back(std::move(one));
      }
    }
    return lines;
  }

  LogLines lines_;
  TimePoint now_ = from_millis(1'000'000);
};

TEST_F(LogLinesTest, AreFewForManyMessagesOfOneKind) {
  EXPECT_THAT(add(2'000), SizeIs(LogLines::kMostOfAKind));
  EXPECT_THAT(add(1, "event"), ElementsAre("event 0 is stray")) << "another kind";
  now_ += seconds(60);
  EXPECT_THAT(add(1), ElementsAre("1980 more messages like this were left out: answer # is stray",
                                  "answer 0 is stray"));
}

TEST_F(LogLinesTest, ReportTheNumberOfLeftOutMessagesWithAnyLaterMessageOrAtTheEnd) {
  add(25);
  EXPECT_THAT(lines_.rest(), ElementsAre(HasSubstr("5 more messages")));
  EXPECT_THAT(lines_.rest(), IsEmpty());
  add(3);
  now_ += seconds(61);
  EXPECT_THAT(add(1, "event"), ElementsAre(HasSubstr("3 more messages"), "event 0 is stray"));
}

TEST_F(LogLinesTest, NeverLeaveOutAnUrgentMessage) {
  add(100);
  EXPECT_THAT(lines_.add("answer 7 is stray", now_, true), ElementsAre("answer 7 is stray"));
}

TEST_F(LogLinesTest, TakeManyKindsAsOneKind) {
  size_t lines = 0;
  const auto word = [](size_t number) {
    std::string text;
    for (; number > 0; number /= 26) text += static_cast<char>('a' + number % 26);
    return text;
  };
  for (size_t i = 1; i <= 10'000; ++i) lines += lines_.add("an error: " + word(i), now_).size();
  EXPECT_EQ(lines, LogLines::kMostKinds + LogLines::kMostOfAKind);
  EXPECT_THAT(lines_.rest(), ElementsAre(HasSubstr("messages of other kinds")));
}

TEST_F(LogLinesTest, GoOnWhenTheClockIsSetBack) {
  add(100);
  now_ -= std::chrono::hours(1);
  EXPECT_THAT(add(1), ElementsAre(HasSubstr("80 more messages"), "answer 0 is stray"));
}

}  // namespace
}  // namespace millrace
