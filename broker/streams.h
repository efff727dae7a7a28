// The streams of JetStream that millrace works on: made where they are missing, checked where they
// are not. Server 2.9.10 ignores options that it does not know, so what it echoes is what counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "broker/connection.h"
#include "broker/stream_options.h"

namespace millrace {

// The names under the default prefix.
inline constexpr std::string_view kEventsStream = "MILLRACE_EVENTS";
inline constexpr std::string_view kDeadLettersStream = "MILLRACE_DLQ";
inline constexpr std::string_view kLifecycleStream = "MILLRACE_LIFECYCLE";
inline constexpr std::string_view kTasksStream = "MILLRACE_TASKS";
inline constexpr std::string_view kResultsStream = "MILLRACE_RESULTS";

/// When a message leaves a stream: by the stream's limits alone, or once it is acknowledged.
enum class Retention { kLimits, kWorkQueue };

/// What a stream is made with: file storage, and discard old; a work queue with a bound on its
/// bytes refuses new messages instead, so that none is lost that is not done.
struct StreamSettings {
  std::string name;
  std::string subjects;  ///< with wildcards
  Retention retention = Retention::kLimits;
  Duration max_age = std::chrono::days(7);
  Duration duplicate_window = std::chrono::minutes(2);
  std::optional<uint64_t> max_bytes = std::nullopt;
  int64_t max_messages = -1;  ///< -1: no bound
  int replicas = 1;
  std::string cluster = {};  ///< StreamOptions
  std::vector<std::string> tags = {};
};

// The streams of a millrace; under the default prefix their subjects are `millrace.events.>` …
StreamSettings events_stream(const StreamOptions& options = {});
StreamSettings dead_letters_stream(const StreamOptions& options = {});
StreamSettings lifecycle_stream(const StreamOptions& options = {});
StreamSettings tasks_stream(const StreamOptions& options = {});    ///< a work queue
StreamSettings results_stream(const StreamOptions& options = {});  ///< a work queue

struct StreamInfo {
  int64_t created = 0;          ///< nanoseconds
  uint64_t first_sequence = 0;  ///< the oldest message; last_sequence + 1 when it is empty
  uint64_t last_sequence = 0;
  std::vector<std::string> subjects;
  /// What is set otherwise than asked for and yet can be worked with, as sentences for the log: the
  /// key, what was found and what was wanted, and what it leads to.
  std::vector<std::string> notes;
};

/// The stream as it is. Errors: `broker.not_found`, `broker.stream` (it is there, but set so that
/// events would get lost unseen or nothing could be published), and those of Connection::api.
Result<StreamInfo> find_stream(Connection& connection, const StreamSettings& settings);

/// The same, made if it was missing. Server 2.9.10 spoils a stream that is made while one of its
/// name is being deleted: publishes into it get lost.
Result<StreamInfo> ensure_stream(Connection& connection, const StreamSettings& settings);

/// Reads the answer to STREAM.INFO or STREAM.CREATE and compares it with what is wanted. Pure.
Result<StreamInfo> check_stream(const Json& answer, const StreamSettings& settings);

/// Nanoseconds since the epoch of an RFC 3339 time as the broker writes it; `broker.protocol`.
Result<int64_t> parse_nanoseconds(std::string_view text);

}  // namespace millrace
