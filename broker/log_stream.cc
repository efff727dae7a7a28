#include "broker/log_stream.h"

#include <fmt/format.h>

namespace millrace {

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
  if (info.last_sequence == 0) return info;
  return fail(
      "cluster.founded",
      fmt::format("stream {} has {} messages; expected none: the cluster was founded before, "
                  "so start this node as one of its nodes, or choose another name",
                  log.name, info.last_sequence));
}

Result<StreamInfo> find_log(Connection& connection, const StreamSettings& log) {
  Result<StreamInfo> found = find_stream(connection, log);
  if (found || found.error().code != "broker.not_found") return found;
  return fail("cluster.not_founded",
              fmt::format("the broker has no stream {}, which is the log of the cluster: found the "
                          "cluster, or correct its name or the address of the broker",
                          log.name));
}

}  // namespace millrace
