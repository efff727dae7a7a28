#include "cli/why_text.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/why_parts.h"

namespace millrace {
namespace {

/// `Instance 0190… of order, state pay`, or `Start of order`.
std::string listener_name(const Json& one) {
  const bool is_start = member_text(one, "kind") == "start";
  const std::string workflow = member_text(one, "workflow");
  std::string title =
      is_start ? fmt::format("Start of {}", workflow)
               : fmt::format("Instance {} of {}", member_text(one, "instance"), workflow);
  const std::string state = member_text(one, "state");
  if (!state.empty()) title += ", state " + state;
  return title;
}

/// The name, and since when it listens: `…, since 10:22`.
std::string listener_title(const Json& one) {
  const bool is_start = member_text(one, "kind") == "start";
  std::string title = listener_name(one);
  const std::string since = member_text(one, "since");
  if (!since.empty()) title += fmt::format(", {} {}", is_start ? "applied" : "since", since);
  if (is_start && one.contains("instance")) title += ", instance " + member_text(one, "instance");
  return title;
}

/// The command of a correction of a group; empty: a replay cannot set one of its values.
std::string command_of(const Json& correction) {
  std::string command = replay_command(member_text(correction, "namespace"), correction);
  const std::string to = member_text(correction, "toNamespace");
  if (!to.empty()) command += " --to-namespace " + shell_word(to);
  const Json attributes = correction.value("attributes", Json::object());
  for (const auto& [name, value] : attributes.items()) {
    const std::string text = member_text(attributes, name.c_str());
    if (value != Json(text) || !is_correctable(name)) return "";
    command.append(" --attr ").append(shell_word(fmt::format("{}={}", name, text)));
  }
  return command;
}

/// What completes the group of the event: the command of the best correction, then those of the
/// alternatives; empty: none is known.
std::string group_correction_lines(const Json& one) {
  std::string lines;
  size_t number = 0;
  for (const Json& correction : member_list(one, "corrections")) {
    const std::string command = command_of(correction);
    if (command.empty()) continue;
    if (++number == 1) lines += "     One correction is enough for a group. The best one: ";
    if (number == 2) lines += "     Or one of these instead; each starts an instance of its own:\n";
    if (number > 1) lines += "     - ";
    lines += fmt::format("{}:\n       {}\n", member_text(correction, "says"), command);
  }
  return lines;
}

/// What an effect means that names no instance and no group; empty: it needs no explanation.
std::string_view meaning_of(const std::string& effect) {
  if (effect == "duplicate") return "an event with this source and id had an effect before";
  if (effect == "skipped") {
    return "the workflow is singular and had a live instance, or had no free slot of its "
           "`concurrency`";
  }
  if (effect == "rateLimited") return "the `rateLimit` of the workflow was used up";
  if (effect == "debounced") return "the `debounce` of the workflow has put off the start";
  if (effect == "batched") return "the `batch` of the workflow has taken its data";
  if (effect == "uncorrelated") return "the event lacks an attribute of `correlate`";
  if (effect == "kept") {
    return "the event is offered to instances that come to wait for its type after a step that was "
           "not complete, and to listeners whose turn had not come; it is stored until then";
  }
  if (effect == "refused") return "it became a dead letter; `millrace dlq list` shows the reason";
  if (effect == "expired") return "its lifespan in the group ended before the other events came";
  if (effect == "closed") return "its group was closed, and the event became a dead letter";
  return "";
}

/// `woke 0190…, started order`; empty: no effect.
std::string effects_text(const Json& effects) {
  std::string text;
  for (const Json& one : effects) {
    if (!text.empty()) text += ", ";
    text += member_text(one, "what");
    for (const char* const of : {"instance", "workflow"}) {
      if (one.contains(of)) text += " " + member_text(one, of);
    }
  }
  return text;
}

/// Whether one of these is an effect on an instance or a group.
bool has_effect(const Json& effects) {
  return std::any_of(effects.begin(), effects.end(), [](const Json& one) {
    const std::string what = member_text(one, "what");
    return what == "woke" || what == "started" || what == "filled" || what == "grouped";
  });
}

/// What came of the replays of the event; empty: none is known.
std::string replay_lines(const Json& answer, const WhyTextOptions& options) {
  std::string lines;
  for (const Json& replay : member_list(answer, "replays")) {
    const std::string ns = member_text(replay, "namespace");
    const std::string effects = effects_text(member_list(replay, "effects"));
    const std::string_view none = replay.value("applied", true) ? "nothing" : "not applied yet";
    lines += fmt::format("It was sent again as #{}{}. What came of that: {}.\n",
                         member_text(replay, "sequence"),
                         ns == options.ns ? "" : fmt::format(" of the namespace {}", ns),
                         effects.empty() ? none : std::string_view(effects));
  }
  return lines;
}

/// Whether a replay of the event has had an effect, so that a further one may do its work twice.
bool is_mended(const Json& answer) {
  const Json& replays = member_list(answer, "replays");
  return std::any_of(replays.begin(), replays.end(),
                     [](const Json& one) { return has_effect(member_list(one, "effects")); });
}

/// The command that shows the attributes and the data of a stored event; empty: it was not sent.
std::string get_line(const Json& answer, const Json& event, const WhyTextOptions& options) {
  if (!event.contains("sequence")) return "";
  return fmt::format("The whole {}: millrace -n {} event get {}\n",
                     answer.contains("error") ? "message" : "event", shell_word(options.ns),
                     member_text(event, "sequence"));
}

std::string effects_line(const Json& answer) {
  if (!answer.contains("effects")) {
    const std::string_view dropped =
        answer.value("duplicate", false)
            ? "It would be dropped as a duplicate: an event with this source and id had an effect "
              "before. Give it another id.\n"
            : "";
    return fmt::format("Not sent: this is what it would do.\n{}", dropped);
  }
  if (!answer.value("applied", true)) return "Not applied yet.\n";
  const std::string effects = effects_text(member_list(answer, "effects"));
  std::string meanings;
  std::string last;
  for (const Json& one : member_list(answer, "effects")) {
    const std::string what = member_text(one, "what");
    const std::string_view meaning = what == last ? "" : meaning_of(what);
    if (!meaning.empty()) meanings += fmt::format("  {}: {}\n", what, meaning);
    last = what;
  }
  return fmt::format("What came of it: {}.\n{}", effects.empty() ? "nothing" : effects, meanings);
}

/// A line with the command and its option for each of the first names; none without a command.
std::string command_lines(const std::string& command, const Json& names,
                          const std::function<std::string(const std::string&)>& option) {
  std::string lines;
  for (size_t i = 0; i < names.size() && i < kMostCommands && !command.empty(); ++i) {
    lines += fmt::format("    {} {}\n", command, option(harmless(names[i].get<std::string>())));
  }
  return lines;
}

/// What to look at if nothing listens for the type.
std::string nothing_listens(const Json& answer, const Json& event, const WhyTextOptions& options) {
  std::string text = "No start and no instance of this namespace listens for this type.\n";
  const bool is_stored = event.contains("sequence");
  const std::string command = is_stored ? replay_command(options.ns, event) : "";
  const Json& similar = member_list(answer, "similarTypes");
  if (!similar.empty()) {
    text += fmt::format("  Workflows listen for a similar type: {}. Correct the type{}\n",
                        joined(similar), is_stored ? ":" : ".");
    text += command_lines(command, similar, [](const std::string& type) {
      return "--attr " + shell_word("type=" + type);
    });
  }
  const Json& elsewhere = member_list(answer, "elsewhere");
  if (!elsewhere.empty()) {
    text += fmt::format("  Other namespaces listen for this type: {}. Send the event there{}\n",
                        joined(elsewhere), is_stored ? ":" : ".");
    text += command_lines(command, elsewhere,
                          [](const std::string& ns) { return "--to-namespace " + shell_word(ns); });
  }
  return text;
}

std::string looked_line(const Json& answer) {
  const size_t looked = answer.value("looked", size_t{0});
  std::string text = fmt::format("Judged {}", looked);
  if (answer.contains("of")) text += fmt::format(" of {}", answer.value("of", size_t{0}));
  text += " listeners for this type";
  if (answer.contains("instance")) {
    text += "; only the instance that you named is shown";
  } else if (!answer.value("complete", true)) {
    text +=
        "; name the instance that you expected with --instance, or its value with --attribute and "
        "--value";
  }
  return text + ".\n";
}

}  // namespace

std::string why_of_event_text(const Json& answer, const WhyTextOptions& options) {
  const Json event = answer.value("event", Json::object());
  std::string text = event_line(event) + get_line(answer, event, options) + effects_line(answer) +
                     replay_lines(answer, options);
  const bool is_sent_again = is_mended(answer);
  if (answer.contains("deadLetter")) {
    const Json& letter = answer["deadLetter"];
    text += fmt::format("It became dead letter {}, {}: {}\n", member_text(letter, "id"),
                        member_text(letter, "reason"), member_text(letter, "detail"));
  }
  if (answer.contains("error")) {
    return text +
           fmt::format("The message is not an event: {}\n", member_text(answer["error"], "msg"));
  }
  const bool listens = answer.value("looked", size_t{0}) + answer.value("of", size_t{0}) > 0;
  text += listens ? looked_line(answer) : nothing_listens(answer, event, options);
  NearList near(options);
  for (const Json& one : member_list(answer, "near")) {
    const std::string corrections =
        correction_line(event, one, options) + group_correction_lines(one);
    near.add(one,
             fmt::format("{}\n{}{}{}", listener_title(one), verdict_lines(one), limits_line(one),
                         is_sent_again ? "" : corrections),
             listener_name(one));
  }
  text += near.text();
  const Json& others = member_list(answer, "others");
  if (!others.empty()) text += "\nThe others:\n";
  for (const Json& one : others) {
    text += fmt::format("  {} {}\n", member_text(one, "count"), member_text(one, "what"));
  }
  return text;
}

}  // namespace millrace
