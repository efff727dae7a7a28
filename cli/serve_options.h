// The options of `millrace serve` and `millrace dev`, from the command line and the environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/defaults.h"
#include "base/time.h"
#include "broker/stream_options.h"

namespace millrace {

/// Limits on the time, memory and disk that a server uses.
struct ServerBounds {
  Duration task_timeout = defaults::kTaskTimeout;    ///< limit of the evaluation of one state
  Duration call_timeout = defaults::kCallTimeout;    ///< of calls without a timeout
  Duration dedupe_window = defaults::kDedupeWindow;  ///< how long source and id are remembered
  uint64_t dedupe_events = defaults::kDedupeEvents;  ///< for how many events at most
  uint64_t store_limit = defaults::kStoreLimit;      ///< bytes; above it new work is refused
  uint64_t checkpoint_bytes = defaults::kCheckpointBytes;  ///< EnvironmentOptions::checkpoint_bytes
  uint64_t http_memory = defaults::kHttpMemory;            ///< TransportLimits::memory_bytes
};

/// How containers of functions run; see ContainerSettings.
struct ContainerOptions {
  std::string runtime;               ///< empty: podman or docker, if installed
  std::string network;               ///< see network_of()
  std::string pool_network;          ///< of reusable containers; empty: as `network`
  std::vector<std::string> options;  ///< further options for `run`
  std::string folder;                ///< absolute; empty: a folder in the data folder
};

/// The node of a cluster.
struct ClusterOptions {
  std::string name;                  ///< empty: the server is not part of a cluster
  bool founds = false;               ///< the first start of the cluster
  std::string url;                   ///< at which the other nodes reach this one; without a path
  Duration takeover_after{2'000};    ///< NodeRole::Settings::takeover_after
  Duration max_clock_offset{1'000};  ///< NodeRole::Settings::max_clock_offset
  uint64_t snapshot_after = uint64_t{1} << 30;  ///< bytes; `least` of is_snapshot_due()
  Duration broker_sync_interval{120'000};       ///< the `sync_interval` of the NATS servers
};

struct ServeOptions {
  std::string data;                                 ///< folder of the store
  std::string listen = defaults::listen_address();  ///< address of the gateway
  std::string nats = defaults::nats_url();          ///< URLs, separated by commas
  // Credentials for the broker, from the variables of the nats command line; empty: not used.
  std::string user;  ///< the name of the user; if there is no password, a token
  std::string password;
  std::string creds;  ///< creds, nkey, ca, cert and key are names of files
  std::string nkey;
  std::string ca;
  std::string cert;
  std::string key;
  std::string token_file;            ///< empty: callers need no token
  std::vector<std::string> origins;  ///< AdmissionRules::origins
  std::string public_url;            ///< without a path; empty: that of `listen`
  std::string secret_key_file;       ///< empty: the key in the folder of the store
  ContainerOptions containers;
  /// A folder of a tmpfs, for the files of calls that get secrets.
  std::string memory_folder = defaults::kMemoryFolder;
  bool core_dumps = false;  ///< whether the process may write a core dump when it crashes
  ServerBounds bounds;
  StreamOptions streams;
  ClusterOptions cluster;
  bool take_over = false;  ///< takes the streams, even if their owner is running
  std::string js_domain;   ///< JetStream domain; empty: the domain of the NATS server
  std::string nats_inbox_prefix = defaults::kInboxPrefix;  ///< ConnectionSettings::inbox_prefix
  std::vector<std::string> request_subjects;               ///< RequestSubjects::allowed
};

struct DevOptions {
  std::optional<std::string> folder;  ///< its workflows are loaded, and reloaded on change
  std::optional<std::string> keep;    ///< data folder that is kept; nullopt: a temporary one
  std::string listen = defaults::listen_address();
  std::string token_file;  ///< ServeOptions::token_file
  uint16_t nats_port = 0;  ///< port of the broker; 0: kNatsPort or, if in use, any free port
};

}  // namespace millrace
