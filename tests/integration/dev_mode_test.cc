// `millrace dev`: a server that starts its own broker and leaves nothing behind.
#include <csignal>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/support/held_port.h"
#include "tests/support/millrace_server.h"
#include "tests/support/tcp_proxy.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kHello =
    "id: hello\nstates:\n  - id: a\n    type: noop\n    transform:\n      says: {}\n";

class DevMode : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(workflows_);
    fs::create_directory(temporary_);
  }

  void start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {millrace_program(), "dev", workflows_.string(), "--listen",
                                        "127.0.0.1:0"};
    command.insert(command.end(), more.begin(), more.end());
    dev_ = std::make_unique<Process>(
        ProcessSettings{.command = command, .environment = {{"TMPDIR", temporary_.string()}}});
    ASSERT_TRUE(eventually([&] {
      return dev_->output().find("Ctrl-C stops millrace.") != std::string::npos;
    })) << dev_->errors();
  }

  /// The text after this word in the output of the start.
  std::string printed(std::string_view word) const {
    const std::string output = dev_->output();
    const size_t at = output.find(word) + word.size();
    return output.substr(at, output.find_first_of(" \n.", output.find(':', at + 7)) - at);
  }

  /// Runs the command line, with its answers held against the OpenAPI document.
  ProcessEnd cli(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), millrace_program());
    const std::string url = printed("MILLRACE_URL=");
    const auto forwarder =
        forwarder_to(static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
    return run_process({.command = arguments, .environment = {{"MILLRACE_URL", forwarder->url()}}});
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(workflows_ / name, std::ios::binary) << text;
  }

  Folder folder_;
  fs::path workflows_ = folder_.path() / "workflows";
  fs::path temporary_ = folder_.path() / "tmp";
  std::unique_ptr<Process> dev_;
};

TEST_F(DevMode, LoadsTheWorkflowsOfAFolderAndLoadsAFileAgainWhenItChanges) {
  write("hello.yaml", fmt::format(fmt::runtime(kHello), "one"));
  write("hello.test.yaml", "scenarios:\n  - {name: x, start: {}, expect: {states: [a]}}\n");
  start();
  EXPECT_THAT(cli({"run", "hello", "--wait"}).output, HasSubstr(R"("says": "one")"));
  EXPECT_EQ(dev_->errors().find("hello.test.yaml"), std::string::npos)
      << "a file of scenarios is not a workflow";

  write("hello.yaml", fmt::format(fmt::runtime(kHello), "two"));
  EXPECT_TRUE(dev_->error_line("hello is now revision 2"));
  EXPECT_THAT(cli({"run", "hello", "--wait"}).output, HasSubstr(R"("says": "two")"));

  write("hello.yaml", "id: hello\nstates:\n  - id: a\n    type: nap\n");
  EXPECT_TRUE(dev_->error_line("hello.yaml:4:11: error: "));
  EXPECT_THAT(cli({"run", "hello", "--wait"}).output, HasSubstr(R"("says": "two")"));

  fs::create_directory(workflows_ / "more");
  write("more/other.yaml", "id: other\nstates:\n  - id: a\n    type: noop\n");
  EXPECT_TRUE(dev_->error_line("other is now revision 1"));
}

TEST_F(DevMode, ReportsTheFilesThatItDoesNotLoadExceptPipes) {
  write("typo.yaml", "id: typo\nstate:\n  - id: a\n    type: noop\n");
  write("upper.yaml", "id: upper\nStates:\n  - id: a\n    type: noop\n");
  write("payload.json", R"({"id": 7})");
  fs::create_symlink("nowhere", workflows_ / "link.yaml");
  fs::create_directory(workflows_ / "folder.yaml");
  write("folder.yaml/inner.yaml", "id: inner\nstates:\n  - id: a\n    type: noop\n");
  ASSERT_EQ(mkfifo((workflows_ / "pipe.yaml").c_str(), 0600), 0);
  start();
  EXPECT_TRUE(dev_->error_line("typo.yaml:2:1: error: "));
  EXPECT_TRUE(dev_->error_line("upper.yaml:2:1: error: "));
  EXPECT_TRUE(dev_->error_line("payload.json: skipped: it is not a workflow"));
  EXPECT_TRUE(dev_->error_line("link.yaml: No such file or directory"));
  EXPECT_TRUE(dev_->error_line("inner is now revision 1"));
  EXPECT_EQ(dev_->errors().find("pipe.yaml"), std::string::npos);
}

TEST_F(DevMode, AppliesInboundFilesAndTriesAgainWhatItsServerRefuses) {
  write("inbound.yaml",
        "sources:\n  orders: {stream: ORDERS, mapping: {type: order.placed}}\nhooks:\n  pay:\n"
        "    verify: {form: stripe, secrets: [stripe]}\n    mapping: {type: order.placed}\n");
  write("order.yaml",
        "id: order\nstart:\n  type: event\n  event:\n    type: order.placed\nstates:\n  - id: a\n"
        "    type: noop\n");
  start();
  EXPECT_TRUE(dev_->error_line("inbound.yaml:2:20: error: sources.orders.stream: "));
  EXPECT_TRUE(dev_->error_line("inbound.yaml:5:38: error: hooks.pay.verify.secrets[0]: "));
  EXPECT_EQ(dev_->errors().find("warning: sources.orders"), std::string::npos)
      << "the workflow is applied first";
  const auto made = connect_to(printed("NATS at "))
                        ->api("STREAM.CREATE.ORDERS",
                              {{"name", "ORDERS"}, {"subjects", Json::array({"shop.orders.*"})}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(dev_->error_line("source \"orders\" is created"));
  const std::string url = printed("MILLRACE_URL=");
  ASSERT_EQ(run_process({.command = {millrace_program(), "secret", "set", "stripe"},
                         .environment = {{"MILLRACE_URL", url}},
                         .input = "whsec_test"})
                .code,
            0);
  EXPECT_TRUE(dev_->error_line("inbound webhook \"pay\" is created"));

  write("inbound.yaml", "sources:\n  orders: {strem: ORDERS}\n");
  EXPECT_TRUE(dev_->error_line("inbound.yaml:2:19: error: sources.orders.strem: unknown setting"));
  write("inbound.yaml", "sources:\n  orders: {stream: ORDERS, rate: 10}\n");
  EXPECT_TRUE(dev_->error_line("inbound webhook \"pay\" is no longer in "));
  EXPECT_TRUE(dev_->error_line("source \"orders\" is changed"));
  fs::remove(workflows_ / "inbound.yaml");
  EXPECT_TRUE(dev_->error_line("source \"orders\" is no longer in "));
  EXPECT_EQ(cli({"source", "list", "-o", "name"}).output, "orders\n") << "it stays";
}

TEST_F(DevMode, AppliesInboundWebhooksAgainThatNewSettingsHaveRemoved) {
  write("inbound.yaml",
        "hooks:\n  pay:\n    verify: {form: stripe, secrets: [stripe]}\n"
        "    mapping: {type: order.placed}\n");
  start();
  EXPECT_TRUE(dev_->error_line("inbound.yaml:3:38: error: hooks.pay.verify.secrets[0]: "));
  const std::string url = printed("MILLRACE_URL=");
  ASSERT_EQ(run_process({.command = {millrace_program(), "secret", "set", "stripe"},
                         .environment = {{"MILLRACE_URL", url}},
                         .input = "whsec_test"})
                .code,
            0);
  EXPECT_TRUE(dev_->error_line("inbound webhook \"pay\" is created"));
  const ProcessEnd replaced =
      cli({"namespace", "create", "default", "--settings", R"({"lifecycle": true})"});
  EXPECT_EQ(replaced.code, 0);
  EXPECT_THAT(replaced.errors, HasSubstr("removed: hooks.pay: "));
  EXPECT_TRUE(dev_->error_line("inbound webhook \"pay\" is no longer in the settings"));
  EXPECT_TRUE(eventually([&] { return cli({"webhook", "list", "-o", "name"}).output == "pay\n"; }));
  EXPECT_THAT(cli({"namespace", "get", "default", "-o", "json"}).output, HasSubstr("lifecycle"))
      << "the other settings stay";
}

TEST_F(DevMode, ChecksItsFoldersAndItsAddressBeforeItStartsAnything) {
  const TcpProxy taken(1);  // listens on a port
  const std::string address = fmt::format("127.0.0.1:{}", taken.port());
  const fs::path data = folder_.path() / "data";
  std::ofstream(folder_.path() / "file") << "x";
  const std::string file = (folder_.path() / "file").string();
  const struct {
    std::vector<std::string> arguments;
    const char* code;
  } rows[] = {
      {{"dev", folder_.path() / "none", "--keep", data}, "[dev.folder]"},
      {{"dev", file, "--keep", data}, "[dev.folder]"},
      {{"dev", "--keep", file}, "[dev.folder]"},
      {{"dev", "--keep", data, "--listen", address}, "[gateway.listen]"},
      {{"dev", "--keep", data, "--listen", "nowhere"}, "[gateway.malformed_address]"},
      {{"serve", "--data", data, "--nats", "nats://127.0.0.1:1", "--listen", address},
       "[gateway.listen]"},
      {{"serve", "--data", data, "--nats", "nats://127.0.0.1:1", "--listen", "0.0.0.0:0"},
       "[gateway.refused_address]"},
  };
  for (const auto& row : rows) {
    std::vector<std::string> command = {millrace_program()};
    command.insert(command.end(), row.arguments.begin(), row.arguments.end());
    const ProcessEnd end =
        run_process({.command = command, .environment = {{"TMPDIR", temporary_.string()}}});
    EXPECT_EQ(end.code, 1) << row.code;
    EXPECT_THAT(end.errors, HasSubstr(row.code));
    EXPECT_FALSE(fs::exists(data)) << row.code;
    EXPECT_TRUE(fs::is_empty(temporary_)) << row.code;
  }
}

TEST_F(DevMode, RequiresTheGivenTokenAndPrintsHowToSetIt) {
  const std::string file = (folder_.path() / "token").string();
  std::ofstream(file) << "correct-horse-battery-staple-and-more\n";
  start({"--token-file", file});
  EXPECT_THAT(dev_->output(), HasSubstr("export MILLRACE_TOKEN_FILE=" + file));
  EXPECT_EQ(cli({"instance", "list"}).code, 4);
  EXPECT_EQ(cli({"instance", "list", "--token-file", file}).code, 0);
}

TEST_F(DevMode, StartsItsBrokerOnTheGivenPort) {
  const HeldPort held;
  start({"--nats-port", std::to_string(held.port())});
  EXPECT_THAT(dev_->output(), HasSubstr(fmt::format("NATS at nats://127.0.0.1:{}.", held.port())));
}

TEST_F(DevMode, AcceptsEventsFromANatsClientAtThePrintedAddress) {
  write("counter.yaml",
        "id: counter\nstart:\n  type: event\n  event:\n    type: count\nstates:\n  - id: a\n"
        "    type: noop\n");
  start();
  const std::string url = printed("NATS at ");
  RawNatsClient client(static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
  const Json ack =
      client.publish_acked("millrace.events.default.count", "",
                           R"({"specversion":"1.0","id":"1","source":"/s","type":"count"})");
  EXPECT_EQ(ack["stream"], "MILLRACE_EVENTS");
  EXPECT_TRUE(eventually([&] {
    return cli({"instance", "list", "-o", "name"}).output.size() > 1;
  }));
}

TEST_F(DevMode, StopsItsBrokerAndRemovesItsDataOnCtrlC) {
  start();
  EXPECT_EQ(processes_with("nats-server --config " + temporary_.string()).size(), 1U);
  EXPECT_FALSE(fs::is_empty(temporary_));
  dev_->signal(SIGINT);
  EXPECT_EQ(dev_->wait(), 0) << dev_->errors();
  EXPECT_TRUE(dev_->group_ends());
  EXPECT_TRUE(processes_with(temporary_.string()).empty());
  EXPECT_TRUE(fs::is_empty(temporary_));
}

TEST_F(DevMode, LeavesNoBrokerBehindWhenItIsKilled) {
  start();
  ASSERT_EQ(processes_with("nats-server --config " + temporary_.string()).size(), 1U);
  dev_->signal(SIGKILL);
  EXPECT_EQ(dev_->wait(), 128 + SIGKILL);
  EXPECT_TRUE(dev_->group_ends());
  EXPECT_TRUE(eventually([&] { return processes_with(temporary_.string()).empty(); }));
}

TEST_F(DevMode, KeepsItsDataInTheGivenFolder) {
  write("hello.yaml", fmt::format(fmt::runtime(kHello), "one"));
  const std::string kept = folder_.path() / "kept";
  start({"--keep", kept});
  const std::string id = cli({"run", "hello", "-o", "name"}).output;
  dev_->signal(SIGTERM);
  EXPECT_EQ(dev_->wait(), 0);
  start({"--keep", kept});
  EXPECT_EQ(cli({"instance", "list", "-o", "name"}).output, id);
}

}  // namespace
}  // namespace millrace
