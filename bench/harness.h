// What the benchmarks share: a millrace as a process of its own beside a private nats-server, a
// plain NATS client as the load, and figures.
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
#include "broker/dev_server.h"
#include "os/launch.h"
#include "os/scratch_folder.h"

namespace millrace {

using Seconds = std::chrono::duration<double>;

/// The time since it was made.
class Stopwatch {
 public:
  double seconds() const { return Seconds(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// What a process has used of the processors so far, in seconds.
double processor_seconds(int pid);

/// What this process has allocated and not freed, in bytes.
size_t heap_bytes();

/// The value below which `part` of the samples lie.
double percentile(std::vector<double> samples, double part);

/// `millrace serve` as a child process, on a folder that goes with it.
class MillraceProcess {
 public:
  /// `options` are more of its command line; `program` is the one that was built beside this one
  /// unless it is given.
  MillraceProcess(std::filesystem::path data, std::string nats_url,
                  std::vector<std::string> options = {}, std::filesystem::path program = {});
  ~MillraceProcess();
  MillraceProcess(const MillraceProcess&) = delete;
  MillraceProcess& operator=(const MillraceProcess&) = delete;

  /// Starts it and waits until it is ready; how long that took, in seconds.
  double start();
  /// SIGKILL.
  void kill();

  void apply(const std::string& workflow_text, const std::string& id);
  /// A metric's value, summed over its labels.
  double metric(const std::string& name);
  /// Waits until `metric(name)` reaches `value`.
  void wait_for(const std::string& name, double value);
  int pid() const { return process_->pid; }
  /// Anonymous resident memory in bytes.
  int64_t anonymous_memory() const;

 private:
  std::string request(const std::string& method, const std::string& path, const std::string& body,
                      long* status);

  std::filesystem::path data_;
  std::string nats_url_;
  std::vector<std::string> options_;
  std::filesystem::path program_;
  std::optional<LaunchedProcess> process_;  ///< none: it does not run
  int port_ = 0;
};

/// A plain client: publishes without waiting, hears what it subscribed to on the library's thread.
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

/// Where the events of the benchmarks are published.
inline constexpr const char* kBenchSubject = "millrace.events.default.bench";

/// A structured event of about 512 bytes.
std::string event_text(std::string_view type, std::string_view id, std::string_view key);
/// One that has the key in its data as well.
std::string with_key(std::string_view type, std::string_view id, std::string_view key);

/// A folder that goes with its owner, beside this program: on the disk that is measured, not in a
/// memory file system.
ScratchFolder make_run_folder();

/// A private broker and a folder for everything, both gone at the end.
struct Site {
  Site();
  const std::filesystem::path& folder() const { return run.path(); }

  ScratchFolder run = make_run_folder();
  std::unique_ptr<DevServer> broker;
};

/// Prints one line of the table.
void row(std::string_view what, std::string_view figure, std::string_view beside = "");

}  // namespace millrace
