// Server: a whole millrace in this process, every room wired to the others. The only place where
// broker, workers, gateway and processor meet.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "broker/connection.h"
#include "broker/stream_options.h"
#include "cli/serve_options.h"
#include "expressions/workers/launcher.h"
#include "orchestrator/service/service.h"
#include "os/descriptor.h"

namespace millrace {

struct ServerSettings {
  std::filesystem::path data;  ///< folder of the store
  std::string listen;          ///< of the gateway, host:port
  std::string token_file;      ///< with the token that callers show; empty: none is asked for
  ConnectionSettings nats;
  StreamOptions streams;
  bool take_over = false;  ///< OwnerSettings
  /// Hears, on a thread of its own, that another process owns the streams: this one must end.
  std::function<void(const Error&)> on_lost = [](const Error&) {};
  std::filesystem::path secret_key_file;  ///< EnvironmentOptions::key_file
  std::string container_runtime;          ///< ContainerSettings::runtime
  ServerBounds bounds;
};

class Server {
 public:
  /// Runs when it returns; NATS may come later, until then `/readyz` says no. Errors: those of the
  /// store, the gateway and the settings, and `broker.owner`: another process owns the streams.
  static Result<std::unique_ptr<Server>> start(ServerSettings settings, JqLauncher launcher);

  /// The address of `settings` taken (HttpServer::bind), for a program that starts more than this
  /// server and checks first.
  static Result<Descriptor> bind(const ServerSettings& settings);
  static Result<std::unique_ptr<Server>> start(ServerSettings settings, Descriptor address,
                                               JqLauncher launcher);

  /// Stops in order: no more requests, no more events, what is committed goes out as far as it
  /// does within two seconds (the rest is sent after the next start).
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const;

  /// For a server that has a token: a changed one counts from here on; one that cannot be read
  /// changes nothing, and the log says so.
  void read_token_again();

  Service& service();

 private:
  class Parts;
  explicit Server(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace
