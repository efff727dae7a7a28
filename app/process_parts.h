// ProcessParts: the parts of a server that live as long as the process, independent of the engine
// that runs: the settings, the clock, the counters, the connections to NATS with the publisher, the
// jq workers, the HTTP client and the gateway. The object does not use the store or the engine
// (running_engine.h); the engine is created after the ProcessParts and destroyed before them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/server_settings.h"
#include "base/result.h"
#include "broker/connection.h"
#include "broker/publisher.h"
#include "expressions/workers/launcher.h"
#include "expressions/workers/pool.h"
#include "gateway/bearer_token.h"
#include "gateway/http_server.h"
#include "http/http_client.h"
#include "orchestrator/loop/metrics.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/webhook_sender.h"
#include "orchestrator/service/broker_losses.h"
#include "os/descriptor.h"

namespace millrace {

class ProcessParts {
 public:
  /// Starts the jq workers and opens the connections; NATS need not be reachable yet.
  static Result<std::unique_ptr<ProcessParts>> open(ServerSettings settings, JqLauncher launcher);

  ~ProcessParts();
  ProcessParts(const ProcessParts&) = delete;
  ProcessParts& operator=(const ProcessParts&) = delete;

  /// Starts the gateway, which answers requests with `service`. `address` is the result of
  /// HttpServer::bind.
  Status start_gateway(Descriptor address, std::optional<BearerToken> token, Service& service);

  /// The same for a node of a cluster, which has no service before it is the active
  /// (HttpServer::serve).
  Status start_gateway(Descriptor address, std::optional<BearerToken> token, NodeFront& front);

  /// Reloads the token of a gateway that has one. If the file cannot be read, the gateway continues
  /// with the previous token and the error is logged.
  void read_token_again();

  /// Destroys the parts that call back into an engine: jq workers, publisher, webhooks. The engine
  /// calls this function when the engine thread has ended, before any member of the engine is
  /// destroyed.
  void end_callbacks();

  const ServerSettings settings;
  SystemClock clock;
  Metrics metrics;
  BrokerLosses losses{clock, metrics};
  std::unique_ptr<Connection> reading;  ///< for events, dead letters and the stream owner
  // These two connections, and in a cluster the HTTP client, are usable only while this process
  // owns the streams (StreamOwner), in a cluster while it is certain to be the active.
  std::unique_ptr<Connection> publishing;  ///< for the publisher
  std::unique_ptr<Connection> working;     ///< for tasks and the retention of dead letters
  /// Called when the broker has no stream for a message. An engine must set it before it publishes
  /// anything.
  std::function<void()> on_missing_stream = [] {};
  std::unique_ptr<JetStreamPublisher> publisher;
  std::unique_ptr<JqPool> jq;
  HttpClient http{{.guarded = !settings.cluster.name.empty()}};
  std::unique_ptr<WebhookSender> webhooks;
  TokenFailures token_failures;  ///< used on the gateway's thread only
  std::unique_ptr<HttpServer> gateway;

 private:
  ProcessParts(ServerSettings settings, std::unique_ptr<JqPool> jq,
               std::unique_ptr<Connection> reading, std::unique_ptr<Connection> publishing,
               std::unique_ptr<Connection> working);

  HttpServer::Options gateway_options(std::optional<BearerToken> token);
  /// Counts and logs a request that the gateway refused. Gateway's thread.
  void note_token_failure(const TokenFailure& failure);
};

/// Reads the token that the gateway requires from callers; nullopt if `file` is empty. Errors:
/// those of read_token_file() and check_token_strength().
Result<std::optional<BearerToken>> read_gateway_token(const std::string& file);

}  // namespace millrace
