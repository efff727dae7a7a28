// The verbs of `source`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

using testing::HasSubstr;

class SourceVerbs : public CliTest {};

TEST_F(SourceVerbs, ApplyListDescribePauseAndDelete) {
  EXPECT_THAT(run({"source", "list"}).err, HasSubstr("`millrace source apply ID"));
  EXPECT_EQ(run({"source", "apply", "orders", "--settings", R"({"stream": "ORDERS"})"}).code, 0);
  EXPECT_EQ(run({"source", "apply", "more", "--settings", "-"}, R"({"stream": "MORE"})").code, 0);
  EXPECT_EQ(run({"source", "list", "-o", "name"}).out, "more\norders\n");
  EXPECT_THAT(run({"source", "list"}).out, HasSubstr("LAG"));
  EXPECT_THAT(run({"source", "describe", "orders"}).out, HasSubstr("ORDERS"));
  EXPECT_EQ(run({"source", "pause", "orders"}).code, 0);
  EXPECT_THAT(run({"source", "describe", "orders", "-o", "json"}).out,
              HasSubstr(R"("paused": true)"));
  EXPECT_EQ(run({"source", "resume", "orders"}).code, 0);
  EXPECT_EQ(run({"source", "delete", "orders"}).code, 0);
  EXPECT_EQ(run({"source", "describe", "orders"}).code, 3);
}

TEST_F(SourceVerbs, ShowWhatTheNewestMessagesWouldDo) {
  const CommandOutput tried =
      run({"source", "try", "orders", "--settings", R"({"stream": "ORDERS"})"});
  EXPECT_EQ(tried.code, 0) << tried.err;
  EXPECT_THAT(tried.out, HasSubstr("order.placed"));
  EXPECT_THAT(tried.out, HasSubstr("started order"));
  EXPECT_THAT(tried.out,
              HasSubstr("nothing: no workflow listens for the type, but for order.placed"));
  EXPECT_EQ(run({"source", "try", "orders"}).code, 3) << "the source does not exist";
}

TEST_F(SourceVerbs, NeedSettings) {
  EXPECT_EQ(run({"source", "apply", "orders"}).code, 2);
  EXPECT_EQ(run({"source", "apply", "orders", "--settings", "{"}).code, 2);
  EXPECT_EQ(run({"source", "apply", "orders", "--settings", R"({"rate": 1})"}).code, 1);
}

}  // namespace
}  // namespace millrace
