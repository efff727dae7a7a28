// Server: a complete millrace server in this process. It starts and stops, in order, the parts that
// live as long as the process (process_parts.h) and what uses them: an engine (running_engine.h),
// or a node of a cluster (cluster_node.h), which runs an engine while it is the active.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "app/cluster_node.h"
#include "app/server_settings.h"
#include "base/result.h"
#include "expressions/workers/launcher.h"
#include "orchestrator/service/service.h"
#include "os/descriptor.h"

namespace millrace {

class Server {
 public:
  /// Starts a server, which runs when the function returns. NATS may become reachable later; until
  /// then `/readyz` reports that the server is not ready. Errors: those of the store, the gateway
  /// and the settings, and `broker.owner`: another process owns the streams; `stopping`:
  /// ServerSettings::is_ending was true before this process owned the streams.
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

  /// Logs a warning if the NATS server that is connected is an old one
  /// (warning_of_server_version). Does nothing without a connection, and on a node of a cluster,
  /// which checks more. Waits for one second at most.
  void warn_of_old_broker() const;

  /// The URL of the page for a browser on this machine: `http://127.0.0.1:8780/`. Empty: the
  /// program was built without the page.
  std::string page_url() const;

  /// Reloads the token of a server that has one. If the file cannot be read, the server continues
  /// with the previous token and logs the error.
  void read_token_again();

  /// Precondition: this server is in no cluster.
  Service& service();

  /// Of a node of a cluster: hands over to another node, waits for the end of the node and returns
  /// how it has ended. Otherwise returns at once.
  NodeEnd leave();

 private:
  explicit Server(std::unique_ptr<ProcessParts> process);

  Status start_engine(std::unique_ptr<Environment> store, Descriptor address,
                      std::optional<BearerToken> token);
  Status start_node(std::unique_ptr<Environment> store, Descriptor address,
                    std::optional<BearerToken> token);

  std::unique_ptr<ProcessParts> process_;
  // One of these, destroyed before process_, which it uses.
  std::unique_ptr<RunningEngine> engine_;
  std::unique_ptr<ClusterNode> node_;
  std::mutex mutex_;  ///< guards end_
  std::condition_variable ended_;
  std::optional<NodeEnd> end_;
};

}  // namespace millrace
