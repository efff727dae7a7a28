// ServerSettings: the settings of a server, and their form in `/v1/info`.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "broker/connection.h"
#include "broker/stream_options.h"
#include "cli/serve_options.h"

namespace millrace {

struct ServerSettings {
  std::filesystem::path data;  ///< folder of the store
  std::string listen;          ///< address of the gateway, host:port
  std::string token_file;      ///< file with the token that callers need; empty: no token is needed
  std::vector<std::string> origins;  ///< AdmissionRules::origins
  std::string public_url;            ///< ServeOptions::public_url
  ConnectionSettings nats;
  std::vector<std::string> request_subjects;  ///< see RequestSubjects::allowed
  StreamOptions streams;
  bool take_over = false;  ///< see OwnerSettings::take_over
  ClusterOptions cluster;  ///< of which this process is a node
  /// Called on a separate thread when another process owns the streams; this process must then end.
  /// In a cluster not if that process is a node of it: see ClusterLead.
  std::function<void(const Error&)> on_lost = [](const Error&) {};
  /// Whether the process was asked to end, which ends the wait for the streams of another process
  /// (Server::start). Must not block. Empty: nothing ends the wait. Not used in a cluster.
  std::function<bool()> is_ending;
  std::filesystem::path secret_key_file;  ///< see EnvironmentOptions::key_file
  ContainerOptions containers;
  /// A folder of a tmpfs, in which ContainerSettings::sealed_folder is created.
  std::filesystem::path memory_folder = defaults::kMemoryFolder;
  ServerBounds bounds;
  /// Called on a separate thread when the node of the cluster has ended: the process must end, too.
  std::function<void()> on_node_end = [] {};
};

/// The settings as JSON:
/// {"version","data","nats","natsInboxPrefix","requestSubjects","streams","limits"}, without the
/// user names and passwords in URLs.
Json describe(const ServerSettings& settings);

}  // namespace millrace
