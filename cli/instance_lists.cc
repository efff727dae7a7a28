#include "cli/instance_lists.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "cli/empty_list.h"
#include "cli/pages.h"
#include "cli/time_flag.h"
#include "cli/why_waits.h"

namespace millrace {
namespace {

struct InstanceListOptions {
  std::string workflow;
  std::string status;  ///< names of statuses, separated by commas
  std::string since;   ///< a time in RFC 3339, or how long ago: `2h`
  std::string until;
  std::string ended_since;
  std::string ended_until;
  std::string id;
  std::string key;
  std::string correlation;
  std::string parent;
  std::string state;
  std::string error;
  std::string has;
  std::string waits_for;
  bool oldest = false;
  bool watch = false;
  PageOptions page;
};

struct CountOptions {
  std::string by;
  std::string workflow;
  std::string status;
  std::string state;
};

struct PartOptions {
  std::string id;
  PageOptions page;
};

/// The longest text of what an instance waits for in a table, in bytes.
constexpr size_t kWaitsWidth = 60;

/// What an instance waits for: `paid orderid=o-1742, packed region~^eu, and 2 more`, or `call
/// approve, subflow remind`; the items are cut.
std::string waits_text(const Json& item) {
  std::string text;
  const Json waits = item.value("waits", Json::array());
  for (const Json& wait : waits) {
    if (!text.empty()) text += ", ";
    text += wait.contains("type") ? wait.value("type", "") : short_wait(wait);
    const Json context = wait.value("context", Json::object());
    for (const auto& [name, asked] : context.items()) {
      const bool is_equality = asked.contains("equals");
      text += fmt::format(" {}{}{}", name, is_equality ? "=" : "~",
                          asked.value(is_equality ? "equals" : "pattern", ""));
    }
  }
  const size_t more = item.value("moreWaits", size_t{0});
  if (text.empty()) return more == 0 ? "-" : fmt::format("{} events", more);
  text = excerpt(text, kWaitsWidth);
  return more == 0 ? text : fmt::format("{}, and {} more", text, more);
}

std::vector<Column> instance_columns(TimePoint now) {
  return {field("INSTANCE", "id"),      field("WORKFLOW", "workflow"),
          field("STATUS", "status"),    field("STATE", "state"),
          field("RUN", "run"),          age("STARTED", "startedAt", now),
          age("ENDED", "endedAt", now), Column{"WAITS FOR", waits_text}};
}

Ended list_instances(Session& session, const InstanceListOptions& options) {
  const TimePoint now = session.console.now();
  ApiCall call{
      .path = session.path({"instances"}),
      .query = {{"workflow", options.workflow},
                {"status", options.status},
                {"since", TRY(time_of_flag("--since", options.since, now))},
                {"until", TRY(time_of_flag("--until", options.until, now))},
                {"endedSince", TRY(time_of_flag("--ended-since", options.ended_since, now))},
                {"endedUntil", TRY(time_of_flag("--ended-until", options.ended_until, now))},
                {"id", options.id},
                {"key", options.key},
                {"correlation", options.correlation},
                {"parent", options.parent},
                {"state", options.state},
                {"error", options.error},
                {"has", options.has},
                {"waitsFor", options.waits_for},
                {"order", options.oldest ? "oldest" : ""}}};
  if (options.watch) {
    return watch_page(session, std::move(call), options.page, instance_columns, "id");
  }
  return show_pages(session, std::move(call), options.page, instance_columns(now), "id");
}

/// A column for each member that `by` names, and one for the numbers.
std::vector<Column> count_columns(const std::string& by) {
  std::vector<Column> columns;
  for (size_t begin = 0; begin < by.size();) {
    const size_t end = std::min(by.find(',', begin), by.size());
    const std::string member = by.substr(begin, end - begin);
    std::string title = member;
    std::transform(title.begin(), title.end(), title.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
    columns.push_back(field(std::move(title), member));
    begin = end + 1;
  }
  columns.push_back(field("COUNT", "count"));
  return columns;
}

/// The members by which the instances are counted, and their number: `order failed 3`.
std::string count_line(const std::vector<Column>& columns, const Json& count) {
  std::string line;
  for (const Column& column : columns) {
    if (!line.empty()) line += ' ';
    line += column.cell(count);
  }
  return line;
}

Ended count_instances(Session& session, const CountOptions& options) {
  const std::string by = options.by.empty() ? "workflow,status" : options.by;
  const Reply reply = TRY(session.client.send({.path = session.path({"instances", "count"}),
                                               .query = {{"by", by},
                                                         {"workflow", options.workflow},
                                                         {"status", options.status},
                                                         {"state", options.state}}}));
  const std::vector<Column> columns = count_columns(by);
  session.output.list(reply.body, columns, Column{"", [&columns](const Json& count) {
                                                    return count_line(columns, count);
                                                  }});
  if (reply.body.value("items", Json::array()).empty()) {
    const ApiCall list{.path = session.path({"instances"}),
                       .query = {{"workflow", options.workflow},
                                 {"status", options.status},
                                 {"state", options.state},
                                 {"limit", "1"}}};
    explain_empty_list(session, list, "instances");
  }
  return ExitCode::kOk;
}

/// The task or the subflow of a call.
std::string call_work(const Json& call) {
  for (const char* const member : {"task", "instance"}) {
    if (call.contains(member)) return call[member].get<std::string>();
  }
  return "-";
}

std::string call_error(const Json& call) {
  const auto error = call.find("lastError");
  return error == call.end() ? "-" : error->value("code", "-");
}

Ended list_calls(Session& session, const PartOptions& options) {
  return show_pages(
      session, {.path = session.path({"instances", options.id, "calls"})}, options.page,
      {field("CALL", "index"), field("FUNCTION", "function"), field("STATUS", "status"),
       field("ATTEMPT", "attempt"), Column{"WORK", call_work}, field("NEXT", "nextRetryAt"),
       Column{"ERROR", call_error}},
      "index");
}

Ended list_children(Session& session, const PartOptions& options) {
  return show_pages(session, {.path = session.path({"instances", options.id, "children"})},
                    options.page, instance_columns(session.console.now()), "id");
}

void add_part(CommandLine& instance, const std::string& name, const std::string& what,
              Ended (*show)(Session& session, const PartOptions& options)) {
  auto [verb, options] = instance.asking<PartOptions>(
      name, what, "millrace instance " + name + " 0190b5a4-7c1e-7f2a-8000-0123456789ab", show);
  verb.option("id", options.id, "Id of the instance", "ID").required();
  add_page(verb, options.page);
}

}  // namespace

void add_instance_list(CommandLine& instance) {
  auto [list, listed] = instance.asking<InstanceListOptions>(
      "list", "Lists instances, newest first",
      "millrace instance list --status failed --since 2h\n  millrace instance list --workflow "
      "order --state pay --has retrying --watch",
      list_instances);
  list.option("--workflow", listed.workflow, "Only instances of this workflow", "ID");
  list.option(
      "--status", listed.status,
      "Only instances with one of these statuses: pending, running, waiting, paused, complete, "
      "failed, cancelled, timedout",
      "STATUS[,STATUS]");
  list.option("--since", listed.since,
              "Only instances that started after this: a time in RFC 3339, or how long ago (2h)",
              "WHEN");
  list.option("--until", listed.until,
              "Only instances that started before this: a time, or how long ago", "WHEN");
  list.option("--ended-since", listed.ended_since,
              "Only instances that have ended after this, whenever they started", "WHEN");
  list.option("--ended-until", listed.ended_until, "Only instances that have ended before this",
              "WHEN");
  list.option("--id", listed.id, "Only instances whose id begins with this text");
  list.option("--key", listed.key, "Only instances that were started under this idempotency key",
              "KEY");
  list.option("--correlation", listed.correlation,
              "Only instances that an event with this correlationid started");
  list.option("--parent", listed.parent, "Only instances that a call of this instance started",
              "ID");
  list.option("--state", listed.state, "Only instances in the state of this id", "STATE");
  list.option("--error", listed.error,
              "Only instances whose error code matches this pattern, such as 'payment.*'",
              "PATTERN");
  list.option("--has", listed.has,
              "Only instances with all of these: retrying (waits for the next attempt), calls, "
              "deadline, compensations (noted; of an ended instance: left)",
              "retrying|calls|deadline|compensations");
  list.option("--waits-for", listed.waits_for,
              "Only live instances that wait for events of this type", "TYPE");
  list.flag("--oldest", listed.oldest, "List the oldest instances first");
  list.flag("--watch", listed.watch,
            "Show the list again once a second, until the command is interrupted");
  add_page(list, listed.page);
}

void add_instance_parts(CommandLine& instance) {
  auto [count, counted] = instance.asking<CountOptions>(
      "count", "Counts instances", "millrace instance count --by workflow,status", count_instances);
  count.option("--by", counted.by,
               "Members by which the instances are counted: workflow, revision, state, status "
               "(default: workflow,status)",
               "MEMBER[,MEMBER]");
  count.option("--workflow", counted.workflow, "Only instances of this workflow", "ID");
  count.option("--status", counted.status, "Only instances with one of these statuses",
               "STATUS[,STATUS]");
  count.option("--state", counted.state, "Only instances in the state of this id", "STATE");

  add_part(instance, "calls", "Lists the calls of the state of an instance", list_calls);
  add_part(instance, "children", "Lists the instances that calls of an instance started",
           list_children);
}

}  // namespace millrace
