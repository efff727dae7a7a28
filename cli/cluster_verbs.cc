// `millrace cluster`: the nodes of a cluster, as one of them sees them, and the way back to a
// server without one, which the program carries out.
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_line.h"

namespace millrace {
namespace {

/// How far a clock may be off before the status names it; the default of --max-clock-offset.
constexpr double kMostClockSeconds = 1;
/// How far a standby may be behind before the status names it.
constexpr double kMostBehindSeconds = 5;

std::string seconds_text(const Json& node, const char* key) {
  return node.contains(key) ? fmt::format("{:.1f}s", node.at(key).get<double>()) : "-";
}

bool is_away(const Json& node) { return node.value("role", "") == "away"; }

std::string behind_text(const Json& node) {
  if (is_away(node)) return "-";
  const auto commits = node.at("behindCommits").get<uint64_t>();
  return commits == 0 ? "-" : fmt::format("{}, {}", commits, seconds_text(node, "behindSeconds"));
}

/// What is wrong with the node; empty: nothing.
std::string fault_of(const Json& node) {
  if (node.contains("error")) return node.at("error").value("detail", "");
  if (node.value("role", "") == "starting") return "starts";
  if (node.value("behindSeconds", 0.0) > kMostBehindSeconds) {
    return fmt::format("is {} behind the log", seconds_text(node, "behindSeconds"));
  }
  const double offset = node.value("clockOffsetSeconds", 0.0);
  if (offset > kMostClockSeconds || offset < -kMostClockSeconds) {
    return fmt::format("has a clock that is {} off", seconds_text(node, "clockOffsetSeconds"));
  }
  return "";
}

/// The role of the active in the rows of the nodes; empty: the node that answers knows no active.
std::string role_of_active(const Json& cluster) {
  if (!cluster.contains("active")) return "";
  const std::string active = cluster.at("active").value("node", "");
  for (const Json& node : cluster.at("nodes")) {
    if (node.value("node", "") == active) return node.value("role", "");
  }
  return "away";
}

/// Whether the cluster works and could lose its active, in words.
std::string health_of(const Json& cluster) {
  size_t standbys = 0;
  std::vector<std::string> faults;
  const std::string role = role_of_active(cluster);
  if (role.empty()) {
    faults.push_back(
        fmt::format("node {}, which answers, knows no active", cluster.value("node", "")));
  } else if (role != "active") {
    faults.push_back(
        fmt::format("{} was the active, and is not now: another node takes over, if "
                    "it can",
                    cluster.at("active").value("node", "")));
  }
  for (const Json& node : cluster.at("nodes")) {
    const std::string fault = fault_of(node);
    if (!fault.empty()) faults.push_back(node.value("node", "") + ": " + fault);
    if (fault.empty() && node.value("role", "") == "standby") ++standbys;
  }
  if (role == "active" && standbys == 0) {
    faults.emplace_back("no standby could take over if the active failed");
  }
  if (!faults.empty()) return fmt::format("not healthy: {}", fmt::join(faults, "; "));
  return fmt::format("healthy: {} is the active, and {} could take over",
                     cluster.at("active").value("node", ""),
                     standbys == 1 ? "one standby" : fmt::format("{} standbys", standbys));
}

/// The registered nodes that do not answer, in words; empty: all answer.
std::string away_in_words(const Json& cluster) {
  std::vector<std::string> away;
  for (const Json& node : cluster.at("nodes")) {
    if (is_away(node)) away.push_back(node.value("node", ""));
  }
  if (away.empty()) return "";
  return fmt::format(
      "registered, and without an answer: {}; start them again, or, if a node does not exist any "
      "more, end its registration by `millrace cluster remove`",
      fmt::join(away, ", "));
}

/// What the node knows of the snapshots, in words; empty: nothing yet.
std::string snapshots_in_words(const Json& cluster) {
  const Json snapshots = cluster.value("snapshots", Json::object());
  if (snapshots.contains("error")) {
    return fmt::format("snapshots: {} [{}]", snapshots.at("error").value("detail", ""),
                       snapshots.at("error").value("code", ""));
  }
  if (!snapshots.contains("count")) return "";
  const std::string log =
      fmt::format("{:.1f} MiB", snapshots.value("logBytes", 0.0) / (1024 * 1024));
  if (!snapshots.contains("newest")) return fmt::format("snapshots: none; the log has {}", log);
  const Json& newest = snapshots.at("newest");
  return fmt::format("snapshots: {}, the newest {} s ago at position {}; the log has {}",
                     snapshots.value("count", 0), newest.value("ageSeconds", 0),
                     newest.value("position", uint64_t{0}), log);
}

Ended show_cluster(Session& session) {
  const Reply reply = TRY(session.client.send({.path = "/v1/cluster"}));
  const Format format = session.output.format();
  if (format == Format::kJson || format == Format::kYaml) {
    session.output.value(reply.body);
    return ExitCode::kOk;
  }
  session.output.list(
      {{"items", reply.body.at("nodes")}},
      {field("NODE", "node"), field("ROLE", "role"), field("EPOCH", "epoch"),
       field("POSITION", "position"), field("COMMITTED", "committed"),
       Column{"BEHIND", behind_text},
       Column{"CLOCK", [](const Json& node) { return seconds_text(node, "clockOffsetSeconds"); }},
       field("VERSION", "version"), field("ADDRESS", "address")},
      "node");
  if (format != Format::kTable) return ExitCode::kOk;
  session.console.out << fmt::format("cluster {}: {}\n", harmless(reply.body.value("cluster", "")),
                                     harmless(health_of(reply.body)));
  if (const std::string away = away_in_words(reply.body); !away.empty()) {
    session.console.out << harmless(away) << '\n';
  }
  if (const std::string snapshots = snapshots_in_words(reply.body); !snapshots.empty()) {
    session.console.out << harmless(snapshots) << '\n';
  }
  return ExitCode::kOk;
}

void add_leave(CommandLine& commands, decltype(ProgramVerbs::leave) run) {
  auto [leave, options] = commands.local<LeaveOptions>(
      "leave", "Makes the data folder of a stopped node that of a server without a cluster",
      "millrace cluster leave --data /var/lib/millrace",
      [run](Shell& shell, LeaveOptions given) -> Ended {
        Console& console = shell.console();
        Output output(console, TRY(parse_format(shell.flags().format, console.out_is_terminal)));
        given.data = shell.setting(given.data, {"MILLRACE_DATA"});
        if (given.data.empty()) return wrong_usage("--data or MILLRACE_DATA is required");
        return run(console, output, given);
      });
  leave.option("--data", options.data, "Data folder of a stopped node; required (MILLRACE_DATA)",
               "DIR");
}

struct RemoveNodeOptions {
  std::string node;
  bool is_forced = false;
};

Ended remove_node(Session& session, const RemoveNodeOptions& options) {
  const Reply reply =
      TRY(session.client.send({.method = "DELETE",
                               .path = Client::url_path({"v1", "cluster", "nodes", options.node}),
                               .query = {{"force", options.is_forced ? "1" : ""}}}));
  session.output.item(reply.body, "node");
  return ExitCode::kOk;
}

struct TakeOverOptions {
  bool accepts_loss = false;
};

/// What is lost, in words.
std::string loss_in_words(const Json& loss) {
  std::string text = fmt::format(
      "node {} continues with epoch {}, at position {} of the log, in some seconds: see `millrace "
      "cluster status`\n{}\n",
      loss.value("node", ""), loss.value("epoch", uint64_t{0}), loss.value("position", uint64_t{0}),
      loss.value("why", ""));
  for (const Json& one : loss.at("missing")) {
    text +=
        fmt::format("lost: messages {} to {}, epochs {} to {}, which node {} at {} has\n",
                    one.value("fromSequence", uint64_t{0}), one.value("toSequence", uint64_t{0}),
                    one.value("fromEpoch", uint64_t{0}), one.value("toEpoch", uint64_t{0}),
                    one.value("node", ""), one.value("address", ""));
  }
  for (const Json& one : loss.at("away")) {
    text += fmt::format("lost: what node {} at {}, which does not answer, has more\n",
                        one.value("node", ""), one.value("address", ""));
  }
  return text;
}

Ended take_over(Session& session, const TakeOverOptions& options) {
  if (!options.accepts_loss) {
    return give_up(ExitCode::kUsage, "cli.usage",
                   "without --accept-loss nothing is to do: a node takes over by itself as long as "
                   "nothing is lost; with it, commits that other nodes have are lost for good");
  }
  const Reply reply =
      TRY(session.client.send({.method = "POST", .path = "/v1/cluster/accept-loss"}));
  if (session.output.format() != Format::kTable) {
    session.output.item(reply.body, "node");
  } else {
    session.console.out << harmless(loss_in_words(reply.body), kLineEnds);
  }
  return ExitCode::kOk;
}

}  // namespace

void add_cluster_verbs(CommandLine& commands, const ProgramVerbs& program) {
  CommandLine cluster = commands.noun("cluster", "The nodes of a cluster");
  cluster.asking("status",
                 "Shows the nodes, which is the active, and whether the cluster is healthy",
                 "millrace cluster status", show_cluster);
  if (program.leave != nullptr) add_leave(cluster, program.leave);
  auto [remove, removed] = cluster.asking<RemoveNodeOptions>(
      "remove",
      "Ends the registration of a node that does not exist any more, so that no other node waits "
      "for it when the log has lost something",
      "millrace cluster remove 6f1ed002ab5595859014ebf0951522d9", remove_node);
  remove.option("NODE", removed.node, "The id of the node, from `cluster status`").required();
  auto [take, taken] = cluster.asking<TakeOverOptions>(
      "take-over",
      "Lets the node that is asked continue without what the log has lost, if no node can restore "
      "it (`cluster.log_lost`) or the log was deleted (`cluster.log_deleted`)",
      "millrace cluster take-over --accept-loss", take_over);
  take.flag("--accept-loss", taken.accepts_loss,
            "Commits that this node does not have are lost for good");
  remove.flag("--force", removed.is_forced,
              "Also if the node answers; the active registers it again as long as it does");
}

}  // namespace millrace
