// Three private nats-servers that form a cluster, for tests of streams with replicas. Start the
// cluster on the thread that runs the test.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/held_port.h"
#include "tests/support/nats_fixture.h"

namespace millrace {

class NatsCluster {
 public:
  static constexpr size_t kServers = 3;

  NatsCluster();

  NatsServer& server(size_t index) { return *servers_[index]; }
  /// The URLs of all nats-servers, separated by commas, for `--nats`.
  std::string urls() const;

  /// What the nats-server at `connection` reports of a stream. While a stream has no leader, no
  /// nats-server may answer, and the request is lost: it is sent again until kPatience has passed.
  static Result<Json> stream_info(const Connection& connection, std::string_view stream,
                                  const Json& body = Json::object());
  /// Whether each of `streams` has a leader and `kServers - 1` current replicas, as the nats-server
  /// at `connection` reports.
  static bool is_whole(const Connection& connection, const std::vector<std::string>& streams);

 private:
  std::array<HeldPort, kServers> routes_;  ///< by which the nats-servers connect
  std::array<std::unique_ptr<NatsServer>, kServers> servers_;
};

}  // namespace millrace
