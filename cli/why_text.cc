#include "cli/why_text.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "cli/output.h"
#include "cloudevents/event_check.h"

namespace millrace {
namespace {

constexpr std::string_view kTick = "\u2713";
constexpr std::string_view kCross = "\u2717";

/// How many misses are shown whole.
constexpr size_t kMostWhole = 3;
/// How many commands are shown that do the same for different names.
constexpr size_t kMostCommands = 3;

/// The text of a member; empty if it is missing.
std::string member_text(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return "";
  return harmless(found->is_string() ? found->get<std::string>() : dump_json(*found));
}

const Json& member_list(const Json& object, const char* key) {
  static const Json none = Json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : none;
}

/// The texts of a list, with commas between them.
std::string joined(const Json& list) {
  std::string text;
  for (const Json& one : list) {
    if (!text.empty()) text += ", ";
    text += harmless(one.is_string() ? one.get<std::string>() : dump_json(one));
  }
  return text;
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] ^ 32);
  return text;
}

std::string asked_text(const Json& predicate) {
  const bool is_equality = member_text(predicate, "kind") == "equals";
  const std::string asks = member_text(predicate, "asks");
  return is_equality ? fmt::format("is \"{}\"", asks) : fmt::format("matches {}", asks);
}

/// A line for each predicate: a tick or a cross, the attribute, what is asked, and what the event
/// has. A hint follows on a line of its own.
std::string predicate_lines(const Json& predicates) {
  size_t widest_name = 0;
  size_t widest_asked = 0;
  for (const Json& one : predicates) {
    widest_name = std::max(widest_name, member_text(one, "attribute").size());
    widest_asked = std::max(widest_asked, asked_text(one).size());
  }
  std::string lines;
  for (const Json& one : predicates) {
    const bool has_value = one.contains("got") && !one["got"].is_null();
    const std::string got = has_value ? fmt::format("the event has \"{}\"", member_text(one, "got"))
                                      : "the event has no such attribute";
    lines +=
        fmt::format("     {} {:<{}}  {:<{}}  {}\n", one.value("holds", false) ? kTick : kCross,
                    member_text(one, "attribute"), widest_name, asked_text(one), widest_asked, got);
    const std::string hint = member_text(one, "says");
    if (!hint.empty()) lines += fmt::format("       {}\n", capital(hint));
  }
  return lines;
}

/// From when on a state with `lookback` takes earlier events; empty: it takes none.
std::string window_text(const Json& wait) {
  const std::string from = member_text(wait, "lookbackFrom");
  return from.empty() ? "" : fmt::format(", also for events since {}", from);
}

std::string event_line(const Json& event) {
  std::string line = "Event";
  if (event.contains("sequence")) line += " #" + member_text(event, "sequence");
  for (const char* const key : {"type", "source", "id"}) {
    const std::string text = member_text(event, key);
    if (!text.empty()) line += fmt::format("  {} {}", key, text);
  }
  const std::string time = member_text(event, "time");
  if (!time.empty()) line += "  stored " + time;
  return line + "\n";
}

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

/// The verdict, its sentence and the predicates.
std::string verdict_lines(const Json& one) {
  return fmt::format("     {}: {}\n{}", capital(member_text(one, "verdict")),
                     member_text(one, "says"), predicate_lines(member_list(one, "predicates")));
}

/// Whether the event had no effect on the listener.
bool is_miss(const Json& one) {
  const std::string verdict = member_text(one, "verdict");
  return verdict != "woke" && verdict != "started" && verdict != "filled" && verdict != "grouped" &&
         verdict != "paused";
}

/// The main clause of the sentence of a verdict.
std::string main_clause(const std::string& says) {
  return says.substr(0, std::min({says.find("; "), says.find(": "), says.find(". ")}));
}

/// Why a listener missed the event, on one line: the first predicate that does not hold.
std::string reason_text(const Json& one) {
  for (const Json& predicate : member_list(one, "predicates")) {
    if (predicate.value("holds", false)) continue;
    const bool is_equality = member_text(predicate, "kind") == "equals";
    const bool has_value = predicate.contains("got") && !predicate["got"].is_null();
    return fmt::format("`{}` {} \"{}\", the event has {}", member_text(predicate, "attribute"),
                       is_equality ? "is" : "matches", excerpt(member_text(predicate, "asks")),
                       has_value ? fmt::format("\"{}\"", excerpt(member_text(predicate, "got")))
                                 : "no such attribute");
  }
  return fmt::format("{}: {}", member_text(one, "verdict"), main_clause(member_text(one, "says")));
}

/// Whether a replay can set the attribute.
bool is_correctable(const std::string& name) {
  return !is_core_attribute(name) || name == "type" || name == "source" || name == "subject";
}

/// The command that sends a stored event again, up to its options.
std::string replay_command(std::string_view ns, const Json& event) {
  return fmt::format("millrace -n {} event replay {}", shell_word(ns),
                     member_text(event, "sequence"));
}

/// The command that sends a stored event again with the values that a listener asks for; empty: a
/// value is not known, or something else than a value excludes the listener.
std::string correction_line(const Json& event, const Json& one, const WhyTextOptions& options) {
  if (member_text(one, "verdict") != "predicate" || !event.contains("sequence")) return "";
  std::string corrections;
  for (const Json& predicate : member_list(one, "predicates")) {
    if (predicate.value("holds", false)) continue;
    const std::string name = member_text(predicate, "attribute");
    const std::string fits = member_text(predicate, "fits");
    const bool is_known = predicate.contains("fits") && predicate["fits"] == Json(fits);
    if (!is_known || !is_correctable(name)) return "";
    corrections.append(" --attr ").append(shell_word(fmt::format("{}={}", name, fits)));
  }
  if (corrections.empty()) return "";
  return fmt::format("     Send it again, corrected: {}{}\n", replay_command(options.ns, event),
                     corrections);
}

/// The command that sends an event, which waits in a group, again with the value of a group whose
/// own value is probably the right one; empty: no group has it, or it is a test event.
std::string regrouping_line(const Json& event, const Json& one, const WhyTextOptions& options) {
  if (!event.contains("sequence")) return "";
  const Json own = one.value("correlate", Json::object());
  for (const Json& group : member_list(one, "nearGroups")) {
    if (!group.contains("hint")) continue;
    std::string corrections;
    bool is_known = true;
    const Json values = group.value("correlate", Json::object());
    for (const auto& [name, value] : values.items()) {
      const auto mine = own.find(name);
      if (mine != own.end() && *mine == value) continue;
      const std::string text = member_text(values, name.c_str());
      is_known = is_known && value == Json(text) && is_correctable(name);
      corrections.append(" --attr ").append(shell_word(fmt::format("{}={}", name, text)));
    }
    if (!is_known || corrections.empty()) continue;
    return fmt::format("     Send it again, corrected: {}{}\n", replay_command(options.ns, event),
                       corrections);
  }
  return "";
}

/// Numbered items, the nearest first: the effects and the nearest misses whole, of the other misses
/// a line each.
class NearList {
 public:
  explicit NearList(const WhyTextOptions& options) : options_(options) {}

  /// `whole`: its title and lines; `name`: what names it on one line.
  void add(const Json& one, const std::string& whole, const std::string& name) {
    ++number_;
    if (is_miss(one)) ++misses_;
    if (options_.shows_all || !is_miss(one) || misses_ <= kMostWhole) {
      text_ += fmt::format("\n{:>3}. {}", number_, whole);
      return;
    }
    if (misses_ == kMostWhole + 1) text_ += "\n";
    text_ += fmt::format("{:>3}. {}: {}\n", number_, name, reason_text(one));
  }

  std::string text() const {
    const std::string_view order = number_ > 1 ? "Nearest first:\n" : "";
    const bool is_cut = !options_.shows_all && misses_ > kMostWhole;
    return fmt::format("{}{}{}", order, text_, is_cut ? "`--all` shows each of them whole.\n" : "");
  }

 private:
  const WhyTextOptions& options_;
  std::string text_;
  size_t number_ = 0;
  size_t misses_ = 0;
};

/// What an effect means that names no instance and no group; empty: it needs no explanation.
std::string_view meaning_of(const std::string& effect) {
  if (effect == "duplicate") return "an event with this source and id had an effect before";
  if (effect == "skipped") return "the workflow is singular and had a live instance";
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
  std::string effects;
  std::string meanings;
  std::string last;
  for (const Json& one : member_list(answer, "effects")) {
    if (!effects.empty()) effects += ", ";
    const std::string what = member_text(one, "what");
    effects += what;
    const std::string_view meaning = what == last ? "" : meaning_of(what);
    if (!meaning.empty()) meanings += fmt::format("  {}: {}\n", what, meaning);
    last = what;
    for (const char* const of : {"instance", "workflow"}) {
      if (one.contains(of)) effects += " " + member_text(one, of);
    }
  }
  return fmt::format("What came of it: {}.\n{}", effects.empty() ? "nothing" : effects, meanings);
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
  if (!answer.value("complete", true)) {
    text +=
        "; name the instance that you expected with --instance, or its value with --attribute and "
        "--value";
  }
  return text + ".\n";
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
  return line.empty() ? "" : line + ".\n";
}

}  // namespace

std::string why_of_event_text(const Json& answer, const WhyTextOptions& options) {
  const Json event = answer.value("event", Json::object());
  std::string text = event_line(event) + effects_line(answer);
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
    near.add(
        one,
        fmt::format("{}\n{}{}", listener_title(one), verdict_lines(one),
                    correction_line(event, one, options) + regrouping_line(event, one, options)),
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

std::string why_of_instance_text(const Json& answer, const WhyTextOptions& options) {
  const Json instance = answer.value("instance", Json::object());
  std::string text =
      fmt::format("Instance {} of {}: {}, state {}, since {}\n", member_text(instance, "id"),
                  member_text(instance, "workflow"), member_text(instance, "status"),
                  member_text(instance, "state"), member_text(instance, "since"));
  const Json& waits = member_list(instance, "waits");
  const Json& entering = member_list(instance, "entering");
  if (waits.empty() && entering.empty()) text += "It waits for no event now.\n";
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
  const std::string elsewhere = joined(member_list(answer, "elsewhere"));
  if (!elsewhere.empty()) {
    const Json& fitting = member_list(answer, "elsewhereEvents");
    text +=
        fmt::format("  Other namespaces got events that {}: {}. Send them to this namespace{}\n",
                    events.empty() ? "have these types" : "fit, and this one got none", elsewhere,
                    fitting.empty() ? "." : ":");
    for (const Json& one : fitting) {
      text +=
          fmt::format("    {} --to-namespace {}\n",
                      replay_command(member_text(one, "namespace"), one), shell_word(options.ns));
    }
  }
  text += elsewhere_look_line(answer);
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
