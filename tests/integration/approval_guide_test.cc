// The commands in docs/approval.md work, with its example of a service
// (docs/samples/approvals.py): a mail with a link, a form whose button decides, and reminders. The
// two days and the mornings are played by docs/samples/approval.test.yaml.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/integration/guide_page.h"
#include "tests/support/folder.h"
#include "tests/support/held_port.h"
#include "tests/support/millrace_server.h"
#include "tests/unit/gateway/raw_client.h"

namespace millrace {
namespace {

using testing::HasSubstr;

class ApprovalGuide : public MillraceTest {
 protected:
  void SetUp() override {
    MillraceTest::SetUp();
    start_service();
  }

  /// Starts the service of the page on the file that it had before.
  void start_service() {
    service_ = std::make_unique<Process>(
        ProcessSettings{.command = {"python3", "docs/samples/approvals.py", std::to_string(port_),
                                    (folder_.path() / "approvals.db").string()},
                        .environment = {{"NO_PROXY", "*"}}});
    ASSERT_TRUE(eventually([&] { return ask("GET", "/approvals/none").status == 404; }))
        << service_->errors();
  }

  HttpReply ask(std::string_view method, std::string_view path, std::string_view body = "",
                const Headers& headers = {}) const {
    return request(port_, method, path, headers, body);
  }

  /// Runs a block of the page; returns what it prints.
  std::string run(const std::string& block) const {
    const ProcessEnd end = run_process({.command = {"bash", "-e", "-u", "-o", "pipefail", "-c",
                                                    with_all(block, "8790", std::to_string(port_))},
                                        .environment = {{"MILLRACE_URL", millrace_.checked_url()},
                                                        {"NO_PROXY", "*"},
                                                        {"PATH", path_with_millrace()}}});
    EXPECT_EQ(end.code, 0) << block << end.output << end.errors;
    return end.output;
  }

  /// Waits until the service has sent that many mails since it started; returns the path of the
  /// link in the last one.
  std::string link_of_mail(size_t count) const {
    std::vector<std::string> links;
    EXPECT_TRUE(eventually([&] {
      links.clear();
      const std::string printed = service_->output();
      const std::string url = fmt::format("http://127.0.0.1:{}", port_);
      for (size_t at = printed.find(url); at != std::string::npos; at = printed.find(url, at + 1)) {
        const size_t begin = at + url.size();
        const size_t end = printed.find('\n', begin);
        if (end != std::string::npos) links.push_back(printed.substr(begin, end - begin));
      }
      return links.size() >= count;
    })) << service_->output()
        << service_->errors();
    return links.empty() ? "" : links.back();
  }

  const uint16_t port_ = HeldPort().port();
  Folder folder_;
  std::unique_ptr<Process> service_;
};

TEST_F(ApprovalGuide, LeadsFromAMailOverAFormToADecision) {
  const std::string page = "docs/approval.md";
  const auto played = blocks_of_page(page, "The workflows", "sh");
  ASSERT_EQ(played.size(), 1U);
  EXPECT_THAT(run(played[0]), HasSubstr("9 scenarios in 1 file: 9 passed"));

  const auto blocks = blocks_of_page(page, "Try it", "sh");
  ASSERT_EQ(blocks.size(), 3U);
  run(blocks[0]);
  const std::string link = link_of_mail(1);
  ASSERT_TRUE(eventually([&] { return millrace_.items("calls").size() == 1; }));
  const std::string waiting = run(blocks[1]);
  EXPECT_THAT(waiting, HasSubstr(R"("function": "remind")"));
  EXPECT_THAT(waiting, HasSubstr("approval-reminders"));
  EXPECT_THAT(waiting, HasSubstr(R"("for": "callback")"));
  const std::string approval = millrace_.only_instance_once("approval", "waiting")["id"];

  for (int i = 0; i < 3; ++i) {
    const HttpReply form = ask("GET", link);
    EXPECT_EQ(form.status, 200);
    EXPECT_THAT(form.body, HasSubstr("The order o-1"));
  }
  EXPECT_EQ(ask("POST", link, "approved=perhaps").status, 400);
  EXPECT_EQ(millrace_.items("calls").size(), 1U) << "a link decides nothing";

  service_.reset();
  start_service();
  const Headers other_order = {{"Direktiv-InstanceID", "another"}, {"Millrace-Callback", "none"}};
  EXPECT_EQ(ask("POST", "/ask", R"({"order": "o-1"})", other_order).status, 200);
  EXPECT_NE(link_of_mail(1), link) << "another approval of the same order has a link of its own";
  EXPECT_EQ(ask("POST", "/ask", R"({"order": "o-1"})", other_order).status, 200);
  EXPECT_EQ(ask("POST", "/remind", fmt::format(R"({{"approval": "{}"}})", approval)).status, 200);
  EXPECT_EQ(link_of_mail(2), link) << "a reminder has the link of the mail, also after a restart";
  const HttpReply decided = ask("POST", link, "approved=true");
  EXPECT_EQ(decided.status, 200);
  EXPECT_THAT(decided.body, HasSubstr("Your decision counts."));
  EXPECT_EQ(ask("POST", link, "approved=true").status, 200) << "it repeats the decision";
  EXPECT_EQ(ask("POST", link, "approved=false").status, 409);

  const Json ended = millrace_.only_instance_once("approval", "complete");
  EXPECT_EQ(ended["output"], (Json{{"order", "o-1"}, {"outcome", "approved"}}));
  EXPECT_TRUE(millrace_.has_instances("workflow=approval-reminders&status=cancelled", 1));
  EXPECT_THAT(run(blocks[2]), HasSubstr("httpCallback"));
}

}  // namespace
}  // namespace millrace
