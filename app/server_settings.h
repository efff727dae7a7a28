// ServerSettings: what a server is started with, and how `/v1/info` shows it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "broker/connection.h"
#include "broker/stream_options.h"
#include "cli/serve_options.h"

namespace millrace {

struct ServerSettings {
  std::filesystem::path data;  ///< folder of the store
  std::string listen;          ///< of the gateway, host:port
  std::string token_file;      ///< with the token that callers show; empty: none is asked for
  ConnectionSettings nats;
  StreamOptions streams;
  bool take_over = false;  ///< OwnerSettings
  /// Called on a thread of its own when another process owns the streams: this one must end.
  std::function<void(const Error&)> on_lost = [](const Error&) {};
  std::filesystem::path secret_key_file;  ///< EnvironmentOptions::key_file
  std::string container_runtime;          ///< ContainerSettings::runtime
  ServerBounds bounds;
};

/// {"version","data","nats","streams","limits"}, without logins.
Json describe(const ServerSettings& settings);

}  // namespace millrace
