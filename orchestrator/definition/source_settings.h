// Settings of a source, which an operator sets as a JSON object: which messages of which stream it
// reads, from where on, and how fast. Pure values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/definition/event_mapping.h"

namespace millrace {

/// How many messages a second a source reads without the setting `rate`, and at most.
inline constexpr uint32_t kSourceRate = 5'000;
inline constexpr uint32_t kMostSourceRate = 100'000;
/// How many subject filters a source may have.
inline constexpr size_t kMostSourceSubjects = 16;

/// The limits of the stream that millrace makes for a source without `stream`: the defaults, and
/// the lowest and highest ones. A NATS server reserves the bytes.
inline constexpr uint64_t kSourceStreamBytes = uint64_t{256} << 20;
inline constexpr uint64_t kLeastSourceStreamBytes = uint64_t{1} << 20;
inline constexpr uint64_t kMostSourceStreamBytes = uint64_t{1} << 40;
inline constexpr Duration kSourceStreamAge = std::chrono::days(7);
inline constexpr Duration kLeastSourceStreamAge = std::chrono::minutes(1);
inline constexpr Duration kMostSourceStreamAge = std::chrono::days(366);

/// Where a new source begins to read.
struct SourceBegin {
  enum class Kind : uint8_t {
    kNew,       ///< behind the newest message at the time when the source is applied
    kAll,       ///< with the oldest message
    kSequence,  ///< with the message of `sequence`, or the next one
    kTime,      ///< with the first message that was stored at `time` or later
  };
  Kind kind = Kind::kNew;
  uint64_t sequence = 0;
  TimePoint time;

  bool operator==(const SourceBegin&) const = default;
};

struct SourceSettings {
  /// The name of the origin stream; empty: millrace makes one for the subjects of the source.
  std::string stream;
  /// Filters; empty: all subjects of the stream, which then has a name.
  std::vector<std::string> subjects;
  SourceBegin begin;
  uint32_t rate = kSourceRate;  ///< messages a second, at least 1
  std::optional<bool> paused;   ///< nullopt: as it is, and not paused if the source is new
  /// What messages that are no CloudEvents become; nullopt: dead letters.
  std::optional<EventMapping> mapping;
  /// Whether millrace is the consumer of the stream, a work queue, or one of the consumers of a
  /// stream with the retention `interest`: it acknowledges each message when its event is applied.
  bool consume = false;
  // Of the stream that millrace makes.
  uint64_t max_bytes = kSourceStreamBytes;
  Duration max_age = kSourceStreamAge;

  /// Whether millrace makes the stream of the source.
  bool has_source_stream() const { return stream.empty(); }
  bool operator==(const SourceSettings&) const = default;
};

/// Parses `{"stream": NAME, "subjects"?: [FILTER], "begin"?: "new", "all", {"sequence": N} or
/// {"time": RFC 3339}, "rate"?: messages a second, "paused"?: true, "mapping"?: see
/// parse_mapping(), "consume"?: true}`, or without a stream and with subjects, "maxBytes"?: a
/// number or a text such as "1GiB", and "maxAge"?: a duration. Error: `settings.invalid` has the
/// place in the settings, and what to write there.
Result<SourceSettings> parse_source(const Json& settings);

/// Parses settings from their stored text. Errors: those of parse_source() and parse_own_json().
Result<SourceSettings> read_source_settings(std::string_view text);

/// The JSON text that says where the source begins, for comparison with that of other settings of
/// it. Precondition: parse_source() accepts the settings.
std::string begin_text(const Json& settings);

}  // namespace millrace
