#include "broker/streams.h"

#include <algorithm>

#include <fmt/format.h>

#include "broker/json_fields.h"
#include "broker/wire.h"

namespace millrace {
namespace {

int64_t nanoseconds(Duration duration) { return std::chrono::nanoseconds(duration).count(); }

Json configuration(const StreamSettings& settings) {
  return {{"name", settings.name},
          {"subjects", Json::array({settings.subjects})},
          {"retention", "limits"},
          {"discard", "old"},
          {"storage", "file"},
          {"max_consumers", -1},
          {"max_msgs", -1},
          {"max_bytes", -1},
          {"max_msg_size", -1},
          {"max_age", nanoseconds(settings.max_age)},
          {"duplicate_window", nanoseconds(settings.duplicate_window)},
          {"num_replicas", settings.replicas}};
}

}  // namespace

StreamSettings events_stream() {
  return {.name = std::string(kEventsStream), .subjects = "millrace.events.>"};
}

StreamSettings dead_letters_stream() {
  return {.name = std::string(kDeadLettersStream), .subjects = "millrace.dlq.>"};
}

Result<int64_t> parse_nanoseconds(std::string_view text) {
  const Result<TimePoint> time = parse_rfc3339(text);
  if (!time) {
    return fail("broker.protocol", fmt::format("the broker wrote \"{}\" for a time", text));
  }
  int64_t fraction = 0;
  if (const size_t dot = text.find('.'); dot != std::string_view::npos) {
    int64_t scale = 100'000'000;
    for (size_t i = dot + 1; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      fraction += (text[i] - '0') * scale;
      scale /= 10;
    }
  }
  const auto seconds = std::chrono::floor<std::chrono::seconds>(*time).time_since_epoch();
  return std::chrono::nanoseconds(seconds).count() + fraction;
}

Result<StreamInfo> check_stream(const Json& answer, const StreamSettings& settings) {
  const Json& config = field(answer, "config");
  const Json& state = field(answer, "state");
  if (!config.is_object() || !state.is_object()) {
    return fail(
        "broker.protocol",
        fmt::format("the broker describes stream {} without config and state", settings.name));
  }
  StreamInfo info;
  info.created = TRY(parse_nanoseconds(text_field(answer, "created")));
  info.last_sequence = count_field(state, "last_seq");
  info.first_sequence = count_field(state, "messages") == 0 ? info.last_sequence + 1
                                                            : count_field(state, "first_seq");
  if (const Json& subjects = field(config, "subjects"); subjects.is_array()) {
    for (const Json& subject : subjects) {
      if (subject.is_string()) info.subjects.push_back(subject.get<std::string>());
    }
  }

  if (std::none_of(info.subjects.begin(), info.subjects.end(), [&](const std::string& subject) {
        return subject_covers(subject, settings.subjects);
      })) {
    return fail("broker.stream",
                fmt::format("stream {} takes {} and not {}: add it with `nats stream edit {}`, or "
                            "delete the stream if nothing needs it",
                            settings.name, fmt::join(info.subjects, ", "), settings.subjects,
                            settings.name));
  }
  if (const std::string retention = text_field(config, "retention"); retention != "limits") {
    return fail(
        "broker.stream",
        fmt::format("stream {} has the retention \"{}\", which loses events before they are "
                    "applied; expected \"limits\": delete the stream if nothing needs it",
                    settings.name, retention));
  }
  const Json wanted = configuration(settings);
  for (const char* name : {"discard", "storage", "max_msgs", "max_bytes", "max_msg_size", "max_age",
                           "duplicate_window", "num_replicas"}) {
    if (field(config, name) == field(wanted, name)) continue;
    info.notes.push_back(fmt::format("stream {} has {} {} instead of {}", settings.name, name,
                                     dump_json(field(config, name)),
                                     dump_json(field(wanted, name))));
  }
  return info;
}

Result<StreamInfo> find_stream(Connection& connection, const StreamSettings& settings) {
  return check_stream(TRY(connection.api("STREAM.INFO." + settings.name, Json::object())),
                      settings);
}

Result<StreamInfo> ensure_stream(Connection& connection, const StreamSettings& settings) {
  Result<StreamInfo> found = find_stream(connection, settings);
  if (found || found.error().code != "broker.not_found") return found;
  const Result<Json> made =
      connection.api("STREAM.CREATE." + settings.name, configuration(settings));
  if (made) return check_stream(*made, settings);
  // Another process may have been faster, with other settings: then what it made is what is
  // checked.
  found = find_stream(connection, settings);
  if (!found) return tl::unexpected(made.error());
  return found;
}

}  // namespace millrace
