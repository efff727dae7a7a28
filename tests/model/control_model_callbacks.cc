// Calls that their service has accepted: the acceptance, and the callbacks that answer them.
#include <algorithm>
#include <string>
#include <tuple>

#include "tests/model/control_model.h"

namespace millrace::reference {

// A call of the current state that is handed out and has no answer; null: the task is over.
Model::Call* Model::open_call(const std::string& handle) {
  if (phase_ != Phase::kLive) return nullptr;
  for (Call& c : calls_)
    if (std::to_string(c.serial) == handle && (c.at == At::kOffered || c.at == At::kTaken))
      return &c;
  return nullptr;
}

// An answer that came in the pause may already decide the state, which ends its other calls.
bool Model::knows_reply(const std::string& handle) const {
  return !running_after_cancel() && held_answers_.empty() && !open_replies_.contains(handle);
}

std::optional<Outcome> Model::given(const std::string& handle) const {
  const auto found = given_.find(handle);
  return found == given_.end() ? std::nullopt : std::optional(found->second);
}

// An acceptance proves that the attempt has started, and is a heartbeat.
void Model::accept(const std::string& handle) {
  Call* const c = open_call(handle);
  if (c == nullptr) return;
  count("acceptance");
  c->accepted = true;
  if (c->at == At::kOffered || has(Fault::kAcceptanceBeginsAnew)) {
    begin_attempt(*c);
  } else {
    heartbeat(handle);
  }
  if (has(Fault::kAcceptedNeedsNoBeat)) c->deadlines.erase(Limit::kHeartbeat);
  run_until_idle();
}

// All due actions come before this, so the callback about an open call is in time.
Reply Model::call_back(const std::string& handle, const Callback& callback) {
  Call* const c = open_call(handle);
  if (c == nullptr) return call_back_late(handle, callback);
  if (!held_answers_.empty()) open_replies_.insert(handle);
  if (callback.by_operator && !c->accepted && !has(Fault::kOperatorAnswersAny)) {
    count("an operator's answer to a task that is not accepted");
    return Reply::kConflict;
  }
  if (!callback.is_heartbeat) {
    count(callback.outcome.ok ? "callback complete" : "callback fail");
    given_[handle] = callback.outcome;
    c->at = At::kTaken;
    answer(handle, callback.outcome);
    return Reply::kAccepted;
  }
  count("callback heartbeat");
  if (callback.progress) count("callback heartbeat with progress");
  if (c->at == At::kOffered) begin_attempt(*c);
  if (callback.progress || has(Fault::kBareBeatDropsProgress)) c->progress = callback.progress;
  if (!has(Fault::kCallBackIsNoHeartbeat)) heartbeat(handle);
  run_until_idle();
  return Reply::kAccepted;
}

// The repetition of the callback that has ended a task is answered as that one was. What a
// cancelled instance still waits for is not known, so neither is the reply.
Reply Model::call_back_late(const std::string& handle, const Callback& callback) {
  if (running_after_cancel()) {
    open_replies_.insert(handle);
    const auto is_its = [&](const Call& c) { return std::to_string(c.serial) == handle; };
    const auto found = std::find_if(calls_.begin(), calls_.end(), is_its);
    const bool counts = found != calls_.end() && !callback.is_heartbeat &&
                        (found->accepted || !callback.by_operator);
    if (counts) answer(handle, callback.outcome);
    return Reply::kAccepted;
  }
  count("callback about a task that is over");
  if (has(Fault::kStaleKeyCounts) && !callback.is_heartbeat && !paused() &&
      phase_ == Phase::kLive) {
    for (Call& c : calls_) {
      const bool is_later = c.attempt > 1 && std::stoi(handle) < c.serial;
      if (!is_later || (c.at != At::kOffered && c.at != At::kTaken)) continue;
      apply(c, callback.outcome);
      run_until_idle();
      return Reply::kAccepted;
    }
  }
  const auto before = given(handle);
  if (callback.is_heartbeat || !before) return Reply::kConflict;
  const auto said = [](const Outcome& o) { return std::tie(o.ok, o.result, o.code, o.message); };
  const bool repeats = said(*before) == said(callback.outcome);
  if (repeats) count("repetition of a callback");
  if (has(Fault::kOtherAnswerIsTaken)) return Reply::kAccepted;
  return repeats && !has(Fault::kRepetitionIsRefused) ? Reply::kAccepted : Reply::kConflict;
}

}  // namespace millrace::reference
