// NatsTrio: three private nats-servers that form a cluster on the loopback, for the benchmarks of
// streams with replicas. For the thread that creates it: the nats-servers end with that thread,
// also if the program aborts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "bench/harness.h"
#include "broker/connection.h"
#include "broker/dev_server.h"
#include "os/scratch_folder.h"
#include "tests/support/held_port.h"

namespace millrace {

/// The program nats-server, and its version.
struct NatsProgram {
  std::string path;
  std::string version;  ///< such as "2.10.27"
};

/// The program for a cluster of nats-servers, of version 2.10 or newer: the one that
/// MILLRACE_NATS_SERVER names, or if that is not set, the newest of the nats-server in PATH and
/// those that tests/brokers/fetch.sh has downloaded. nullopt: none is that new.
std::optional<NatsProgram> newest_nats_program();

/// What a stream has, and where it ends.
struct StreamSize {
  double messages = 0;
  double bytes = 0;   ///< of all messages with their headers, in one replica
  uint64_t last = 0;  ///< the sequence of the newest message
};

class NatsTrio {
 public:
  /// Starts the nats-servers, and returns when they create streams with three replicas. If they do
  /// not within a minute, the program ends.
  explicit NatsTrio(const std::string& program);

  /// The URL of one of the nats-servers, 0 to 2.
  std::string url(size_t index) const { return servers_.at(index)->url(); }
  /// The process ids of all nats-servers.
  std::vector<int> processes() const;

  /// The size of a stream, which exists.
  StreamSize size_of(std::string_view stream) const;
  /// Makes the nats-server 0 the leader of a stream, so that measurements on different streams do
  /// not differ by where their leaders are. If another nats-server still leads the stream after
  /// half a minute, standard error gets a line.
  void make_first_lead(std::string_view stream) const;

 private:
  void wait_for_replicas() const;
  Json info_of(std::string_view stream) const;

  ScratchFolder run_ = make_run_folder();
  std::array<HeldPort, 3> routes_;  ///< by which the nats-servers connect
  std::array<std::unique_ptr<DevServer>, 3> servers_;
  std::unique_ptr<Connection> connection_;  ///< to the nats-server 0
};

}  // namespace millrace
