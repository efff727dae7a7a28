// What a node of a cluster shows of itself and of the other nodes: to the gateway (NodeFront), and
// to the other nodes. Any thread.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "app/cluster_node.h"
#include "base/bytes.h"
#include "broker/log_stream.h"
#include "cluster/node_answer.h"

namespace millrace {
bool ClusterNode::may_serve() const {
  const std::lock_guard lock(mutex_);
  return role_->may_serve(std::chrono::steady_clock::now());
}

bool ClusterNode::is_active() const {
  const std::lock_guard lock(mutex_);
  return role_->is_active();
}

Status ClusterNode::ready() const {
  std::optional<Error> why;
  {
    const std::lock_guard lock(mutex_);
    if (!is_joined_) return tl::unexpected(join_);
    why = role_->not_ready(std::chrono::steady_clock::now());
    if (why && why->code == "cluster.no_active" && !withheld_.empty()) {
      return millrace::fail("cluster.log_lost", withheld_);
    }
    if (why && why->code == "log.unreachable" && !lost_.empty()) {
      return millrace::fail("cluster.log_lost", lost_);
    }
  }
  if (!why) return {};
  if (why->code == "log.unreachable" && is_active()) {
    const std::lock_guard lock(log_mutex_);
    const std::string trouble = log_ ? log_->trouble() : std::string();
    if (!trouble.empty()) why->message += ": " + trouble;
  }
  // Why the log is not read says more.
  if (why->code == "log.unreachable" || why->code == "cluster.not_founded") {
    const std::lock_guard lock(reader_mutex_);
    if (reader_) {
      Status read = reader_->health();
      if (!read) return read;
      if (why->code == "cluster.not_founded" && reader_->foreign() > 0) {
        return tl::unexpected(log_of_another_key(stream_));
      }
    }
  }
  return tl::unexpected(*why);
}

std::string ClusterNode::active_url() const {
  const std::lock_guard lock(mutex_);
  return text_in(known_active(), "address");
}

/// The node and the address of the active, as far as this node knows; an empty object: none is
/// known. The caller holds mutex_.
Json ClusterNode::known_active() const {
  const auto shown = [](std::string id, std::string address) {
    return Json{{"node", std::move(id)}, {"address", std::move(address)}};
  };
  if (role_->is_active()) return shown(node(), settings_.url);
  if (has_ended_) return Json::object();
  if (!address_.empty()) return shown(to_hex(history_.node), address_);
  const Json* const active = active_in(nodes_);  // before this node has read the log
  if (active == nullptr) return Json::object();
  return shown(text_in(*active, "node"), text_in(*active, "address"));
}

/// The state of this node, as the schema `Cluster` has it.
Json ClusterNode::state() const {
  const Status is_ready = ready();
  const std::lock_guard lock(mutex_);
  const bool is_active = role_->is_active();
  const bool is_starting = !is_active && !is_ready;
  const uint64_t last = is_active ? applied_ : std::max(applied_, history_.place.sequence);
  // Only appends of its own are beyond what the reader has read.
  const bool has_led = is_active || applied_ > history_.place.sequence;
  const Duration behind = last > applied_ ? process_.clock.now() - stamped_ : Duration(0);
  Json state = {{"node", node()},
                {"incarnation", to_hex(incarnation_)},
                {"role", is_active     ? "active"
                         : is_starting ? "starting"
                                       : "standby"},
                {"epoch", has_led ? std::max(epoch_, history_.epoch) : history_.epoch},
                {"position", applied_},
                {"committed", committed_},
                {"behindCommits", last - applied_},
                {"behindSeconds", std::max<double>(0, static_cast<double>(behind.count()) / 1'000)},
                {"version", MILLRACE_VERSION},
                {"address", settings_.url}};
  if (clock_offset_) {
    state["clockOffsetSeconds"] = static_cast<double>(clock_offset_->count()) / 1'000;
  }
  if (!is_ready) {
    state["error"] = {{"code", is_ready.error().code}, {"detail", is_ready.error().message}};
  }
  return state;
}

/// Adds when each registered node was first seen, and those that have not answered, as `away`. The
/// caller holds mutex_.
void ClusterNode::add_registered(Json& nodes) const {
  for (const auto& [id, record] : registered_) {
    const auto found = std::find_if(nodes.begin(), nodes.end(), [&id = id](const Json& one) {
      return text_in(one, "node") == id;
    });
    Json& one =
        found != nodes.end()
            ? *found
            : nodes.emplace_back(Json{{"node", id}, {"role", "away"}, {"address", record.address}});
    one["firstSeen"] = format_rfc3339(record.first_seen);
  }
}

Json ClusterNode::cluster() const {
  const Json own = state();
  const std::lock_guard lock(mutex_);
  Json nodes = Json::array({own});
  for (const Json& one : nodes_) {
    if (text_in(one, "node") != own.at("node")) nodes.push_back(one);
  }
  add_registered(nodes);
  Json view = {{"cluster", settings_.name},
               {"node", own.at("node")},
               {"role", own.at("role")},
               {"epoch", own.at("epoch")},
               {"nodes", std::move(nodes)}};
  if (is_joined_) view["snapshots"] = snapshots_->view();
  if (Json active = known_active(); !active.empty()) view["active"] = std::move(active);
  return view;
}

const NodeStore* ClusterNode::store() const {
  const std::lock_guard lock(mutex_);
  return copied_.get();
}

/// A time at which the folder had all that the log had (CopiedStore::KnownAt). A standby has it at
/// the time of the latest message that it has applied. The active has it when it sends an append,
/// if that is confirmed later.
TimePoint ClusterNode::known_at() const {
  const std::lock_guard lock(mutex_);
  const TimePoint applied = applied_stamped_ + clock_offset_.value_or(Duration(0));
  const auto lead = role_->node_lead();
  if (!lead) return applied;
  const auto since_sent =
      std::chrono::ceil<Duration>(std::chrono::steady_clock::now() - lead->sent);
  return std::max(applied, process_.clock.now() - since_sent);
}

Json ClusterNode::info() const { return describe(process_.settings); }

std::string ClusterNode::metrics() const {
  const Json own = state();
  uint64_t restored = 0;
  {
    const std::lock_guard lock(mutex_);
    restored = kept_->restored();
  }
  const auto gauge = [](const char* name, const char* help, double value) {
    return fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n{0} {2}\n", name, help, value);
  };
  return gauge("millrace_cluster_active", "1 if this node is the active of its cluster.",
               own.at("role") == "active" ? 1 : 0) +
         gauge("millrace_cluster_behind_commits",
               "Messages of the log that this node has read and not applied.",
               own.at("behindCommits").get<double>()) +
         gauge("millrace_cluster_behind_seconds", "How old the newest message is that it has read.",
               own.at("behindSeconds").get<double>()) +
         gauge("millrace_cluster_clock_offset_seconds",
               "How far the clock of this node is ahead of the clock of the broker.",
               own.value("clockOffsetSeconds", 0.0)) +
         fmt::format(
             "# HELP {0} Messages that the log had lost and that this node has appended again.\n"
             "# TYPE {0} counter\n{0} {1}\n",
             "millrace_cluster_log_restored_total", restored);
}

}  // namespace millrace
