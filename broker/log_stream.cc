#include "broker/log_stream.h"

#include <fmt/format.h>

#include "base/excerpt.h"
#include "broker/json_fields.h"
#include "broker/stored_message.h"

namespace millrace {
namespace {

tl::unexpected<Error> not_founded(const StreamSettings& log) {
  return fail("cluster.not_founded",
              fmt::format("the broker has no stream {}, which is the log of the cluster: found the "
                          "cluster with `millrace serve --cluster NAME --found`, or correct its "
                          "name or the address of the broker",
                          log.name));
}

tl::unexpected<Error> deleted(const StreamSettings& log, uint64_t behind) {
  return fail("cluster.log_deleted",
              fmt::format("the broker has no stream {}, the log of the cluster, and the folder of "
                          "this node has its commits up to position {}: correct the address of the "
                          "broker, or, if the stream was deleted, continue on the node with the "
                          "latest commit (COMMITTED in `millrace cluster status`) by `millrace "
                          "cluster take-over --accept-loss`; do not found the cluster with an "
                          "empty folder",
                          log.name, behind));
}

tl::unexpected<Error> founded(const StreamSettings& log, const StreamInfo& info) {
  return fail(
      "cluster.founded",
      fmt::format("stream {} has {} messages; expected none: the cluster was founded before, "
                  "so start this node as one of its nodes, or choose another name",
                  log.name, info.last_sequence));
}

/// The log, if it is the one that was created at that time.
Result<StreamInfo> find_log_of(Connection& connection, const StreamSettings& log, int64_t created) {
  const StreamInfo info = TRY(find_log(connection, log));
  if (info.created != created) {
    return fail("log.recreated",
                fmt::format("stream {} was created at {} (nanoseconds), and the log that is to be "
                            "trimmed at {}: nothing was removed",
                            log.name, info.created, created));
  }
  return info;
}

}  // namespace

StreamSettings log_stream(std::string_view cluster, const StreamOptions& options) {
  return {.name = stream_name(options.prefix, fmt::format("LOG_{}_0", cluster)),
          .subjects = fmt::format("{}.log.{}.0", options.prefix, cluster),
          .max_age = Duration(0),
          .replicas = options.replicas,
          .cluster = options.cluster,
          .tags = options.tags,
          .is_log = true};
}

Result<StreamInfo> found_log(Connection& connection, const StreamSettings& log) {
  StreamInfo info = TRY(ensure_stream(connection, log));
  if (info.last_sequence > 0) return founded(log, info);
  return info;
}

Status check_not_founded(Connection& connection, const StreamSettings& log) {
  const Result<StreamInfo> found = find_stream(connection, log);
  if (!found && found.error().code == "broker.not_found") return {};
  if (!found) return tl::unexpected(found.error());
  if (found->last_sequence > 0) return founded(log, *found);
  return {};
}

Result<StreamInfo> find_log(Connection& connection, const StreamSettings& log) {
  Result<StreamInfo> found = find_stream(connection, log);
  if (!found && found.error().code == "broker.not_found") return not_founded(log);
  return found;
}

Result<StreamInfo> find_log_behind(Connection& connection, const StreamSettings& log,
                                   uint64_t behind) {
  Result<StreamInfo> found = find_log(connection, log);
  if (!found && found.error().code == "cluster.not_founded" && behind > 0) {
    return deleted(log, behind);
  }
  return found;
}

Error log_of_another_key(const StreamSettings& log) {
  return {"cluster.key",
          fmt::format("none of the newest messages of stream {} was written with the secret key of "
                      "this node; give all nodes the same file by --secret-key-file",
                      log.name)};
}

Result<TimePoint> time_of_log(Connection& connection, const StreamSettings& log) {
  const Result<Json> info = connection.api("STREAM.INFO." + log.name, Json::object());
  if (!info && info.error().code == "broker.not_found") return not_founded(log);
  if (!info) return tl::unexpected(info.error());
  const std::string text = text_field(*info, "ts");
  if (const auto time = parse_nanoseconds(text)) return broker_time(*time);
  return fail(
      "cluster.broker",
      fmt::format("the NATS server does not say its time (\"ts\" of stream {} is {}), so it "
                  "is older than 2.10; a cluster of millrace needs nats-server 2.10 or "
                  "newer on all servers, and 2.12 or newer is recommended",
                  log.name, text.empty() ? "missing" : text));
}

// A purge to a sequence behind the end would empty the stream and move its end, so it must not be
// sent.
Status trim_log(Connection& connection, const StreamSettings& log, int64_t created,
                uint64_t before) {
  const StreamInfo info = TRY(find_log_of(connection, log, created));
  if (before > info.last_sequence) {
    return fail("log.lost", fmt::format("stream {} ends at {}, and is to be trimmed up to {}: "
                                        "nothing was removed",
                                        log.name, info.last_sequence, before));
  }
  if (before <= info.first_sequence) return {};
  return purge_before(connection, log.name, before);
}

Status skip_log_to(Connection& connection, const StreamSettings& log, int64_t created,
                   uint64_t last) {
  const StreamInfo info = TRY(find_log_of(connection, log, created));
  if (info.last_sequence > last) {
    return fail("log.diverged", fmt::format("stream {} ends at {}, and is to continue behind {}: "
                                            "nothing was removed",
                                            log.name, info.last_sequence, last));
  }
  if (info.last_sequence == last) return {};
  // Before a sequence that the stream does not have: it removes all messages, and continues there.
  return purge_before(connection, log.name, last + 1);
}

}  // namespace millrace
