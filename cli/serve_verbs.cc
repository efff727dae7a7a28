// The grammar of `millrace serve` and `millrace dev`, and the environment variables that can
// replace their flags. The program runs the servers.
#include <algorithm>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/defaults.h"
#include "cli/cluster_flags.h"
#include "cli/command_line.h"
#include "cli/container_flags.h"
#include "cli/public_url.h"
#include "cli/quantity.h"
#include "model/request_subjects.h"

namespace millrace {
namespace {

/// The streams whose limits can be set, with their names in flags and variables.
struct LimitedStream {
  const char* flag;      ///< `--FLAG-max-age`
  const char* variable;  ///< `MILLRACE_VARIABLE_MAX_AGE`
  const char* holds;
  StreamLimits StreamOptions::*limits;
};
constexpr LimitedStream kLimitedStreams[] = {
    {"events", "EVENTS", "events", &StreamOptions::events},
    {"dlq", "DLQ", "dead letters", &StreamOptions::dead_letters},
    {"lifecycle", "LIFECYCLE", "lifecycle events", &StreamOptions::lifecycle},
    {"tasks", "TASKS", "tasks", &StreamOptions::tasks},
    {"results", "RESULTS", "results of tasks", &StreamOptions::results},
};

struct StreamFlags {
  std::string prefix;
  std::string replicas;
  std::string cluster;
  std::string tags;
  struct {
    std::string max_age;
    std::string max_bytes;
  } limits[std::size(kLimitedStreams)];
};

/// The flags of serve as they are given; empty: not given.
struct ServeFlags {
  std::string data;
  std::string listen;
  std::string nats;
  std::string origins;
  std::string public_url;
  std::string secret_key_file;
  ClusterFlags cluster;
  ContainerFlags containers;
  std::string memory_folder;
  std::string core_dumps;
  std::string task_timeout;
  std::string call_timeout;
  std::string dedupe_window;
  std::string dedupe_events;
  std::string store_limit;
  std::string checkpoint_bytes;
  std::string http_memory;
  StreamFlags streams;
  bool take_over = false;
  std::string js_domain;
  std::string nats_inbox_prefix;
  std::string request_subjects;
};

Fallible<Duration> duration(const Shell& shell, const std::string& given, const char* flag,
                            const char* variable, Duration otherwise) {
  const std::string text = shell.setting(given, {variable});
  if (text.empty()) return otherwise;
  return read_duration(flag, text);
}

Fallible<uint64_t> number(const Shell& shell, const std::string& given, const char* flag,
                          const char* variable, uint64_t otherwise) {
  const std::string text = shell.setting(given, {variable});
  if (text.empty()) return otherwise;
  return read_number(flag, text);
}

/// Whether a setting is `on`; a setting that is not given is off.
Fallible<bool> on_or_off(const Shell& shell, const std::string& given, const char* flag,
                         const char* variable) {
  const std::string text = shell.setting(given, {variable}, "off");
  if (text == "on" || text == "off") return text == "on";
  return wrong_usage(fmt::format("--{}: expected `on` or `off`, not `{}`", flag, text));
}

Fallible<ServerBounds> read_bounds(const Shell& shell, const ServeFlags& given) {
  ServerBounds bounds;
  bounds.task_timeout = TRY(duration(shell, given.task_timeout, "task-timeout",
                                     "MILLRACE_TASK_TIMEOUT", bounds.task_timeout));
  bounds.call_timeout = TRY(duration(shell, given.call_timeout, "call-timeout",
                                     "MILLRACE_CALL_TIMEOUT", bounds.call_timeout));
  bounds.dedupe_window = TRY(duration(shell, given.dedupe_window, "dedupe-window",
                                      "MILLRACE_DEDUPE_WINDOW", bounds.dedupe_window));
  bounds.dedupe_events = TRY(number(shell, given.dedupe_events, "dedupe-events",
                                    "MILLRACE_DEDUPE_EVENTS", bounds.dedupe_events));
  bounds.store_limit = TRY(
      number(shell, given.store_limit, "store-limit", "MILLRACE_STORE_LIMIT", bounds.store_limit));
  bounds.checkpoint_bytes = TRY(number(shell, given.checkpoint_bytes, "checkpoint-bytes",
                                       "MILLRACE_CHECKPOINT_BYTES", bounds.checkpoint_bytes));
  bounds.http_memory = TRY(
      number(shell, given.http_memory, "http-memory", "MILLRACE_HTTP_MEMORY", bounds.http_memory));
  if (bounds.http_memory < defaults::kLeastHttpMemory) {
    return wrong_usage(fmt::format("--http-memory: {} bytes are too few; write at least {}",
                                   bounds.http_memory, bytes_text(defaults::kLeastHttpMemory)));
  }
  return bounds;
}

/// The origins of pages, separated by commas: a scheme, a host and perhaps a port.
Fallible<std::vector<std::string>> read_origins(const std::string& text) {
  std::vector<std::string> origins;
  std::istringstream list(text);
  for (std::string origin; std::getline(list, origin, ',');) {
    const std::string_view all = origin;
    const size_t scheme = all.starts_with("https://") ? 8 : all.starts_with("http://") ? 7 : 0;
    const std::string_view authority = all.substr(scheme);
    if (scheme == 0 || authority.empty() ||
        authority.find_first_of("/?#@* ") != std::string_view::npos) {
      return wrong_usage(
          fmt::format("--origin: \"{}\" is not an origin; expected a scheme, a host and perhaps a "
                      "port, such as https://ops.example, without a path",
                      origin));
    }
    origins.push_back(origin);
  }
  return origins;
}

/// `in_cluster`: the streams are those of a node of a cluster.
Fallible<StreamOptions> read_streams(const Shell& shell, const StreamFlags& given,
                                     bool in_cluster) {
  StreamOptions streams;
  if (in_cluster) streams.replicas = kClusterReplicas;
  streams.prefix = shell.setting(given.prefix, {"MILLRACE_STREAM_PREFIX"}, streams.prefix);
  const uint64_t replicas =
      TRY(number(shell, given.replicas, "stream-replicas", "MILLRACE_STREAM_REPLICAS",
                 static_cast<uint64_t>(streams.replicas)));
  streams.replicas =
      static_cast<int>(std::min<uint64_t>(replicas, std::numeric_limits<int>::max()));
  streams.cluster = shell.setting(given.cluster, {"MILLRACE_STREAM_CLUSTER"});
  std::istringstream tags(shell.setting(given.tags, {"MILLRACE_STREAM_TAGS"}));
  for (std::string tag; std::getline(tags, tag, ',');) {
    if (!tag.empty()) streams.tags.push_back(tag);
  }
  for (size_t i = 0; i < std::size(kLimitedStreams); ++i) {
    const LimitedStream& stream = kLimitedStreams[i];
    StreamLimits& limits = streams.*stream.limits;
    const auto text = [&](const std::string& flag, const char* what) {
      return shell.setting(flag, {fmt::format("MILLRACE_{}_{}", stream.variable, what).c_str()});
    };
    if (const std::string age = text(given.limits[i].max_age, "MAX_AGE"); !age.empty()) {
      limits.max_age = TRY(read_duration(fmt::format("{}-max-age", stream.flag), age));
    }
    if (const std::string most = text(given.limits[i].max_bytes, "MAX_BYTES"); !most.empty()) {
      limits.max_bytes = TRY(read_number(fmt::format("{}-max-bytes", stream.flag), most));
    }
  }
  return streams;
}

Fallible<ServeOptions> read_options(Shell& shell, const ServeFlags& given) {
  ServeOptions options;
  options.data = shell.setting(given.data, {"MILLRACE_DATA"});
  options.listen = shell.setting(given.listen, {"MILLRACE_LISTEN"}, options.listen);
  options.nats = shell.setting(given.nats, {"MILLRACE_NATS", "NATS_URL"}, options.nats);
  options.user = shell.setting("", {"NATS_USER"});
  options.password = shell.setting("", {"NATS_PASSWORD"});
  options.creds = shell.setting("", {"NATS_CREDS"});
  options.nkey = shell.setting("", {"NATS_NKEY"});
  options.ca = shell.setting("", {"NATS_CA"});
  options.cert = shell.setting("", {"NATS_CERT"});
  options.key = shell.setting("", {"NATS_KEY"});
  if (options.data.empty()) return wrong_usage("--data or MILLRACE_DATA is required");
  options.token_file = shell.setting(shell.flags().token_file, {"MILLRACE_TOKEN_FILE"});
  options.origins = TRY(read_origins(shell.setting(given.origins, {"MILLRACE_ORIGIN"})));
  options.public_url = TRY(read_public_url(shell, given.public_url));
  options.secret_key_file = shell.setting(given.secret_key_file, {"MILLRACE_SECRET_KEY_FILE"});
  options.cluster = TRY(read_cluster_options(shell, given.cluster, options));
  options.containers = TRY(read_container_options(shell, given.containers));
  options.memory_folder =
      shell.setting(given.memory_folder, {"MILLRACE_MEMORY_FOLDER"}, options.memory_folder);
  options.core_dumps = TRY(on_or_off(shell, given.core_dumps, "core-dumps", "MILLRACE_CORE_DUMPS"));
  options.bounds = TRY(read_bounds(shell, given));
  options.take_over = given.take_over;
  options.js_domain = shell.setting(given.js_domain, {"MILLRACE_JS_DOMAIN"});
  options.nats_inbox_prefix = shell.setting(given.nats_inbox_prefix, {"MILLRACE_NATS_INBOX_PREFIX"},
                                            options.nats_inbox_prefix);
  const std::string subjects = shell.setting(given.request_subjects, {"MILLRACE_REQUEST_SUBJECTS"});
  auto patterns = read_subject_patterns(subjects);
  if (!patterns) {
    return wrong_usage(
        fmt::format("--request-subjects: \"{}\" is not a list of subjects; expected patterns such "
                    "as shop.> and stock.*.reserve, separated by commas",
                    subjects));
  }
  options.request_subjects = *std::move(patterns);
  options.streams = TRY(read_streams(shell, given.streams, !options.cluster.name.empty()));
  return options;
}

/// Overrides the global option --token-file, which names the client's token.
void add_token_file(Verb& server, Shell& shell) {
  server.option("--token-file", shell.flags().token_file,
                "File with the token that callers must send (MILLRACE_TOKEN_FILE); without a token "
                "the server listens on loopback only",
                "FILE");
}

void add_places(Verb& serve, ServeFlags& to, Shell& shell) {
  serve.option("--data", to.data, "Data folder; required (MILLRACE_DATA)", "DIR");
  serve.option("--listen", to.listen,
               fmt::format("Address to listen on for HTTP (MILLRACE_LISTEN; default: {})",
                           defaults::listen_address()),
               "ADDR");
  serve.option("--nats", to.nats,
               fmt::format("URL of the NATS server (MILLRACE_NATS, NATS_URL; default: {}); "
                           "credentials: NATS_USER, NATS_PASSWORD, NATS_CREDS, NATS_NKEY, NATS_CA, "
                           "NATS_CERT, NATS_KEY",
                           defaults::nats_url()),
               "URL");
  add_token_file(serve, shell);
  serve.option("--origin", to.origins,
               "Origins of the page behind a proxy that changes the Host header, separated by "
               "commas, such as https://ops.example (MILLRACE_ORIGIN)",
               "ORIGINS");
  add_public_url_flag(serve, to.public_url);
  serve.option("--secret-key-file", to.secret_key_file,
               "File with the key that encrypts secrets (MILLRACE_SECRET_KEY_FILE; default: a key "
               "that is generated in the data folder)",
               "FILE");
  serve.option("--memory-folder", to.memory_folder,
               fmt::format("Folder of a tmpfs, for the files of calls that get secrets "
                           "(MILLRACE_MEMORY_FOLDER; default: {})",
                           defaults::kMemoryFolder),
               "DIR");
  serve.option("--core-dumps", to.core_dumps,
               "Whether a crash may write a core dump, which has the secrets that are in memory "
               "(MILLRACE_CORE_DUMPS; default: off)",
               "on|off");
}

void add_bounds(Verb& serve, ServeFlags& to) {
  const ServerBounds otherwise;
  serve.option("--task-timeout", to.task_timeout,
               fmt::format("Timeout of the evaluation of one state, in processor time, and ten "
                           "times as long by the clock (MILLRACE_TASK_TIMEOUT; default: {})",
                           duration_text(otherwise.task_timeout)),
               "DURATION");
  serve.option("--call-timeout", to.call_timeout,
               fmt::format("Timeout of a call of an HTTP or NATS service that has no other timeout "
                           "(MILLRACE_CALL_TIMEOUT; default: {})",
                           duration_text(otherwise.call_timeout)),
               "DURATION");
  serve.option(
      "--dedupe-window", to.dedupe_window,
      fmt::format("How long source and id of an event are remembered, to detect duplicates "
                  "(MILLRACE_DEDUPE_WINDOW; default: {})",
                  duration_text(otherwise.dedupe_window)),
      "DURATION");
  serve.option("--dedupe-events", to.dedupe_events,
               fmt::format("For how many events, at most, source and id are remembered "
                           "(MILLRACE_DEDUPE_EVENTS; default: {})",
                           otherwise.dedupe_events),
               "NUMBER");
  serve.option("--store-limit", to.store_limit,
               fmt::format("Size of the store above which new work is refused "
                           "(MILLRACE_STORE_LIMIT; default: {})",
                           bytes_text(otherwise.store_limit)),
               "BYTES|MiB|GiB|TiB");
  serve.option("--checkpoint-bytes", to.checkpoint_bytes,
               fmt::format("How much is held in memory and in the journal before a checkpoint "
                           "writes it to LMDB (MILLRACE_CHECKPOINT_BYTES; default: {})",
                           bytes_text(otherwise.checkpoint_bytes)),
               "BYTES|MiB|GiB|TiB");
  serve.option("--http-memory", to.http_memory,
               fmt::format("Memory for the bodies and answers of all HTTP requests together; while "
                           "it is used up, large ones are refused (MILLRACE_HTTP_MEMORY; default: "
                           "{})",
                           bytes_text(otherwise.http_memory)),
               "BYTES|MiB|GiB|TiB");
}

void add_streams(Verb& serve, ServeFlags& to) {
  const StreamOptions otherwise;
  StreamFlags& streams = to.streams;
  serve.option("--stream-prefix", streams.prefix,
               fmt::format("Prefix of streams and subjects, so that several servers can share a "
                           "NATS account (MILLRACE_STREAM_PREFIX; default: {})",
                           otherwise.prefix),
               "NAME");
  serve.option("--stream-replicas", streams.replicas,
               fmt::format("Replicas of each stream that is created "
                           "(MILLRACE_STREAM_REPLICAS; default: {}; {} with --cluster)",
                           otherwise.replicas, kClusterReplicas),
               "NUMBER");
  serve.option("--stream-cluster", streams.cluster,
               "Cluster in which streams are created (MILLRACE_STREAM_CLUSTER)", "NAME");
  serve.option("--stream-tags", streams.tags,
               "Tags of the servers on which streams are created, separated by commas "
               "(MILLRACE_STREAM_TAGS)",
               "TAGS");
  serve.flag("--take-over", to.take_over,
             "Take the streams from the server that owns them, even if that server is running");
  serve.option("--js-domain", to.js_domain, "JetStream domain (MILLRACE_JS_DOMAIN)", "NAME");
  serve.option("--nats-inbox-prefix", to.nats_inbox_prefix,
               fmt::format("First tokens of the subjects on which the server receives answers, so "
                           "that other users of the NATS account cannot subscribe to them "
                           "(MILLRACE_NATS_INBOX_PREFIX; default: {})",
                           defaults::kInboxPrefix),
               "PREFIX");
  serve.option("--request-subjects", to.request_subjects,
               "Patterns of the only subjects on which NATS services may be called, separated by "
               "commas (MILLRACE_REQUEST_SUBJECTS; default: all subjects that are not reserved)",
               "PATTERNS");
  for (size_t i = 0; i < std::size(kLimitedStreams); ++i) {
    const LimitedStream& stream = kLimitedStreams[i];
    serve.option(
        fmt::format("--{}-max-age", stream.flag), streams.limits[i].max_age,
        fmt::format("Maximum age of messages in the stream of {}, set when the stream is created "
                    "(MILLRACE_{}_MAX_AGE)",
                    stream.holds, stream.variable),
        "DURATION");
    serve.option(fmt::format("--{}-max-bytes", stream.flag), streams.limits[i].max_bytes,
                 fmt::format("Maximum size of the stream of {}, set when the stream is created "
                             "(MILLRACE_{}_MAX_BYTES; default: no limit)",
                             stream.holds, stream.variable),
                 "BYTES|MiB|GiB|TiB");
  }
}

void add_serve(CommandLine& commands, decltype(ProgramVerbs::serve) run) {
  auto [serve, flags] = commands.local<ServeFlags>(
      "serve", "Runs the server with an existing NATS server",
      fmt::format("millrace serve --data /var/lib/millrace --nats {}", defaults::nats_url()),
      [run](Shell& shell, const ServeFlags& given) -> Ended {
        const ServeOptions options = TRY(read_options(shell, given));
        return static_cast<ExitCode>(run(options));
      });
  add_places(serve, flags, commands.shell());
  add_container_flags(serve, flags.containers);
  add_bounds(serve, flags);
  add_streams(serve, flags);
  add_cluster_flags(serve, flags.cluster);
}

struct DevFlags {
  DevOptions options{.listen = ""};
  std::string nats_port;
};

Fallible<DevOptions> read_options(Shell& shell, const DevFlags& given) {
  DevOptions options = given.options;
  options.listen = shell.setting(options.listen, {"MILLRACE_LISTEN"}, DevOptions().listen);
  options.token_file = shell.setting(shell.flags().token_file, {"MILLRACE_TOKEN_FILE"});
  if (given.nats_port.empty()) return options;
  const uint64_t port = TRY(read_number("nats-port", given.nats_port));
  if (port > std::numeric_limits<uint16_t>::max()) {
    return wrong_usage("--nats-port: " + given.nats_port + " is not a port; expected 1 to 65535");
  }
  options.nats_port = static_cast<uint16_t>(port);
  return options;
}

void add_dev(CommandLine& commands, decltype(ProgramVerbs::dev) run) {
  auto [dev, flags] = commands.local<DevFlags>(
      "dev", "Runs a development server with its own NATS server", "millrace dev examples/",
      [run](Shell& shell, const DevFlags& given) -> Ended {
        const DevOptions options = TRY(read_options(shell, given));
        return static_cast<ExitCode>(run(options));
      });
  dev.option("dir", flags.options.folder,
             "Folder of workflows and inbound files, which are applied again when they change",
             "DIR");
  dev.option("--keep", flags.options.keep,
             "Keep the data in this folder after the server has stopped", "DATA");
  dev.option("--listen", flags.options.listen,
             fmt::format("Address to listen on for HTTP (default: {})", defaults::listen_address()),
             "ADDR");
  dev.option("--nats-port", flags.nats_port,
             fmt::format("Port of the NATS server (default: {} if it is free, else any free port)",
                         defaults::kNatsPort),
             "PORT");
  add_token_file(dev, commands.shell());
}

}  // namespace

void add_serve_verbs(CommandLine& commands, const ProgramVerbs& program) {
  if (program.serve != nullptr) add_serve(commands, program.serve);
  if (program.dev != nullptr) add_dev(commands, program.dev);
}

}  // namespace millrace
