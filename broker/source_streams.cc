#include "broker/source_streams.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/defaults.h"
#include "base/excerpt.h"
#include "broker/json_fields.h"
#include "cloudevents/subject.h"

namespace millrace {
namespace {

/// The longest name of a stream that nats-server accepts, in bytes.
constexpr size_t kLongestStreamName = 255;

/// JetStream's code if another stream has subjects of the stream.
constexpr int64_t kSubjectsOverlap = 10065;

/// How many overlapping streams an error names.
constexpr size_t kMostOverlapsNamed = 5;

/// How many bytes of the list of subjects an error shows.
constexpr size_t kMostShownSubjects = 256;

/// The lowest window that nats-server accepts: the ids of other programs' messages do not count.
constexpr std::chrono::milliseconds kSourceDuplicateWindow(100);

/// The key of the mark in the metadata of a stream.
constexpr const char* kMark = "millrace.source";

std::string mark_of(std::string_view ns, std::string_view source) {
  return fmt::format("{}/{}", ns, source);
}

std::string description_of(std::string_view ns, std::string_view source) {
  return fmt::format("made by millrace for the source {}", mark_of(ns, source));
}

tl::unexpected<Error> stream_taken(const std::string& stream) {
  return fail("source.stream_taken",
              fmt::format("stream {} has the name of the stream that millrace makes for this "
                          "source, but not its mark, so another program made it; rename the "
                          "source, or delete the stream",
                          stream));
}

/// Names the streams that have subjects of `wanted`, besides `stream` itself.
Error overlap_of(const Connection& connection, const SourceStream& wanted,
                 const std::string& stream) {
  std::set<std::string> others;
  for (const std::string& subject : wanted.subjects) {
    const Result<Json> answer = connection.api("STREAM.NAMES", {{"subject", subject}});
    if (!answer) break;
    const Json& names = field(*answer, "streams");
    if (!names.is_array()) continue;
    for (const Json& name : names) {
      if (name.is_string() && name != stream)
        others.insert(excerpt(name.get<std::string>(), kLongestStreamName));
    }
  }
  const size_t count = others.size();
  while (others.size() > kMostOverlapsNamed) others.erase(std::prev(others.end()));
  std::string named =
      others.empty() ? "another stream" : fmt::format("stream {}", fmt::join(others, ", "));
  if (count > others.size()) named += fmt::format(" and {} more", count - others.size());
  return {
      "source.overlap",
      fmt::format(
          "{} has some of the subjects {} already, and the broker gives each subject to "
          "one stream only; read that stream by the setting `stream`, or leave these "
          "subjects out",
          named, excerpt(fmt::format("{}", fmt::join(wanted.subjects, ", ")), kMostShownSubjects))};
}

/// Sends a request that creates or changes the stream.
Result<Json> set_up(const Connection& connection, std::string_view verb, const Json& config,
                    const SourceStream& wanted) {
  const std::string name = text_field(config, "name");
  ApiAnswer answer = TRY(connection.ask_api(fmt::format("STREAM.{}.{}", verb, name), config));
  if (answer.reason == kSubjectsOverlap) {
    return tl::unexpected(overlap_of(connection, wanted, name));
  }
  TRY(std::move(answer.accepted));
  return std::move(answer.body);
}

}  // namespace

std::string source_stream_name(std::string_view prefix, std::string_view ns,
                               std::string_view source) {
  return stream_name(prefix, fmt::format("SOURCE_{}+{}", subject_token(ns), subject_token(source)));
}

Json source_stream_config(const StreamOptions& options, const SourceStream& wanted) {
  Json config = {{"name", source_stream_name(options.prefix, wanted.ns, wanted.source)},
                 {"description", description_of(wanted.ns, wanted.source)},
                 {"metadata", {{kMark, mark_of(wanted.ns, wanted.source)}}},
                 {"subjects", wanted.subjects},
                 {"no_ack", true},
                 {"retention", "limits"},
                 {"discard", "old"},
                 {"storage", "file"},
                 {"max_consumers", -1},
                 {"max_msgs", -1},
                 {"max_bytes", wanted.max_bytes},
                 {"max_msg_size", -1},
                 {"max_age", nanoseconds(wanted.max_age)},
                 {"duplicate_window", nanoseconds(kSourceDuplicateWindow)},
                 {"num_replicas", options.replicas}};
  if (!options.cluster.empty()) config["placement"]["cluster"] = options.cluster;
  if (!options.tags.empty()) config["placement"]["tags"] = options.tags;
  return config;
}

bool is_source_stream(const Json& config, std::string_view ns, std::string_view source) {
  return text_field(field(config, "metadata"), kMark) == mark_of(ns, source) ||
         text_field(config, "description") == description_of(ns, source);
}

std::optional<Json> changed_source_stream(const Json& found, const Json& wanted) {
  constexpr std::array kOurs = {"subjects", "max_bytes", "max_age", "no_ack"};
  Json changed = found;
  for (const char* const key : kOurs) changed[key] = wanted[key];
  return changed == found ? std::nullopt : std::optional(std::move(changed));
}

Status check_source_stream(const StreamOptions& options, std::string_view inbox_prefix,
                           const SourceStream& wanted) {
  const std::string name = source_stream_name(options.prefix, wanted.ns, wanted.source);
  if (name.size() > kLongestStreamName) {
    return fail("settings.invalid",
                fmt::format("stream: the stream for the source would have a name of {} bytes, and "
                            "{} are possible; give the source a shorter name, or name a stream",
                            name.size(), kLongestStreamName));
  }
  for (const std::string_view prefix : {std::string_view(options.prefix), kDefaultPrefix,
                                        inbox_prefix, std::string_view(defaults::kInboxPrefix)}) {
    for (const std::string& subject : wanted.subjects) {
      const bool is_free = !subjects_overlap(subject, prefix) &&
                           !subjects_overlap(subject, fmt::format("{}.>", prefix));
      if (is_free) continue;
      return fail("source.own_subjects",
                  fmt::format("the subject {} matches subjects below {}, which millrace uses "
                              "itself; name other subjects",
                              excerpt(subject), prefix));
    }
  }
  return {};
}

Result<Json> find_source_stream(const Connection& connection, std::string_view prefix,
                                std::string_view ns, std::string_view source) {
  const std::string name = source_stream_name(prefix, ns, source);
  Json found = TRY(connection.api("STREAM.INFO." + name, Json::object()));
  if (!is_source_stream(field(found, "config"), ns, source)) return stream_taken(name);
  return found;
}

Result<Json> ensure_source_stream(const Connection& connection, const StreamOptions& options,
                                  const SourceStream& wanted) {
  const Json config = source_stream_config(options, wanted);
  Result<Json> found = find_source_stream(connection, options.prefix, wanted.ns, wanted.source);
  if (!found && found.error().code == "broker.not_found") {
    return set_up(connection, "CREATE", config, wanted);
  }
  if (!found) return found;
  const auto changed = changed_source_stream(field(*found, "config"), config);
  return changed ? set_up(connection, "UPDATE", *changed, wanted) : found;
}

Status remove_source_stream(const Connection& connection, std::string_view prefix,
                            std::string_view ns, std::string_view source) {
  const Result<Json> found = find_source_stream(connection, prefix, ns, source);
  if (!found) {
    const std::string& code = found.error().code;
    if (code == "broker.not_found" || code == "source.stream_taken") return {};
    return tl::unexpected(found.error());
  }
  const Result<Json> gone =
      connection.api("STREAM.DELETE." + source_stream_name(prefix, ns, source), Json::object());
  if (!gone && gone.error().code != "broker.not_found") return tl::unexpected(gone.error());
  return {};
}

}  // namespace millrace
