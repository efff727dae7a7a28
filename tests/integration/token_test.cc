// The token file of a server: calls that it refuses without the token and accepts with it.
#include <csignal>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kToken = "correct-horse-battery-staple-and-more";

class TokenFileTest : public testing::Test {
 protected:
  TokenFileTest() { write(kToken); }

  std::string file() const { return (folder_.path() / "token").string(); }

  void write(const std::string& token) {
    std::ofstream(file()) << token << "\n";
    std::filesystem::permissions(
        file(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }

  /// Runs a server that must not start, and waits for its end.
  ProcessEnd serve(const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {millrace_program(), "serve",
                                        "--data",           (folder_.path() / "data").string(),
                                        "--nats",           nats_.url()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_process({.command = command});
  }

  Folder folder_;
  NatsServer nats_;
  MillraceServer millrace_{nats_.url(), {{"MILLRACE_TOKEN_FILE", file()}}};
};

TEST_F(TokenFileTest, IsRequiredToListenBeyondLoopback) {
  const ProcessEnd end = serve({"--listen", "0.0.0.0:0"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.errors, HasSubstr("[gateway.refused_address]"));
  EXPECT_THAT(end.errors, HasSubstr("--token-file"));
}

TEST_F(TokenFileTest, MustContainAToken) {
  for (const char* none : {"", "too-short", "no token is made of words"}) {
    write(none);
    const ProcessEnd end = serve({"--listen", "127.0.0.1:0", "--token-file", file()});
    EXPECT_EQ(end.code, 1) << none;
    EXPECT_THAT(end.errors, HasSubstr("[token.malformed]")) << none;
    EXPECT_THAT(end.errors, HasSubstr(file())) << none;
  }
  write("0123456789abcdef");
  const ProcessEnd weak = serve({"--listen", "127.0.0.1:0", "--token-file", file()});
  EXPECT_EQ(weak.code, 1);
  EXPECT_THAT(weak.errors, HasSubstr("[token.weak]"));
  const ProcessEnd end = serve({"--listen", "127.0.0.1:0", "--token-file", file() + "-none"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.errors, HasSubstr("[token.unreadable]"));
}

TEST_F(TokenFileTest, AuthorizesCallsAndIsNeverShown) {
  millrace_.start_ready();
  EXPECT_THAT(millrace_.process().errors(), Not(HasSubstr("every user")));
  EXPECT_EQ(millrace_.ask("GET", "instances").status, 401);
  EXPECT_EQ(millrace_.cli({"instance", "list"}).code, 4);

  EXPECT_EQ(millrace_
                .cli({"workflow", "apply", "-", "--token-file", file()},
                     "id: greet\nstates: [{id: done, type: noop}]\n")
                .code,
            0);
  const ProcessEnd run = millrace_.cli({"run", "greet", "--wait", "10m", "--token-file", file()});
  EXPECT_EQ(run.code, 0) << run.errors;

  const Headers authorized = {{"Authorization", fmt::format("Bearer {}", kToken)}};
  EXPECT_THAT(millrace_.ask("GET", "/v1/info", "", authorized).body, Not(HasSubstr(kToken)));
  EXPECT_THAT(millrace_.process().errors(), Not(HasSubstr(kToken)));
  millrace_.stop();
}

TEST_F(TokenFileTest, IsReadAgainOnSighup) {
  millrace_.start_ready();
  const auto status_with = [this](const std::string& token) {
    return millrace_
        .ask("GET", "instances", "", {{"Authorization", fmt::format("Bearer {}", token)}})
        .status;
  };
  EXPECT_EQ(status_with(kToken), 200);
  write("another-token-altogether-that-is-long");
  millrace_.process().signal(SIGHUP);
  EXPECT_TRUE(
      eventually([&] { return status_with("another-token-altogether-that-is-long") == 200; }));
  EXPECT_EQ(status_with(kToken), 401);
  EXPECT_TRUE(millrace_.process().error_line("requests with a wrong token").has_value());

  write("broken");
  millrace_.process().signal(SIGHUP);
  EXPECT_TRUE(millrace_.process().error_line("the previous token stays valid").has_value());
  EXPECT_EQ(status_with("another-token-altogether-that-is-long"), 200);
}

TEST_F(TokenFileTest, IsExchangedForASessionThatAnotherTokenEnds) {
  millrace_.start_ready();
  const HttpReply signed_in = millrace_.ask("POST", "/v1/session", "",
                                            {{"Authorization", fmt::format("Bearer {}", kToken)}});
  ASSERT_EQ(signed_in.status, 204) << signed_in.body;
  const std::string set = signed_in.header("Set-Cookie");
  EXPECT_THAT(set, HasSubstr("HttpOnly"));
  EXPECT_THAT(set, Not(HasSubstr(kToken)));
  const Headers cookie = {{"Cookie", set.substr(0, set.find(';'))}};
  EXPECT_EQ(millrace_.ask("GET", "instances", "", cookie).status, 200);
  EXPECT_EQ(millrace_.ask("POST", "instances/cancel?all=1", "", cookie).code(), "request.page");

  write("another-token-altogether-that-is-long");
  millrace_.process().signal(SIGHUP);
  EXPECT_TRUE(
      eventually([&] { return millrace_.ask("GET", "instances", "", cookie).status == 401; }));
  EXPECT_EQ(millrace_.ask("GET", "instances", "", cookie).code(), "session.ended");
}

TEST_F(TokenFileTest, CausesAWarningWhenEveryUserCanReadIt) {
  std::filesystem::permissions(file(), std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  millrace_.start();
  EXPECT_TRUE(millrace_.process().error_line("can be read by every user").has_value());
}

}  // namespace
}  // namespace millrace
