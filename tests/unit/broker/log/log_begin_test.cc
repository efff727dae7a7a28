#include "broker/log/log_begin.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/broker/log/log_makers.h"

namespace millrace {
namespace {

using testing::HasSubstr;

constexpr const char* kBody =
    R"({"address":"http://a:8780","behind":{"epoch":2,"incarnation":"00000000000000000000000000000009"},)"
    R"("node":"00000000000000000000000000000001","unclean":1,"version":"0.1.0"})";

LogBegin second_begin() {
  return {.node = incarnation_of(1),
          .address = "http://a:8780",
          .version = "0.1.0",
          .behind_epoch = 2,
          .behind_incarnation = incarnation_of(9),
          .unclean = 1};
}

TEST(LogBegin, IsAJsonObject) {
  EXPECT_EQ(encode_log_begin(second_begin()), kBody);
  EXPECT_EQ(decode_log_begin(kBody), second_begin());
  LogBegin with_base = second_begin();
  with_base.base = "s1";
  EXPECT_EQ(decode_log_begin(encode_log_begin(with_base)), with_base);
}

TEST(LogBegin, LeavesEpochsOutIfItContinuesALogThatHasLostSomething) {
  EXPECT_EQ(epoch_behind(0, false, 5), 5U);
  EXPECT_EQ(epoch_behind(0, true, 5), 5U) << "a cluster is founded";
  EXPECT_EQ(epoch_behind(7, false, 5), 8U);
  EXPECT_EQ(epoch_behind(7, true, 5), 7 + kLostEpochs);
}

TEST(LogBegin, MayHaveMembersOfLaterReleases) {
  std::string body = kBody;
  body.insert(1, R"("later":{"a":[1]},)");
  EXPECT_EQ(decode_log_begin(body), second_begin());
}

TEST(LogBegin, IsUnreadableInAnotherForm) {
  struct Row {
    const char* from;
    const char* to;
    const char* expected;
  };
  const std::vector<Row> rows = {
      {R"("0.1.0"})", R"("0.1.0")", "is not JSON"},
      {R"("unclean":1)", R"("unclean":-1)", "`unclean` that is not a whole number of at least 0"},
      {R"("unclean":1)", R"("unclean":"1")", "`unclean` that is not a whole number"},
      {R"("unclean":1)", R"("unclean":18446744073709551616)", "`unclean` that is not a whole"},
      {R"("unclean":1)", R"("uncl":1)", "has no member `unclean`"},
      {R"("address":"http://a:8780")", R"("address":null)", "`address` that is not a text"},
      {R"("version")", R"("base":1,"version")", "`base` that is not a text"},
      {"00000001", "0000001", "`node` that is not 32 lower-case hexadecimal digits"},
      {"00000009", "0000000A", "`incarnation` that is not 32 lower-case hexadecimal digits"},
      {R"("behind":{"epoch":2,"incarnation":"00000000000000000000000000000009"})", R"("behind":2)",
       "`behind` that is not an object"},
  };
  for (const Row& row : rows) {
    std::string body = kBody;
    const size_t at = body.find(row.from);
    ASSERT_NE(at, std::string::npos) << row.from;
    body.replace(at, std::string(row.from).size(), row.to);
    const auto begin = decode_log_begin(body);
    ASSERT_FALSE(begin) << body;
    EXPECT_EQ(begin.error().code, "log.unreadable");
    EXPECT_THAT(begin.error().message, HasSubstr(row.expected)) << body;
  }
  EXPECT_EQ(decode_log_begin("[]"),
            Result<LogBegin>(fail("log.unreadable", "the body of a begin is not an object")));
  EXPECT_EQ(decode_log_begin(std::string(16'385, ' ')),
            Result<LogBegin>(fail("log.unreadable",
                                  "the body of a begin has 16385 bytes; expected "
                                  "at most 16384")));
}

}  // namespace
}  // namespace millrace
