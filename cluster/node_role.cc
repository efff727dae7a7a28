#include "cluster/node_role.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace {

// Facts.

void NodeRole::reader_closed() {
  silence_.closed();
  is_reader_asked_ = false;
}

void NodeRole::heard(const LogHeard& message, Time now) {
  using What = LogHeard::What;
  if (message.what == What::kForeign) {
    silence_.broker_heard(message.pending, now);
  } else {
    silence_.message(message.what == What::kEnd, message.pending, now);
    has_ended_ = message.what == What::kEnd;
    last_message_ = now - std::max(message.age, Duration(0));
  }
  if (message.what == What::kEnd) takeovers_.saw_end();
  if (message.what == What::kBegin) takeovers_.saw_begin(message.unclean, *last_message_);
  if (message.sequence <= heard_) return;
  heard_ = message.sequence;
  if (message.what != What::kBegin) return;
  is_founded_ = true;
  // An incarnation has one epoch at most.
  if (!message.is_own && (is_own_epoch_ || step_ >= Step::kLeading)) is_epoch_over_ = true;
  is_own_epoch_ = message.is_own;
  if (message.is_own) begin_unclean_ = message.unclean;
}

void NodeRole::applied(uint64_t sequence) { applied_ = std::max(applied_, sequence); }

void NodeRole::begin_taken(Time sent) {
  if (step_ != Step::kBeginning) return;
  confirmed_ = sent;
  step_ = Step::kLeading;
}

void NodeRole::begin_failed() {
  if (step_ != Step::kBeginning) return;
  // The log may have the `begin`, or messages that this reader does not get: a reader that is
  // opened again gets them.
  silence_.closed();
  silence_.begin_failed();
  is_reader_asked_ = false;
  step_ = Step::kFollowing;
}

void NodeRole::engine_loaded(Time now) {
  engine_ = Engine::kLoaded;
  turn_at_ = now;
}

void NodeRole::commit_taken(Time sent, Time now) {
  if (commits_ > 0) --commits_;
  confirmed_ = std::max(confirmed_, sent);
  turn_at_ = now;  // the engine was not able to complete its turn before
}

void NodeRole::beat_taken(Time sent) {
  if (beats_ > 0) --beats_;
  confirmed_ = std::max(confirmed_, sent);
}

void NodeRole::stop_asked(Time now) {
  if (!is_stop_asked_ && step_ <= Step::kLeading) leaves_at_ = now;
  is_stop_asked_ = true;
}

// Decisions.

std::vector<NodeAction> NodeRole::take_actions(Time now) {
  Step before = step_;
  do {
    before = step_;
    act(now);
  } while (step_ != before);
  return std::exchange(actions_, {});
}

void NodeRole::act(Time now) {
  if (step_ == Step::kDone) return;
  if (is_epoch_over_) return finish();
  switch (step_) {
    case Step::kFollowing:
      return follow(now);
    case Step::kLeading:
      return lead(now);
    case Step::kDraining:
      return drain(now);
    case Step::kEnding:
      if (is_end_taken_ || now >= leaves_at_ + settings_.end_limit) finish();
      return;
    case Step::kBeginning:
    case Step::kDone:
      return;
  }
}

void NodeRole::follow(Time now) {
  if (is_stop_asked_) return finish();
  if (fault_) return;
  if (!is_reader_asked_) push(NodeAction::What::kOpenReader);
  is_reader_asked_ = true;
  if (!has_all(now)) return;
  if (is_own_epoch_) {  // a `begin` without an answer, which the log has
    confirmed_ = begin_sent_;
    step_ = Step::kLeading;
    return;
  }
  const bool may_begin = is_founded_ || settings_.founds;
  if (!may_begin || !silence_.is_silent(now) || !is_clock_right()) return;
  if (begin_expects_ != applied_) begin_sent_ = now;
  begin_expects_ = applied_;
  begin_unclean_ = takeovers_.next(now);
  actions_.push_back(
      {.what = NodeAction::What::kAppendBegin, .expects = applied_, .unclean = begin_unclean_});
  step_ = Step::kBeginning;
}

void NodeRole::lead(Time now) {
  const bool is_unfit = !is_clock_right() || (fault_ && engine_ == Engine::kNone);
  if (is_stop_asked_ || is_unfit) {
    if (!is_stop_asked_) leaves_at_ = now;
    if (is_unfit) stop_serving();
    if (engine_ != Engine::kNone) {
      push(NodeAction::What::kDrain);
    } else {
      is_drained_ = true;
    }
    step_ = Step::kDraining;
    return;
  }
  if (engine_ == Engine::kNone) {
    actions_.push_back({.what = NodeAction::What::kStartEngine,
                        .is_careful = begin_unclean_ >= TakeoverCount::kCareful});
    engine_ = Engine::kLoading;
  }
  pace(now);
}

void NodeRole::drain(Time now) {
  const bool must_end = is_drained_ || now >= leaves_at_ + settings_.drain_limit;
  if (must_end && commits_ + beats_ == 0) {
    stop_serving();  // first: the next active takes over as soon as it has read the `end`
    push(NodeAction::What::kAppendEnd);
    step_ = Step::kEnding;
    return;
  }
  if (now >= leaves_at_ + settings_.end_limit) return finish();
  pace(now);
}

void NodeRole::finish() {
  stop_serving();
  push(is_stop_asked_ ? NodeAction::What::kExit : NodeAction::What::kReplace);
  step_ = Step::kDone;
}

/// Stops or permits effects as the lead is fresh, and asks for a beat when it is due.
void NodeRole::pace(Time now) {
  if (!may_serve(now)) {
    stop_serving();
  } else if (!is_serving_) {  // of an active that does not drain
    push(NodeAction::What::kServe);
    is_serving_ = true;
  }
  if (commits_ + beats_ > 0 || !is_engine_alive(now) || now < confirmed_ + beat_after()) return;
  push(NodeAction::What::kAppendBeat);
  ++beats_;
}

void NodeRole::stop_serving() {
  if (is_serving_) push(NodeAction::What::kStopServing);
  is_serving_ = false;
}

bool NodeRole::is_clock_right() const {
  return clock_offset_ && std::chrono::abs(*clock_offset_) <= settings_.max_clock_offset;
}

bool NodeRole::is_engine_alive(Time now) const {
  if (engine_ == Engine::kLoading || commits_ > 0) return true;
  return engine_ == Engine::kLoaded && now - turn_at_ <= settings_.engine_limit;
}

// Questions.

std::optional<NodeRole::Time> NodeRole::next_time(Time now) const {
  std::optional<Time> next;
  const auto consider = [&](Time time) {
    if (time > now && (!next || time < *next)) next = time;
  };
  if (step_ == Step::kFollowing) {
    if (const auto silent_at = silence_.next_time()) consider(*silent_at);
  }
  if (is_active()) {
    if (is_serving_) consider(confirmed_ + fresh_for());
    if (commits_ + beats_ == 0 && is_engine_alive(now)) consider(confirmed_ + beat_after());
  }
  if (step_ == Step::kDraining) consider(leaves_at_ + settings_.drain_limit);
  if (step_ == Step::kDraining || step_ == Step::kEnding)
    consider(leaves_at_ + settings_.end_limit);
  return next;
}

bool NodeRole::may_serve(Time now) const {
  const bool may_perform = step_ == Step::kLeading || (step_ == Step::kDraining && is_serving_);
  return may_perform && engine_ == Engine::kLoaded && !is_epoch_over_ && is_clock_right() &&
         now - confirmed_ < fresh_for();
}

std::optional<NodeRole::NodeLead> NodeRole::node_lead() const {
  if (!is_active() || is_epoch_over_) return std::nullopt;
  return NodeLead{.sent = confirmed_, .fresh_until = confirmed_ + fresh_for()};
}

std::optional<Error> NodeRole::not_ready(Time now) const {
  if (is_stop_asked_ || step_ >= Step::kDraining || is_epoch_over_) {
    return Error{"stopping", "this process of the cluster ends"};
  }
  if (!is_active()) return standby_not_ready(now);
  if (engine_ != Engine::kLoaded) {
    return Error{"cluster.loading", "this node has taken over and loads the engine"};
  }
  if (may_serve(now)) return std::nullopt;
  return Error{"log.unreachable",
               fmt::format("the log of the cluster has confirmed nothing that this node, the "
                           "active, appended in the last {} ms",
                           fresh_for().count())};
}

std::optional<Error> NodeRole::standby_not_ready(Time now) const {
  if (fault_) return fault_;
  if (!silence_.is_heard(now)) {
    return Error{"log.unreachable", "the broker does not send the log of the cluster"};
  }
  if (!is_founded_ && !settings_.founds) {
    return Error{"cluster.not_founded", "the log of the cluster has no `begin`"};
  }
  if (!is_clock_right()) {
    return Error{"cluster.clock",
                 clock_offset_
                     ? fmt::format("the clock of this node is {} ms off the clock of the broker, "
                                   "of which {} ms are permitted; synchronize the clocks of the "
                                   "machines",
                                   clock_offset_->count(), settings_.max_clock_offset.count())
                     : "the clock of this node is not compared with the clock of the broker yet"};
  }
  if (!has_all(now)) {
    return Error{"cluster.behind",
                 fmt::format("this node has applied the log up to sequence {} and read it up to "
                             "sequence {}; the broker has more, or the rest is not applied yet",
                             applied_, heard_)};
  }
  const bool knows_active =
      last_message_ && !has_ended_ && now - *last_message_ < settings_.takeover_after;
  if (knows_active) return std::nullopt;
  return Error{"cluster.no_active", "no node of the cluster is the active"};
}

}  // namespace millrace
