#include "cli/why_waits.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "cli/consequence.h"
#include "cli/output.h"
#include "cli/why_parts.h"

namespace millrace {
namespace {

/// What ends at the time of a wait.
std::string_view end_text(const Json& wait) {
  const std::string what = member_text(wait, "what");
  if (what == "delay") return "the end of its delay";
  return what == "run" ? "the next run of its workflow" : "the next attempt of its state";
}

std::string time_line(const Json& wait) {
  const bool ends = member_text(wait, "causes") == "end";
  const std::string then = ends ? consequence_text(wait) : member_text(wait, "then");
  return fmt::format("  waits until {}: {}{}{}\n", member_text(wait, "until"), end_text(wait),
                     then.empty() ? "" : fmt::format(", then {}", then),
                     wait.value("held", false)
                         ? "; the instance is paused, so this follows at its resume if the "
                           "time has passed by then"
                         : "");
}

/// `call 0, approve`
std::string call_name(const Json& wait) {
  std::string name = fmt::format("call {}", wait.value("index", size_t{0}));
  const std::string function = member_text(wait, "function");
  if (!function.empty()) name += ", " + function;
  if (wait.value("compensates", false)) name += ", a compensation";
  return name;
}

/// The failure of the last attempt and the time of the next one.
std::string attempt_text(const Json& wait) {
  const std::string code = member_text(wait.value("lastError", Json::object()), "code");
  return fmt::format("attempt {} has failed{}, and the next one begins at {}",
                     wait.value("attempt", uint64_t{0}), code.empty() ? "" : " with " + code,
                     member_text(wait, "nextRetryAt"));
}

/// Which attempt it is, since when it waits, and until when.
std::string times_text(const Json& wait) {
  std::string text;
  if (member_text(wait, "for") != "attempt") {
    const uint64_t attempt = wait.value("attempt", uint64_t{0});
    text = fmt::format("; {}since {}", attempt > 0 ? fmt::format("attempt {}, ", attempt) : "",
                       member_text(wait, "since"));
  }
  const std::string deadline = member_text(wait, "deadline");
  return deadline.empty() ? text : fmt::format("{}, until {} at the latest", text, deadline);
}

/// Why the call has not ended.
std::string cause_text(const Json& wait) {
  const std::string what = member_text(wait, "for");
  const std::string name = member_text(wait, "service");
  const std::string service = name.empty() ? "its service" : "the service " + name;
  if (what == "callback") return service + " has accepted it, and answers later";
  if (what == "subflow")
    return "the subflow of " + member_text(wait, "workflow") + " has not ended";
  if (what == "answer")
    return name.empty() ? "it has no answer yet" : service + " has not answered";
  if (what == "worker") return "no worker of " + service + " has taken it";
  if (what == "connection") return "it waits for a connection to " + service;
  if (what == "slot") return "it waits for a slot of " + service;
  if (what == "throttle") return "it waits for the throttle of " + service;
  if (what == "service") return service + " is paused";
  if (what == "attempt") return attempt_text(wait);
  if (what == "others") return "it begins when other calls of the state have ended";
  return "it continues when the instance is resumed";
}

/// The commands that show more of the call, or that end its wait.
std::string next_commands(const Json& wait, const std::string& instance, const std::string& ns) {
  const std::string begin = fmt::format("    millrace -n {} ", shell_word(ns));
  const std::string what = member_text(wait, "for");
  if (what == "callback") {
    return fmt::format("{0}call list --instance {1}\n{0}call complete {2} -f FILE\n", begin,
                       instance, member_text(wait, "task"));
  }
  if (what == "subflow")
    return fmt::format("{}instance why {}\n", begin, member_text(wait, "instance"));
  if (what == "worker") return begin + "function list\n";
  if (what != "service") return "";
  return fmt::format("{}function resume {}\n", begin, shell_word(member_text(wait, "service")));
}

std::string call_lines(const Json& wait, const std::string& instance, const std::string& ns) {
  return fmt::format("  waits for {}: {}{}\n", call_name(wait), cause_text(wait),
                     times_text(wait)) +
         next_commands(wait, instance, ns);
}

bool is_event(const Json& wait) { return wait.contains("type"); }

}  // namespace

Json awaited_events(const Json& instance) {
  Json events = Json::array();
  for (const Json& wait : member_list(instance, "waits")) {
    if (is_event(wait)) events.push_back(wait);
  }
  return events;
}

std::string other_wait_lines(const Json& instance, const WhyTextOptions& options) {
  const std::string id = member_text(instance, "id");
  std::string lines;
  for (const Json& wait : member_list(instance, "waits")) {
    if (is_event(wait)) continue;
    lines += wait.contains("until") ? time_line(wait) : call_lines(wait, id, options.ns);
  }
  const size_t more = instance.value("moreWaits", size_t{0});
  if (more == 0) return lines;
  return lines + fmt::format("  and for {} more; `millrace -n {} instance calls {}` lists all\n",
                             more, shell_word(options.ns), id);
}

std::string short_wait(const Json& wait) {
  if (wait.contains("for")) {
    const std::string what = member_text(wait, "for");
    return wait.contains("key") ? fmt::format("{} {}", what, dump_json(wait["key"])) : what;
  }
  if (wait.contains("until")) {
    const std::string what = member_text(wait, "what");
    return fmt::format("{} {}", what == "delay" ? "delay until" : "next " + what + " at",
                       member_text(wait, "until"));
  }
  const std::string function = member_text(wait, "function");
  if (wait.contains("calls")) {
    return fmt::format("{} calls{}", wait.value("calls", size_t{0}),
                       function.empty() ? "" : " of " + function);
  }
  const std::string status = member_text(wait, "status");
  const bool is_usual = status != "queued" && status != "retrying";
  const std::string_view kind = wait.value("compensates", false) ? "compensation"
                                : wait.contains("workflow")      ? "subflow"
                                                                 : "call";
  return fmt::format("{} {}{}", kind,
                     function.empty() ? std::to_string(wait.value("index", size_t{0})) : function,
                     is_usual ? "" : " (" + status + ")");
}

}  // namespace millrace
