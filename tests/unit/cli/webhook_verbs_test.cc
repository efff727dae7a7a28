// The verbs of `webhook`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::Not;

class WebhookVerbs : public CliTest {
 protected:
  void set_one() {
    ASSERT_EQ(run({"namespace", "create", "default", "--settings",
                   R"({"lifecycle": true, "hooks": {"git": {"verify": {"form": "github",
                       "secrets": ["key"]}, "mapping": {"type": "push"}}}})"})
                  .code,
              0);
  }
};

TEST_F(WebhookVerbs, ListDescribePauseAndDelete) {
  EXPECT_THAT(run({"webhook", "list"}).err, HasSubstr("no inbound webhooks"));
  set_one();
  EXPECT_EQ(run({"webhook", "list", "-o", "name"}).out, "git\n");
  EXPECT_THAT(run({"webhook", "list"}).out, HasSubstr("REFUSED"));
  EXPECT_THAT(run({"webhook", "describe", "git"}).out, HasSubstr("no secret fits the signature"));
  EXPECT_EQ(run({"webhook", "pause", "git"}).code, 0);
  EXPECT_THAT(run({"webhook", "describe", "git", "-o", "json"}).out,
              HasSubstr(R"("paused": true)"));
  EXPECT_EQ(run({"webhook", "resume", "git"}).code, 0);
  EXPECT_THAT(run({"webhook", "describe", "git", "-o", "json"}).out,
              Not(HasSubstr(R"("paused": true)")));
  EXPECT_EQ(run({"webhook", "delete", "git"}).code, 0);
  EXPECT_THAT(run({"namespace", "get", "default", "-o", "json"}).out, HasSubstr("lifecycle"))
      << "the other settings stay";
}

TEST_F(WebhookVerbs, ReportAnInboundWebhookThatDoesNotExist) {
  for (const char* const verb : {"describe", "pause", "resume", "delete"}) {
    const CommandOutput answer = run({"webhook", verb, "git"});
    EXPECT_EQ(answer.code, 3) << verb;
    EXPECT_THAT(answer.err, HasSubstr("has no inbound webhook \"git\"")) << verb;
  }
}

}  // namespace
}  // namespace millrace
