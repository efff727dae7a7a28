// MillraceServer: the real program on a data folder of its own, and what a test asks of it over
// HTTP and by the command line. What must come is waited for; what does not come in half a minute
// is a failed test. Use it on the thread that runs the test.
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

/// The folder that it lies in, before the PATH of the test.
std::string path_with_millrace();

/// The lines of a server's log that are not information: "2026-11-23T09:00:00.000Z warning …".
std::vector<std::string> complaints_in(const std::string& log);

class MillraceServer {
 public:
  /// Not running yet. `environment` is what it sees beside that of the test.
  explicit MillraceServer(std::string nats_url, std::map<std::string, std::string> environment = {},
                          std::string program = millrace_program())
      : program_(std::move(program)),
        nats_url_(std::move(nats_url)),
        environment_(std::move(environment)) {}

  /// Where its store is; may be filled before it runs.
  std::filesystem::path data() const { return folder_.path() / "data"; }

  /// More of the command line of the next starts.
  void set_arguments(std::vector<std::string> arguments) { arguments_ = std::move(arguments); }

  /// The command that runs it.
  std::vector<std::string> command() const;

  /// Returns at once; `environment` is added to that of the test.
  void launch(std::map<std::string, std::string> environment = {});
  /// After launch(): whether HTTP is answered, on a free port; false: it has ended instead.
  bool listens();
  /// After launch(): returns once HTTP is answered, on a free port.
  void wait_until_it_listens();
  void start();
  /// Returns once events are taken.
  void start_ready();
  // Each end of the process is followed by a check of its store, whose findings fail the test.

  /// SIGKILL; returns when nothing of it is left.
  void kill();
  /// Waits for what ends it by itself; returns when nothing of it is left.
  ProcessEnd end();
  /// SIGTERM; returns when nothing of it is left. Any exit code but 0 fails the test.
  void stop();

  bool is_running() { return process_ && !process_->wait(Duration(0)); }
  Process& process() { return *process_; }
  uint16_t port() const { return port_; }
  std::string url() const;

  // HTTP. Paths below `/v1/ns/default` may be given without it: `instances`.

  HttpReply ask(std::string_view method, std::string_view path, std::string_view body = "",
                const Headers& headers = {}) const;
  /// The body of a 200.
  Json get(std::string_view path) const;
  std::vector<Json> items(std::string_view path) const;

  /// Stores the definition; its id is read from the text.
  Json apply(std::string_view definition, std::string_view space = "default") const;
  /// Starts an instance; its id.
  std::string start_instance(std::string_view workflow, const Json& input) const;
  Json instance(const std::string& id) const { return get("instances/" + id); }
  /// The instance once it has that status; else it fails the test and gives what there is.
  Json instance_once(const std::string& id, std::string_view status) const;
  /// The only instance of the workflow once it has that status.
  Json only_instance_once(const std::string& workflow, std::string_view status) const;
  std::vector<Json> history(const std::string& id) const;
  /// Waits until that many instances fit the query (`workflow=x&status=complete`).
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

/// A nats-server and a millrace that takes events.
class MillraceTest : public testing::Test {
 protected:
  void SetUp() override { millrace_.start_ready(); }

  NatsServer nats_;
  MillraceServer millrace_{nats_.url()};
};

}  // namespace millrace
