// Server: a complete millrace server in this process. It starts and stops, in order, the parts that
// live as long as the process (process_parts.h) and the engine that uses them (running_engine.h).
#pragma once

#include <cstdint>
#include <memory>

#include "app/server_settings.h"
#include "base/result.h"
#include "expressions/workers/launcher.h"
#include "orchestrator/service/service.h"
#include "os/descriptor.h"

namespace millrace {

class ProcessParts;
class RunningEngine;

class Server {
 public:
  /// Starts a server, which runs when the function returns. NATS may become reachable later; until
  /// then `/readyz` reports that the server is not ready. Errors: those of the store, the gateway
  /// and the settings, and `broker.owner`: another process owns the streams.
  static Result<std::unique_ptr<Server>> start(ServerSettings settings, JqLauncher launcher);

  /// Binds the address of `settings` (HttpServer::bind), for a program that starts other parts
  /// before the server and must first know that the address is free.
  static Result<Descriptor> bind(const ServerSettings& settings);
  static Result<std::unique_ptr<Server>> start(ServerSettings settings, Descriptor address,
                                               JqLauncher launcher);

  /// Stops the server in order: first it accepts no more requests and no more events, then it sends
  /// messages of committed batches for at most two seconds; messages that are left are sent after
  /// the next start.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const;

  /// Reloads the token of a server that has one. If the file cannot be read, the server continues
  /// with the previous token and logs the error.
  void read_token_again();

  Service& service();

 private:
  Server(std::unique_ptr<ProcessParts> process, std::unique_ptr<RunningEngine> engine);

  std::unique_ptr<ProcessParts> process_;
  std::unique_ptr<RunningEngine> engine_;  ///< destroyed before process_, which it uses
};

}  // namespace millrace
