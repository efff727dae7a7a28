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

TEST_F(WebhookVerbs, TryARequest) {
  set_one();
  const std::string body = file("body.json", R"({"n": 1})");
  const std::vector<std::string> tried = {"webhook", "try", "git", "-f", body, "-o", "table"};
  const CommandOutput refused = run(tried);
  EXPECT_EQ(refused.code, 0) << refused.err;
  EXPECT_THAT(refused.out, HasSubstr("refused: the header is missing"));
  EXPECT_THAT(refused.out, HasSubstr("started order"));
  std::vector<std::string> with_headers = tried;
  for (const char* const header : {"X-Signature: a:b", "X-Kind:c"}) {
    with_headers.insert(with_headers.end(), {"--header", header});
  }
  EXPECT_THAT(run(with_headers).out, HasSubstr("fits"));
  const std::vector<InboundRequest> received = service_.received();
  ASSERT_EQ(received.size(), 2U);
  EXPECT_EQ(received[1].headers, (Headers{{"X-Kind", "c"}, {"X-Signature", "a:b"}}));
  EXPECT_EQ(received[1].body, R"({"n": 1})");
  const std::string bytes = file("body.bin", "\xff");
  EXPECT_EQ(run({"webhook", "try", "git", "-f", bytes}).code, 0);
  EXPECT_EQ(service_.received().at(2).body, "\xff");
  const CommandOutput wrong = run({"webhook", "try", "git", "-f", body, "--header", "X-Kind"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--header X-Kind: write NAME: VALUE"));
  EXPECT_EQ(run({"webhook", "try", "gut", "-f", body}).code, 3);
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
