// `millrace event replay`: publishes one stored event again, or a range of the event stream. For
// one thread only.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/ids.h"
#include "cli/attribute_flag.h"
#include "cli/command_line.h"
#include "cli/event_lookup.h"
#include "cli/other_namespaces.h"
#include "cli/quantity.h"
#include "cli/time_flag.h"
#include "cli/why_verbs.h"
#include "language/findings.h"

namespace millrace {
namespace {

struct EventReplayOptions {
  std::string event;
  bool is_dry = false;
  std::string to_workflow;
  std::string to_instance;
  // Of one event.
  bool same_id = false;
  std::vector<std::string> attributes;  ///< `NAME=VALUE`
  std::string to_namespace;
  // Of a range.
  std::string first;
  std::string last;
  std::string since;
  std::string until;
  std::string type;
  std::string source;
  std::string rate;
};

/// How often the progress of a replay is shown.
constexpr Duration kProgressInterval{1'000};

/// An option, and whether the command line has it.
using GivenOption = std::pair<std::string_view, bool>;

/// The names of those options that the command line has: `--until, --rate`.
std::string names_of_given(const std::vector<GivenOption>& options) {
  std::string names;
  for (const auto& [name, is_given] : options) {
    if (is_given) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  return names;
}

/// The options that only a range has.
std::string given_of_range(const EventReplayOptions& options) {
  return names_of_given({{"--since", !options.since.empty()},
                         {"--first", !options.first.empty()},
                         {"--until", !options.until.empty()},
                         {"--last", !options.last.empty()},
                         {"--type", !options.type.empty()},
                         {"--source", !options.source.empty()},
                         {"--rate", !options.rate.empty()}});
}

/// The options that only one event has.
std::string given_of_one(const EventReplayOptions& options) {
  return names_of_given({{"--same-id", options.same_id},
                         {"--attr", !options.attributes.empty()},
                         {"--to-namespace", !options.to_namespace.empty()}});
}

/// The body of the request that begins the replay of a range.
Fallible<Json> range_body(const EventReplayOptions& options, TimePoint now) {
  Json body = Json::object();
  const std::string since = TRY(time_of_flag("--since", options.since, now));
  const std::string until = TRY(time_of_flag("--until", options.until, now));
  if (!options.first.empty()) body["first"] = TRY(read_count("first", options.first));
  if (!options.last.empty()) body["last"] = TRY(read_count("last", options.last));
  if (!options.rate.empty()) body["rate"] = TRY(read_count("rate", options.rate));
  if (!since.empty()) body["since"] = since;
  if (!until.empty()) body["until"] = until;
  if (!options.type.empty()) body["type"] = options.type;
  if (!options.source.empty()) body["source"] = options.source;
  if (!options.to_workflow.empty()) body["to"]["workflow"] = options.to_workflow;
  if (!options.to_instance.empty()) body["to"]["instance"] = options.to_instance;
  if (options.is_dry) body["dryRun"] = true;
  return body;
}

void show_progress(Console& console, const Json& replay) {
  if (!console.err_is_terminal) return;
  const uint64_t first = replay.value("first", uint64_t{0});
  const uint64_t last = replay.value("last", uint64_t{0});
  const uint64_t position = replay.value("position", uint64_t{0});
  const uint64_t all = last >= first ? last - first + 1 : 0;
  const uint64_t percent = all == 0 ? 100 : std::min<uint64_t>(position - first, all) * 100 / all;
  const std::string waits = replay.value("waits", Json::object()).value("code", "");
  console.err << fmt::format("\r\x1b[K{} %, {} match, {} sent{} ", percent,
                             replay.value("matched", uint64_t{0}),
                             replay.value("sent", uint64_t{0}),
                             waits.empty() ? "" : ", waits: " + harmless(waits))
              << std::flush;
}

/// What the replay of a range would do, by the result of its dry run.
std::string dry_run_text(const Json& replay) {
  const uint64_t matched = replay.value("matched", uint64_t{0});
  const uint64_t rate = std::max<uint64_t>(replay.value("rate", uint64_t{1}), 1);
  std::string text =
      fmt::format("Not sent: {} events fit, of the sequences {} to {}", matched,
                  replay.value("first", uint64_t{0}), replay.value("last", uint64_t{0}));
  if (replay.contains("since")) text += ", stored since " + replay.value("since", "");
  if (replay.contains("until")) text += ", stored before " + replay.value("until", "");
  text += ".\n";
  if (matched > 0) {
    text += fmt::format("Without --dry-run they are sent at {} events a second, in about {} s.\n",
                        rate, (matched + rate - 1) / rate);
  }
  if (const uint64_t lost = replay.value("lost", uint64_t{0}); lost > 0) {
    text += fmt::format("{} messages of the range are no longer in the event stream.\n", lost);
  }
  return text;
}

/// Begins the replay of a range, and shows its progress until it ends; Ctrl-C, or the end of the
/// terminal, stops it. A replay that goes on without this process is shown by `millrace replay`.
Ended replay_range(Session& session, const EventReplayOptions& options) {
  if (const std::string wrong = given_of_one(options); !wrong.empty()) {
    return wrong_usage(
        fmt::format("{}: only for one event, and the command line names a range; name the event "
                    "by its sequence or its id",
                    wrong));
  }
  ApiCall begin{.method = "POST", .path = session.path({"replays"})};
  begin.headers = {{"Content-Type", "application/json"}};
  begin.body = dump_json(TRY(range_body(options, session.console.now())));
  // From here on a signal does not end the process: none may begin a replay and not stop it.
  if (!session.console.pause(Duration(0))) return ExitCode::kInterrupted;
  const Reply started = TRY(session.client.send(begin));
  const std::string path = session.path({"replays", started.body.value("id", "")});
  Json replay;
  bool is_stopped = false;
  while (true) {
    replay = TRY(session.client.send({.path = path})).body;
    show_progress(session.console, replay);
    if (replay.value("state", "") != "running") break;
    if (session.console.pause(kProgressInterval)) continue;
    is_stopped = true;
    const auto stopped = session.client.send({.method = "DELETE", .path = path});
    if (!stopped && stopped.error().code != ExitCode::kConflict) {
      return tl::unexpected(stopped.error());
    }
  }
  if (session.console.err_is_terminal) session.console.err << "\n";
  const bool is_done = replay.value("state", "") == "done";
  if (options.is_dry && is_done && session.output.format() == Format::kTable) {
    session.console.out << harmless(dry_run_text(replay), kLineEnds);
  } else {
    session.output.item(replay, "id");
  }
  if (is_stopped) return ExitCode::kInterrupted;
  return is_done ? ExitCode::kOk : ExitCode::kFailed;
}

/// Says on standard error that the event itself still waits in a group, for which the corrected one
/// is too late. Says nothing if that cannot be found out.
void hint_at_group(Session& session, const std::string& sequence) {
  const auto event = session.client.send({.path = session.path({"events", sequence})});
  if (!event) return;
  std::string workflow;
  for (const Json& effect : event->body.value("effects", Json::array())) {
    if (effect.value("what", "") == "grouped") workflow = effect.value("workflow", "");
  }
  if (workflow.empty()) return;
  const auto groups = session.client.send(
      {.path = session.path({"groups"}), .query = {{"workflow", workflow}, {"limit", "1000"}}});
  if (!groups) return;
  for (const Json& group : groups->body.value("items", Json::array())) {
    for (const Json& entry : group.value("entries", Json::array())) {
      const Json first = entry.value("first", Json::object());
      if (!first.contains("sequence") || dump_json(first["sequence"]) != sequence) continue;
      session.console.err << harmless(fmt::format(
                                 "event {} still waits in a group of workflow {}; if the group "
                                 "will never be complete, `millrace -n {} group drop {}` removes "
                                 "it",
                                 sequence, workflow, shell_word(session.ns),
                                 shell_word(group.value("id", ""))))
                          << "\n";
      return;
    }
  }
}

/// Names the command that shows what comes of the replay, for people.
void show_next_command(Session& session, const EventReplayOptions& options, const Json& replay) {
  if (session.output.format() != Format::kTable || !replay.contains("sequence")) return;
  const std::string& ns = options.to_namespace.empty() ? session.ns : options.to_namespace;
  session.console.err << harmless(
                             fmt::format("`millrace -n {} event why {}` shows what comes of it",
                                         shell_word(ns), dump_json(replay["sequence"])))
                      << "\n";
}

/// The body of the request that replays one event; empty: as it is.
Fallible<Json> one_body(const EventReplayOptions& options) {
  Json body = Json::object();
  if (options.is_dry) body["dryRun"] = true;
  for (const std::string& one : options.attributes) {
    const auto [name, value] = TRY(read_attribute(one));
    if (body.contains("attributes") && body["attributes"].contains(name)) {
      return wrong_usage(fmt::format("--attr {}: the attribute is given twice", name));
    }
    body["attributes"][name] = value;
  }
  if (!options.to_namespace.empty()) body["namespace"] = options.to_namespace;
  return body;
}

Ended replay_one_event(Session& session, const EventReplayOptions& options) {
  if (const std::string wrong = given_of_range(options); !wrong.empty()) {
    return wrong_usage(
        fmt::format("{}: only for a range of events, and the command line names the event {}; "
                    "leave out one of the two",
                    wrong, options.event));
  }
  if (options.same_id && (!options.attributes.empty() || !options.to_namespace.empty())) {
    return wrong_usage(
        "--same-id: a corrected event has a new id; leave out --same-id, or --attr and "
        "--to-namespace");
  }
  const Json body = TRY(one_body(options));
  std::string replayed;  // the sequence of the event
  const auto reply = ask_about_event(session, options.event, [&](const std::string& sequence) {
    replayed = sequence;
    ApiCall call{.method = "POST",
                 .path = session.path({"events", sequence, "replay"}),
                 .query = {{"id", options.same_id ? "same" : ""},
                           {"workflow", options.to_workflow},
                           {"instance", options.to_instance}}};
    if (!body.empty()) {
      call.headers = {{"Content-Type", "application/json"}};
      call.body = dump_json(body);
    }
    return session.client.send(call);
  });
  if (!reply) return instance_failure(session, options.to_instance, reply.error());
  if (options.is_dry) {
    show_why_of_event(session, reply->body, false);
  } else {
    session.output.item(reply->body, "sequence");
    show_next_command(session, options, reply->body);
    if (!options.attributes.empty()) hint_at_group(session, replayed);
  }
  return ExitCode::kOk;
}

Ended replay_events(Session& session, const EventReplayOptions& options) {
  if (!options.to_instance.empty() && !parse_instance_id(options.to_instance)) {
    return give_up(ExitCode::kNotFound, "instance.not_found",
                   fmt::format("--to-instance: {} is not an instance id; expected a UUID",
                               in_quotes(options.to_instance)));
  }
  if (!options.event.empty()) return replay_one_event(session, options);
  if (!options.first.empty() || !options.since.empty()) return replay_range(session, options);
  return wrong_usage(
      "name one event by its sequence or its id, or the begin of a range by --since or --first");
}

}  // namespace

void add_event_replay_verb(CommandLine& event) {
  auto [replay, replayed] = event.asking<EventReplayOptions>(
      "replay",
      "Publishes a stored event again, as it is or corrected, for all listeners or only for one "
      "workflow or instance",
      "millrace event replay 18 --dry-run\n  "
      "millrace event replay 18 --attr orderid=o-1742\n  "
      "millrace event replay 18 --to-workflow order\n  millrace event replay --since 2h --type "
      "order.placed --dry-run",
      replay_events);
  replay.option("EVENT", replayed.event,
                "The sequence of the event, from `event list`, or its id; excludes the options of "
                "a range: --since, --first, --until, --last, --type, --source, --rate");
  replay.option(
      "--since", replayed.since,
      "All events that were stored then or later: a time in RFC 3339, or how long ago (2h)",
      "WHEN");
  replay.option("--first", replayed.first, "All events from this sequence on", "SEQUENCE");
  replay.option("--until", replayed.until,
                "Only events that were stored before: a time, or how long ago", "WHEN");
  replay.option("--last", replayed.last, "Only events up to this sequence", "SEQUENCE");
  replay.option("--type", replayed.type, "Only events whose type fits", "GLOB");
  replay.option("--source", replayed.source, "Only events whose source fits", "GLOB");
  replay.option("--rate", replayed.rate, "Events a second (default: 1000)", "N");
  replay.flag("--dry-run", replayed.is_dry,
              "Publish nothing: show what the one event would wake or start, as `event try` does, "
              "or count the events of the range that fit");
  replay.flag("--same-id", replayed.same_id,
              "Publish the one event under its own id, not under a new one");
  replay
      .option("--attr", replayed.attributes,
              "Set or replace this context attribute of the one event: an extension attribute, "
              "type, source or subject; may be repeated",
              "NAME=VALUE")
      .one_value_each();
  replay.option("--to-namespace", replayed.to_namespace,
                "Send the one event to this namespace, which also has the workflow or instance of "
                "the options below",
                "NAMESPACE");
  replay
      .option("--to-workflow", replayed.to_workflow,
              "Only this workflow and its instances may take the event", "WORKFLOW")
      .excludes(replay.option("--to-instance", replayed.to_instance,
                              "Only this instance may take the event", "INSTANCE"));
}

}  // namespace millrace
