// ClusterUnderLoad: two or three nodes of a cluster on three nats-servers, clients that start
// orders, and the subscribers of what the orders cause. A test lets nodes and NATS servers fail,
// and at the end each order must be there once, on all nodes. This class is the supervisor of the
// nodes: it starts a node again that has ended by itself. Use it on the thread that runs the test.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/integration/actives_watch.h"
#include "tests/integration/order_load.h"
#include "tests/integration/order_subscribers.h"
#include "tests/support/folder.h"
#include "tests/support/held_port.h"
#include "tests/support/millrace_server.h"
#include "tests/support/nats_cluster.h"
#include "tests/support/tcp_proxy.h"

namespace millrace {

struct ClusterUnderLoadSettings {
  std::string nats_server;  ///< NatsCluster::newest_program()
  size_t nodes = 2;
  std::string takeover_after = "2s";  ///< of all nodes
  bool has_proxies = false;           ///< each node reaches each NATS server through a TcpProxy
};

class ClusterUnderLoad {
 public:
  static constexpr const char* kLog = "MILLRACE_LOG_shop_0";

  explicit ClusterUnderLoad(ClusterUnderLoadSettings settings);
  ~ClusterUnderLoad();

  /// Founds the cluster and starts the load. Returns when the load proceeds.
  void start();

  NatsCluster& brokers() { return brokers_; }
  OrderLoad& load() { return *load_; }
  size_t size() const { return nodes_.size(); }
  MillraceServer& node(size_t index) { return *nodes_[index]->server; }

  /// The node that is the active now; nullopt: none answers as the active. Waits until there is
  /// one, for kPatience at most.
  std::optional<size_t> active();
  /// Waits until a node other than `former` is the active.
  bool has_active_beside(size_t former);

  /// Sends SIGKILL to the node, which stays down until start_node(). Its folder is checked.
  void kill_node(size_t index);
  /// Sends SIGTERM to the node, which stays down until start_node().
  void stop_node(size_t index);
  void start_node(size_t index);
  /// With `has_proxies`: the node reaches no NATS server, and keeps its connections, until join().
  void cut(size_t index);
  void join(size_t index);

  /// Stops the NATS server, copies its folder to `to`, and starts it again. Before the first copy
  /// of a power cut: will_lose_messages().
  void copy_broker(size_t index, const std::filesystem::path& to);
  /// Of a NATS server that is down: replaces its folder by an earlier copy.
  void put_back(size_t index, const std::filesystem::path& from);
  /// Waits until each stream has all its replicas, after a fault of that NATS server.
  void wait_for_brokers(size_t server);
  /// Whether each stream has all its replicas, as the NATS server at `connection` reports.
  static bool is_whole(const Connection& connection);

  /// After a fault: waits until all nodes are ready, the load proceeds, and nearly all orders are
  /// delivered.
  void settle();

  /// Checks a copy of the folder of each node, as it is while the process is suspended: a SIGKILL
  /// at that moment would leave the same. The load continues.
  void expect_sound_copies();

  /// From now on the NATS servers may lose messages that they acknowledge.
  void will_lose_messages();
  /// They have lost them: what subscribers have read of the streams since then may have changed,
  /// and events that no node had read are lost.
  void have_lost_messages();

  /// Ends the load, and expects that each order has had each of its effects once.
  void expect_each_order_once();
  /// After that: kills all nodes, and expects the same rows in all folders, which are sound.
  void expect_equal_stores();

  /// The newest lines of the logs of all nodes, also of processes that have ended.
  std::string logs();

 private:
  struct Node {
    HeldPort port;
    std::vector<std::unique_ptr<TcpProxy>> proxies;
    std::unique_ptr<MillraceServer> server;
    bool is_down = true;  ///< not started yet, or a test has ended it
    std::string log;      ///< of the processes that have ended, the newest part
  };

  void add_node();
  std::string urls_for(Node& node);
  void supervise();
  bool is_ready(const Node& node) const;
  bool are_all_caught_up();
  void kill_all();
  std::vector<uint16_t> ports() const;

  const ClusterUnderLoadSettings settings_;
  Folder folder_;
  NatsCluster brokers_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unique_ptr<Connection> connection_;
  bool has_lost_messages_ = false;
  std::unique_ptr<OrderSubscribers> subscribers_;
  std::unique_ptr<OrderLoad> load_;
  std::unique_ptr<ActivesWatch> watch_;
};

}  // namespace millrace
