#include "tests/simulation/queue_model.h"

#include <algorithm>
#include <utility>

namespace millrace::queue_model {
namespace {

using std::chrono::seconds;

/// Headings "Debounced starts": what `singular` does not permit "is tried again every 10 seconds".
constexpr Duration kTriedAgain = seconds(10);

constexpr const char* kMutex = "direktiv.mutex";
constexpr const char* kRateLimited = "millrace.rateLimit";
constexpr const char* kSkipped = "millrace.concurrency.skipped";

/// The first multiple of kTicks after that time.
TimePoint tick_after(TimePoint time) {
  const int64_t length = kTicks.count();
  return from_millis((to_millis(time) / length + 1) * length);
}

}  // namespace

Model::Model(Definition definition, TimePoint now, Fault fault)
    : definition_(definition), fault_(fault), now_(now), next_tick_(tick_after(now)) {}

// What is asked.

std::string Model::slot_key(const Start& start) const {
  return definition_.keyed ? start.customer : "";
}

std::string Model::rate_key(const Start& start) const {
  return definition_.rate_keyed ? start.customer : "";
}

std::optional<TimePoint> Model::permitted_at(const std::vector<TimePoint>& starts, int limit,
                                             Duration period) const {
  const auto most = static_cast<size_t>(limit);
  if (starts.size() < most) return std::nullopt;
  const TimePoint at = starts[starts.size() - most] + period;
  return at > now_ ? std::optional(at) : std::nullopt;
}

std::optional<TimePoint> Model::rate_permits_at(const Start& start) const {
  const auto found = starts_.find(rate_key(start));
  if (definition_.rate_limit == 0 || found == starts_.end()) return std::nullopt;
  return permitted_at(found->second, definition_.rate_limit, definition_.rate_period);
}

int Model::held(const std::string& key) const {
  return static_cast<int>(
      std::count_if(instances_.begin(), instances_.end(), [&](const Instance& one) {
        return one.state == State::kHolding && slot_key(one.start) == key;
      }));
}

bool Model::has_room(const std::string& key) const {
  return held(key) < definition_.limit + (fault_ == Fault::kOneSlotMore ? 1 : 0);
}

std::vector<size_t> Model::queue(const std::string& key) const {
  std::vector<size_t> all;
  for (size_t i = 0; i < instances_.size(); ++i) {
    const Instance& one = instances_[i];
    if (one.state == State::kQueued && slot_key(one.start) == key) all.push_back(i);
  }
  std::sort(all.begin(), all.end(), [&](size_t a, size_t b) {
    const Instance& first = instances_[a];
    const Instance& second = instances_[b];
    return goes_before(first.start, first.place, second.start, second.place);
  });
  return all;
}

bool Model::goes_before(const Start& one, uint64_t place, const Start& other,
                        uint64_t other_place) const {
  const bool has_ranks = definition_.priority && fault_ != Fault::kNoPriority;
  if (has_ranks && one.rank != other.rank) return one.rank > other.rank;
  return fault_ == Fault::kNewestFirst ? place > other_place : place < other_place;
}

std::string Model::status(size_t which) const {
  const Instance& one = instances_[which];
  if (one.active() && is_paused(which)) return "paused";
  switch (one.state) {
    case State::kQueued:
      return "pending";
    case State::kHolding:
      return one.throttled ? "pending" : "waiting";
    case State::kComplete:
      return "complete";
    case State::kFailed:
      return "failed";
    case State::kCancelled:
      return "cancelled";
  }
  return "";
}

std::set<std::string> Model::slot_refusals(const Start& start) const {
  std::set<std::string> codes;
  const bool is_active = std::any_of(instances_.begin(), instances_.end(),
                                     [](const Instance& one) { return one.active(); });
  if (definition_.singular && is_active) codes.insert(kMutex);
  if (definition_.limit == 0 || has_room(slot_key(start))) return codes;
  if (definition_.on_limit == OnLimit::kReject) codes.insert("millrace.concurrency.limit");
  if (definition_.on_limit == OnLimit::kSkip) codes.insert(kSkipped);
  return codes;
}

std::set<std::string> Model::refusals(const Start& start) const {
  if (start.bad_customer) return {"millrace.startKey"};
  if (start.bad_rank) return {"millrace.concurrency.priority"};
  std::set<std::string> codes = slot_refusals(start);
  if (rate_permits_at(start)) codes.insert(kRateLimited);
  return codes;
}

// Starts.

Answer Model::request(const Start& start) {
  if (start.by == By::kSubflow) callers_[start.order] = {};
  Answer answer;
  if (const auto permitted = rate_permits_at(start)) {
    // `Retry-After` "has the seconds until the next start of the key is permitted, rounded up".
    answer.retry_after =
        static_cast<uint32_t>((*permitted - now_ + seconds(1) - Duration(1)) / seconds(1));
  }
  if (definition_.debounced() || definition_.batched()) {
    // "`rateLimit` comes first: a request is refused if the limit is used up".
    if (!rate_permits_at(start)) return definition_.batched() ? join_batch(start) : put_off(start);
    answer.refused = {kRateLimited};
  } else {
    answer.refused = refusals(start);
  }
  if (answer.refused.empty()) {
    create(start, -1);
    return answer;
  }
  if (fault_ == Fault::kRefusalsCount) starts_[rate_key(start)].push_back(now_);
  if (start.by == By::kEvent && (start.bad_customer || start.bad_rank)) ++dead_letters_;
  // "skip: the call returns null at once".
  std::set<std::string> ends = answer.refused;
  if (ends.erase(kSkipped) > 0) ends.insert("");
  answer_caller(start, std::move(ends));
  return answer;
}

Answer Model::put_off(const Start& start) {
  const std::string key = definition_.debounce_keyed ? start.customer : "";
  const auto known = pending_.find(key);
  Pending next{.start = start};
  if (known == pending_.end()) {
    next.chain = ++chains_;
    if (definition_.debounce_timeout > Duration(0))
      next.latest = now_ + definition_.debounce_timeout;
  } else {
    answer_caller(known->second.start, {"millrace.debounced"});
    if (fault_ == Fault::kFirstInputCounts) next.start = known->second.start;
    next.chain = known->second.chain;
    next.latest = known->second.latest;
    next.has_subflow = known->second.has_subflow;
  }
  next.has_subflow = next.has_subflow || start.by == By::kSubflow;
  next.at = now_ + definition_.debounce_period;
  if (next.latest) next.at = std::max(now_, std::min(next.at, *next.latest));
  pending_[key] = next;
  const Answer answer{
      .put_off = true, .starts_at = next.at, .chain = next.chain, .has_subflow = next.has_subflow};
  if (next.at <= now_) try_pending(key);
  return answer;
}

void Model::try_pending(const std::string& key) {
  Pending& one = pending_.at(key);
  std::set<std::string> codes = slot_refusals(one.start);
  // With `batch`, `rateLimit` "counts each request, not each instance".
  const auto permitted = definition_.batched() ? std::nullopt : rate_permits_at(one.start);
  const bool is_singular = codes.contains(kMutex);
  if (codes.empty() && !permitted) {
    const Pending started = one;
    pending_.erase(key);
    return create(started.start, started.chain);
  }
  if ((is_singular || permitted) && one.start.by != By::kSubflow) {
    // "If the limit is used up then, the start waits until the limit permits it."
    one.at = permitted.value_or(now_ + kTriedAgain);
    return;
  }
  // "A subflow fails with that error instead." With `reject` and `skip`, the start is given up.
  if (permitted && !is_singular) codes = {kRateLimited};
  if (codes.erase(kSkipped) > 0) codes.insert("");
  answer_caller(one.start, std::move(codes));
  pending_.erase(key);
}

void Model::create(const Start& start, int chain) {
  const std::string key = slot_key(start);
  if (definition_.rate_limit > 0 && !definition_.batched())
    starts_[rate_key(start)].push_back(now_);
  const bool has_slots = definition_.limit > 0;
  const bool queues = definition_.queues();
  // In a pause, starts may wait for a slot that is free.
  const bool is_free = !has_slots || (has_room(key) && (!queues || queue(key).empty()));
  if (!is_free && definition_.on_limit == OnLimit::kReplace) replace_oldest(key);
  const size_t which = instances_.size();
  instances_.push_back({.start = start, .began = now_, .place = ++places_, .chain = chain});
  if (queues && !is_free) {
    instances_[which].waited = true;
    begin_wait(which);
  } else {
    hold(which);
  }
}

void Model::replace_oldest(const std::string& key) {
  std::optional<size_t> oldest;
  for (size_t i = 0; i < instances_.size(); ++i) {
    const Instance& one = instances_[i];
    if (one.state != State::kHolding || slot_key(one.start) != key) continue;
    if (!oldest || one.held_since < instances_[*oldest].held_since) oldest = i;
  }
  if (oldest) end(*oldest, State::kCancelled, "millrace.concurrency.replaced");
}

/// It has its slot, or needs none. "A start first gets its slot", and meets the throttle last.
void Model::hold(size_t which, bool is_start) {
  Instance& one = instances_[which];
  one.state = State::kHolding;
  one.held_since = ++places_;
  if (is_start && definition_.throttled()) return ask_throttle(which);
  begin_wait(which);
}

Duration Model::length_of_wait(const Instance& one) const {
  if (one.state == State::kQueued) return definition_.queue_timeout;
  return one.throttled ? definition_.throttle_timeout : definition_.body_timeout;
}

/// The wait in the queue, for the throttle, or of its state begins in full.
void Model::begin_wait(size_t which) {
  Instance& one = instances_[which];
  const Duration time = length_of_wait(one);
  one.deadline.reset();
  if (time > Duration(0) && !is_paused(which)) one.deadline = now_ + time;
}

// Ends.

void Model::end(size_t which, State state, const std::string& code) {
  Instance& one = instances_[which];
  one.state = state;
  one.code = code;
  one.deadline.reset();
  one.paused = false;
  one.gone = false;
  one.throttled = false;
  const bool by_operator = state == State::kCancelled && code.empty();
  answer_caller(one.start, {by_operator ? "*" : code});
  if (!by_operator || fault_ != Fault::kForgetsAfterCancel) admit(slot_key(one.start));
}

void Model::admit(const std::string& key) {
  if (definition_.limit == 0 || workflow_paused_) return;
  for (const size_t next : queue(key)) {
    if (!has_room(key)) return;
    hold(next);
  }
}

void Model::admit_all() {
  std::set<std::string> keys;
  for (const Instance& one : instances_) keys.insert(slot_key(one.start));
  for (const std::string& key : keys) admit(key);
}

void Model::answer_caller(const Start& start, std::set<std::string> ends) {
  if (start.by != By::kSubflow) return;
  Caller& caller = callers_.at(start.order);
  if (!caller.waits) return;
  caller.waits = false;
  caller.ends = std::move(ends);
}

void Model::go(const std::string& order) {
  std::vector<size_t> listening;
  for (size_t i = 0; i < instances_.size(); ++i) {
    const Instance& one = instances_[i];
    if (one.runs() && awaited_order(one.start.order) == order) listening.push_back(i);
  }
  // "An event that comes before is not for it": not for those that get a slot by these ends.
  for (const size_t which : listening) {
    if (is_paused(which)) {
      instances_[which].gone = true;
    } else {
      end(which, State::kComplete, "");
    }
  }
}

// Commands.

void Model::cancel(size_t which) { end(which, State::kCancelled, ""); }

void Model::cancel_caller(const std::string& order) {
  Caller& caller = callers_.at(order);
  caller.waits = false;
  caller.cancelled = true;
  for (size_t i = 0; i < instances_.size(); ++i) {
    const Instance& one = instances_[i];
    if (one.active() && one.start.by == By::kSubflow && one.start.order == order) cancel(i);
  }
}

void Model::pause(size_t which) {
  instances_[which].paused = true;
  instances_[which].deadline.reset();
}

void Model::resume(size_t which) {
  if (!instances_[which].paused) return;
  instances_[which].paused = false;
  if (workflow_paused_) return;
  unpause(which);
  release(throttle_key(instances_[which].start));
}

void Model::unpause(size_t which) {
  if (!instances_[which].active()) return;
  if (instances_[which].gone) return end(which, State::kComplete, "");
  begin_wait(which);
}

void Model::pause_workflow(bool paused) {
  if (workflow_paused_ == paused) return;
  workflow_paused_ = paused;
  if (paused) {
    for (Instance& one : instances_) one.deadline.reset();
    return;
  }
  for (Instance& one : instances_) one.paused = false;
  for (size_t i = 0; i < instances_.size(); ++i) unpause(i);
  admit_all();
  release_all();
}

std::set<std::string> Model::restart(size_t which) {
  const Start start = instances_[which].start;
  const bool is_active = std::any_of(instances_.begin(), instances_.end(),
                                     [](const Instance& one) { return one.active(); });
  if (definition_.singular && is_active) return {kMutex};
  if (definition_.limit > 0 && !has_room(slot_key(start))) return {"millrace.concurrency.limit"};
  instances_[which].code.clear();
  hold(which, false);  // "neither wait nor count"
  return {};
}

void Model::set_limit(int limit) {
  definition_.limit = limit;
  admit_all();
}

// Time.

std::optional<Model::Due> Model::next() const {
  std::optional<Due> first;
  const auto offer = [&](Due due) {
    if (!first || due.at < first->at) first = std::move(due);
  };
  for (size_t i = 0; i < instances_.size(); ++i) {
    const Instance& one = instances_[i];
    if (one.active() && one.deadline) offer({.at = *one.deadline, .which = i});
  }
  for (const auto& [key, one] : pending_) {
    const bool is_tie = first && first->at == one.at && has_started;
    if (is_tie && comes_before(one, *first)) first.reset();
    offer({.at = one.at, .what = What::kPending, .key = key});
  }
  for (const std::string& key : throttle_keys())
    offer({.at = throttle_permits_at(key).value_or(now_), .what = What::kRelease, .key = key});
  if (definition_.start == StartType::kScheduled) offer({.at = next_tick_, .what = What::kTick});
  return first;
}

/// Whether the engine has looked at a pending start before what is due at the same time.
bool Model::comes_before(const Pending& one, const Due& other) const {
  const bool is_started = has_started(one.start.order, one.at);
  if (other.what == What::kPending) return is_started;
  // It has found no free slot, or has taken that of an instance which would have kept it.
  return !is_started || std::any_of(instances_.begin(), instances_.end(), [&](const Instance& in) {
    return in.active() && is_replaced(in.start.order);
  });
}

std::optional<TimePoint> Model::next_due() const {
  const auto due = next();
  return due ? std::optional(due->at) : std::nullopt;
}

void Model::advance(TimePoint to, bool dead) {
  if (dead) now_ = to;
  for (auto due = next(); due && due->at <= to; due = next()) {
    now_ = std::max(now_, due->at);
    happen(*due);
  }
  now_ = to;
}

void Model::time_out(size_t which) {
  const Instance& one = instances_[which];
  std::string code = "direktiv.stateTimeout";
  if (one.state == State::kQueued) code = "millrace.concurrency.timeout";
  if (one.throttled) code = "millrace.throttle.timeout";
  end(which, State::kFailed, code);
}

void Model::happen(const Due& due) {
  switch (due.what) {
    case What::kDeadline:
      return time_out(due.which);
    case What::kPending:
      return try_pending(due.key);
    case What::kRelease:
      return release(due.key);
    case What::kTick:
      next_tick_ = tick_after(now_);
      request({.by = By::kTick, .order = kTickOrder});
  }
}

}  // namespace millrace::queue_model
