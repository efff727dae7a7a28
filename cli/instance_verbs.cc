// `millrace instance`: shows the instances of workflows, and lets an operator control them.
#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/follow_verb.h"
#include "cli/instance_lists.h"
#include "cli/other_namespaces.h"
#include "cli/pages.h"
#include "cli/time_flag.h"
#include "cli/unchanged.h"
#include "cli/why_verbs.h"

namespace millrace {
namespace {

/// The flags that select instances.
struct InstanceFilterFlags {
  std::string workflow;
  std::string status;
  std::string since;  ///< a time in RFC 3339, or how long ago: `2h`
};

struct HistoryOptions {
  std::string id;
  bool newest = false;  ///< newest first
  std::string kinds;    ///< names of kinds of records, separated by commas; empty: all
  std::string after;    ///< the number of a record
  std::string before;   ///< the number of a record
  PageOptions page;
};

struct DeleteInstanceOptions {
  std::string id;  ///< empty: the options below select the instances
  std::string workflow;
  std::string statuses;  ///< names of statuses, separated by commas; empty: all of ended instances
  std::string before;    ///< a time in RFC 3339, or how long ago: `30d`
  bool all = false;      ///< all ended instances of the namespace
  bool damaged = false;
};

/// The options of a command on one instance, or on all instances that the filter selects.
struct ControlOptions {
  std::string id;  ///< empty: `filter` or `all` selects the instances
  InstanceFilterFlags filter;
  bool all = false;     ///< all instances of the namespace
  bool now = false;     ///< for `cancel`: do not wait for running tasks
  bool extend = false;  ///< for `retry`: restart the execution timeout
  std::string from;     ///< for `rerun`: the id of the state
  bool past = false;    ///< for `compensate`: pass over the one that failed
};

Fallible<std::string> since_of(const InstanceFilterFlags& filter, TimePoint now) {
  return time_of_flag("--since", filter.since, now);
}

Ended get_instance(Session& session, const std::string& id) {
  const auto reply = session.client.send({.path = session.path({"instances", id})});
  if (!reply) return instance_failure(session, id, reply.error());
  session.output.item(reply->body, "id", {"input", "data", "output"});
  return ExitCode::kOk;
}

/// Prints the scenario file in any format of `-o`: it is YAML.
Ended print_scenario(Session& session, const std::string& id) {
  const RawReply reply =
      TRY(session.client.fetch({.path = session.path({"instances", id, "scenario"})}));
  const bool is_terminal = session.console.out_is_terminal;
  session.console.out << (is_terminal ? harmless(reply.body, kLineEnds) : reply.body);
  return ExitCode::kOk;
}

/// The names in a list that is separated by commas; without a name, the names of all statuses of
/// ended instances.
Json statuses_of(const std::string& list) {
  if (list.empty()) return {"complete", "failed", "cancelled", "timedout"};
  Json names = Json::array();
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

/// Asks the server to delete the selected instances. The server answers before it deletes them.
Ended delete_selected(Session& session, const DeleteInstanceOptions& options) {
  Json body{{"status", statuses_of(options.statuses)}};
  if (!options.workflow.empty()) body["workflow"] = options.workflow;
  const std::string before = TRY(time_of_flag("--before", options.before, session.console.now()));
  if (!before.empty()) body["before"] = before;
  const Reply reply = TRY(session.client.send(
      {.method = "POST", .path = session.path({"instances", "delete"}), .body = dump_json(body)}));
  if (!reply.body.value("deleting", true)) {
    session.console.err << "no ended instance matches the filter, so nothing is deleted\n";
  }
  session.output.item(reply.body, "deleting");
  return ExitCode::kOk;
}

Ended delete_instance(Session& session, const DeleteInstanceOptions& options) {
  const bool has_filter = options.all || !options.workflow.empty() || !options.statuses.empty() ||
                          !options.before.empty();
  if (options.id.empty() == !has_filter) {
    return wrong_usage(
        "give either the id of one instance, or select instances with --workflow, --status, "
        "--before or --all");
  }
  if (has_filter && options.damaged) {
    return wrong_usage("--damaged needs the id of the instance");
  }
  if (has_filter) return delete_selected(session, options);
  const Reply reply =
      TRY(session.client.send({.method = "DELETE",
                               .path = session.path({"instances", options.id}),
                               .query = {{"damaged", options.damaged ? "1" : ""}}}));
  session.output.item(reply.body, "id");
  return ExitCode::kOk;
}

Ended show_history(Session& session, const HistoryOptions& options) {
  const bool shows_data = session.output.format() != Format::kTable;
  return show_pages(session,
                    {.path = session.path({"instances", options.id, "history"}),
                     .query = {{"order", options.newest ? "newest" : ""},
                               {"data", shows_data ? "" : "0"},
                               {"kind", options.kinds},
                               {"after", options.after},
                               {"before", options.before}}},
                    options.page,
                    {field("TIME", "time"), field("KIND", "kind"), field("STATE", "state"),
                     field("DETAIL", "detail")},
                    "kind");
}

/// Page size of a command on several instances.
constexpr const char* kFilterPage = "250";

/// Shows the number of processed instances on standard error, if that is a terminal and the command
/// takes longer than 500 ms.
class Progress {
 public:
  explicit Progress(Session& session) : session_(session) {}
  ~Progress() { end(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void at(size_t done) {
    constexpr Duration kPatience(500);
    if (!session_.console.err_is_terminal) return;
    if (session_.console.now() - begin_ < kPatience) return;
    session_.console.err << fmt::format("\r{} done", done) << std::flush;
    shown_ = true;
  }

  /// What is printed next begins a line.
  void end() {
    if (std::exchange(shown_, false)) session_.console.err << '\n';
  }

 private:
  Session& session_;
  const TimePoint begin_ = session_.console.now();
  bool shown_ = false;
};

using Parameters = std::vector<std::pair<std::string, std::string>>;

/// Calls the command page by page, until the user presses Ctrl-C between two pages.
Ended control_all(Session& session, const std::string& verb, const Parameters& filter,
                  const Parameters& how) {
  Progress progress(session);
  Parameters query = filter;
  query.insert(query.end(), how.begin(), how.end());
  query.emplace_back("limit", kFilterPage);
  query.emplace_back("all", "1");
  query.emplace_back("cursor", "");
  size_t done = 0;
  size_t pending = 0;  // starts that were put off, and are dropped
  std::vector<std::string> refused;
  bool is_stopped = false;
  while (!is_stopped) {
    const Reply page = TRY(session.client.send(
        {.method = "POST", .path = session.path({"instances", verb}), .query = query}));
    done += page.body["done"].get<size_t>();
    for (const Json& one : page.body["refused"]) {
      refused.push_back(fmt::format("{} [{}]\n", one["detail"].get<std::string>(),
                                    one["code"].get<std::string>()));
    }
    pending += page.body.value("pendingStarts", size_t{0});
    progress.at(done + refused.size());
    if (!page.body["next"].is_string()) break;
    query.back().second = page.body["next"];
    is_stopped = !session.console.pause(Duration(0));
  }
  progress.end();
  for (const std::string& why : refused) session.console.err << harmless(why, kLineEnds);
  Json shown{{"done", done}, {"refused", refused.size()}};
  if (pending > 0) shown["pendingStarts"] = pending;
  session.output.item(shown, "done");
  if (is_stopped) {
    session.console.err << "stopped; the other instances are unchanged\n";
    return ExitCode::kInterrupted;
  }
  return refused.empty() ? ExitCode::kOk : ExitCode::kConflict;
}

/// Prints why the command has changed nothing, if the instance shows that.
void say_why_unchanged(Session& session, const std::string& verb, const std::string& id) {
  const auto instance = session.client.send({.path = session.path({"instances", id})});
  if (!instance) return;  // the command has succeeded, and what it says is only missing
  session.console.err << unchanged_line(verb, instance->body, session.ns);
}

Ended control_instances(Session& session, const std::string& verb, const ControlOptions& options) {
  const Parameters how = {{"now", options.now ? "1" : ""},
                          {"extend", options.extend ? "1" : ""},
                          {"from", options.from},
                          {"past", options.past ? "1" : ""}};
  const std::string since = TRY(since_of(options.filter, session.console.now()));
  const Parameters filter = {
      {"workflow", options.filter.workflow}, {"status", options.filter.status}, {"since", since}};
  const bool has_filter = options.all || !options.filter.workflow.empty() ||
                          !options.filter.status.empty() || !since.empty();
  if (options.id.empty() == !has_filter) {
    return wrong_usage(
        "give either the id of one instance, or select instances with --workflow, --status, "
        "--since or --all");
  }
  if (has_filter) return control_all(session, verb, filter, how);
  const Reply reply = TRY(session.client.send(
      {.method = "POST", .path = session.path({"instances", options.id, verb}), .query = how}));
  session.output.item(reply.body, "id");
  if (is_unchanged(verb, reply.body)) say_why_unchanged(session, verb, options.id);
  return ExitCode::kOk;
}

/// Adds a verb for one instance, or for all instances that a filter selects.
AddedVerb<ControlOptions> add_control(CommandLine& instance, const std::string& name,
                                      const std::string& what) {
  auto [verb, options] = instance.asking<ControlOptions>(
      name, what,
      fmt::format("millrace instance {} --workflow order --since 2h{}", name,
                  name == "rerun" ? " --from pay" : ""),
      [name](Session& session, const ControlOptions& given) {
        return control_instances(session, name, given);
      });
  verb.option("id", options.id, "Id of the instance; or select instances with the options below");
  verb.option("--workflow", options.filter.workflow, "Select instances of this workflow", "ID");
  verb.option(
      "--status", options.filter.status,
      "Select instances with this status (default: every status that the command applies to)",
      "STATUS");
  verb.option("--since", options.filter.since,
              "Select instances that started after this: a time, or how long ago (2h)", "WHEN");
  verb.flag("--all", options.all, "Select all instances of the namespace");
  return {verb, options};
}

void add_reading(CommandLine& instance) {
  auto [get, shown] = instance.asking<std::string>(
      "get", "Shows an instance with its data",
      "millrace instance get 0190b5a4-7c1e-7f2a-8000-0123456789ab -o yaml", get_instance);
  get.option("id", shown, "Id of the instance", "ID").required();
  auto [history, recorded] = instance.asking<HistoryOptions>(
      "history", "Shows the history of an instance, oldest first",
      "millrace instance history 0190b5a4-7c1e-7f2a-8000-0123456789ab", show_history);
  history.option("id", recorded.id, "Id of the instance", "ID").required();
  history.flag("--newest", recorded.newest, "Show the newest records first");
  history.option("--kind", recorded.kinds,
                 "Only records of these kinds, such as entered, raised, called", "KIND[,KIND]");
  history.option("--after", recorded.after, "Only records with a higher number than this",
                 "NUMBER");
  history.option("--before", recorded.before, "Only records with a lower number than this",
                 "NUMBER");
  add_page(history, recorded.page, "1000");
  auto [scenario, played] = instance.asking<std::string>(
      "scenario", "Prints a scenario file that plays what an instance met, for `millrace test`",
      "millrace instance scenario 0190b5a4-7c1e-7f2a-8000-0123456789ab > order.test.yaml",
      print_scenario);
  scenario.option("id", played, "Id of the instance", "ID").required();
  add_follow_verb(instance);
}

void add_controls(CommandLine& instance) {
  auto [cancel, cancelled] = add_control(
      instance, "cancel",
      "Cancels instances; without --status also the starts that `debounce` or `batch` has put off");
  cancel.flag("--now", cancelled.now,
              "Cancel immediately, and stop the running tasks (default: cancel when the running "
              "tasks have ended)");
  add_control(instance, "pause", "Pauses instances: a paused instance starts nothing new");
  add_control(instance, "resume", "Resumes paused instances");
  auto [retry, retried] = add_control(
      instance, "retry",
      "Retries the failed state of instances, each on the revision with which it started");
  retry.flag("--extend", retried.extend, "Restart the execution timeout of the instances");
  add_control(instance, "restart",
              "Runs ended instances again from their first state, each on the revision with which "
              "it started");
  auto [rerun, from] = add_control(
      instance, "rerun",
      "Runs ended instances again from a given state, each on the revision with which it started");
  rerun.option("--from", from.from, "Id of the state", "STATE").required();
  auto [compensate, passed] =
      add_control(instance, "compensate",
                  "Makes the compensations that ended instances have left, the newest one first");
  compensate.flag("--past", passed.past,
                  "Do not make the newest one, which has failed: what it undoes is undone already");
}

void add_delete(CommandLine& instance) {
  auto [remove, removed] = instance.asking<DeleteInstanceOptions>(
      "delete",
      "Deletes an ended instance with its history; or all ended instances that the options select",
      "millrace instance delete 0190b5a4-7c1e-7f2a-8000-0123456789ab\n  millrace instance delete "
      "--workflow order --status complete,cancelled --before 30d",
      delete_instance);
  remove.option("id", removed.id, "Id of the instance; or select instances with the options below",
                "ID");
  remove.option("--workflow", removed.workflow, "Select instances of this workflow", "ID");
  remove.option(
      "--status", removed.statuses,
      "Select instances with one of these statuses: complete, failed, cancelled, timedout "
      "(default: all four)",
      "STATUS[,STATUS]");
  remove.option("--before", removed.before,
                "Select instances that ended before this: a time, or how long ago (30d)", "WHEN");
  remove.flag("--all", removed.all, "Select all ended instances of the namespace");
  remove.flag("--damaged", removed.damaged,
              "Delete the instance with this id even if it has damaged rows, whether or not it has "
              "ended");
}

}  // namespace

void add_instance_verbs(CommandLine& commands) {
  CommandLine instance = commands.noun("instance", "Instances of workflows");
  add_instance_list(instance);
  add_reading(instance);
  add_instance_parts(instance);
  add_instance_why_verb(instance);
  add_controls(instance);
  add_delete(instance);
}

}  // namespace millrace
