// Code that the benchmarks share: `millrace serve` as a child process, a private nats-server, a
// NATS client that creates load, and statistics.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nats/nats.h>

#include "base/json.h"
#include "base/result.h"
#include "bench/metrics_text.h"
#include "broker/dev_server.h"
#include "os/launch.h"
#include "os/scratch_folder.h"

namespace millrace {

using Seconds = std::chrono::duration<double>;

/// Measures the time since its construction.
class Stopwatch {
 public:
  double seconds() const { return Seconds(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The processor time that a process has used so far, in seconds.
double processor_seconds(int pid);

/// The memory that this process has allocated and not freed, in bytes.
size_t heap_bytes();

/// The space on the disk of all files in the folder and its subfolders, in bytes. Files that are
/// removed during the call may be left out.
uint64_t bytes_on_disk(const std::filesystem::path& folder);

/// A finished run of a program.
struct ProgramRun {
  int code = 0;        ///< the exit code, as a shell reports it
  std::string output;  ///< what the program wrote to standard output
  double seconds = 0;
};

/// Runs a program, which `command` names by its path before its arguments, and waits for its end.
/// Its standard error is that of this process.
ProgramRun run_program(std::vector<std::string> command);

/// Runs the program `millrace` of the same build folder with these arguments, as run_program()
/// does.
ProgramRun run_millrace(std::vector<std::string> arguments);

/// The value below which the fraction `part` (0 to 1) of the samples lies.
double percentile(std::vector<double> samples, double part);

/// Runs `millrace serve` as a child process on a data folder.
class MillraceProcess {
 public:
  /// `options` are added to the command line of the process. An empty `program` means the program
  /// `millrace` of the same build folder.
  MillraceProcess(std::filesystem::path data, std::string nats_url,
                  std::vector<std::string> options = {}, std::filesystem::path program = {});
  ~MillraceProcess();
  MillraceProcess(const MillraceProcess&) = delete;
  MillraceProcess& operator=(const MillraceProcess&) = delete;

  /// The port for the next start, which stays the same in later starts; 0, the default: any free
  /// port.
  void listen_on(uint16_t port) { listen_port_ = port; }
  /// Starts the process, waits until millrace is ready, and returns how long that took, in seconds.
  double start();
  /// Ends the process with SIGKILL.
  void kill();
  /// Asks the process to end with SIGTERM, and waits until it has.
  void stop();

  void apply(const std::string& workflow_text, const std::string& id);
  /// Sends a request to the server and returns the JSON of its answer. An answer whose status is
  /// not 200 to 299 ends the program.
  Json ask(const std::string& method, const std::string& path, const std::string& body = "");
  /// All metrics of the server, as text.
  std::string metrics();
  /// The value of a metric, summed over its labels.
  double metric(const std::string& name) { return sum_of(metrics(), name); }
  /// Waits until `metric(name)` reaches `value`.
  void wait_for(const std::string& name, double value);
  int pid() const { return process_->pid; }
  /// The URL of the server, for the option `--url` of `millrace`.
  std::string url() const;
  /// Anonymous resident memory in bytes.
  int64_t anonymous_memory() const;
  /// All resident memory in bytes; it includes the resident pages of data.mdb.
  int64_t resident_memory() const;
  size_t open_descriptors() const;

 private:
  std::string request(const std::string& method, const std::string& path, const std::string& body,
                      long* status);

  std::filesystem::path data_;
  std::string nats_url_;
  std::vector<std::string> options_;
  std::filesystem::path program_;
  std::optional<LaunchedProcess> process_;  ///< empty: the process does not run
  uint16_t listen_port_ = 0;                ///< for `--listen`
  int port_ = 0;
};

/// A NATS client that publishes without waiting. The library's thread calls `heard` with the data
/// of each message of a subscription.
class PlainClient {
 public:
  explicit PlainClient(const std::string& url);
  ~PlainClient();
  PlainClient(const PlainClient&) = delete;
  PlainClient& operator=(const PlainClient&) = delete;

  using Heard = std::function<void(std::string_view data)>;
  void subscribe(const std::string& subject, Heard heard);
  void publish(const std::string& subject, std::string_view data);
  void flush();

  natsConnection* handle() { return connection_; }

 private:
  natsConnection* connection_ = nullptr;
  std::vector<natsSubscription*> subscriptions_;
  std::vector<std::unique_ptr<Heard>> heard_;
};

/// The subject to which the benchmarks publish events.
inline constexpr const char* kBenchSubject = "millrace.events.default.bench";

/// A structured event of about 512 bytes.
std::string event_text(std::string_view type, std::string_view id, std::string_view key);
/// A structured event of about 500 bytes that has `key` as an attribute and in its data.
std::string with_key(std::string_view type, std::string_view id, std::string_view key);

/// Makes a folder beside this program, so that the folder is on the measured disk and not in a
/// memory file system. The destructor of the result deletes the folder.
ScratchFolder make_run_folder();

/// A private broker and a folder for all files. The destructor ends the broker and deletes the
/// folder.
struct Site {
  /// `program` is as in DevServerSettings.
  explicit Site(std::string program = {});
  const std::filesystem::path& folder() const { return run.path(); }

  ScratchFolder run = make_run_folder();
  std::unique_ptr<DevServer> broker;
};

/// Prints one row of the table of results: what was measured, the figure, and the figure to compare
/// it with.
void row(std::string_view what, std::string_view figure, std::string_view beside = "");

}  // namespace millrace
