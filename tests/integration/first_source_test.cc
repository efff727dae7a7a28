// The commands in docs/first-source.md work, section by section. A small program
// (tests/integration/nats_commands.py) stands for the NATS command line, which Debian does not
// have.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/integration/guide_page.h"
#include "tests/support/held_port.h"
#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kTakesPlacedOrders = R"(
id: takes-orders
start: {type: event, event: {type: order.placed}}
states:
- {id: done, type: noop}
)";

std::vector<std::string> blocks_of(const std::string& section, const std::string& language) {
  return blocks_of_page("docs/first-source.md", section, language);
}

bool is_installed(const std::string& program) {
  return run_process({.command = {"bash", "-c", "command -v " + program}}).code == 0;
}

class FirstSource : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(folder_.path() / "bin");
    const fs::path nats = folder_.path() / "bin" / "nats";
    std::ofstream(nats) << "#!/bin/sh\nexec python3 "
                        << fs::absolute("tests/integration/nats_commands.py").string()
                        << " \"$@\"\n";
    fs::permissions(nats, fs::perms::owner_all);
  }

  /// Runs commands of the page in the folder of the test.
  ProcessEnd run(const std::string& commands, const std::string& millrace_url,
                 const std::string& nats_url) const {
    const std::string script =
        fmt::format("cd '{}'\n{}", folder_.path().string(),
                    with_all(commands, "http://127.0.0.1:8780", millrace_url));
    ProcessEnd end = run_process({.command = {"bash", "-e", "-u", "-o", "pipefail", "-c", script},
                                  .environment = {{"MILLRACE_URL", millrace_url},
                                                  {"NATS_URL", nats_url},
                                                  {"NO_PROXY", "*"},
                                                  {"PATH", (folder_.path() / "bin").string() + ":" +
                                                               path_with_millrace()}}});
    EXPECT_EQ(end.code, 0) << commands << end.output << end.errors;
    return end;
  }

  /// Runs the commands of a section with a server, and waits for the instance that an order starts.
  void expect_an_order(const std::string& section, const std::string& nats_url,
                       const std::map<std::string, std::string>& login,
                       const std::pair<std::string, std::string>& replaced = {"\t", "\t"}) const {
    MillraceServer millrace(nats_url, login);
    millrace.start_ready();
    millrace.apply(kTakesPlacedOrders);
    for (const std::string& block : blocks_of(section, "sh")) {
      run(with_all(block, replaced.first, replaced.second), millrace.checked_url(), nats_url);
    }
    EXPECT_TRUE(millrace.has_instances("workflow=takes-orders&status=complete", 1))
        << millrace.ask("GET", "sources/orders").body;
    millrace.stop();
  }

  Folder folder_;
};

/// The sections of the page that `millrace dev` serves.
class FirstSourceInDev : public FirstSource {
 protected:
  /// Runs a block with the server and the port of the service.
  ProcessEnd run_block(const std::string& block) const {
    return run(with_port(block), printed("MILLRACE_URL="), printed("NATS at "));
  }
  std::string with_port(const std::string& text) const {
    return with_all(text, "8790", std::to_string(service_port_));
  }

  void start_dev() {
    dev_ = std::make_unique<Process>(
        ProcessSettings{.command = {millrace_program(), "dev", (folder_.path() / "shop").string(),
                                    "--listen", "127.0.0.1:0"},
                        .environment = {{"TMPDIR", folder_.path().string()}}});
    ASSERT_TRUE(eventually([&] {
      return dev_->output().find("Ctrl-C stops millrace.") != std::string::npos;
    })) << dev_->errors();
  }

  /// The URL after this word in the output of `millrace dev`.
  std::string printed(std::string_view word) const {
    const std::string output = dev_->output();
    const size_t at = output.find(word) + word.size();
    size_t end = output.find(':', output.find(':', at) + 1) + 1;  // behind host and scheme
    while (end < output.size() && std::isdigit(static_cast<unsigned char>(output[end])) != 0) ++end;
    return output.substr(at, end - at);
  }

  /// Waits for an instance with that status; returns its JSON.
  std::string instance_once(const std::string& workflow, const std::string& status) const {
    std::string shown;
    EXPECT_TRUE(eventually([&] {
      shown =
          run("millrace instance list --workflow " + workflow + " --status " + status + " -o json",
              printed("MILLRACE_URL="), "")
              .output;
      return shown.find("\"id\"") != std::string::npos;
    })) << shown;
    return shown;
  }

  const uint16_t service_port_ = HeldPort().port();
  std::unique_ptr<Process> dev_;
};

TEST_F(FirstSourceInDev, GoesFromOrdersToACallOfAService) {
  const auto blocks = blocks_of("Orders, payments and a service", "sh");
  ASSERT_EQ(blocks.size(), 5U);
  const ProcessEnd written = run(with_port(blocks[0]), "", "");
  ASSERT_EQ(written.code, 0);
  const Process service(
      ProcessSettings{.command = {"python3", (folder_.path() / "shipping.py").string()}});
  start_dev();
  EXPECT_TRUE(dev_->error_line("inbound.yaml:3:13: error: sources.orders.stream: "));
  run_block(blocks[1]);
  EXPECT_TRUE(dev_->error_line("source \"orders\" is created"));
  EXPECT_TRUE(dev_->error_line("inbound webhook \"pay\" is created"));
  const ProcessEnd placed = run_block(blocks[2]);
  EXPECT_THAT(placed.output, HasSubstr("order.placed"));
  instance_once("ship-order", "waiting");
  EXPECT_THAT(run_block(blocks[3]).output, HasSubstr("evt_1"));
  instance_once("ship-order", "complete");
  EXPECT_THAT(run_block(blocks[4]).output, HasSubstr("P-o-7"));

  const auto github = blocks_of("GitHub", "sh");
  ASSERT_EQ(github.size(), 2U);
  run_block(github[0]);
  EXPECT_TRUE(dev_->error_line("inbound webhook \"git\" is created"));
  run_block(github[1]);
  instance_once("on-push", "complete");
}

TEST_F(FirstSource, ReadsMessagesOfCoreNatsFromAStreamThatMillraceMakes) {
  const NatsServer nats;
  expect_an_order("Core NATS without a stream", nats.url(), {});
}

TEST_F(FirstSource, ReadsMessagesOfMqtt) {
  if (!is_installed("mosquitto_pub")) {
    GTEST_SKIP() << "mosquitto_pub is not installed; install Debian's package mosquitto-clients";
  }
  const HeldPort held;
  const std::string port = std::to_string(held.port());
  const NatsServer nats(with_all(blocks_of("MQTT", "conf").at(0), "1883", port));
  expect_an_order("MQTT", nats.url(), {}, {"1883", port});
}

TEST_F(FirstSource, ReadsAMirrorOfAStreamOfAnotherAccount) {
  const std::string section = "A stream of another account";
  const NatsServer nats(blocks_of(section, "conf").at(0));
  expect_an_order(section, nats.url(),
                  {{"NATS_USER", "millrace"}, {"NATS_PASSWORD", "millrace-password"}});
}

TEST_F(FirstSource, ReadsAMirrorOfAStreamOfALeafNode) {
  const std::string section = "A stream of a leaf node";
  const std::vector<std::string> configurations = blocks_of(section, "conf");
  ASSERT_EQ(configurations.size(), 2U);
  const HeldPort link;
  const std::string link_port = std::to_string(link.port());
  const NatsServer nats(with_all(configurations[0], "7422", link_port));
  // The fixture decides where the leaf node listens.
  std::string of_leaf = with_all(configurations[1], "7422", link_port);
  of_leaf = with_all(of_leaf, "listen: \"127.0.0.1:4223\"\n", "");
  of_leaf = with_all(of_leaf, "./shop-streams", (folder_.path() / "shop-streams").string());
  const NatsServer leaf(of_leaf);
  expect_an_order(section, nats.url(), {}, {"nats://127.0.0.1:4223", leaf.url()});
}

}  // namespace
}  // namespace millrace
