// The names and settings of the streams of one millrace server, as the operator sets them. Inside
// millrace, and in the store, all subjects begin with `millrace.`. On the broker the prefix
// replaces that word, so several servers can share one NATS account. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace millrace {

/// The default prefix of streams and subjects.
inline constexpr std::string_view kDefaultPrefix = "millrace";

/// The limits of a stream; nullopt: the default.
struct StreamLimits {
  std::optional<Duration> max_age;
  std::optional<uint64_t> max_bytes;

  bool operator==(const StreamLimits&) const = default;
};

/// The replicas of the streams of a cluster of millraces, unless others are set: one NATS server of
/// three may fail.
inline constexpr int kClusterReplicas = 3;

struct StreamOptions {
  std::string prefix = std::string(kDefaultPrefix);
  int replicas = 1;
  std::string cluster;  ///< the cluster in which NATS servers place the streams; empty: any
  std::vector<std::string> tags;  ///< a NATS server needs these tags to store the streams
  StreamLimits events;
  StreamLimits dead_letters;
  StreamLimits lifecycle;
  StreamLimits tasks;
  StreamLimits results;
};

/// Ok if streams can be created with these options. Error `broker.settings` names the setting, its
/// value and what was expected.
Status check_stream_options(const StreamOptions& options);

/// Ok if a cluster may have this name, which is a part of subjects and names of streams. Error
/// `broker.settings`.
Status check_cluster_name(std::string_view name);

/// The stream name of a family such as `EVENTS`: the prefix in capitals, `_` and the family.
std::string stream_name(std::string_view prefix, std::string_view family);

/// Converts a subject inside millrace into the subject on the broker. A subject that does not begin
/// with `millrace.` stays the same.
std::string broker_subject(std::string_view prefix, std::string_view subject);

/// The inverse of broker_subject(); nullopt: the subject does not begin with the prefix.
std::optional<std::string> inside_subject(std::string_view prefix, std::string_view subject);

}  // namespace millrace
