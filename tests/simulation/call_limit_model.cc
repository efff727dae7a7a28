#include "tests/simulation/call_limit_model.h"

#include <algorithm>

namespace millrace::call_limit_model {
namespace {

std::optional<TimePoint> after(TimePoint now, Duration time) {
  return time > Duration(0) ? std::optional(now + time) : std::nullopt;
}

}  // namespace

// What is seen.

std::string Model::status(const Instance& instance) const {
  if (instance.active() && instance.paused) return "paused";
  switch (instance.state) {
    case State::kWaiting:
      return "waiting";
    case State::kUndoing:
      return "running";
    case State::kComplete:
      return "complete";
    case State::kFailed:
      return "failed";
    case State::kCancelled:
      return "cancelled";
  }
  return "";
}

Key Model::slot_key(const Call& call) const {
  std::string key = call.limits.slot_keyed ? call.input.customer : "";
  if (fault_ == Fault::kSlotsPerWorkflow) key += std::to_string(call.workflow);
  return {call.limits.service, key};
}

Key Model::throttle_key(const Call& call) const {
  return {call.limits.service, call.limits.rate_keyed ? call.input.customer : ""};
}

Key Model::key_at(Stage stage, const Call& call) const {
  return stage == Stage::kSlot ? slot_key(call) : throttle_key(call);
}

int Model::held(const Key& key) const {
  return static_cast<int>(std::count_if(calls_.begin(), calls_.end(), [&](const Call& one) {
    return one.holds && slot_key(one) == key;
  }));
}

std::set<Key> Model::keys_at(Stage stage) const {
  std::set<Key> keys;
  for (const Call& one : calls_) {
    if (one.stage == stage) keys.insert(key_at(stage, one));
  }
  return keys;
}

int Model::rank_of(const Call& call) const {
  return call.limits.priority && fault_ != Fault::kNoPriority ? call.input.rank : 0;
}

/// Whether the documents leave open which of the two calls has its turn first.
bool Model::may_change_places(const Call& one, const Call& other) const {
  if (one.stage == Stage::kThrottle) {
    if (resumes_) return true;
    const bool comes_one = one.came == settled_;
    const bool comes_other = other.came == settled_;
    if (comes_one && comes_other && slot_key(one) != slot_key(other)) return true;
    if (comes_one != comes_other && was_taken(comes_one ? other : one)) return true;
  }
  const bool is_new = one.made == now_;
  const bool has_old = is_new != (other.made == now_) && was_taken(is_new ? other : one);
  if (has_old && (freed_at_ == now_ || is_permitted_from_now(one))) return true;
  if (one.made != other.made || one.instance == other.instance) return false;
  return is_new || rank_of(one) == rank_of(other);
}

/// Whether since this moment a call less counts for the throttle of the call.
bool Model::is_permitted_from_now(const Call& call) const {
  const auto found = passed_.find(throttle_key(call));
  return found != passed_.end() &&
         std::any_of(found->second.begin(), found->second.end(),
                     [&](TimePoint passed) { return passed + call.limits.period == now_; });
}

/// Whether the call has had its turn in the engine.
bool Model::was_taken(const Call& call) const {
  if (is_handed_out(call.input.order, call.attempt)) return true;
  return call.stage == Stage::kSlot && has_slot(static_cast<size_t>(&call - calls_.data()));
}

bool Model::goes_before(const Call& one, const Call& other) const {
  if (is_handed_out && may_change_places(one, other)) {
    const bool was_one = was_taken(one);
    if (was_one != was_taken(other)) return was_one;
    // The one with the lower limit would have had no turn after the other one.
    const bool is_slot = one.stage == Stage::kSlot;
    const int most_of_one = is_slot ? one.limits.slots : one.limits.rate;
    const int most_of_other = is_slot ? other.limits.slots : other.limits.rate;
    if (was_one && most_of_one != most_of_other) return most_of_one < most_of_other;
  }
  if (rank_of(one) != rank_of(other)) return rank_of(one) > rank_of(other);
  return fault_ == Fault::kNewestFirst ? one.place > other.place : one.place < other.place;
}

std::optional<size_t> Model::next_of(Stage stage, const Key& key) const {
  std::optional<size_t> next;
  for (size_t i = 0; i < calls_.size(); ++i) {
    const Call& one = calls_[i];
    if (one.stage != stage || key_at(stage, one) != key) continue;
    if (is_left_out(one) && fault_ != Fault::kPausedBlocks) continue;
    if (!next || goes_before(one, calls_[*next])) next = i;
  }
  return next;
}

bool Model::has_room(const Call& call) const {
  return held(slot_key(call)) < call.limits.slots + (fault_ == Fault::kOneSlotMore ? 1 : 0);
}

std::optional<TimePoint> Model::permitted_at(const Call& call) const {
  const auto found = passed_.find(throttle_key(call));
  const auto limit =
      static_cast<size_t>(call.limits.rate + (fault_ == Fault::kOneCallMore ? 1 : 0));
  if (found == passed_.end() || found->second.size() < limit) return std::nullopt;
  const TimePoint at = found->second[found->second.size() - limit] + call.limits.period;
  return at > now_ ? std::optional(at) : std::nullopt;
}

// Attempts.

void Model::start(size_t workflow, const std::vector<Input>& inputs) {
  const Limits& limits = workflows_[workflow];
  const size_t which = instances_.size();
  instances_.push_back({.order = inputs.front().order, .workflow = workflow});
  const bool is_detached = limits.shape == Shape::kDetached;
  if (is_detached) instances_[which].state = State::kComplete;
  if (limits.shape == Shape::kCompensation) {
    instances_[which].state = State::kUndoing;
    instances_[which].code = kCause;
  }
  const size_t first = calls_.size();
  for (const Input& input : inputs) {
    Call call{.input = input, .limits = limits, .workflow = workflow};
    if (!is_detached) {
      call.instance = which;
      instances_[which].calls.push_back(calls_.size());
    }
    call.stage = Stage::kBetween;
    calls_.push_back(std::move(call));
  }
  for (size_t i = first; i < calls_.size(); ++i) make_attempt(i);
  settle();
}

/// Whether the timeouts of an attempt that no worker has started count now.
bool Model::counts_time(const Call& call) const {
  if (is_left_out(call)) return false;
  return fault_ == Fault::kPauseIsNotHeld || !is_paused(call.limits.service);
}

/// The timeouts of the attempt begin in full, if they count.
void Model::arm(Call& call) {
  call.wait_end.reset();
  call.start_end.reset();
  call.run_end.reset();
  if (is_left_out(call)) return;
  if (call.started) {
    call.run_end = after(now_, call.limits.run_timeout);
    return;
  }
  if (!counts_time(call) && call.instance) return;
  if (call.stage == Stage::kSlot) call.wait_end = after(now_, call.limits.slot_timeout);
  if (call.stage == Stage::kThrottle) call.wait_end = after(now_, call.limits.rate_timeout);
  call.start_end = after(now_, call.limits.start_timeout);
}

void Model::make_attempt(size_t which) {
  Call& call = calls_[which];
  if (call.stage != Stage::kBetween) return;  // its instance has ended
  if (fault_ == Fault::kHoldsBetween) call.holds = false;
  ++call.attempt;
  call.made = now_;
  call.place = ++places_;
  call.started = false;
  call.retry_at.reset();
  const Limits& limits = call.limits;
  if (limits.slots > 0 && limits.slot_keyed && call.input.bad_customer)
    return end_attempt(which, "millrace.concurrency.key", true);
  if (limits.rate > 0 && limits.rate_keyed && call.input.bad_customer)
    return end_attempt(which, "millrace.throttle.key", true);
  if (limits.limited() && limits.priority && call.input.bad_rank)
    return end_attempt(which, "millrace.concurrency.priority", true);
  const bool is_free = (fault_ == Fault::kDetachedIsFree && !call.instance) ||
                       (fault_ == Fault::kUndoingIsFree && limits.shape == Shape::kCompensation);
  limits.slots > 0 && !is_free ? take_slot(which) : ask_throttle(which);
  arm(calls_[which]);
}

/// "A call takes a slot when its task is handed out. Without a free slot, the call waits."
void Model::take_slot(size_t which) {
  Call& call = calls_[which];
  const bool others_wait = next_of(Stage::kSlot, slot_key(call)).has_value();
  call.stage = Stage::kSlot;
  if (others_wait || is_paused(call.limits.service) || !has_room(call)) return;
  call.holds = true;
  ask_throttle(which);
}

/// "A call first gets its slot, and holds the slot while it waits for the throttle."
void Model::ask_throttle(size_t which) {
  Call& call = calls_[which];
  if (call.limits.rate == 0) return hand_out(which);
  const bool others_wait = next_of(Stage::kThrottle, throttle_key(call)).has_value();
  call.stage = Stage::kThrottle;
  call.came = gives_slots_ ? settled_ : 0;
  if (!others_wait && !resumes_ && !gives_slots_ && !is_paused(call.limits.service) &&
      !permitted_at(call))
    return pass_throttle(which);
  if (fault_ == Fault::kThrottleHoldsNot) call.holds = false;
}

void Model::pass_throttle(size_t which) {
  const Call& call = calls_[which];
  const bool counts = fault_ != Fault::kRetriesCountNot || call.attempt == 1;
  if (counts) passed_[throttle_key(call)].push_back(now_);
  hand_out(which);
}

void Model::hand_out(size_t which) {
  Call& call = calls_[which];
  call.wait_end.reset();
  if (!call.limits.limited() && is_paused(call.limits.service)) {
    call.stage = Stage::kHeld;
    return;
  }
  call.stage = Stage::kOut;
  handed_out_.emplace(call.input.order, call.attempt);
}

/// Lets the next calls of a stage pass. Returns whether one did.
bool Model::admit(Stage stage) {
  bool any = false;
  for (const Key& key : keys_at(stage)) {
    while (const auto next = next_of(stage, key)) {
      Call& call = calls_[*next];
      if (is_paused(call.limits.service) || is_left_out(call)) break;
      std::optional<size_t> passes = *next;
      if (stage == Stage::kSlot ? !has_room(call) : permitted_at(call).has_value()) passes.reset();
      for (size_t i = 0; fault_ == Fault::kOvertakes && !passes && i < calls_.size(); ++i) {
        const bool fits = calls_[i].stage == stage && stage == Stage::kSlot &&
                          slot_key(calls_[i]) == key && has_room(calls_[i]);
        if (fits && !is_left_out(calls_[i])) passes = i;
      }
      if (!passes) break;
      any = true;
      if (stage == Stage::kThrottle) {
        pass_throttle(*passes);
        continue;
      }
      calls_[*passes].holds = true;
      const auto start_end = calls_[*passes].start_end;
      gives_slots_ = true;
      ask_throttle(*passes);
      gives_slots_ = false;
      if (calls_[*passes].stage != Stage::kThrottle) continue;
      arm(calls_[*passes]);
      calls_[*passes].start_end = start_end;  // it counts since the attempt was made
    }
  }
  return any;
}

void Model::settle() {
  ++settled_;
  while (admit(Stage::kSlot) || admit(Stage::kThrottle)) {
  }
}

// Ends.

void Model::end_call(size_t which) {
  Call& call = calls_[which];
  if (call.holds || call.waits()) freed_at_ = now_;
  call.stage = Stage::kEnded;
  call.holds = false;
  call.wait_end.reset();
  call.start_end.reset();
  call.run_end.reset();
  call.retry_at.reset();
}

/// "A failure, a timeout, a lost heartbeat and a cancel free the slot. Between two attempts a call
/// holds none."
void Model::end_attempt(size_t which, const std::string& code, bool is_final) {
  const bool held = calls_[which].holds;
  end_call(which);
  Call& call = calls_[which];
  if (!call.instance) return;
  Instance& instance = instances_[*call.instance];
  if (instance.cancelling) return finish_cancel(*call.instance);
  if (!is_final && call.attempt < call.limits.attempts) {
    call.stage = Stage::kBetween;
    call.retry_at = now_ + call.limits.retry_delay;
    call.holds = held && fault_ == Fault::kHoldsBetween;
    return;
  }
  end_instance(*call.instance, State::kFailed, instance.state == State::kUndoing ? kCause : code);
}

void Model::end_instance(size_t which, State state, const std::string& code) {
  Instance& instance = instances_[which];
  instance.state = state;
  instance.code = code;
  instance.paused = false;
  instance.cancelling = false;
  for (const size_t call : instance.calls) end_call(call);
}

/// The call has a result that its instance takes.
void Model::finish(size_t which) {
  end_call(which);
  const size_t of = *calls_[which].instance;
  const Instance& instance = instances_[of];
  const bool is_over = std::none_of(instance.calls.begin(), instance.calls.end(),
                                    [&](size_t call) { return calls_[call].open(); });
  if (!is_over) return;
  const bool undoes = instance.state == State::kUndoing;
  end_instance(of, undoes ? State::kFailed : State::kComplete, undoes ? kCause : "");
}

void Model::finish_cancel(size_t which) {
  const Instance& instance = instances_[which];
  const bool is_over = std::none_of(instance.calls.begin(), instance.calls.end(),
                                    [&](size_t call) { return calls_[call].open(); });
  if (is_over) end_instance(which, State::kCancelled, "");
}

void Model::begin(size_t which) {
  Call& call = calls_[which];
  if (call.started) return;
  call.started = true;
  arm(call);
}

void Model::succeed(size_t which) {
  Call& call = calls_[which];
  const bool is_paused = is_left_out(call);
  if (!call.instance) {
    end_call(which);
  } else if (instances_[*call.instance].cancelling) {
    end_attempt(which, "");
  } else if (is_paused) {
    end_call(which);
    calls_[which].stage = Stage::kAnswered;
  } else {
    finish(which);
  }
  settle();
}

void Model::fail(size_t which, const std::string& code) {
  end_attempt(which, code);
  settle();
}

// Commands.

void Model::cancel(size_t which, bool now) {
  Instance& instance = instances_[which];
  if (now) {
    end_instance(which, State::kCancelled, "");
    return settle();
  }
  instance.cancelling = true;
  for (const size_t call : instance.calls) {
    Call& one = calls_[call];
    if (one.stage != Stage::kOut && one.stage != Stage::kHeld) {
      end_call(call);
    } else if (!one.started && is_paused(one.limits.service)) {
      one.start_end = after(now_, one.limits.start_timeout);
    }
  }
  finish_cancel(which);
  settle();
}

void Model::pause(size_t which) {
  Instance& instance = instances_[which];
  instance.paused = true;
  for (const size_t call : instance.calls) arm(calls_[call]);
  settle();
}

void Model::resume(size_t which) {
  Instance& instance = instances_[which];
  instance.paused = false;
  for (const size_t call : instance.calls) {
    Call& one = calls_[call];
    if (one.stage == Stage::kAnswered) {
      finish(call);
    } else if (one.stage == Stage::kBetween) {
      if (*one.retry_at <= now_) make_attempt(call);
    } else if (one.open()) {
      arm(one);
    }
  }
  settle();
}

void Model::pause_service(const std::string& service, bool paused) {
  if (paused) {
    paused_services_.insert(service);
  } else {
    paused_services_.erase(service);
  }
  for (size_t i = 0; i < calls_.size(); ++i) {
    Call& one = calls_[i];
    if (one.limits.service != service || !one.open() || one.started) continue;
    if (one.stage == Stage::kBetween || one.stage == Stage::kAnswered) continue;
    if (one.stage == Stage::kHeld && !paused) hand_out(i);
    const bool is_cancelled = one.instance && instances_[*one.instance].cancelling;
    if (one.instance && !is_cancelled && fault_ != Fault::kPauseIsNotHeld) arm(one);
  }
  resumes_ = !paused;
  settle();
  resumes_ = false;
}

}  // namespace millrace::call_limit_model
