// What `millrace serve` and `millrace dev` are given on the command line and by the environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/defaults.h"
#include "base/time.h"
#include "broker/stream_options.h"

namespace millrace {

/// How much a server takes of time, memory and disk.
struct ServerBounds {
  Duration task_timeout = defaults::kTaskTimeout;          ///< of evaluating one state
  Duration dedupe_window = defaults::kDedupeWindow;        ///< DedupeWindow::time
  uint64_t dedupe_events = defaults::kDedupeEvents;        ///< DedupeWindow::events
  uint64_t store_limit = defaults::kStoreLimit;            ///< bytes; new work is refused beyond
  uint64_t checkpoint_bytes = defaults::kCheckpointBytes;  ///< EnvironmentOptions
};

struct ServeOptions {
  std::string data;                                 ///< folder of the store
  std::string listen = defaults::listen_address();  ///< of the gateway
  std::string nats = defaults::nats_url();          ///< one URL, or several with commas between
  // The login at the broker, by the variables of the nats command line; empty: not used.
  std::string user;  ///< or a token, if there is no password
  std::string password;
  std::string creds;  ///< this and the rest: files
  std::string nkey;
  std::string ca;
  std::string cert;
  std::string key;
  std::string token_file;         ///< empty: callers need no token
  std::string secret_key_file;    ///< empty: a key in the folder of the store
  std::string container_runtime;  ///< empty: podman or docker, if they are there
  ServerBounds bounds;
  StreamOptions streams;
  bool take_over = false;  ///< the streams, also from a process that is at work
  std::string js_domain;   ///< of JetStream; empty: that of the server
};

struct DevOptions {
  std::optional<std::string> folder;  ///< whose workflows are loaded, and again on change
  std::optional<std::string> keep;    ///< folder for data that outlives the run
  std::string listen = defaults::listen_address();
  std::string token_file;  ///< ServeOptions::token_file
  uint16_t nats_port = 0;  ///< of the broker; 0: defaults::kNatsPort if it is free, else any
};

}  // namespace millrace
