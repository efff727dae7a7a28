// The compensations of an instance, and its end, which they precede.
#include <algorithm>
#include <utility>

#include "tests/model/control_model.h"

namespace millrace::reference {

// Whether each call of the current state that has succeeded is undone by itself.
bool Model::notes_each_call() const {
  const State& s = current();
  return s.undo && (s.kind == Kind::kForeach || s.kind == Kind::kParallel);
}

// Notes the compensation of the current state, with the data before its transform.
void Model::note() {
  if (!current().undo) return;
  count("compensation noted");
  notes_.push_back({state_, data_});
}

// Whether an end with that status makes the compensations first.
Model::Demand Model::demand(const std::string& status) const {
  if (notes_.empty() || status == "complete") return Demand::kNo;
  // Between two runs, the documents do not say of which run a compensation is.
  if (phase_ == Phase::kBetweenRuns) return Demand::kOpen;
  if (definition_.compensates) return Demand::kYes;
  if (in_on_failure_ && definition_.on_failure_compensates) return Demand::kYes;
  if (!error_state_ || !definition_.find(error_state_id_)->compensates) return Demand::kNo;
  // The documents do not say whether the error of the state is that of another end.
  return status == "failed" ? Demand::kYes : Demand::kOpen;
}

Model::Ending Model::ending(const std::string& status, const std::string& code,
                            const std::string& message) const {
  const bool run_known = phase_ == Phase::kLive;
  return {status, code, error_state_ ? "" : message, run_known,
          run_known && !held_event_ && !pending_};
}

void Model::end(const std::string& status, const std::string& code, const std::string& message) {
  if (undoing_) return stop_undoing();  // only by a fault
  if (held_event_ && current().undo) doubt("whether a state with a held event is undone");
  const Demand demanded = demand(status);
  if (demanded == Demand::kOpen) doubt("whether, or in which run, this end makes compensations");
  if (demanded == Demand::kYes) return begin_undoing(ending(status, code, message));
  end_at_once(ending(status, code, message));
}

void Model::end_at_once(const Ending& ending) {
  count("ends " + ending.status.substr(0, ending.status.find('|')));
  status_ = ending.status;
  code_ = ending.code;
  message_ = ending.message;
  run_known_ = ending.run_known;
  data_known_ = ending.data_known;
  phase_ = Phase::kEnded;
  calls_.clear();
  state_deadline_.reset(), wake_at_.reset();
  state_retry_at_ = next_run_at_ = {};
  pending_.reset();
  held_answers_.clear();
  held_at_.reset();
  held_event_.reset();
  kept_events_.clear();
  paused_ = false;
  undoing_.reset();
  undoing_waits_ = is_cancelling_ = false;
  if (status_ == "complete" && !has(Fault::kCompletionKeepsNotes)) notes_.clear();
}

// Makes the compensations before the end. A paused instance stays paused, and makes the first one
// after the resume.
void Model::begin_undoing(const Ending& ending) {
  count("compensations before the end " + ending.status.substr(0, ending.status.find('|')));
  undoing_ = ending;
  phase_ = Phase::kLive;
  per_attempt_ = undo_failed_ = false;
  calls_.clear();
  state_deadline_.reset(), wake_at_.reset();
  state_retry_at_ = next_run_at_ = {};
  pending_.reset();
  held_answers_.clear();
  held_event_.reset();
  kept_events_.clear();
  if (paused()) {
    undoing_waits_ = true;
    count("compensations wait for the resume");
  } else {
    undo_next();
  }
}

// Makes the newest compensation; without one, ends the instance.
void Model::undo_next() {
  if (notes_.empty()) return end_at_once(*undoing_);
  if (has(Fault::kUndoesOldestFirst) && notes_.size() > 1) std::swap(notes_.front(), notes_.back());
  calls_.clear();
  Call c;
  c.serial = ++serial_;
  c.action = &*definition_.find(notes_.back().state)->undo;
  c.input = notes_.back().input;
  calls_.push_back(c);
  offer(calls_.back());
}

void Model::undone() {
  count("compensation made");
  notes_.pop_back();
  undo_next();
}

void Model::undoing_failed() {
  count("compensation failed for good");
  undo_failed_ = true;
  stop_undoing();
}

void Model::stop_undoing() {
  const Ending ending = *undoing_;
  end_at_once(ending);
}

// The policy of a call. Those of a state and its action do not apply to its compensation.
std::optional<Policy> Model::policy_of_call(const Call& call) const {
  if (!undoing_) return policy_of(definition_, current(), *call.action);
  const State& undone = *definition_.find(notes_.back().state);
  if (!call.action->retry && has(Fault::kStateRetriesUndoing) && !undone.actions.empty())
    return policy_of(definition_, undone, undone.actions[0]);
  return policy_of(definition_, State(), *call.action);
}

// Commands.

std::optional<Reply> Model::would_cancel() const {
  const bool live = phase_ != Phase::kEnded;
  // The documents leave a second cancel open, except that of compensations.
  if (status_ == "cancelled" && !live) return std::nullopt;
  if (!live) return Reply::kConflict;
  if (undoing_) return Reply::kAccepted;
  const bool is_undone = std::any_of(definition_.states.begin(), definition_.states.end(),
                                     [](const State& s) { return s.undo.has_value(); });
  if (!is_undone) return Reply::kAccepted;
  // The documents leave open whether a cancel ends the pause, and when a task ends that no worker
  // takes.
  const bool waits_for_worker =
      std::any_of(calls_.begin(), calls_.end(), [](const Call& c) { return c.at == At::kOffered; });
  if (paused() || waits_for_worker || demand("cancelled") == Demand::kOpen) return std::nullopt;
  return Reply::kAccepted;
}

// An action with a worker finishes; an action without a worker may end at once. A second cancel
// stops the compensations.
void Model::cancel() {
  if (undoing_) {
    count("a cancel stops the compensations");
    undo_failed_ = true;
    return stop_undoing();
  }
  std::vector<Call> running = calls_;
  std::erase_if(running, [](const Call& c) { return c.at != At::kTaken && c.at != At::kOffered; });
  if (running.empty()) return end("cancelled", "");
  const bool undoes = demand("cancelled") == Demand::kYes || current().undo;
  end_at_once(ending("cancelled", "", {}));
  calls_ = running;
  is_cancelling_ = undoes;
}

std::optional<Reply> Model::would_compensate(bool past) const {
  if (phase_ != Phase::kEnded || notes_.empty()) return Reply::kConflict;
  if (past && !undo_failed_) return Reply::kConflict;
  // The documents leave open what the pause of the workflow holds, and what a status that is open
  // becomes.
  if (workflow_paused_ || status_.find('|') != std::string::npos) return std::nullopt;
  return Reply::kAccepted;
}

void Model::compensate(bool past) {
  if (past) notes_.pop_back();
  count(past ? "compensate --past" : "compensate");
  begin_undoing({status_, code_, message_, run_known_, data_known_});
}

}  // namespace millrace::reference
