// ProcessParts: what a server has for as long as its process runs, whichever engine is at work: the
// settings, the clock, the counters, the connections to NATS with the publisher, the jq workers,
// the HTTP client and the gateway. It knows no store and no engine (running_engine.h), which is
// made after it and destroyed before it.
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
  /// Starts the jq workers and opens the connections, which need no broker yet.
  static Result<std::unique_ptr<ProcessParts>> open(ServerSettings settings, JqLauncher launcher);

  ~ProcessParts();
  ProcessParts(const ProcessParts&) = delete;
  ProcessParts& operator=(const ProcessParts&) = delete;

  /// The gateway answers for `service` from here on. `address` is what HttpServer::bind gave.
  Status start_gateway(Descriptor address, std::optional<BearerToken> token, Service& service);

  /// For a gateway that has a token: a changed one counts from here on; one that cannot be read
  /// changes nothing, and the log says so.
  void read_token_again();

  /// Ends what calls back into an engine: jq workers, publisher, webhooks. An engine calls it when
  /// its thread has ended, before anything of it is destroyed.
  void end_callbacks();

  const ServerSettings settings;
  SystemClock clock;
  Metrics metrics;
  BrokerLosses losses{clock, metrics};
  std::unique_ptr<Connection> reading;     ///< of events, dead letters and the owner of streams
  std::unique_ptr<Connection> publishing;  ///< guarded (StreamOwner)
  std::unique_ptr<Connection> working;     ///< of tasks; guarded
  /// What is called when the broker has no stream for a message; an engine sets it before it
  /// publishes anything.
  std::function<void()> on_missing_stream = [] {};
  std::unique_ptr<JetStreamPublisher> publisher;
  std::unique_ptr<JqPool> jq;
  HttpClient http;
  std::unique_ptr<WebhookSender> webhooks;
  std::unique_ptr<HttpServer> gateway;

 private:
  ProcessParts(ServerSettings settings, std::unique_ptr<JqPool> jq,
               std::unique_ptr<Connection> reading, std::unique_ptr<Connection> publishing,
               std::unique_ptr<Connection> working);
};

/// The token that the gateway asks callers for; nullopt where no file is named.
Result<std::optional<BearerToken>> read_gateway_token(const std::string& file);

}  // namespace millrace
