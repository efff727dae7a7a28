// Server: a whole millrace in this process: the parts that live as long as the process
// (process_parts.h), and the engine that runs on them (running_engine.h). Here they are started and
// stopped in order.
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
  Server(std::unique_ptr<ProcessParts> process, std::unique_ptr<RunningEngine> engine);

  std::unique_ptr<ProcessParts> process_;
  std::unique_ptr<RunningEngine> engine_;  ///< goes before the parts that it uses
};

}  // namespace millrace
