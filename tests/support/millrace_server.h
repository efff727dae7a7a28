// MillraceServer: the real program with a data folder of its own, and requests of a test over HTTP
// and by the command line. Functions that wait fail the test after half a minute. Use it on the
// thread that runs the test.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tests/support/nats_fixture.h"
#include "tests/support/process.h"
#include "tests/unit/gateway/raw_client.h"

namespace millrace {

/// The program under test.
std::string millrace_program();

/// The PATH of the test with the folder of the program in front.
std::string path_with_millrace();

/// The lines of a log that are not at level info: "2026-11-23T09:00:00.000Z warning …".
std::vector<std::string> complaints_in(const std::string& log);

class MillraceServer {
 public:
  /// Does not start the program. `environment` is added to that of the test.
  explicit MillraceServer(std::string nats_url, std::map<std::string, std::string> environment = {},
                          std::string program = millrace_program())
      : program_(std::move(program)),
        nats_url_(std::move(nats_url)),
        environment_(std::move(environment)) {}

  /// The folder of the store. A test may fill it before the start.
  std::filesystem::path data() const { return folder_.path() / "data"; }

  /// Further arguments of the next starts.
  void set_arguments(std::vector<std::string> arguments) { arguments_ = std::move(arguments); }

  /// The command line.
  std::vector<std::string> command() const;

  /// Starts the program without waiting. `environment` is added to that of the test.
  void launch(std::map<std::string, std::string> environment = {});
  /// After launch(): waits until HTTP is answered on a free port; false if the program has ended.
  bool listens();
  /// After launch(): waits until HTTP is answered on a free port.
  void wait_until_it_listens();
  void start();
  /// Starts the program and waits until it accepts events.
  void start_ready();
  // Each end of the process is followed by a store check. A finding fails the test.

  /// Sends SIGKILL, and waits until its whole process group has ended.
  void kill();
  /// Waits until the program and its whole process group have ended by themselves.
  ProcessEnd end();
  /// Sends SIGTERM, and waits until its process group has ended. An exit code other than 0 fails
  /// the test.
  void stop();

  bool is_running() { return process_ && !process_->wait(Duration(0)); }
  Process& process() { return *process_; }
  uint16_t port() const { return port_; }
  std::string url() const;

  // HTTP. The prefix `/v1/ns/default` of a path may be left out: `instances`.

  HttpReply ask(std::string_view method, std::string_view path, std::string_view body = "",
                const Headers& headers = {}) const;
  /// The body of a 200.
  Json get(std::string_view path) const;
  std::vector<Json> items(std::string_view path) const;

  /// Applies the definition. The id is read from the text.
  Json apply(std::string_view definition, std::string_view ns = "default") const;
  /// Starts an instance; returns its id.
  std::string start_instance(std::string_view workflow, const Json& input) const;
  Json instance(const std::string& id) const { return get("instances/" + id); }
  /// Waits until the instance has that status. Otherwise fails the test and returns the last
  /// answer.
  Json instance_once(const std::string& id, std::string_view status) const;
  /// Waits until the only instance of the workflow has that status.
  Json only_instance_once(const std::string& workflow, std::string_view status) const;
  std::vector<Json> history(const std::string& id) const;
  /// Waits until that many instances match the query (`workflow=x&status=complete`).
  bool has_instances(const std::string& query, size_t count) const;

  /// Runs `millrace ARGUMENTS…` against this server.
  ProcessEnd cli(const std::vector<std::string>& arguments, std::string input = "") const;

 private:
  std::string program_;
  std::string nats_url_;
  std::map<std::string, std::string> environment_;
  std::vector<std::string> arguments_;
  Folder folder_;
  std::unique_ptr<Process> process_;
  uint16_t port_ = 0;
};

/// The text of a file of this repository.
std::string read_repository_file(const std::string& path);

/// A nats-server and a millrace that is ready.
class MillraceTest : public testing::Test {
 protected:
  void SetUp() override { millrace_.start_ready(); }

  NatsServer nats_;
  MillraceServer millrace_{nats_.url()};
};

}  // namespace millrace
