// A private nats-server with JetStream, for `millrace dev` and for tests. The server is a child
// process that ends with this process. One thread owns the server, and that thread must live as
// long as the server: the kernel ends the child together with the thread that started it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "os/descriptor.h"
#include "os/launch.h"

namespace millrace {

struct DevServerSettings {
  /// The folder for the streams, configuration and log of the nats-server; created if missing.
  std::filesystem::path folder;
  /// The program nats-server: its path, or a name that is searched in PATH. Empty: the value of the
  /// environment variable MILLRACE_NATS_SERVER, or else `nats-server`.
  std::string program;
  uint16_t port = 0;            ///< 0: preferred_port, or any free port
  uint16_t preferred_port = 0;  ///< used if it is free; 0: any free port
  std::string configuration;    ///< lines that are added to the nats-server's configuration file
  /// How long a start may take; JetStream reads its store in this time.
  Duration start_timeout = std::chrono::minutes(1);
};

class DevServer {
 public:
  /// Returns once the nats-server accepts connections and JetStream is ready. Errors:
  /// `broker.no_server` (the program is missing), `broker.folder_in_use` (another nats-server uses
  /// the folder), `broker.server_failed` (the message has the end of the nats-server's log).
  static Result<std::unique_ptr<DevServer>> start(DevServerSettings settings);

  /// Stops the nats-server, as stop() does.
  ~DevServer();
  DevServer(const DevServer&) = delete;
  DevServer& operator=(const DevServer&) = delete;

  /// `nats://127.0.0.1:<port>`; start_again() does not change it.
  std::string url() const;
  uint16_t port() const { return port_; }
  /// The process id of the nats-server, for signals; start_again() changes it. -1: the nats-server
  /// is down.
  int pid() const { return process_ ? process_->pid : -1; }

  /// Kills the nats-server with SIGKILL, as if it crashed. Returns when its process has ended.
  void kill();

  /// Sends SIGTERM to the nats-server; sends SIGKILL if its process has not ended after 5 seconds.
  /// Returns when its process has ended.
  void stop();

  /// Starts the nats-server again on the same folder and port, after kill() or stop().
  /// `configuration` replaces DevServerSettings::configuration.
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
  Descriptor port_hold_;  ///< bound, not listening: reserves the port while the nats-server is down
  Descriptor lock_;  ///< inherited by the child, so the folder is locked until the child has ended
  std::optional<LaunchedProcess> process_;  ///< nullopt: the nats-server is down
};

}  // namespace millrace
