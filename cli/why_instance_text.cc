// The answer of `instance why` as text.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/ids.h"
#include "cli/output.h"
#include "cli/why_call_limits.h"
#include "cli/why_parts.h"
#include "cli/why_text.h"
#include "cli/why_waits.h"

namespace millrace {
namespace {

/// From when on a state with `lookback` takes earlier events; empty: it takes none.
std::string window_text(const Json& wait) {
  const std::string from = member_text(wait, "lookbackFrom");
  return from.empty() ? "" : fmt::format(", also for events since {}", from);
}

/// What came of an event besides what it did with the instance; empty: nothing, or only what the
/// verdict says.
std::string other_effects_line(const Json& one, const std::string& instance) {
  std::string others;
  size_t shown = 0;
  size_t passed = 0;  // effects that the line leaves out
  for (const Json& effect : member_list(one, "effects")) {
    const std::string what = member_text(effect, "what");
    const std::string on = member_text(effect, "instance");
    const bool is_on_other = !on.empty() && on != instance;
    if (!is_on_other && what != "grouped") {
      ++passed;
      continue;
    }
    if (shown == kMostCommands) break;
    ++shown;
    others += fmt::format("{}{} {}", shown == 1 ? "" : ", ", what,
                          is_on_other ? on : member_text(effect, "workflow"));
  }
  if (others.empty()) return "";
  const size_t all = one.value("effectCount", size_t{0});
  if (all > shown + passed) others += fmt::format(", and {} more", all - shown - passed);
  return fmt::format("     What else came of it: {}.\n", others);
}

/// How many messages were read: `the newest 7 messages of the namespace`.
std::string messages_text(const Json& answer, const WhyTextOptions& options) {
  return fmt::format("the {}{} messages of the namespace{}", options.has_window ? "" : "newest ",
                     answer.value("looked", size_t{0}),
                     options.has_window ? " in this window of time" : "");
}

/// How many events were read for an instance, and how many of them are shown.
std::string events_line(const Json& answer, size_t shown, const WhyTextOptions& options) {
  return fmt::format("The nearest {} of {} events of these types; {} were read.\n", shown,
                     answer.value("of", shown), messages_text(answer, options));
}

/// Up to when messages were read, and the command that continues with older ones; empty: the window
/// has no older ones.
std::string older_lines(const Json& answer, const WhyTextOptions& options) {
  const std::string cursor = member_text(answer, "next");
  if (answer.value("complete", true) || cursor.empty()) return "";
  const std::string from = member_text(answer, "lookedFrom");
  const std::string since = options.since.empty() ? "" : " --since " + shell_word(options.since);
  return fmt::format(
      "There are older messages, which were not read{}:\n"
      "    millrace -n {} instance why {} --cursor {}{}\n",
      from.empty() ? "" : fmt::format(" (before {})", from), shell_word(options.ns),
      member_text(answer.value("instance", Json::object()), "id"), cursor, since);
}

/// The other namespaces that got events of the types, and the commands that send those that fit
/// here; empty: there are none.
std::string elsewhere_lines(const Json& answer, const WhyTextOptions& options) {
  Json fitting = Json::array();
  std::string commands;
  for (const Json& one : member_list(answer, "elsewhereEvents")) {
    const std::string ns = member_text(one, "namespace");
    fitting.push_back(ns);
    commands += fmt::format("    {}      {} --to-namespace {}\n", event_line(one),
                            replay_command(ns, one), shell_word(options.ns));
  }
  Json others = Json::array();
  for (const Json& name : member_list(answer, "elsewhere")) {
    if (std::find(fitting.begin(), fitting.end(), name) == fitting.end()) others.push_back(name);
  }
  std::string lines;
  if (!fitting.empty()) {
    lines += fmt::format(
        "  Other namespaces got events that fit, and this one got none: {}. If they were meant for "
        "this namespace, send them here:\n{}",
        joined(fitting), commands);
  }
  if (others.empty()) return lines;
  const bool waits = !awaited_events(answer.value("instance", Json::object())).empty();
  return lines + fmt::format("  Other namespaces got events of these types{}: {}.\n",
                             waits ? ", but none that fits" : "", joined(others));
}

/// The names without a namespace for which such events came, each with the commands that show the
/// event and, if the name may be that of a namespace, send it there; empty: there are none.
std::string nowhere_lines(const Json& answer, const WhyTextOptions& options) {
  const bool waits = !member_list(answer.value("instance", Json::object()), "waits").empty();
  std::string lines;
  for (const Json& one : member_list(answer, "unknownNamespaces")) {
    const std::string ns = member_text(one, "namespace");
    const std::string word = shell_word(ns);
    const std::string letter = member_text(one, "deadLetter");
    const std::string_view kind = one.value("fits", false) ? "An event that fits"
                                  : waits ? "An event of such a type, which does not fit,"
                                          : "An event of such a type";
    const bool is_name = is_identifier(ns);
    lines += fmt::format(
        "  {} came for the namespace {}, which does not exist, and became {}:\n    {}"
        "    Correct the namespace in its sender, and send it again to {}{}:\n",
        kind, ns, letter.empty() ? "a dead letter" : "dead letter " + letter, event_line(one),
        options.ns, is_name ? "; or create the namespace, and replay the dead letter" : "");
    lines += fmt::format("      millrace -n {} dlq {}\n", word,
                         letter.empty() ? "list" : "show " + letter);
    if (!is_name) continue;
    lines += fmt::format("      millrace namespace create {}\n      millrace -n {} dlq replay {}\n",
                         word, word, letter.empty() ? "ID" : letter);
  }
  return lines;
}

/// How far other namespaces were looked at; empty: a bound has cut nothing.
std::string elsewhere_look_line(const Json& answer) {
  const Json look = answer.value("elsewhereLook", Json::object());
  std::string line;
  const std::string names = joined(member_list(look, "namespaces"));
  if (!names.empty())
    line += fmt::format("  Of the other namespaces, only {} were looked at", names);
  const std::string from = member_text(look, "from");
  if (!from.empty()) {
    line += fmt::format("{}the events that are older than {} were not",
                        line.empty() ? "  In other namespaces, " : "; there, ", from);
    line += " looked at";
  }
  if (!line.empty()) line += ".\n";
  const std::string unknown = joined(member_list(look, "unknown"));
  if (unknown.empty()) return line;
  return line +
         fmt::format("  Of the names without a namespace, only {} were looked at.\n", unknown);
}

/// When a wait to start ends, and with which error; empty: it has no timeout.
std::string end_of_wait_line(const Json& wait) {
  const std::string until = member_text(wait, "until");
  if (until.empty()) return "";
  const std::string error = member_text(wait, "error");
  if (wait.value("paused", false)) {
    return fmt::format(
        "  Its wait has a timeout ({}), which begins again when the instance is resumed.\n", error);
  }
  return fmt::format("  If it still waits at {}, it fails with {}.\n", until, error);
}

/// That the instance is paused, by itself or with its workflow, and what resumes it; empty: it is
/// not paused.
std::string pause_lines(const Json& instance, const WhyTextOptions& options) {
  const std::string by = member_text(instance, "paused");
  if (by.empty()) return "";
  const std::string ns = shell_word(options.ns);
  if (by == "workflow") {
    return fmt::format(
        "It is paused with its workflow; what resumes the workflow and its instances:\n"
        "    millrace -n {} workflow resume {}\n",
        ns, shell_word(member_text(instance, "workflow")));
  }
  return fmt::format(
      "It is paused by itself, and its workflow is not; what resumes it:\n"
      "    millrace -n {} instance resume {}\n",
      ns, member_text(instance, "id"));
}

/// That the instance is being cancelled, for what its end waits, and what does not wait; empty: it
/// is not being cancelled.
std::string cancelling_lines(const Json& instance, const WhyTextOptions& options) {
  const Json cancelling = instance.value("cancelling", Json());
  if (!cancelling.is_object()) return "";
  const std::string since = member_text(cancelling, "since");
  const auto tasks = cancelling.value("tasks", size_t{0});
  return fmt::format(
      "It is cancelled{}, and ends when its running {}; its compensations follow if its definition "
      "asks for them. What does not wait for the tasks:\n"
      "    millrace -n {} instance cancel {} --now\n",
      since.empty() ? "" : ", by a cancel that came at " + since,
      tasks == 1 ? "task has ended (1)" : fmt::format("tasks have ended ({})", tasks),
      shell_word(options.ns), member_text(instance, "id"));
}

/// That the workflow of a start is paused, which waits and is not paused itself; empty: it is not.
std::string paused_workflow_lines(const Json& limit, const Json& instance,
                                  const WhyTextOptions& options) {
  if (instance.contains("paused") || !limit.value("workflowPaused", false)) return "";
  return fmt::format(
      "  Its workflow is paused, and no start that waits begins; what resumes the workflow:\n"
      "    millrace -n {} workflow resume {}\n",
      shell_word(options.ns), shell_word(member_text(instance, "workflow")));
}

/// The command that lists the starts that wait like this one.
std::string list_of_starts(const Json& limit, const Json& instance, const WhyTextOptions& options) {
  const bool may_be_paused = instance.contains("paused") || limit.value("workflowPaused", false);
  return fmt::format("`millrace -n {} instance list --workflow {} --status pending{}` lists them",
                     shell_word(options.ns), shell_word(member_text(instance, "workflow")),
                     may_be_paused ? ",paused" : "");
}

/// With which error an instance has ended, and for what it waited until then; empty: it has no
/// error.
std::string ended_lines(const Json& instance) {
  const Json error = instance.value("error", Json());
  if (!error.is_object()) return "";
  std::string lines =
      fmt::format("It ended with {}: {}\n", member_text(error, "code"), member_text(error, "msg"));
  const Json waited = instance.value("waited", Json());
  if (!waited.is_object()) return lines;
  const std::string key = waited.contains("key")
                              ? fmt::format(" of the key {}", harmless(dump_json(waited["key"])))
                              : "";
  const bool is_slot = member_text(waited, "for") == "slot";
  return lines + fmt::format("  It had waited for {}{} of its workflow since {}.\n",
                             is_slot ? "a slot" : "the throttle", key,
                             member_text(waited, "since"));
}

/// What a start that waits for a slot waits for, and who holds it; empty: it does not wait for one.
std::string slot_lines(const Json& instance, const WhyTextOptions& options) {
  const Json slot = instance.value("slot", Json::object());
  if (!slot.value("queued", false)) return "";
  const std::string key =
      slot.contains("key") ? fmt::format(" of the key {}", harmless(dump_json(slot["key"]))) : "";
  const std::string limit =
      slot.contains("limit") ? fmt::format(" of {}", slot.value("limit", uint64_t{0})) : "";
  std::string lines = fmt::format(
      "It waits for a slot{} of its workflow, with the priority {}: {}{} held, {}; {}.\n", key,
      slot.value("priority", 0), slot.value("held", size_t{0}), limit,
      those_that_wait(slot, "start"), list_of_starts(slot, instance, options));
  const Json& holders = member_list(slot, "holders");
  for (const Json& holder : holders) {
    lines += fmt::format("  held by {} since {}{}\n", member_text(holder, "instance"),
                         member_text(holder, "since"), hindrance_of_holder(holder));
  }
  if (!slot.value("workflowPaused", false)) lines += resume_of_holder(holders, options);
  if (slot.value("held", size_t{0}) > holders.size()) {
    lines += fmt::format("  `millrace -n {} queue holders --workflow {}` lists all holders\n",
                         shell_word(options.ns), shell_word(member_text(instance, "workflow")));
  }
  if (slot.value("holdersPaused", false)) {
    lines += "  All that hold a slot are paused: none gets free before one of them is resumed.\n";
  }
  return lines + paused_workflow_lines(slot, instance, options) + end_of_wait_line(slot);
}

/// The compensations that an operator has passed over; empty: none is known.
std::string passed_line(const Json& instance, const WhyTextOptions& options) {
  const Json& passed = member_list(instance, "passedCompensations");
  std::string numbers;
  for (const Json& number : passed) {
    numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", dump_json(number));
  }
  if (numbers.empty()) return "";
  return fmt::format(
      "  compensations that were passed over, not made: number {}; `millrace -n {} instance "
      "history {}` shows what they undo\n",
      numbers, shell_word(options.ns), member_text(instance, "id"));
}

/// What the instance has noted of its compensations, or has left; empty: nothing.
std::string compensation_line(const Json& instance, const WhyTextOptions& options) {
  const Json compensation = instance.value("compensation", Json());
  if (!compensation.is_object()) return "";
  const std::string left = dump_json(compensation.value("left", Json(0)));
  if (compensation.value("making", false)) {
    return fmt::format("  makes its compensations, {} left; then it is {}\n", left,
                       member_text(compensation, "ends"));
  }
  const std::string status = member_text(instance, "status");
  const bool has_ended =
      status == "failed" || status == "timedout" || status == "cancelled" || status == "complete";
  if (!has_ended) {
    return fmt::format(
        "  compensations noted: {}, which are made if the instance ends otherwise than complete "
        "and its definition asks for that\n",
        left);
  }
  std::string line = fmt::format("  compensations left: {}", left);
  const Json error = compensation.value("error", Json());
  const bool has_failed = error.is_object();
  if (has_failed) {
    line += fmt::format("; the newest one was not made: {}, {}", member_text(error, "code"),
                        member_text(error, "msg"));
  }
  const std::string command = fmt::format("millrace -n {} instance compensate {}",
                                          shell_word(options.ns), member_text(instance, "id"));
  line += fmt::format("\n    {}\n", command);
  if (!has_failed) return line;
  return line + fmt::format("    {} --past    # if what the failed one undoes is undone already\n",
                            command);
}

/// What a start that waits for the throttle waits for; empty: it does not wait for it.
std::string throttle_lines(const Json& instance, const WhyTextOptions& options) {
  const Json throttled = instance.value("throttled", Json());
  if (!throttled.is_object()) return "";
  const std::string key = throttled.contains("key")
                              ? fmt::format(" of the key {}", harmless(dump_json(throttled["key"])))
                              : "";
  const std::string limit = throttled.contains("limit")
                                ? fmt::format(" ({} in {})", throttled.value("limit", uint64_t{0}),
                                              member_text(throttled, "period"))
                                : "";
  const std::string next =
      throttled.contains("nextAt") && throttled.value("waiting", size_t{0}) > 0
          ? fmt::format(" The next of them may begin at {}.", member_text(throttled, "nextAt"))
          : "";
  const std::string_view turn = instance.contains("paused")
                                    ? "it has no turn while it is paused; without paused starts, "
                                    : "";
  return fmt::format(
             "It waits for the throttle of its workflow{}{}, with the priority {}: {}{}.{} {}.\n",
             limit, key, throttled.value("priority", 0), turn, those_that_wait(throttled, "start"),
             next, list_of_starts(throttled, instance, options)) +
         paused_workflow_lines(throttled, instance, options) + end_of_wait_line(throttled);
}

/// For what an instance waits that has a step to make; empty: it has none.
std::string step_line(const Json& instance) {
  const Json step = instance.value("step", Json());
  if (!step.is_object()) return "";
  size_t waiting = 0;
  size_t running = 0;
  for (const Json& kind : step.value("evaluations", Json::object())) {
    waiting += kind.value("waiting", size_t{0});
    running += kind.value("running", size_t{0});
  }
  return fmt::format(
      "It has a step to make, and waits for its turn, for a jq evaluation, or for the search for "
      "early events.\nEvaluations of its namespace now: {} with a jq worker, {} that wait for "
      "one.\n",
      running, waiting);
}

}  // namespace

std::string why_of_instance_text(const Json& answer, const WhyTextOptions& options) {
  const Json instance = answer.value("instance", Json::object());
  std::string text =
      fmt::format("Instance {} of {}: {}, state {}, since {}\n", member_text(instance, "id"),
                  member_text(instance, "workflow"), member_text(instance, "status"),
                  member_text(instance, "state"), member_text(instance, "since"));
  const Json waits = awaited_events(instance);
  const std::string others = other_wait_lines(instance, options);
  const Json& entering = member_list(instance, "entering");
  text += cancelling_lines(instance, options);
  text += ended_lines(instance) + pause_lines(instance, options);
  text += slot_lines(instance, options);
  text += throttle_lines(instance, options);
  text += waiting_call_lines(instance, options);
  const bool waits_for_none = waits.empty() && entering.empty() && others.empty();
  const bool is_shown = !instance.contains("paused") && !instance.contains("step");
  if (waits_for_none && is_shown) text += "It waits for no event now.\n";
  text += step_line(instance);
  text += passed_line(instance, options) + compensation_line(instance, options) + others;
  for (const Json& one : entering) {
    text += fmt::format("  will wait for {}{}\n", member_text(one, "type"), window_text(one));
  }
  for (const Json& one : waits) {
    text += fmt::format("  waits for {}{}\n", member_text(one, "type"), window_text(one));
    const Json context = one.value("context", Json::object());
    for (const auto& [attribute, asks] : context.items()) {
      for (const auto& [how, value] : asks.items()) {
        text += fmt::format("    {} {} {}\n", harmless(attribute),
                            how == "equals" ? "is" : "matches", harmless(dump_json(value)));
      }
    }
  }
  for (const Json& one : member_list(instance, "arrived")) {
    text += fmt::format("  has got {}\n", harmless(one.get<std::string>()));
  }
  const Json& events = member_list(answer, "events");
  if (events.empty() && !(waits.empty() && entering.empty())) {
    text += fmt::format(
        "Among {} is no event of these types; `millrace event list` shows the events.\n",
        messages_text(answer, options));
  }
  text += elsewhere_lines(answer, options) + nowhere_lines(answer, options) +
          elsewhere_look_line(answer);
  if (!events.empty() && answer.contains("of")) text += events_line(answer, events.size(), options);
  text += older_lines(answer, options);
  NearList near(options);
  for (const Json& one : events) {
    near.add(
        one,
        event_line(one) + verdict_lines(one) +
            other_effects_line(one, member_text(instance, "id")) +
            correction_line(one, one, options),
        fmt::format("Event #{} {} of {}, id {}", member_text(one, "sequence"),
                    member_text(one, "type"), member_text(one, "source"), member_text(one, "id")));
  }
  return text + near.text();
}

}  // namespace millrace
