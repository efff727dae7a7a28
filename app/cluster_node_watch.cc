// The thread of a node of a cluster that looks at what is around it: it finds the active, compares
// the clock of this node with the clock of the broker, and asks the other nodes for their state,
// with which it restores the log if that has lost something (cluster_node_recovery.cc).
#include <chrono>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "app/cluster_node.h"
#include "app/random_id.h"
#include "base/bytes.h"
#include "base/has_code.h"
#include "broker/log_begin_search.h"
#include "broker/log_stream.h"
#include "cluster/node_answer.h"
#include "cluster/node_twin.h"
#include "orchestrator/store/disk/node_id.h"
#include "os/thread.h"

namespace millrace {
namespace {

using std::chrono::steady_clock;

/// How often the clocks are compared, and how often as long as they could not be compared.
constexpr Duration kClockEach{5'000};
constexpr Duration kClockRetry{250};

/// How often the nodes ask one another for their state, and how long they wait for the answers.
constexpr Duration kRollEach{1'000};
constexpr Duration kRollTime{300};

/// What follows from a clock that is off, and what to do.
constexpr const char* kOffClock =
    "this node takes nothing over, and hands over if it is the active; synchronize the clocks";

/// Whether a node with that error cannot become one of the cluster without an operator.
bool is_fatal(const Error& error) {
  return has_code(error, {"cluster.founded", "cluster.broker", "broker.replicas", "broker.stream"});
}

}  // namespace

void ClusterNode::watch_cluster() {
  name_thread("cluster-clock");
  Time compare_at{};
  while (true) {
    Status done = find_active();
    if (done && steady_clock::now() >= compare_at) {
      done = compare_clock();
      if (done) compare_at = steady_clock::now() + kClockEach;
    }
    if (!done && is_fatal(done.error())) return end({NodeEnd::What::kFailed, done.error()});
    ask_nodes();
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, done ? kRollEach : kClockRetry, [this] { return is_closed_; })) {
      return;
    }
  }
}

/// Finds the latest `begin` that the store has the commits of, once: it comes before what the
/// reader reads.
Status ClusterNode::find_active() {
  LogPosition position;
  {
    const std::lock_guard lock(mutex_);
    if (is_active_found_ || !is_joined_) return {};
    position = position_;
  }
  const auto found = TRY(find_log_begin(*following_, stream_, key_, position));
  is_active_found_ = true;
  if (!found) return {};
  note([&](NodeRole& role, Time now) {
    if (!address_.empty()) return;  // the reader has read a later one
    address_ = found->begin.address;
    if (history_.place.sequence > position.sequence) return;
    role.heard({.what = LogHeard::What::kBegin,
                .sequence = found->sequence,
                .pending = 1,
                .age = process_.clock.now() - found->stamped,
                .unclean = found->begin.unclean},
               now);
  });
  events_.on_active_changed();
  return {};
}

Status ClusterNode::compare_clock() {
  const TimePoint before = process_.clock.now();
  const TimePoint brokers = TRY(time_of_log(*following_, stream_));
  const TimePoint after = process_.clock.now();
  // An answer that came late says little.
  if (after - before > settings_.max_clock_offset) return {};
  const Duration offset = before + (after - before) / 2 - brokers;
  const Duration ahead = ahead_of_steady();
  note([&](NodeRole& role, Time) {
    clock_offset_ = offset;
    if (std::chrono::abs(offset) <= settings_.max_clock_offset) clock_ahead_ = ahead;
    role.clock_measured(offset);
  });
  const bool is_off = std::chrono::abs(offset) > settings_.max_clock_offset;
  if (is_off == is_clock_off_) return {};
  is_clock_off_ = is_off;
  if (is_off) {
    spdlog::warn("the clock of this node is {} ms off the clock of the broker: {} [cluster.clock]",
                 offset.count(), kOffClock);
  } else {
    spdlog::info("the clock of this node agrees with the clock of the broker again");
  }
  return {};
}

/// Error `log.closed` if the clock of the machine was set ahead since it was compared with that of
/// the broker. The commit has that time, and engine time would be ahead in all later epochs.
Status ClusterNode::check_clock_step() const {
  std::optional<Duration> compared;
  {
    const std::lock_guard lock(mutex_);
    compared = clock_ahead_;
  }
  if (!compared) return {};
  const Duration step = ahead_of_steady() - *compared;
  if (step <= settings_.max_clock_offset) return {};
  spdlog::warn(
      "the clock of this machine was set ahead by {} ms: this node ends its epoch, and "
      "commits nothing with that time [cluster.clock]",
      step.count());
  return millrace::fail("log.closed", "the clock of this machine was set ahead");
}

/// How far the wall clock is ahead of the steady one.
Duration ClusterNode::ahead_of_steady() const {
  const auto steady = steady_clock::now().time_since_epoch();
  return process_.clock.now().time_since_epoch() - std::chrono::duration_cast<Duration>(steady);
}

void ClusterNode::ask_nodes() {
  Result<std::vector<Json>> nodes = roll_->ask(kRollTime);
  if (nodes) {
    give_way(*nodes);
    register_nodes(*nodes);
    mend_log(*nodes);
  }
  const std::lock_guard lock(mutex_);
  nodes_ = nodes ? *std::move(nodes) : std::vector<Json>();
}

/// Takes another id if another process answers with the id of this node, and keeps it.
void ClusterNode::give_way(const std::vector<Json>& nodes) {
  for (const Json& one : nodes) {
    NodeTwin other{.is_active = text_in(one, "role") == "active"};
    if (text_in(one, "node") != node() ||
        !read_hex(text_in(one, "incarnation"), other.incarnation) ||
        other.incarnation == incarnation_ ||
        !gives_way({.is_active = is_active(), .incarnation = incarnation_}, other)) {
      continue;
    }
    spdlog::warn(
        "the node at {} has the id of this node, {}, so one data folder is a copy of the other: "
        "this node takes another id, and the process starts again",
        text_in(one, "address"), node());
    const Status replaced = replace_node_id(process_.settings.data, random_id());
    return end(replaced ? NodeEnd{NodeEnd::What::kReplace}
                        : NodeEnd{NodeEnd::What::kFailed, replaced.error()});
  }
}

}  // namespace millrace
