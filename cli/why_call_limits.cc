#include "cli/why_call_limits.h"

#include <cstddef>
#include <string>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/why_parts.h"

namespace millrace {
namespace {

/// For what a call waits: the limit of its service or image, and its key.
std::string limit_of_call(const Json& limit) {
  const std::string of = limit.contains("image")
                             ? fmt::format("image {}", member_text(limit, "image"))
                             : fmt::format("service {}", member_text(limit, "service"));
  if (!limit.contains("key")) return of;
  return fmt::format("{} with the key {}", of, harmless(dump_json(limit["key"])));
}

/// How many calls wait, and what follows if the call is one of a paused instance, which is not
/// counted, or of a paused service; `what` no call does then.
std::string waiting_calls_text(const Json& limit, std::string_view what) {
  const bool is_paused = limit.value("paused", false);
  std::string text =
      is_paused ? "it has no turn before its instance is resumed; without the calls of paused "
                  "instances, "
                : "";
  text += those_that_wait(limit, "call");
  if (limit.value("servicePaused", false)) {
    text += fmt::format("; the service is paused, and no call {}", what);
  }
  return text;
}

/// `, with the priority 2`; empty: it is not known.
std::string priority_text(const Json& limit) {
  if (!limit.contains("priority")) return "";
  return fmt::format(", with the priority {}", limit.value("priority", 0));
}

/// ` If it still waits at …, it fails with …`; empty: the wait has no end.
std::string end_of_wait(const Json& limit, std::string_view code) {
  if (!limit.contains("until")) return "";
  return fmt::format(" If it still waits at {}, it fails with {}.", member_text(limit, "until"),
                     code);
}

/// The command that lists all calls that hold a slot; a key that may contain data of a secret
/// selects none.
std::string list_of_call_holders(const Json& slot, const WhyTextOptions& options) {
  const char* const kind = slot.contains("image") ? "image" : "service";
  const bool has_key = slot.contains("key") && !slot.value("keySealed", false);
  const std::string key =
      has_key ? " --key " + shell_word(harmless(dump_json(slot["key"]))) : std::string();
  return fmt::format("millrace -n {} queue holders --{} {}{}", shell_word(options.ns), kind,
                     shell_word(member_text(slot, kind)), key);
}

std::string slot_lines_of_call(size_t index, const Json& slot, const WhyTextOptions& options) {
  const auto held = slot.value("held", size_t{0});
  std::string lines = fmt::format(
      "Call {} waits for a slot of {}{}: {} of {} held, {}.{}\n", index, limit_of_call(slot),
      priority_text(slot), held, slot.value("limit", size_t{0}),
      waiting_calls_text(slot, "gets a slot"), end_of_wait(slot, "millrace.concurrency.timeout"));
  const Json& holders = member_list(slot, "holders");
  for (const Json& holder : holders) {
    const std::string of = member_text(holder, "instance");
    lines += fmt::format("  held by task {}{} since {}{}\n", member_text(holder, "task"),
                         of.empty() ? "" : " of instance " + of, member_text(holder, "since"),
                         hindrance_of_holder(holder));
  }
  lines += resume_of_holder(holders, options);
  if (held <= holders.size()) return lines;
  return lines + fmt::format("  `{}` lists all holders\n", list_of_call_holders(slot, options));
}

std::string throttle_line_of_call(size_t index, const Json& throttled) {
  std::string line = fmt::format(
      "Call {} waits for the throttle of {}{}: {} in {}, {}.", index, limit_of_call(throttled),
      priority_text(throttled), throttled.value("limit", size_t{0}),
      member_text(throttled, "period"), waiting_calls_text(throttled, "passes the throttle"));
  if (throttled.contains("nextAt") && throttled.value("waiting", size_t{0}) > 0) {
    line += fmt::format(" The next of them may be made at {}.", member_text(throttled, "nextAt"));
  }
  return line + end_of_wait(throttled, "millrace.throttle.timeout") + "\n";
}

}  // namespace

std::string those_that_wait(const Json& limit, std::string_view noun) {
  const auto number = limit.value("waiting", size_t{0});
  return number == 1 ? fmt::format("1 {} waits", noun) : fmt::format("{} {}s wait", number, noun);
}

std::string hindrance_of_holder(const Json& holder) {
  const bool waits = member_text(holder, "waitsFor") == "throttle";
  if (!holder.value("paused", false)) return waits ? ", which waits for the throttle" : "";
  return waits ? ", which is paused and waits for the throttle" : ", which is paused";
}

std::string resume_of_holder(const Json& holders, const WhyTextOptions& options) {
  for (const Json& holder : holders) {
    if (!holder.value("paused", false) || !holder.contains("instance")) continue;
    return fmt::format("    millrace -n {} instance resume {}\n", shell_word(options.ns),
                       member_text(holder, "instance"));
  }
  return "";
}

std::string waiting_call_lines(const Json& instance, const WhyTextOptions& options) {
  std::string lines;
  for (const Json& one : member_list(instance, "waitingCalls")) {
    const auto index = one.value("index", size_t{0});
    if (one.contains("throttled")) {
      lines += throttle_line_of_call(index, one.value("throttled", Json::object()));
    } else {
      lines += slot_lines_of_call(index, one.value("slot", Json::object()), options);
    }
  }
  if (!lines.empty()) {
    lines += fmt::format(
        "  `millrace -n {} queue list` shows each key for which calls wait, and the call that is "
        "next.\n",
        shell_word(options.ns));
  }
  return lines;
}

}  // namespace millrace
