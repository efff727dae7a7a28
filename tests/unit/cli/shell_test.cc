// The token that the command line sends, and the errors that it prints.
#include "cli/shell.h"

#include <sstream>

#include <gtest/gtest.h>

#include "tests/support/environment_variable.h"
#include "tests/support/text_console.h"
#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/http/http_peer.h"

namespace millrace {
namespace {

class ShellTest : public CliTest {};

TEST_F(ShellTest, SendsTheTokenFromAFlagElseFromAnEnvironmentVariable) {
  constexpr const char* kToken = "correct-horse-battery-staple";
  ask_for_token(kToken);
  const std::string right = file("right", std::string(kToken) + "\n");
  const std::string wrong = file("wrong", "the-token-of-another-server\n");
  const std::string broken = file("broken", "two words and-too-many\n");

  const CommandOutput without = run({"namespace", "list"});
  EXPECT_EQ(without.code, 4);
  EXPECT_NE(without.err.find("--token-file"), std::string::npos) << without.err;
  EXPECT_EQ(run({"namespace", "list", "--token-file", wrong}).code, 4);
  EXPECT_EQ(run({"namespace", "list", "--token-file", right}).code, 0);
  EXPECT_EQ(run({"--token-file", right, "namespace", "list"}).code, 0);
  EXPECT_EQ(run({"status"}).code, 0) << "`status` needs no token";

  env_["MILLRACE_TOKEN_FILE"] = right;
  EXPECT_EQ(run({"namespace", "list"}).code, 0);
  env_["MILLRACE_TOKEN"] = "the-token-of-another-server";
  EXPECT_EQ(run({"namespace", "list"}).code, 4) << "MILLRACE_TOKEN overrides MILLRACE_TOKEN_FILE";
  EXPECT_EQ(run({"namespace", "list", "--token-file", right}).code, 0);
  env_["MILLRACE_TOKEN"] = "a\r\nHost: elsewhere.example";
  EXPECT_EQ(run({"namespace", "list"}).code, 2);

  for (const std::string& bad : {broken, right + "-none", folder_.string()}) {
    const CommandOutput printed = run({"namespace", "list", "--token-file", bad});
    EXPECT_EQ(printed.code, 2) << bad;
    EXPECT_NE(printed.err.find(bad), std::string::npos) << printed.err;
    EXPECT_EQ(printed.err.find("two words"), std::string::npos) << printed.err;
  }
}

TEST_F(ShellTest, WarnsOfATokenThatIsSentToAnotherMachineInPlainText) {
  const EnvironmentVariable proxy("http_proxy", std::nullopt);
  const EnvironmentVariable any_proxy("all_proxy", std::nullopt);
  const EnvironmentVariable other_proxy("ALL_PROXY", std::nullopt);
  constexpr const char* kToken = "correct-horse-battery-staple";
  ask_for_token(kToken);
  env_["MILLRACE_TOKEN"] = kToken;
  const CommandOutput here = run({"namespace", "list", "-o", "json"});
  EXPECT_EQ(here.code, 0);
  EXPECT_EQ(here.err, "");
  // An address that reaches this machine, and that is not a loopback address.
  std::string url = env_["MILLRACE_URL"];
  url.replace(url.find("127.0.0.1"), std::string("127.0.0.1").size(), "0.0.0.0");
  env_["MILLRACE_URL"] = url;
  const CommandOutput away = run({"namespace", "list", "-o", "json"});
  EXPECT_EQ(away.code, 0) << away.err;
  EXPECT_EQ(away.out, here.out) << "standard output has the data only";
  EXPECT_TRUE(away.err.starts_with("warning: the token is sent to " + url + " in plain text"))
      << away.err;
  EXPECT_EQ(away.err.find("warning", 1), std::string::npos) << "once: " << away.err;
  EXPECT_EQ(away.err.find(kToken), std::string::npos) << away.err;
  env_.erase("MILLRACE_TOKEN");
  EXPECT_EQ(run({"namespace", "list"}).err.find("warning"), std::string::npos)
      << "without a token nothing is sent that gives access";
}

TEST_F(ShellTest, ReportsAnswersOfAnotherForm) {
  struct Row {
    std::vector<std::string> arguments;
    int status;
    const char* body;
    int code;
    const char* err;
  };
  const Row rows[] = {
      {{"instance", "follow", kId}, 200, "event: history\ndata: 5\n\n", 1, "of another form"},
      {{"instance", "get", kId}, 200, "text", 1, "not JSON"},
      {{"instance", "get", kId}, 404, R"({"code": 5, "detail": ["x"]})", 3, "returned HTTP 404"},
      {{"instance", "get", kId},
       409,
       R"({"code": "a.b", "detail": 7, "errors": [1]})",
       6,
       "millrace: \n"},
  };
  for (const Row& row : rows) {
    HttpPeer peer([&](const HttpPeer::Request&, HttpPeer::Connection& connection) {
      return connection.answer(row.status, row.body);
    });
    env_["MILLRACE_URL"] = peer.url("");
    const CommandOutput printed = run(row.arguments);
    EXPECT_EQ(printed.code, row.code) << row.body;
    EXPECT_NE(printed.err.find(row.err), std::string::npos) << printed.err;
  }
}

TEST_F(ShellTest, PrintsAnErrorWithoutControlCharacters) {
  TextConsole text;
  // The error of an instance may have any text: that of an event, or of a service.
  const Ended ended = give_up(ExitCode::kInstanceFailed, "instance.failed", "x.y: \x1b[31mred\na");
  EXPECT_EQ(Shell(text.console).end(ended), 9);
  EXPECT_EQ(text.out.str(), "millrace: x.y:  [31mred\na\n");
}

}  // namespace
}  // namespace millrace
