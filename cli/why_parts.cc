#include "cli/why_parts.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "cli/output.h"
#include "cloudevents/event_check.h"

namespace millrace {
namespace {

constexpr std::string_view kTick = "\u2713";
constexpr std::string_view kCross = "\u2717";

/// How many misses are shown whole, and how many more on one line each.
constexpr size_t kMostWhole = 3;
constexpr size_t kMostLines = 4;

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] ^ 32);
  return text;
}

std::string asked_text(const Json& predicate) {
  const bool is_equality = member_text(predicate, "kind") == "equals";
  const std::string asks = member_text(predicate, "asks");
  if (!is_equality && asks == ".") return "has a value";
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

/// Whether the event had no effect on the listener.
bool is_miss(const Json& one) {
  const std::string verdict = member_text(one, "verdict");
  return verdict != "woke" && verdict != "started" && verdict != "filled" && verdict != "grouped" &&
         verdict != "debounced" && verdict != "batched" && verdict != "paused";
}

/// ` (limit 2 in PT1M, key "a")`; empty: the limit has neither a number nor a key.
std::string bounds_text(const Json& start) {
  std::string text;
  if (start.contains("limit")) text = "limit " + member_text(start, "limit");
  if (start.contains("period")) text += " in " + member_text(start, "period");
  if (start.contains("key")) {
    text += fmt::format("{}key {}", text.empty() ? "" : ", ", harmless(dump_json(start["key"])));
  }
  return text.empty() ? text : fmt::format(" ({})", text);
}

std::string place_text(const Json& start) {
  if (!start.contains("before")) return "more than 1000 starts before it";
  const std::string before = member_text(start, "before");
  return fmt::format("{} {} before it", before, before == "1" ? "start" : "starts");
}

/// What happens to the start, after `Limits: `.
std::string outcome_text(const Json& start) {
  const std::string outcome = member_text(start, "outcome");
  const std::string limit = member_text(start, "reason") + bounds_text(start);
  const std::string at = member_text(start, "startsAt");
  if (outcome == "starts") return "starts at once";
  if (outcome == "waits") {
    const std::string next = member_text(start, "nextAt");
    return fmt::format("waits for {}, {}{}", limit, place_text(start),
                       next.empty() ? "" : ", permitted from " + next);
  }
  if (outcome == "replaces") {
    return fmt::format("replaces instance {}, by {}", member_text(start, "instance"), limit);
  }
  if (outcome == "debounced") return fmt::format("put off by {} until {}", limit, at);
  if (outcome == "batched") {
    return fmt::format("added to {}, input {}, starts at {} at the latest", limit,
                       member_text(start, "size"), at);
  }
  const Json error = start.value("error", Json::object());
  return fmt::format("{} by {}: {}", outcome, limit, member_text(error, "code"));
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

}  // namespace

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

std::string joined(const Json& list) {
  std::string text;
  for (const Json& one : list) {
    if (!text.empty()) text += ", ";
    text += harmless(one.is_string() ? one.get<std::string>() : dump_json(one));
  }
  return text;
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

std::string verdict_lines(const Json& one) {
  return fmt::format("     {}: {}\n{}", capital(member_text(one, "verdict")),
                     member_text(one, "says"), predicate_lines(member_list(one, "predicates")));
}

std::string limits_line(const Json& one) {
  const auto start = one.find("start");
  if (start == one.end() || !start->is_object()) return "";
  return fmt::format("     Limits: {}\n", outcome_text(*start));
}

bool is_correctable(const std::string& name) {
  return !is_core_attribute(name) || name == "type" || name == "source" || name == "subject";
}

std::string replay_command(std::string_view ns, const Json& event) {
  return fmt::format("millrace -n {} event replay {}", shell_word(ns),
                     member_text(event, "sequence"));
}

std::string correction_line(const Json& event, const Json& one, const WhyTextOptions& options) {
  const std::string verdict = member_text(one, "verdict");
  const bool lacks_value = verdict == "predicate" || verdict == "correlation";
  if (!lacks_value || !event.contains("sequence")) return "";
  if (one.contains("wouldFit")) return "";  // the wait is over
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

void NearList::add(const Json& one, const std::string& whole, const std::string& name) {
  ++number_;
  if (is_miss(one)) ++misses_;
  if (options_.shows_all || !is_miss(one) || misses_ <= kMostWhole) {
    text_ += fmt::format("\n{:>3}. {}", number_, whole);
    return;
  }
  if (misses_ > kMostWhole + kMostLines) return;
  if (misses_ == kMostWhole + 1) text_ += "\n";
  text_ += fmt::format("{:>3}. {}: {}\n", number_, name, reason_text(one));
}

std::string NearList::text() const {
  const std::string_view order = number_ > 1 ? "Nearest first:\n" : "";
  std::string cut;
  if (!options_.shows_all && misses_ > kMostWhole + kMostLines) {
    cut = fmt::format("     {} more; `--all` shows all of them whole.\n",
                      misses_ - kMostWhole - kMostLines);
  } else if (!options_.shows_all && misses_ > kMostWhole) {
    cut = "`--all` shows each of them whole.\n";
  }
  return fmt::format("{}{}{}", order, text_, cut);
}

}  // namespace millrace
