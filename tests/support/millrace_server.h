// MillraceServer: a process of `millrace serve` with a data folder of its own, and the requests
// that a test sends it over HTTP and by the command line. A function that waits fails the test
// after kPatience. Use a MillraceServer on the thread that runs the test.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tests/support/answer_forwarder.h"
#include "tests/support/nats_fixture.h"
#include "tests/support/process.h"
#include "tests/unit/gateway/raw_client.h"

namespace millrace {

/// The path of the millrace program under test.
std::string millrace_program();

/// The environment variable PATH of the test, with the folder of the millrace program in front.
std::string path_with_millrace();

/// Forwards to a server of millrace on this port, and holds its answers against the OpenAPI
/// document, which the first server that answers gives. Answers of an earlier release, which has no
/// such document, are not checked.
std::unique_ptr<AnswerForwarder> forwarder_to(uint16_t port);

/// The lines of a log of millrace that are not at level info: "2026-11-23T09:00:00.000Z warning …".
/// The warning of an old NATS server is left out.
std::vector<std::string> complaints_in(const std::string& log);

class MillraceServer {
 public:
  /// Does not start millrace. `environment` is added to the environment of the test.
  explicit MillraceServer(std::string nats_url, std::map<std::string, std::string> environment = {},
                          std::string program = millrace_program())
      : program_(std::move(program)),
        nats_url_(std::move(nats_url)),
        environment_(std::move(environment)) {}

  /// The folder of the store. A test may fill it before the start.
  std::filesystem::path data() const { return folder_.path() / "data"; }

  /// Sets further arguments with which millrace is started from now on.
  void set_arguments(std::vector<std::string> arguments) { arguments_ = std::move(arguments); }

  /// Sets the port on which millrace listens from now on; 0: a free one.
  void set_port(uint16_t port) { listen_ = "127.0.0.1:" + std::to_string(port); }

  /// The command line that starts millrace.
  std::vector<std::string> command() const;

  /// Starts millrace without waiting. `environment` is added to the environment of the test.
  void launch(std::map<std::string, std::string> environment = {});
  /// After launch(): waits until millrace answers HTTP on a free port; false if millrace has ended.
  bool listens();
  /// After launch(): waits until millrace answers HTTP on a free port.
  void wait_until_it_listens();
  void start();
  /// Starts millrace and waits until millrace accepts events.
  void start_ready();
  // Each end of the process is followed by a store check. A finding fails the test.

  /// Sends SIGKILL to millrace, and waits until its whole process group has ended.
  void kill();
  /// Lets millrace run for that time, and then does as kill(). millrace must not end by itself.
  void kill_after(Duration time);
  /// Waits until millrace and its whole process group have ended by themselves.
  ProcessEnd end();
  /// Sends SIGTERM to millrace, and waits until its process group has ended. An exit code other
  /// than 0 fails the test.
  void stop();

  bool is_running() { return process_ && !process_->wait(Duration(0)); }
  Process& process() { return *process_; }
  uint16_t port() const { return port_; }
  std::string url() const;

  /// The port of an AnswerForwarder to millrace, which must run. Clients of a test use it, except
  /// where the test ends connections or sends what is not HTTP. It differs after another start.
  uint16_t checked_port() const { return forwarder().port(); }
  /// The URL with that port.
  std::string checked_url() const { return forwarder().url(); }

  // HTTP. The prefix `/v1/ns/default` of a path may be left out: `instances`.

  HttpReply ask(std::string_view method, std::string_view path, std::string_view body = "",
                const Headers& headers = {}) const;
  /// The body of the response, which must have status 200.
  Json get(std::string_view path) const;
  std::vector<Json> items(std::string_view path) const;
  /// The items of all pages of a list. `path` has a query.
  std::vector<Json> items_of_all_pages(const std::string& path) const;

  /// Applies the definition as a workflow. The workflow's id is read from the text of the
  /// definition.
  Json apply(std::string_view definition, std::string_view ns = "default") const;
  /// Starts an instance; returns its id.
  std::string start_instance(std::string_view workflow, const Json& input) const;
  Json instance(const std::string& id) const { return get("instances/" + id); }
  /// Waits until the instance has that status. If it does not get the status in time, fails the
  /// test and returns the latest answer.
  Json instance_once(const std::string& id, std::string_view status) const;
  /// Waits until the only instance of the workflow has that status.
  Json only_instance_once(const std::string& workflow, std::string_view status) const;
  std::vector<Json> history(const std::string& id) const;
  /// Waits until that many instances match the query (`workflow=x&status=complete`).
  bool has_instances(const std::string& query, size_t count) const;
  /// All instances that match the query (`workflow=x`), from all pages, newest first. An empty
  /// query matches all.
  std::vector<Json> instances(const std::string& query) const;
  /// Waits until the default namespace has that many live and ended instances.
  bool has_usage(size_t live, size_t ended) const;

  /// Runs `millrace ARGUMENTS…` as a client of this millrace. An answer that the OpenAPI document
  /// does not describe fails the test.
  ProcessEnd cli(const std::vector<std::string>& arguments, std::string input = "") const;

 private:
  AnswerForwarder& forwarder() const;

  std::string program_;
  std::string nats_url_;
  std::map<std::string, std::string> environment_;
  std::vector<std::string> arguments_;
  std::string listen_ = "127.0.0.1:0";
  Folder folder_;
  std::unique_ptr<Process> process_;
  uint16_t port_ = 0;
  mutable std::unique_ptr<AnswerForwarder> forwarder_;  ///< to port_; null: none was needed
};

/// The text of a file of this repository.
std::string read_repository_file(const std::string& path);

/// Tests with a nats-server and with a millrace that is ready.
class MillraceTest : public testing::Test {
 protected:
  void SetUp() override { millrace_.start_ready(); }

  NatsServer nats_;
  MillraceServer millrace_{nats_.url()};
};

}  // namespace millrace
