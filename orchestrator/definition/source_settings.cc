#include "orchestrator/definition/source_settings.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/defaults.h"
#include "base/excerpt.h"
#include "base/quantity.h"
#include "cloudevents/subject.h"
#include "language/policy_fields.h"
#include "orchestrator/definition/invalid_setting.h"
#include "orchestrator/definition/span_bounds.h"
#include "policies/duration.h"

namespace millrace {
namespace {

constexpr std::array kSourceKeys = {"stream",  "subjects", "begin",  "rate",   "paused",
                                    "mapping", "maxBytes", "maxAge", "consume"};

/// The longest name of a stream that nats-server accepts, in bytes.
constexpr size_t kMaxStreamName = 255;

bool is_stream_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxStreamName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return c > ' ' && c < 0x7f &&
                  std::string_view(".*>/\\").find(c) == std::string_view::npos;
         });
}

Result<std::string> parse_stream(const Json& value) {
  if (value.is_string() && is_stream_name(value.get_ref<const std::string&>())) {
    return value.get<std::string>();
  }
  return invalid_setting("stream",
                         "write the name of a stream of NATS, without `.`, `*`, `>` or /");
}

Result<std::vector<std::string>> parse_subjects(const Json& value) {
  if (!value.is_array()) return invalid_setting("subjects", "write a list of subjects");
  if (value.size() > kMostSourceSubjects) {
    return invalid_setting("subjects", fmt::format("{} subjects are given; at most {} are possible",
                                                   value.size(), kMostSourceSubjects));
  }
  std::vector<std::string> subjects;
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string where = fmt::format("subjects[{}]", i);
    if (!value[i].is_string() || !is_subject_pattern(value[i].get_ref<const std::string&>())) {
      return invalid_setting(where, R"(write a subject, such as "shop.orders.*")");
    }
    std::string subject = value[i].get<std::string>();
    for (const std::string& other : subjects) {
      if (!subjects_overlap(other, subject)) continue;
      return invalid_setting(where, fmt::format("\"{}\" and \"{}\" match the same subjects; leave "
                                                "one of them out",
                                                excerpt(subject), excerpt(other)));
    }
    subjects.push_back(std::move(subject));
  }
  return subjects;
}

Result<SourceBegin> parse_begin(const Json& value) {
  constexpr std::string_view kWanted =
      R"(write "new", "all", {"sequence": NUMBER} or {"time": "2026-01-01T00:00:00Z"})";
  if (value == "new") return SourceBegin{.kind = SourceBegin::Kind::kNew, .time = {}};
  if (value == "all") return SourceBegin{.kind = SourceBegin::Kind::kAll, .time = {}};
  if (!value.is_object() || value.size() != 1) return invalid_setting("begin", kWanted);
  if (value.contains("sequence")) {
    const Json& sequence = value["sequence"];
    if (!sequence.is_number_unsigned() || sequence == 0) {
      return invalid_setting("begin.sequence",
                             "write a sequence of the stream, a number from 1 on");
    }
    return SourceBegin{
        .kind = SourceBegin::Kind::kSequence, .sequence = sequence.get<uint64_t>(), .time = {}};
  }
  if (!value.contains("time")) return invalid_setting("begin", kWanted);
  const Json& text = value["time"];
  const Result<TimePoint> time =
      text.is_string() ? parse_rfc3339(text.get_ref<const std::string&>())
                       : Result<TimePoint>(fail("time.malformed", "it is not a text"));
  if (!time) {
    return invalid_setting("begin.time", fmt::format("{}; write an RFC 3339 time, such as "
                                                     "\"2026-01-01T00:00:00Z\"",
                                                     time.error().message));
  }
  return SourceBegin{.kind = SourceBegin::Kind::kTime, .time = *time};
}

Result<uint32_t> parse_rate(const Json& value) {
  if (value.is_number_unsigned() && value > 0 && value <= kMostSourceRate) {
    return value.get<uint32_t>();
  }
  return invalid_setting(
      "rate", fmt::format("write a number of messages a second from 1 to {}", kMostSourceRate));
}

Result<bool> parse_source_flag(std::string_view where, const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  return invalid_setting(where, "write true or false");
}

/// A number of bytes, or a text such as "1GiB".
Result<uint64_t> parse_stream_bytes(const Json& value) {
  std::optional<uint64_t> bytes;
  if (value.is_string()) bytes = parse_quantity(value.get_ref<const std::string&>());
  if (value.is_number_unsigned()) bytes = value.get<uint64_t>();
  if (bytes && *bytes >= kLeastSourceStreamBytes && *bytes <= kMostSourceStreamBytes) return *bytes;
  return invalid_setting("maxBytes", R"(write a number of bytes, such as "256MiB", from "1MiB" to )"
                                     R"("1TiB")");
}

Result<Duration> parse_stream_age(const Json& value) {
  constexpr std::string_view kWanted = R"(write a duration from "1m" to "366d", such as "7d")";
  if (!value.is_string()) return invalid_setting("maxAge", kWanted);
  const Result<Span> age = read_timeout(value.get_ref<const std::string&>());
  if (!age) return invalid_setting("maxAge", age.error().message);
  if (at_least(*age) < kLeastSourceStreamAge || at_most(*age) > kMostSourceStreamAge) {
    return invalid_setting("maxAge", kWanted);
  }
  return at_most(*age);
}

/// Whether the subject is one of NATS itself, or an inbox; a wildcard in its first token matches
/// these, too.
bool is_system_subject(std::string_view subject) {
  return subject.starts_with('$') || subject.starts_with('*') || subject.starts_with('>') ||
         subject.starts_with(defaults::kInboxPrefix);
}

/// Checks what a source without a stream, and one with a stream, must have.
Status check_stream_settings(const Json& settings, const SourceSettings& parsed) {
  if (!parsed.has_source_stream()) {
    for (const char* const key : {"maxBytes", "maxAge"}) {
      if (!settings.contains(key)) continue;
      return invalid_setting(key,
                             "this limit is for the stream that millrace makes for a source "
                             "without `stream`; leave it out, or leave `stream` out");
    }
    return {};
  }
  if (parsed.subjects.empty()) {
    return invalid_setting("stream",
                           "write the name of a stream of NATS, or leave it out and write in "
                           "`subjects` what millrace makes a stream for");
  }
  for (size_t i = 0; i < parsed.subjects.size(); ++i) {
    if (!is_system_subject(parsed.subjects[i])) continue;
    return invalid_setting(
        fmt::format("subjects[{}]", i),
        fmt::format("without a stream, a source cannot have \"{}\", because it "
                    "matches subjects of NATS itself (`$…`, `_INBOX…`); begin it "
                    "with a token without wildcards",
                    excerpt(parsed.subjects[i])));
  }
  return {};
}

/// Checks what a source with `consume` must have.
Status check_consume(const SourceSettings& parsed) {
  if (!parsed.consume) return {};
  if (parsed.has_source_stream()) {
    return invalid_setting("consume",
                           "millrace makes the stream of this source, and it keeps its messages; "
                           "leave it out, or name a stream");
  }
  if (parsed.begin.kind == SourceBegin::Kind::kAll) return {};
  return invalid_setting("begin",
                         "with `consume`, write \"all\": the source reads each message that it "
                         "has not acknowledged");
}

}  // namespace

Result<SourceSettings> parse_source(const Json& settings) {
  if (!settings.is_object()) {
    return invalid_setting("source", R"(write an object, such as {"stream": "ORDERS"})");
  }
  SourceSettings parsed;
  for (const auto& [key, value] : settings.items()) {
    if (key == "stream") {
      parsed.stream = TRY(parse_stream(value));
    } else if (key == "subjects") {
      parsed.subjects = TRY(parse_subjects(value));
    } else if (key == "begin") {
      parsed.begin = TRY(parse_begin(value));
    } else if (key == "rate") {
      parsed.rate = TRY(parse_rate(value));
    } else if (key == "paused") {
      parsed.paused = TRY(parse_source_flag(key, value));
    } else if (key == "mapping") {
      parsed.mapping = TRY(parse_mapping(key, value));
    } else if (key == "consume") {
      parsed.consume = TRY(parse_source_flag(key, value));
    } else if (key == "maxBytes") {
      parsed.max_bytes = TRY(parse_stream_bytes(value));
    } else if (key == "maxAge") {
      parsed.max_age = TRY(parse_stream_age(value));
    } else {
      return invalid_setting(
          excerpt(key), fmt::format("unknown setting; valid: {}", fmt::join(kSourceKeys, ", ")));
    }
  }
  TRY(check_stream_settings(settings, parsed));
  TRY(check_consume(parsed));
  return parsed;
}

Result<SourceSettings> read_source_settings(std::string_view text) {
  return parse_source(TRY(parse_own_json(text)));
}

std::string begin_text(const Json& settings) {
  return settings.contains("begin") ? dump_json(settings["begin"]) : R"("new")";
}

}  // namespace millrace
