#include "orchestrator/batch/start_decision.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "orchestrator/batch/pending_starts.h"
#include "orchestrator/batch/start_rates.h"

namespace millrace {
namespace {

/// How deep the inputs of a batch of starts nest inside the input of its instance.
constexpr size_t kLevelsAround = 2;

void refuse_start(StartGate& gate, Error refusal, LimitKind asked) {
  gate.limit = limit_of(refusal, asked);
  gate.refusal = std::move(refusal);
}

/// Evaluates the key and the priority of a start, and finds out whether a slot is free or the start
/// may wait for one.
Status decide_slot(StartQuestions& ask, TimePoint now, const WorkflowEntry& entry,
                   const Workflow& workflow, const LazyJson& input, StartGate& gate) {
  auto slot = evaluate_slot(workflow, input, now);
  if (!slot) {
    refuse_start(gate, slot.error(),
                 workflow.concurrency ? LimitKind::kConcurrency : LimitKind::kThrottle);
    return {};
  }
  gate.place.slot = *std::move(slot);
  if (!gate.place.slot || TRY(ask.has_slot(*gate.place.slot))) return {};
  gate.limit = LimitKind::kConcurrency;
  using enum Concurrency::OnLimit;
  switch (workflow.concurrency->on_limit) {
    case kReplace:
      return {};
    case kReject:
    case kSkip:
      gate.is_dropped = workflow.concurrency->on_limit == kSkip;
      gate.refusal = no_slot(
          entry.id, workflow, *gate.place.slot,
          {.code = gate.is_dropped ? "millrace.concurrency.skipped" : "millrace.concurrency.limit",
           .then = "start it again",
           .holder = TRY(ask.holder(*gate.place.slot))});
      gate.effect = EventEffect::Kind::kSkipped;
      return {};
    case kQueue:
      break;
  }
  if (auto over = TRY(ask.over_queue()))
    refuse_start(gate, *std::move(over), LimitKind::kConcurrency);
  return {};
}

/// Evaluates the key of a start, and finds out whether the start may begin or may wait.
Status decide_throttle(StartQuestions& ask, TimePoint now, const WorkflowEntry& entry,
                       const Workflow& workflow, const LazyJson& input, StartGate& gate) {
  if (!workflow.throttle) return {};
  auto throttled = evaluate_throttled(workflow, input, now);
  if (!throttled) {
    refuse_start(gate, throttled.error(), LimitKind::kThrottle);
    return {};
  }
  gate.place.throttled = *std::move(throttled);
  const SlotKey key = throttle_key_of(entry.number, gate.place.throttled->key);
  if (auto over = TRY(ask.over_throttle_keys(key))) {
    refuse_start(gate, *std::move(over), LimitKind::kThrottle);
    return {};
  }
  if (TRY(ask.is_permitted(key))) return {};
  // A start that waits for a slot waits for that first.
  if (!gate.limit) gate.limit = LimitKind::kThrottle;
  if (auto over = TRY(ask.over_queue())) refuse_start(gate, *std::move(over), LimitKind::kThrottle);
  return {};
}

}  // namespace

Result<StartGate> decide_start(StartQuestions& ask, TimePoint now, const WorkflowEntry& entry,
                               const Workflow& workflow, const LazyJson& input, bool has_counted) {
  StartGate gate;
  if (workflow.singular && TRY(ask.is_live())) {
    refuse_start(gate, not_single(entry.id), LimitKind::kSingular);
    gate.effect = EventEffect::Kind::kSkipped;
    return gate;
  }
  if (auto over = TRY(ask.over_quota())) {
    refuse_start(gate, *std::move(over), LimitKind::kQuota);
    return gate;
  }
  if (has_flow_control(workflow)) {
    if (!has_counted) {
      if (auto over = TRY(ask.over_rate()))
        refuse_start(gate, *std::move(over), LimitKind::kRateLimit);
    }
    if (!gate.refusal) TRY(decide_slot(ask, now, entry, workflow, input, gate));
    if (!gate.refusal) TRY(decide_throttle(ask, now, entry, workflow, input, gate));
  }
  // A start that another limit refuses does not count.
  if (!gate.refusal && !has_counted) {
    if (auto over = TRY(ask.take_rate()))
      refuse_start(gate, *std::move(over), LimitKind::kRateLimit);
  }
  if (gate.refusal && gate.refusal->code == kRateLimitError) {
    gate.effect = EventEffect::Kind::kRateLimited;
  }
  return gate;
}

Result<std::optional<Error>> refusal_of_request(StartQuestions& ask, const Workflow& workflow,
                                                bool is_new) {
  if (auto over = TRY(ask.over_rate())) return over;
  if (auto over = TRY(ask.over_bytes())) return over;
  if (is_new) {
    if (auto over = TRY(ask.over_pending_keys())) return over;
  }
  if (workflow.batch) return ask.take_rate();
  return std::optional<Error>();
}

LimitKind limit_of(const Error& refusal, LimitKind asked) {
  return refusal.code.starts_with("millrace.quota.") ? LimitKind::kQuota : asked;
}

Error not_single(std::string_view workflow) {
  return {
      "direktiv.mutex",
      fmt::format("workflow \"{}\" is singular, and an instance of it has not ended", workflow)};
}

std::string of_slot_key(const Slot& slot) {
  return slot.key.empty() ? std::string() : fmt::format(" of the key {}", slot.key);
}

Result<std::optional<InstanceId>> oldest_holder(const View& view, WorkflowNumber workflow,
                                                const Slot& slot) {
  const auto first = TRY(read_first_place(view, QueueRow::kHolder, slot_key_of(workflow, slot.key),
                                          [](const Error&) {}));
  return first ? std::optional(first->instance) : std::nullopt;
}

Error no_slot(std::string_view workflow_id, const Workflow& workflow, const Slot& slot,
              const WithoutSlot& without) {
  const std::string holder =
      without.holder ? fmt::format(", such as {}", to_string(*without.holder)) : "";
  return {std::string(without.code),
          fmt::format("workflow \"{}\" has no free slot{}: as many instances as its "
                      "`concurrency.limit` of {} have not ended{}; {} when one has ended",
                      workflow_id, of_slot_key(slot), workflow.concurrency->limit, holder,
                      without.then)};
}

TimePoint debounced_until(const Debounce& debounce, TimePoint first, TimePoint now) {
  const TimePoint at = debounce.period.after(now);
  return debounce.timeout ? std::max(now, std::min(at, debounce.timeout->after(first))) : at;
}

bool has_space_for(const PendingStart& open, size_t bytes) {
  return open.batch && !open.batch->is_over && open.batch->bytes + bytes + 1 <= kMostBatchBytes;
}

std::optional<Error> refusal_of_batched(const LazyJson& input) {
  if (!input.nests_deeper(kMaxJsonDepth - kLevelsAround)) return std::nullopt;
  return Error{"millrace.limits.data",
               fmt::format("the input nests more than {} deep, so it cannot be a part of a batch; "
                           "start the workflow with data that nests less",
                           kMaxJsonDepth - kLevelsAround)};
}

}  // namespace millrace
