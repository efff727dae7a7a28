// Three private nats-servers that form a cluster, for tests of streams with replicas. Start it on
// the thread that runs the test.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "os/descriptor.h"
#include "tests/support/nats_fixture.h"

namespace millrace {

class NatsCluster {
 public:
  static constexpr size_t kServers = 3;

  NatsCluster();

  NatsServer& server(size_t index) { return *servers_[index]; }
  /// The URLs of all servers, separated by commas, for `--nats`.
  std::string urls() const;

  /// Whether each of `streams` has a leader and `kServers - 1` current replicas, by the answers on
  /// `connection`. A stream without a leader does not answer.
  static bool is_whole(const Connection& connection, const std::vector<std::string>& streams);

 private:
  std::array<Descriptor, kServers> routes_;  ///< hold the ports of the routes
  std::array<std::unique_ptr<NatsServer>, kServers> servers_;
};

}  // namespace millrace
