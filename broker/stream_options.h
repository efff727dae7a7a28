// What the streams of one millrace are called and made with, as the operator sets it. Inside
// millrace all subjects begin with `millrace.`, in the store too; the prefix takes the place of
// that word on the broker only, so that several can live on one NATS account. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace millrace {

/// The prefix of streams and subjects where none is set.
inline constexpr std::string_view kDefaultPrefix = "millrace";

/// What bounds a stream; nullopt: as it is without a setting.
struct StreamLimits {
  std::optional<Duration> max_age;
  std::optional<uint64_t> max_bytes;

  bool operator==(const StreamLimits&) const = default;
};

struct StreamOptions {
  std::string prefix = std::string(kDefaultPrefix);
  int replicas = 1;
  std::string cluster;            ///< where the servers place them; empty: where they like
  std::vector<std::string> tags;  ///< of the servers that may have them
  StreamLimits events;
  StreamLimits dead_letters;
  StreamLimits lifecycle;
  StreamLimits tasks;
  StreamLimits results;
};

/// Whether streams can be made with them. Error `broker.settings` names the setting, what it is and
/// what was expected.
Status check_stream_options(const StreamOptions& options);

/// The name of the stream of that family (`EVENTS`): the prefix in capitals, `_` and the family.
std::string stream_name(std::string_view prefix, std::string_view family);

/// A subject as it stands inside millrace, as it is on the broker; one that does not begin with
/// `millrace.` is the same there.
std::string broker_subject(std::string_view prefix, std::string_view subject);

/// The inverse; nullopt: it does not stand under the prefix.
std::optional<std::string> inside_subject(std::string_view prefix, std::string_view subject);

}  // namespace millrace
