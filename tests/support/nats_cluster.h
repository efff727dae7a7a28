// Three private nats-servers that form a cluster, for tests of streams with replicas. Start the
// cluster on the thread that runs the test.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tests/support/held_port.h"
#include "tests/support/nats_fixture.h"

namespace millrace {

class NatsCluster {
 public:
  static constexpr size_t kServers = 3;

  /// `program` is as in DevServerSettings. Returns when the nats-servers accept connections; they
  /// elect a leader of JetStream afterwards. They do not send their addresses to clients, so a
  /// client knows only the addresses that it was given.
  explicit NatsCluster(const std::string& program = "");

  /// The path of a nats-server of version 2.10 or newer, whose streams with replicas may lose a
  /// server often: the program that MILLRACE_NATS_SERVER names, or if that is not set, the newest
  /// of the nats-server in PATH and those that `./dev brokers` has downloaded. nullopt: there is
  /// none of that version.
  static std::optional<std::string> newest_program();

  /// The newest nats-server of that version line, of those of which newest_program() chooses one;
  /// nullopt: there is none.
  static std::optional<std::string> newest_program_of(int major, int minor);

  NatsServer& server(size_t index) { return *servers_[index]; }
  /// The URLs of all nats-servers, separated by commas, for `--nats`.
  std::string urls() const;

  /// A connection by the code of millrace to all nats-servers except `left_out`.
  std::unique_ptr<Connection> connect(std::optional<size_t> left_out = std::nullopt) const;

  /// Stops a running nats-server with SIGSTOP: its connections stay open, and it does not answer.
  void suspend(size_t index);
  /// Lets a suspended nats-server run again.
  void resume(size_t index);

  /// What the nats-server at `connection` reports of a stream. While a stream has no leader, no
  /// nats-server may answer, and the request is lost: it is sent again until kPatience has passed.
  static Result<Json> stream_info(const Connection& connection, std::string_view stream,
                                  const Json& body = Json::object());
  /// Waits until JetStream has a leader, which only the leader itself answers. False if there was
  /// none for kPatience.
  static bool has_leader(const Connection& connection);
  /// The nats-server that leads a stream, as the nats-server at `connection` reports; nullopt: no
  /// nats-server leads it at present.
  static std::optional<size_t> leader_of(const Connection& connection, std::string_view stream);
  /// Whether each stream of millrace has a leader and `kServers - 1` current replicas, as the
  /// nats-server at `connection` reports.
  static bool is_whole(const Connection& connection);
  /// The same of one stream.
  static bool is_whole(const Connection& connection, const std::string& stream);

 private:
  /// Waits until a stream can have a replica on each nats-server. For some time after the election
  /// of a leader it refuses such streams, because it does not know the others yet.
  void wait_for_peers() const;

  std::array<HeldPort, kServers> routes_;  ///< by which the nats-servers connect
  std::array<std::unique_ptr<NatsServer>, kServers> servers_;
};

}  // namespace millrace
