#include "functions/output_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(OutputLines, JoinsPiecesIntoLines) {
  OutputAllowance left;
  OutputLines lines;
  EXPECT_THAT(lines.add("on", left), IsEmpty());
  EXPECT_THAT(lines.add("e\ntwo\r\n\n\nthr", left), ElementsAre("one", "two"));
  EXPECT_THAT(lines.finish(left), ElementsAre("thr"));
  EXPECT_THAT(lines.finish(left), IsEmpty());
}

TEST(OutputLines, ReplacesInvalidUtf8) {
  OutputAllowance left;
  OutputLines lines;
  EXPECT_THAT(lines.add("gr\xfc\xdf\x65\ngrüße\n", left), ElementsAre("gr??e", "grüße"));
  EXPECT_THAT(lines.add("\xe2\x82\n\xff\n", left), ElementsAre("??", "?"));
  const std::string full(kMaxOutputLine - 1, 'x');
  EXPECT_THAT(lines.add(full, left), IsEmpty());
  EXPECT_THAT(lines.add("ü\n", left), ElementsAre(full));
}

TEST(OutputLines, CutsALongLine) {
  OutputAllowance left;
  OutputLines lines;
  for (int i = 0; i < 100; ++i) EXPECT_THAT(lines.add(std::string(1000, 'x'), left), IsEmpty());
  EXPECT_THAT(lines.add("\nnext\n", left), ElementsAre(std::string(kMaxOutputLine, 'x'), "next"));
}

TEST(OutputLines, LimitsTheNumberOfLinesAndReportsThatThereWereMore) {
  OutputAllowance left;
  OutputLines first;
  OutputLines second;
  std::string text;
  for (size_t i = 0; i < kMaxOutputLines; ++i) text += "x\n";
  EXPECT_EQ(first.add(text, left).size(), kMaxOutputLines);
  EXPECT_THAT(second.add("y\nz\n", left), ElementsAre("(further output is left out)"));
  EXPECT_THAT(first.add("y\n", left), IsEmpty());
}

TEST(OutputLines, LimitsTheNumberOfBytesOfOutput) {
  OutputAllowance left;
  OutputLines lines;
  std::string full(kMaxOutputLine, 'x');
  full += '\n';
  size_t count = 0;
  for (int i = 0; i < 100; ++i) {
    for (const std::string& line : lines.add(full, left)) count += line.size();
  }
  EXPECT_LE(count, kMaxOutputBytes + 100);
  EXPECT_GE(count, kMaxOutputBytes);
}

}  // namespace
}  // namespace millrace
