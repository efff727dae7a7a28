// Faults of the NATS server that leads a stream of three replicas, under load.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/nats_cluster.h"
#include "tests/support/process.h"

namespace millrace {

enum class LeaderFault {
  kKill,   ///< it is killed, and starts again when the load proceeds without it
  kHang,   ///< it is stopped until the load proceeds without it
  kPause,  ///< it is stopped until another one leads: clients may still be connected to it
};

inline constexpr std::array<std::pair<LeaderFault, const char*>, 3> kLeaderFaults = {{
    {LeaderFault::kKill, "the leader is killed"},
    {LeaderFault::kHang, "the leader hangs"},
    {LeaderFault::kPause, "the leader pauses until another one is elected"},
}};

/// Why a test is skipped that has no NatsCluster::newest_program().
inline constexpr const char* kNeedsNewerServer =
    "this test needs nats-server 2.10 or newer; tests/brokers/fetch.sh downloads it";

/// Waits until `is_whole`, after a fault of that NATS server.
inline void wait_until_whole(NatsCluster& cluster, size_t server,
                             const std::function<bool()>& is_whole) {
  constexpr Duration kMostToCatchUp = std::chrono::minutes(1);
  if (eventually(is_whole, kMostToCatchUp)) return;
  // In nats-server 2.10.27 and later a replica rarely hangs after a restart: that of the server
  // which had the fault, or that of another one. An operator starts them again, one by one.
  for (size_t i = 0; i < NatsCluster::kServers; ++i) {
    const size_t next = (server + i) % NatsCluster::kServers;
    fmt::print("the streams are not whole, and n{} is started again\n", next);
    cluster.server(next).process().kill();
    ASSERT_TRUE(cluster.server(next).process().start_again());
    if (eventually(is_whole, kMostToCatchUp)) return;
  }
  FAIL() << "the streams are not whole after a restart of each NATS server";
}

/// The leader of `stream` has that fault. Returns when it is over: the load proceeds, and
/// `is_whole`, which is asked over a connection to the other servers.
template <class Load>
void strike_leader(NatsCluster& cluster, const std::string& stream, Load& load, LeaderFault fault,
                   const std::function<bool(const Connection& others)>& is_whole) {
  const std::unique_ptr<Connection> any = cluster.connect();
  const std::optional<size_t> leader = NatsCluster::leader_of(*any, stream);
  ASSERT_TRUE(leader);
  const std::unique_ptr<Connection> others = cluster.connect(leader);
  ASSERT_TRUE(load.proceeds());
  if (fault == LeaderFault::kKill) {
    cluster.server(*leader).process().kill();
  } else {
    cluster.suspend(*leader);
  }
  EXPECT_TRUE(eventually([&] {
    const std::optional<size_t> next = NatsCluster::leader_of(*others, stream);
    return next && next != leader;
  })) << "no other NATS server leads the stream";
  if (fault != LeaderFault::kPause) {
    EXPECT_TRUE(load.proceeds());
  }
  if (fault == LeaderFault::kKill) {
    ASSERT_TRUE(cluster.server(*leader).process().start_again());
  } else {
    cluster.resume(*leader);
  }
  ASSERT_TRUE(load.proceeds());
  wait_until_whole(cluster, *leader, [&] { return is_whole(*others); });
}

}  // namespace millrace
