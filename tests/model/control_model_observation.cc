// The observation of the model, and the values that the model takes over from the subject.
#include <algorithm>
#include <utility>

#include "tests/model/control_model.h"

namespace millrace::reference {

namespace {

bool has_ended(const std::string& status) {
  return one_of(status, "complete|failed|cancelled|timedout");
}

}  // namespace

// A model that replaces an engine shows one of the right values.
void Model::choose() {
  for (std::string* text : {&failed_state_, &status_, &code_}) {
    std::vector<std::string> all(1);
    for (const char c : *text)
      if (c == '|')
        all.emplace_back();
      else
        all.back() += c;
    *text = all[seed_ % all.size()];
  }
}

Observation Model::observe() {
  Observation o;
  if (dead_) return o;
  if (seed_ != 0 && phase_ == Phase::kEnded) choose();
  o.run = run_;
  o.calls = offered_;
  if (!running_after_cancel() && held_answers_.empty()) o.tasks = tasks();
  if (!running_after_cancel() && !paused() && !held_event_)
    o.notes = static_cast<int>(notes_.size());
  if (phase_ == Phase::kEnded) {
    o.status = running_after_cancel() ? status_after_cancel() : status_;
    if (running_after_cancel()) return o;
    if (!run_known_) o.run.reset();
    if (data_known_) o.data = data_;
    o.undo_failed = undo_failed_;
    if (code_ != "?" && status_ != "cancelled") o.error_code = code_;
    if (!message_.empty()) o.error_message = message_;
    if (status_ == "complete")
      o.failed_state = "";
    else if (status_ != "cancelled")
      o.failed_state = failed_state_;
    o.next_retry_at = Interval{};
    return o;
  }

  std::vector<Ms> deadlines;
  for (const Due& d : dues(true))
    if (d.rank < 9) deadlines.push_back(d.at);
  if (!paused()) o.deadline = deadlines;
  // An answer that ends the instance may end it already in the pause.
  if (!workflow_paused_ && held_answers_.empty()) o.paused = paused_;
  if (undoing_) {
    if (!undoing_->run_known) o.run.reset();
    if (undoing_->data_known && held_answers_.empty()) o.data = data_;
    if (held_answers_.empty()) o.status = paused() ? "paused" : "running";
    if (paused() || calls_.empty()) return o;
    o.next_retry_at = calls_[0].at == At::kResting ? calls_[0].retry_at : Interval{};
    return o;
  }
  if (phase_ == Phase::kBetweenRuns) {
    o.status = paused() ? "paused|waiting|pending" : "waiting";
    o.run.reset();  // the run that failed, or the next one
    if (!paused()) o.next_retry_at = next_run_at_;
    return o;
  }
  if (pending_) {
    o.status = "pending|paused";
    return o;
  }
  o.state = state_;
  if (paused()) o.status = "paused|running|waiting|pending";
  if (!held_answers_.empty()) o.status.reset();  // the instance may have ended already
  if (held_answers_.empty() && !held_event_) o.data = data_;
  if (!held_answers_.empty()) o.state.reset();
  if (paused()) return o;

  std::vector<Interval> waits;
  for (const Call& c : calls_)
    if (c.at == At::kResting) waits.push_back(c.retry_at);
  if (state_retry_at_.low >= 0) waits.push_back(state_retry_at_);
  if (waits.size() < 2) o.next_retry_at = waits.empty() ? Interval{} : waits[0];
  const bool in_flight = std::any_of(calls_.begin(), calls_.end(), [](const Call& c) {
    return c.at == At::kOffered || c.at == At::kTaken;
  });
  o.status = in_flight ? "running|waiting|pending" : "waiting";
  if (in_flight && current().kind == Kind::kAction) o.attempt = calls_[0].attempt;
  return o;
}

// Takes over values of the subject that the documents define only as intervals. Call it after the
// comparison.
void Model::adopt(const Observation& subject) {
  const auto narrow = [&](Interval& mine) {
    if (mine.low == mine.high || !subject.next_retry_at) return;
    const Ms at = subject.next_retry_at->low;
    if (at >= mine.low && at <= mine.high) mine = {at, at};
  };
  for (Call& c : calls_) narrow(c.retry_at);
  narrow(state_retry_at_);
  narrow(next_run_at_);
  const auto choose = [](std::string& mine, const std::optional<std::string>& theirs) {
    if (theirs && one_of(*theirs, mine)) mine = *theirs;
  };
  if (!held_answers_.empty() && subject.status && has_ended(*subject.status)) {
    // The answers that came during the pause have ended the instance. The end of an instance is not
    // new work, so the system under test (the Subject) may end the instance before the resume.
    paused_ = false;
    const bool workflow_paused = std::exchange(workflow_paused_, false);
    resume_current();
    workflow_paused_ = workflow_paused;
  }
  if (phase_ != Phase::kEnded) return;
  const auto is_taken = [](const Call& c) { return c.at == At::kTaken; };
  if (subject.status == "cancelled" && std::none_of(calls_.begin(), calls_.end(), is_taken)) {
    calls_.clear();
  }
  choose(failed_state_, subject.failed_state);
  if (!running_after_cancel()) choose(status_, subject.status);
  choose(code_, subject.error_code);
}

}  // namespace millrace::reference
