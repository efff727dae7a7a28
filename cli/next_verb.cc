// `millrace next`: what time will cause.
#include <string>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/consequence.h"
#include "cli/empty_list.h"
#include "cli/time_flag.h"

namespace millrace {
namespace {

struct NextOptions {
  std::string until;
  std::string kind;
  std::string limit;
};

/// Says what the list leaves out; empty: nothing.
std::string left_out_text(const Json& answer) {
  if (answer.value("complete", true)) return "";
  const std::string until = answer.value("exactUntil", std::string("now"));
  if (answer.value("cutBy", "") == "limit") {
    return fmt::format(
        "more follows: the list has all that fires before {}; --limit, up to 1000, shows more\n",
        until);
  }
  return fmt::format(
      "there are more timers than the server looks at in one call: the list is exact until {}, "
      "and something that fires later may be missing\n",
      until);
}

/// The instance that has the timer, or the workflow of a tick or a lifespan.
std::string name_of_firing(const Json& firing) {
  return field("", firing.contains("instance") ? "instance" : "workflow").cell(firing);
}

/// The workflow, or of a throttle of calls their service or image.
std::string of_firing(const Json& firing) {
  for (const char* const member : {"service", "image"}) {
    if (firing.contains(member))
      return fmt::format("{} {}", member, field("", member).cell(firing));
  }
  return field("", "workflow").cell(firing);
}

/// What the firing causes.
std::string then_cell(const Json& firing) {
  const std::string text = consequence_text(firing);
  return text.empty() ? "-" : harmless(text);
}

Ended show_next(Session& session, const NextOptions& options) {
  const std::string until =
      TRY(coming_time_of_flag("--until", options.until, session.console.now()));
  const ApiCall call{.path = session.path({"next"}),
                     .query = {{"until", until}, {"kind", options.kind}, {"limit", options.limit}}};
  const Reply reply = TRY(session.client.send(call));
  session.output.list(
      reply.body,
      {field("AT", "at"), field("KIND", "kind"), Column{"WORKFLOW OR SERVICE", of_firing},
       field("STATE", "state"), field("INSTANCE", "instance"), flag("PAUSED", "paused"),
       Column{"THEN", then_cell}},
      Column{"", name_of_firing});
  const std::string left_out = left_out_text(reply.body);
  session.console.err << harmless(left_out, kLineEnds);
  if (left_out.empty() && reply.body.value("items", Json::array()).empty()) {
    explain_empty_list(session, call, "timers");
  }
  return ExitCode::kOk;
}

}  // namespace

void add_next_verb(CommandLine& commands) {
  auto [next, options] = commands.asking<NextOptions>(
      "next",
      "Shows what time will cause, soonest first, and what follows: timeouts, delays, retries, "
      "delayed events, lifespans, ticks, pending starts, and turns of throttles for which starts "
      "or "
      "calls wait",
      "millrace next --kind stateTimeout,tick --limit 20", show_next);
  next.option("--until", options.until,
              "Nothing later than this: a time in RFC 3339, or how long from now (2h)", "WHEN");
  next.option("--kind", options.kind,
              "Kinds, separated by commas: stateTimeout, delay, retry, interrupt, kill, "
              "runTimeout, executionTimeout, call, queueTimeout, throttleTimeout, delayedEvent, "
              "lifespan, tick, pendingStart, throttle",
              "KIND");
  next.option("--limit", options.limit, "How many to show (1 to 1000, default 50)", "N");
}

}  // namespace millrace
