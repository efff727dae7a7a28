// What `millrace serve` and `millrace dev` are told on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "broker/stream_options.h"

namespace millrace {

struct ServeOptions {
  std::string data;                            ///< folder of the store
  std::string listen = "127.0.0.1:8780";       ///< of the gateway
  std::string nats = "nats://127.0.0.1:4222";  ///< one URL, or several with commas between
  // Who we are there, by the variables of the nats command line; empty: not used.
  std::string user;  ///< or a token, if there is no password
  std::string password;
  std::string creds;  ///< this and the rest: files
  std::string nkey;
  std::string ca;
  std::string cert;
  std::string key;
  std::string token_file;                          ///< empty: nobody is asked for a token
  std::string secret_key_file;                     ///< empty: a key in the folder of the store
  std::string container_runtime;                   ///< empty: podman or docker, if they are there
  Duration task_timeout{10'000};                   ///< of evaluating one state
  Duration dedupe_window{600'000};                 ///< how long an event is known again,
  uint64_t dedupe_events = 4'000'000;              ///< and how many are at most
  uint64_t store_limit = uint64_t{1} << 40;        ///< bytes that the store may hold
  uint64_t checkpoint_bytes = uint64_t{16} << 20;  ///< EnvironmentOptions
  StreamOptions streams;
  bool take_over = false;  ///< the streams, also from a process that is at work
  std::string js_domain;   ///< of JetStream; empty: that of the server
};

struct DevOptions {
  std::optional<std::string> folder;  ///< whose workflows are loaded, and again on change
  std::optional<std::string> keep;    ///< folder for data that outlives the run
  std::string listen = "127.0.0.1:8780";
  std::string token_file;  ///< ServeOptions::token_file
  uint16_t nats_port = 0;  ///< of the broker; 0: 4222 if it is free, else any
};

/// Log lines go to standard error.
void log_to_stderr();

/// Says why a server did not start; the exit code.
int fail_to_start(const Error& error);

/// Runs the server until SIGTERM or SIGINT; the exit code. SIGHUP has the token read again,
/// or ends it too where there is none.
int run_serve(const ServeOptions& options);

/// The same with a private nats-server and, unless kept, throw-away data.
int run_dev(const DevOptions& options);

}  // namespace millrace
