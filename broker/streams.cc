#include "broker/streams.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "broker/json_fields.h"
#include "cloudevents/subject.h"

namespace millrace {
namespace {

const char* name_of(StreamRetention retention) {
  return retention == StreamRetention::kLimits ? "limits" : "workqueue";
}

/// Where NATS servers may place the stream; null: anywhere.
Json placement(const StreamSettings& settings) {
  Json placement;
  if (!settings.cluster.empty()) placement["cluster"] = settings.cluster;
  if (!settings.tags.empty()) placement["tags"] = settings.tags;
  return placement;
}

Json configuration(const StreamSettings& settings) {
  const bool refuses = settings.is_log || settings.is_snapshots ||
                       (settings.retention == StreamRetention::kWorkQueue && settings.max_bytes);
  Json wanted = {{"name", settings.name},
                 {"subjects", Json::array({settings.subjects})},
                 {"retention", name_of(settings.retention)},
                 {"discard", refuses ? "new" : "old"},
                 {"storage", "file"},
                 {"max_consumers", -1},
                 {"max_msgs", settings.max_messages},
                 {"max_bytes", settings.max_bytes ? Json(*settings.max_bytes) : Json(-1)},
                 {"max_msg_size", -1},
                 {"max_age", nanoseconds(settings.max_age)},
                 {"num_replicas", settings.replicas}};
  if (settings.is_log) {
    // A replica that lags may answer a direct get. The messages have no id, so there are no
    // duplicates to recognise.
    wanted["deny_delete"] = true;
    wanted["allow_direct"] = false;
  } else {
    wanted["duplicate_window"] = nanoseconds(settings.duplicate_window);
  }
  if (Json where = placement(settings); !where.is_null()) wanted["placement"] = std::move(where);
  return wanted;
}

/// Tasks and answers that no process takes are removed after this time. The time is long, because
/// millrace or its workers may be away for long.
constexpr Duration kTasksKept = std::chrono::days(30);

/// How long the broker recognises a task that is sent again. The broker stores an id in memory for
/// each task of that time.
constexpr Duration kTaskKnown = std::chrono::minutes(10);

/// JetStream's codes if there are too few NATS servers for the replicas of a stream: too few fit,
/// or the NATS server is in no cluster.
constexpr int64_t kNoSuitablePeers = 10005;
constexpr int64_t kNoCluster = 10074;

/// How far the clock of millrace may be behind the clock of the broker.
constexpr Duration kClockSlack = std::chrono::minutes(1);

/// A stream setting that may differ from the requested one, and the effect of a difference.
struct Setting {
  const char* key;
  const char* meaning;
};

constexpr auto kSettings = std::to_array<Setting>({
    {"discard",
     "with \"old\" a full stream removes its oldest messages; with \"new\" it refuses new "
     "messages, which wait in millrace until there is space"},
    {"storage", "a stream in memory is lost when the broker restarts"},
    {"max_msgs", "above this limit the broker removes the oldest messages, read or not"},
    {"max_bytes", "above this limit the broker removes the oldest messages, read or not"},
    {"max_age", "the broker removes older messages, read or not (nanoseconds; 0: no limit)"},
    {"max_msg_size",
     "the broker refuses larger messages; instead of its own message that is larger, millrace "
     "publishes a dead letter"},
    {"max_consumers", "millrace needs one consumer, and a second one while it replaces the first"},
    {"duplicate_window",
     "the broker stores a message twice if it is sent again after a longer time (nanoseconds); an "
     "event still takes effect once"},
    {"num_replicas",
     "the number of replicas determines how many NATS servers may fail; docs/nats.md describes how "
     "to change it"},
    {"placement", "the broker placed the stream on other NATS servers than requested"},
    {"deny_delete", "clients may delete single messages of the log of the cluster"},
});

/// What an operator can do about a stream that is refused, behind "correct it".
std::string way_out(const StreamSettings& settings) {
  return fmt::format("with `nats stream edit {}`, {}", settings.name,
                     settings.is_log ? "and do not delete the stream if a cluster was founded: it "
                                       "has the commits of the cluster"
                     : settings.is_snapshots
                         ? "and do not delete the stream: a new node of the cluster needs it"
                         : "or delete the stream if it is not needed");
}

/// The error of a setting with which millrace cannot work: names the stream, the setting, the found
/// and the required value.
tl::unexpected<Error> refused_setting(const Json& config, const StreamSettings& settings,
                                      const char* key, std::string_view wanted,
                                      std::string_view why) {
  return fail("broker.stream",
              fmt::format("stream {} has {} {} instead of {}: {}; correct it {}", settings.name,
                          key, dump_json(field(config, key)), wanted, why, way_out(settings)));
}

/// Refuses settings with which the log of a cluster would lose commits unnoticed, or its snapshots
/// would lose chunks.
Status refuse_what_loses_messages(const Json& config, const StreamSettings& settings) {
  const std::string_view what = settings.is_log ? "commits" : "snapshots";
  const auto refused = [&](const char* key, std::string_view wanted, const std::string& why) {
    return refused_setting(config, settings, key, wanted, why);
  };
  if (text_field(config, "discard") != "new") {
    return refused("discard", "\"new\"",
                   fmt::format("a full stream would remove its oldest {}", what));
  }
  if (text_field(config, "storage") != "file") {
    return refused("storage", "\"file\"",
                   fmt::format("a restart of the broker would lose all {}", what));
  }
  if (integer_field(config, "max_age") != 0) {
    return refused("max_age", "0", fmt::format("the broker would remove {} after that time", what));
  }
  if (field(config, "allow_rollup_hdrs") == true) {
    return refused(
        "allow_rollup_hdrs", "false",
        fmt::format("one message with the header Nats-Rollup would remove all {}", what));
  }
  for (const char* const limit : {"max_msgs", "max_bytes"}) {
    if (integer_field(config, limit) <= 0) continue;
    return refused(limit, "-1",
                   fmt::format("the stream would accept no {} above that limit", what));
  }
  return {};
}

/// Refuses settings with which millrace cannot work.
Status refuse_what_breaks_us(const Json& config, const StreamSettings& settings) {
  const auto refused = [&](const char* key, std::string_view wanted, std::string_view why) {
    return refused_setting(config, settings, key, wanted, why);
  };
  if (const char* const wanted = name_of(settings.retention);
      text_field(config, "retention") != wanted) {
    return refused("retention", fmt::format("\"{}\"", wanted),
                   settings.retention == StreamRetention::kLimits
                       ? "the broker would remove messages before millrace has applied them"
                       : "the broker would not remove processed messages");
  }
  if (integer_field(config, "max_msgs_per_subject") > 0) {
    return refused(
        "max_msgs_per_subject", "-1",
        "a new message would replace an older message that millrace has not applied yet");
  }
  if (field(config, "no_ack") == true) {
    return refused("no_ack", "false", "the broker would never acknowledge published messages");
  }
  if (field(config, "sealed") == true) {
    return refused("sealed", "false", "nothing could be published");
  }
  return {};
}

}  // namespace

namespace {

/// The stream of a family, for example `events` in subjects and `EVENTS` in the name.
StreamSettings stream_of(const StreamOptions& options, std::string_view on_subjects,
                         std::string_view in_names, const StreamLimits& limits,
                         StreamSettings made) {
  made.name = stream_name(options.prefix, in_names);
  made.subjects = fmt::format("{}.{}.>", options.prefix, on_subjects);
  made.max_age = limits.max_age.value_or(made.max_age);
  // The broker refuses a duplicate window that is longer than max_age.
  made.duplicate_window = std::min(made.duplicate_window, made.max_age);
  made.max_bytes = limits.max_bytes;
  made.replicas = options.replicas;
  made.cluster = options.cluster;
  made.tags = options.tags;
  return made;
}

Result<StreamInfo> create_stream(Connection& connection, const StreamSettings& settings) {
  return check_created(
      TRY(connection.ask_api("STREAM.CREATE." + settings.name, configuration(settings))), settings);
}

}  // namespace

StreamSettings events_stream(const StreamOptions& options) {
  return stream_of(options, "events", "EVENTS", options.events, {});
}

StreamSettings dead_letters_stream(const StreamOptions& options) {
  return stream_of(options, "dlq", "DLQ", options.dead_letters, {});
}

StreamSettings lifecycle_stream(const StreamOptions& options) {
  return stream_of(options, "lifecycle", "LIFECYCLE", options.lifecycle, {});
}

StreamSettings tasks_stream(const StreamOptions& options) {
  return stream_of(options, "tasks", "TASKS", options.tasks,
                   {.retention = StreamRetention::kWorkQueue,
                    .max_age = kTasksKept,
                    .duplicate_window = kTaskKnown});
}

StreamSettings results_stream(const StreamOptions& options) {
  return stream_of(options, "results", "RESULTS", options.results,
                   {.retention = StreamRetention::kWorkQueue, .max_age = kTasksKept});
}

TimePoint complete_since(const StreamInfo& info, TimePoint now) {
  if (info.first_sequence <= 1) return TimePoint::min();
  TimePoint since = TimePoint::max();
  // Messages of the same millisecond as the oldest one may have been removed.
  const Result<TimePoint> oldest = parse_rfc3339(info.first_stamped);
  if (oldest) since = *oldest + Duration(1);
  if (info.may_be_full) return since;
  if (info.max_age == Duration(0)) return TimePoint::min();
  return std::min(since, now - info.max_age + kClockSlack);
}

Result<int64_t> parse_nanoseconds(std::string_view text) {
  const Result<TimePoint> time = parse_rfc3339(text);
  if (!time) {
    return fail("broker.protocol",
                fmt::format("the broker sent the time \"{}\"; expected RFC 3339", text));
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
  // 64 bits hold the nanoseconds of the years 1678 to 2261.
  constexpr auto kMost = std::chrono::floor<std::chrono::seconds>(std::chrono::nanoseconds::max());
  if (std::chrono::abs(seconds) >= kMost) {
    return fail(
        "broker.protocol",
        fmt::format("the broker sent the time \"{}\"; expected a year from 1678 to 2261", text));
  }
  return std::chrono::nanoseconds(seconds).count() + fraction;
}

Result<StreamInfo> check_stream(const Json& answer, const StreamSettings& settings) {
  const Json& config = field(answer, "config");
  const Json& state = field(answer, "state");
  if (!config.is_object() || !state.is_object()) {
    return fail("broker.protocol",
                fmt::format("the broker's description of stream {} has no config or no state",
                            settings.name));
  }
  StreamInfo info;
  info.created = TRY(parse_nanoseconds(text_field(answer, "created")));
  info.last_sequence = count_field(state, "last_seq");
  info.bytes = count_field(state, "bytes");
  const uint64_t messages = count_field(state, "messages");
  info.first_sequence = messages == 0 ? info.last_sequence + 1 : count_field(state, "first_seq");
  if (messages > 0) info.first_stamped = text_field(state, "first_ts");
  info.max_age = std::chrono::duration_cast<Duration>(
      std::chrono::nanoseconds(integer_field(config, "max_age")));
  const auto is_half_full = [&](const char* limit, uint64_t found) {
    const int64_t most = integer_field(config, limit);
    return most > 0 && found >= static_cast<uint64_t>(most) / 2;
  };
  info.may_be_full = is_half_full("max_msgs", messages) || is_half_full("max_bytes", info.bytes);
  if (const Json& subjects = field(config, "subjects"); subjects.is_array()) {
    for (const Json& subject : subjects) {
      if (subject.is_string()) info.subjects.push_back(subject.get<std::string>());
    }
  }

  if (std::none_of(info.subjects.begin(), info.subjects.end(), [&](const std::string& subject) {
        return subject_covers(subject, settings.subjects);
      })) {
    return fail("broker.stream",
                fmt::format("stream {} has the subjects {} and not {}: add the missing subject {}",
                            settings.name, fmt::join(info.subjects, ", "), settings.subjects,
                            way_out(settings)));
  }
  TRY(refuse_what_breaks_us(config, settings));
  if (settings.is_log || settings.is_snapshots) {
    TRY(refuse_what_loses_messages(config, settings));
  }
  const Json wanted = configuration(settings);
  for (const Setting& setting : kSettings) {
    const Json& found = field(config, setting.key);
    if (found == field(wanted, setting.key) || !wanted.contains(setting.key)) continue;
    info.notes.push_back(fmt::format("stream {} has {} {} instead of {}: {}", settings.name,
                                     setting.key, dump_json(found),
                                     dump_json(field(wanted, setting.key)), setting.meaning));
  }
  return info;
}

Result<StreamInfo> find_stream(Connection& connection, const StreamSettings& settings) {
  return check_stream(TRY(connection.api("STREAM.INFO." + settings.name, Json::object())),
                      settings);
}

Result<StreamInfo> check_created(const ApiAnswer& answer, const StreamSettings& settings) {
  if (answer.accepted) return check_stream(answer.body, settings);
  const Error& refusal = answer.accepted.error();
  if (settings.replicas == 1 ||
      (answer.reason != kNoSuitablePeers && answer.reason != kNoCluster)) {
    return tl::unexpected(refusal);
  }
  const bool is_placed = !settings.cluster.empty() || !settings.tags.empty();
  return fail(
      "broker.replicas",
      fmt::format("stream {} with --stream-replicas {} needs {} NATS servers with JetStream "
                  "in one cluster{}, and the broker does not have them: start them, or set "
                  "--stream-replicas to the number of NATS servers; {}",
                  settings.name, settings.replicas, settings.replicas,
                  is_placed ? " that fit --stream-cluster and --stream-tags" : "",
                  refusal.message));
}

Result<StreamInfo> ensure_stream(Connection& connection, const StreamSettings& settings) {
  Result<StreamInfo> found = find_stream(connection, settings);
  if (found || found.error().code != "broker.not_found") return found;
  Result<StreamInfo> made = create_stream(connection, settings);
  if (made) return made;
  // Another process may have created the stream first, with other settings: check that stream.
  found = find_stream(connection, settings);
  return found ? found : made;
}

}  // namespace millrace
