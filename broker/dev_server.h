// A private nats-server with JetStream, as a child process that does not outlive us: for `millrace
// dev` and for tests. One thread owns it, and that thread must live as long as the server: the
// kernel ends the child with the thread that started it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "os/descriptor.h"
#include "os/launch.h"

namespace millrace {

struct DevServerSettings {
  std::filesystem::path folder;  ///< made if missing: store, configuration and log
  /// Looked for in PATH, unless it is a path. Empty: what the environment's MILLRACE_NATS_SERVER
  /// names, else `nats-server`.
  std::string program;
  uint16_t port = 0;            ///< 0: a free one,
  uint16_t preferred_port = 0;  ///< this one if it is free; 0: any
  std::string configuration;    ///< lines added to its configuration file
};

class DevServer {
 public:
  /// Returns once the server takes connections and JetStream is ready. Errors: `broker.no_server`
  /// (the program is missing), `broker.folder_in_use` (another server has the folder),
  /// `broker.server_failed` (with the end of its log).
  static Result<std::unique_ptr<DevServer>> start(DevServerSettings settings);

  /// SIGTERM, and SIGKILL after 5 seconds.
  ~DevServer();
  DevServer(const DevServer&) = delete;
  DevServer& operator=(const DevServer&) = delete;

  /// `nats://127.0.0.1:<port>`, the same after start_again().
  std::string url() const;
  uint16_t port() const { return port_; }
  /// Of the server, for signals; it changes with start_again().
  int pid() const { return process_ ? process_->pid : -1; }

  /// SIGKILL, as a crash would; returns when the process is gone.
  void kill();

  /// SIGTERM, and SIGKILL after 5 seconds; returns when the process is gone.
  void stop();

  /// On the same folder and port, after kill() or stop(); `configuration` replaces the added lines.
  Status start_again();
  Status start_again(std::string configuration);

 private:
  explicit DevServer(DevServerSettings settings) : settings_(std::move(settings)) {}

  Status lock_folder();
  void hold_port(uint16_t preferred);
  Status launch();
  Status wait_until_ready();
  void end(int signal);
  void has_ended();
  std::filesystem::path ports_file() const;
  std::string end_of_log() const;

  DevServerSettings settings_;
  uint16_t port_ = 0;
  Descriptor port_hold_;  ///< bound and not listening: while the server is down its port is kept
  Descriptor lock_;  ///< held by the child too, so that the folder is free only when it is gone
  std::optional<LaunchedProcess> process_;  ///< none: it is down
};

}  // namespace millrace
