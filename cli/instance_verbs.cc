// `millrace instance`: runs of workflows, and what an operator does about them.
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/pages.h"
#include "policies/duration.h"

namespace millrace {
namespace {

/// Which instances are meant.
struct InstanceFilterFlags {
  std::string workflow;
  std::string status;
  std::string since;  ///< RFC 3339, or how long ago: `2h`
};

struct InstanceListOptions {
  InstanceFilterFlags filter;
  PageOptions page;
};

struct DeleteInstanceOptions {
  std::string id;
  bool damaged = false;
};

/// What is done about an instance, or about all that the filter names.
struct ControlOptions {
  std::string id;  ///< else the filter
  InstanceFilterFlags filter;
  bool all = false;     ///< no filter is meant
  bool now = false;     ///< cancel
  bool extend = false;  ///< retry
  std::string from;     ///< rerun
};

/// A moment as the server takes it; a duration is how long ago.

Fallible<std::string> moment_of(const std::string& text, TimePoint now) {
  if (text.empty() || parse_rfc3339(text)) return text;
  if (const Result<Span> span = Span::parse(text); span && span->months == 0) {
    return format_rfc3339(now - span->fixed);
  }
  return wrong_usage(
      fmt::format("--since {}: write how long ago (2h) or a moment (2021-09-01T12:00:00Z)", text));
}

Ended list_instances(Session& session, const InstanceListOptions& options) {
  const TimePoint now = session.console.now();
  const std::string since = TRY(moment_of(options.filter.since, now));
  return show_pages(
      session,
      {.path = session.path({"instances"}),
       .query = {{"workflow", options.filter.workflow},
                 {"status", options.filter.status},
                 {"since", since}}},
      options.page,
      {field("INSTANCE", "id"), field("WORKFLOW", "workflow"), field("STATUS", "status"),
       field("STATE", "state"), age("STARTED", "startedAt", now), age("ENDED", "endedAt", now)},
      "id");
}

Ended get_instance(Session& session, const std::string& id) {
  const Reply reply = TRY(session.client.send({.path = session.path({"instances", id})}));
  session.output.item(reply.body, "id", {"input", "data", "output"});
  return ExitCode::kOk;
}

Ended delete_instance(Session& session, const DeleteInstanceOptions& options) {
  const Reply reply =
      TRY(session.client.send({.method = "DELETE",
                               .path = session.path({"instances", options.id}),
                               .query = {{"damaged", options.damaged ? "1" : ""}}}));
  session.output.item(reply.body, "id");
  return ExitCode::kOk;
}

Ended show_history(Session& session, const std::string& id) {
  const Reply reply =
      TRY(session.client.send({.path = session.path({"instances", id, "history"})}));
  session.output.list(reply.body,
                      {field("TIME", "time"), field("KIND", "kind"), field("STATE", "state"),
                       field("DETAIL", "detail")},
                      "kind");
  return ExitCode::kOk;
}

/// Instances that are asked for at once.
constexpr const char* kFilterPage = "250";

/// Shows how far it is, on a terminal, once it takes long enough for anybody to ask.
class Progress {
 public:
  explicit Progress(Session& session) : session_(session) {}
  ~Progress() {
    if (shown_) session_.console.err << '\n';
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void at(size_t done) {
    constexpr std::chrono::milliseconds kPatience(500);
    if (!session_.console.out_is_terminal) return;
    if (std::chrono::steady_clock::now() - begin_ < kPatience) return;
    session_.console.err << fmt::format("\r{} done", done) << std::flush;
    shown_ = true;
  }

 private:
  Session& session_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool shown_ = false;
};

using Parameters = std::vector<std::pair<std::string, std::string>>;

Ended control_all(Session& session, const std::string& verb, const Parameters& filter,
                  const Parameters& how) {
  Progress progress(session);
  Parameters query = filter;
  query.insert(query.end(), how.begin(), how.end());
  query.emplace_back("limit", kFilterPage);
  query.emplace_back("all", "1");
  query.emplace_back("cursor", "");
  size_t done = 0;
  std::vector<std::string> refused;
  while (true) {
    const Reply page = TRY(session.client.send(
        {.method = "POST", .path = session.path({"instances", verb}), .query = query}));
    done += page.body["done"].get<size_t>();
    for (const Json& one : page.body["refused"]) {
      refused.push_back(fmt::format("{} [{}]\n", one["detail"].get<std::string>(),
                                    one["code"].get<std::string>()));
    }
    progress.at(done + refused.size());
    if (!page.body["next"].is_string()) break;
    query.back().second = page.body["next"];
  }
  for (const std::string& why : refused) session.console.err << why;
  session.output.item({{"done", done}, {"refused", refused.size()}}, "done");
  return refused.empty() ? ExitCode::kOk : ExitCode::kConflict;
}

Ended control_instances(Session& session, const std::string& verb, const ControlOptions& options) {
  const Parameters how = {{"now", options.now ? "1" : ""},
                          {"extend", options.extend ? "1" : ""},
                          {"from", options.from}};
  const std::string since = TRY(moment_of(options.filter.since, session.console.now()));
  const Parameters filter = {
      {"workflow", options.filter.workflow}, {"status", options.filter.status}, {"since", since}};
  const bool has_filter = options.all || !options.filter.workflow.empty() ||
                          !options.filter.status.empty() || !since.empty();
  if (options.id.empty() == !has_filter) {
    return wrong_usage(
        "name one instance by its id, or all that a filter names: --workflow, --status, --since, "
        "--all");
  }
  if (has_filter) return control_all(session, verb, filter, how);
  const Reply reply = TRY(session.client.send(
      {.method = "POST", .path = session.path({"instances", options.id, verb}), .query = how}));
  session.output.item(reply.body, "id");
  return ExitCode::kOk;
}

/// A verb for one instance, or for all that a filter names.
AddedVerb<ControlOptions> add_control(CommandLine& instance, const std::string& name,
                                      const std::string& what) {
  auto [verb, options] = instance.asking<ControlOptions>(
      name, what,
      fmt::format("millrace instance {} --workflow order --since 2h{}", name,
                  name == "rerun" ? " --from pay" : ""),
      [name](Session& session, const ControlOptions& given) {
        return control_instances(session, name, given);
      });
  verb.option("id", options.id, "Id of the instance; or the filter below");
  verb.option("--workflow", options.filter.workflow, "Those of this workflow", "ID");
  verb.option("--status", options.filter.status,
              "Those of this status (default: each in which the verb can be done)", "STATUS");
  verb.option("--since", options.filter.since, "Those started since: 2h, or a moment", "WHEN");
  verb.flag("--all", options.all, "All of the namespace");
  return {verb, options};
}

void add_reading(CommandLine& instance) {
  auto [list, listed] = instance.asking<InstanceListOptions>(
      "list", "Lists instances, the newest first",
      "millrace instance list --status failed --since 2h", list_instances);
  list.option("--workflow", listed.filter.workflow, "Only of this workflow", "ID");
  list.option(
      "--status", listed.filter.status,
      "Only pending, running, waiting, paused, complete, failed, cancelled or timedout ones",
      "STATUS");
  list.option("--since", listed.filter.since, "Only those started since: 2h, or a moment", "WHEN");
  add_page(list, listed.page);
  auto [get, shown] = instance.asking<std::string>(
      "get", "Shows an instance with its data",
      "millrace instance get 0190b5a4-7c1e-7f2a-8000-0123456789ab -o yaml", get_instance);
  get.option("id", shown, "Id of the instance", "ID").required();
  auto [history, told] = instance.asking<std::string>(
      "history", "Shows what happened to an instance",
      "millrace instance history 0190b5a4-7c1e-7f2a-8000-0123456789ab", show_history);
  history.option("id", told, "Id of the instance", "ID").required();
}

void add_controls(CommandLine& instance) {
  auto [cancel, cancelled] = add_control(instance, "cancel", "Ends instances, as cancelled");
  cancel.flag("--now", cancelled.now, "Do not wait for the end of the tasks that run");
  add_control(instance, "pause", "Has instances do nothing new");
  add_control(instance, "resume", "Has paused instances go on");
  auto [retry, retried] =
      add_control(instance, "retry", "Tries the failed state of instances again");
  retry.flag("--extend", retried.extend, "Have the execution's deadline count anew");
  add_control(instance, "restart", "Runs ended instances anew, from their first state");
  auto [rerun, from] = add_control(instance, "rerun", "Runs ended instances anew, from a state");
  rerun.option("--from", from.from, "The state", "STATE").required();
}

}  // namespace

void add_instance_verbs(CommandLine& commands) {
  CommandLine instance = commands.noun("instance", "Runs of workflows");
  add_reading(instance);
  add_controls(instance);
  auto [remove, removed] = instance.asking<DeleteInstanceOptions>(
      "delete", "Removes an ended instance and its history",
      "millrace instance delete 0190b5a4-7c1e-7f2a-8000-0123456789ab", delete_instance);
  remove.option("id", removed.id, "Id of the instance", "ID").required();
  remove.flag("--damaged", removed.damaged, "Also one that has damaged rows, living or ended");
}

}  // namespace millrace
