// The JetStream streams that millrace uses: created if missing, otherwise checked. nats-server
// 2.9.10 ignores options that it does not know, so the configuration in its answer is checked.
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

// The names of the streams under the default prefix.
inline constexpr std::string_view kEventsStream = "MILLRACE_EVENTS";
inline constexpr std::string_view kDeadLettersStream = "MILLRACE_DLQ";
inline constexpr std::string_view kLifecycleStream = "MILLRACE_LIFECYCLE";
inline constexpr std::string_view kTasksStream = "MILLRACE_TASKS";
inline constexpr std::string_view kResultsStream = "MILLRACE_RESULTS";

/// When a message leaves a stream: only by the stream's limits, or as soon as it is acknowledged.
enum class StreamRetention { kLimits, kWorkQueue };

/// The settings with which a stream is created: file storage, and discard `old`. A work queue with
/// a limit on its bytes refuses new messages instead (discard `new`), so that no unfinished message
/// is lost.
struct StreamSettings {
  std::string name;
  std::string subjects;  ///< with wildcards
  StreamRetention retention = StreamRetention::kLimits;
  Duration max_age = std::chrono::days(7);
  Duration duplicate_window = std::chrono::minutes(2);
  std::optional<uint64_t> max_bytes = std::nullopt;
  int64_t max_messages = -1;  ///< -1: no limit
  int replicas = 1;
  std::string cluster = {};  ///< as in StreamOptions
  std::vector<std::string> tags = {};
  /// The log of a cluster: no message may leave the stream, so a stream that is full refuses new
  /// messages.
  bool is_log = false;
  /// The snapshots of a cluster: as of the log, no message may leave the stream by its limits. The
  /// nodes purge older snapshots.
  bool is_snapshots = false;
};

// The streams of one millrace server. With the default prefix their subjects are
// `millrace.events.>` …
StreamSettings events_stream(const StreamOptions& options = {});
StreamSettings dead_letters_stream(const StreamOptions& options = {});
StreamSettings lifecycle_stream(const StreamOptions& options = {});
StreamSettings tasks_stream(const StreamOptions& options = {});    ///< a work queue
StreamSettings results_stream(const StreamOptions& options = {});  ///< a work queue

struct StreamInfo {
  int64_t created = 0;          ///< when the stream was created, in nanoseconds
  uint64_t first_sequence = 0;  ///< the oldest message; last_sequence + 1 if the stream is empty
  uint64_t last_sequence = 0;
  uint64_t bytes = 0;         ///< of all messages, as the broker stores them
  std::string first_stamped;  ///< when the oldest message was stored; empty: the stream is empty
  Duration max_age{0};        ///< 0: no limit
  /// Whether the stream may have removed messages because of their number or bytes: it has at least
  /// half as many as it keeps.
  bool may_be_full = false;
  std::vector<std::string> subjects;
  /// Settings that differ from the requested ones and are tolerated, as sentences for the log: the
  /// key, the found and the requested value, and the effect.
  std::vector<std::string> notes;
};

/// Returns the present description of a stream. Errors: `broker.not_found`, `broker.stream` (the
/// stream has settings with which events would get lost unnoticed or nothing could be published),
/// and those of Connection::api.
Result<StreamInfo> find_stream(Connection& connection, const StreamSettings& settings);

/// Does the same as find_stream(), but creates a missing stream. Further error: `broker.replicas`
/// (the broker has fewer NATS servers than the stream needs). nats-server 2.9.10 damages a
/// stream that is created while another stream of that name is being deleted: messages published
/// into the new stream get lost.
Result<StreamInfo> ensure_stream(Connection& connection, const StreamSettings& settings);

/// Reads the answer to STREAM.INFO or STREAM.CREATE and compares it with the requested settings.
/// Pure.
Result<StreamInfo> check_stream(const Json& answer, const StreamSettings& settings);

/// Reads the answer to STREAM.CREATE. Errors: those of check_stream() and check_api_answer(), and
/// `broker.replicas`. Pure.
Result<StreamInfo> check_created(const ApiAnswer& answer, const StreamSettings& settings);

/// The time from which on the stream has all messages that were stored in it, except those that an
/// operator removed; may be later than it would have to be. Pure.
TimePoint complete_since(const StreamInfo& info, TimePoint now);

/// Converts an RFC 3339 time, as the broker writes it, into nanoseconds since the epoch. Error
/// `broker.protocol`: the text is not such a time, or its nanoseconds do not fit into 64 bits.
Result<int64_t> parse_nanoseconds(std::string_view text);

}  // namespace millrace
