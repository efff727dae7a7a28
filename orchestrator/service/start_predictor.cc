#include "orchestrator/service/start_predictor.h"

#include <utility>
#include <vector>

#include "base/bytes.h"
#include "model/start_rate.h"
#include "orchestrator/batch/pending_starts.h"
#include "orchestrator/batch/start_decision.h"
#include "orchestrator/batch/start_rates.h"
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/engine/runs.h"
#include "orchestrator/service/undamaged.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/index_rows.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/rows/start_rate_rows.h"
#include "states/start_key.h"

namespace millrace {
namespace {

/// The counts; none of a damaged row.
Result<SlotCounts> counts_in(const View& view, const SlotKey& key) {
  auto read = read_slot_counts(view, key);
  if (read || !is_damaged_row(read.error())) return read;
  return SlotCounts();
}

void skip_damaged_place(const Error&) {}

/// How many starts that wait with the key come before one with that priority; nullopt: more than
/// StartPredictor::kMostBefore.
Result<std::optional<uint64_t>> starts_before(const View& view, const SlotKey& key,
                                              int32_t priority) {
  uint64_t before = 0;
  TRY(each_slot_place(
      view, waiting_kind(key), key,
      [&](const SlotPlace& one) {
        return one.priority >= priority && ++before <= StartPredictor::kMostBefore;
      },
      skip_damaged_place));
  return before <= StartPredictor::kMostBefore ? std::optional(before) : std::nullopt;
}

std::optional<Error> refused_if(bool is_over, Quota quota, const QuotaLimits& limits) {
  return is_over ? std::optional(over_quota(quota, limits.of(quota))) : std::nullopt;
}

}  // namespace

/// Answers the questions about one start, and keeps what the prediction shows.
class StartPredictor::Questions final : public StartQuestions {
 public:
  /// The arguments outlive the object.
  Questions(StartPredictor& of, TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
            const LazyJson& input, bool is_live)
      : of_(of),
        view_(of.place_.view),
        now_(now),
        entry_(entry),
        workflow_(workflow),
        input_(input),
        is_live_(is_live) {}

  Result<PredictedStart> predict();

  Result<std::optional<Error>> over_quota() override { return of_.over_quota(); }
  Result<std::optional<Error>> over_bytes() override { return TRY(of_.quotas())->over_bytes; }
  Result<std::optional<Error>> over_pending_keys() override;
  Result<std::optional<Error>> over_throttle_keys(const SlotKey& key) override;
  Result<std::optional<Error>> over_queue() override;
  Result<std::optional<Error>> over_rate() override;
  Result<std::optional<Error>> take_rate() override;
  Result<bool> is_live() override { return is_live_; }
  Result<bool> has_slot(const Slot& slot) override;
  Result<std::optional<InstanceId>> holder(const Slot& slot) override;
  Result<bool> is_permitted(const SlotKey& key) override;

 private:
  Result<PredictedStart> of_gate(const StartGate& gate);
  Result<PredictedStart> of_debounce();
  Result<PredictedStart> of_batch();
  PredictedStart refused(Error refusal, LimitKind asked) const;
  void describe_rate(PredictedStart& start) const;
  Status describe_slot(const Slot& slot, PredictedStart& start) const;
  Status describe_throttle(const Throttled& throttled, PredictedStart& start) const;
  Status replace(const Slot& slot, PredictedStart& start) const;

  StartPredictor& of_;
  const View& view_;
  const TimePoint now_;
  const WorkflowEntry& entry_;
  const Workflow& workflow_;
  const LazyJson& input_;
  const bool is_live_;
  /// The key of the `rateLimit`, as JSON text, when it was evaluated; and from when on it permits a
  /// start.
  std::string rate_key_;
  std::optional<TimePoint> rate_until_;
  bool has_rate_row_ = false;
  std::optional<TimePoint> throttled_until_;  ///< likewise of the throttle
};

Result<PredictedStart> StartPredictor::predict(TimePoint now, const WorkflowEntry& entry,
                                               const Workflow& workflow, const LazyJson& input,
                                               bool is_live) {
  return Questions(*this, now, entry, workflow, input, is_live).predict();
}

Result<std::optional<Error>> StartPredictor::over_quota() { return TRY(quotas())->over_start; }

Result<const StartPredictor::Quotas*> StartPredictor::quotas() {
  if (!quotas_) quotas_ = TRY(read_quotas());
  return &*quotas_;
}

Result<StartPredictor::Quotas> StartPredictor::read_quotas() const {
  Quotas quotas;
  const auto record = TRY(undamaged(read_namespace(place_.view, place_.name)));
  if (!record) return quotas;
  if (const auto settings = read_settings(record->settings)) quotas.limits = settings->quotas;
  const bool is_incomplete = is_index_incomplete(place_.view);
  TRY(place_.view.status());
  if (is_incomplete) return quotas;
  const auto usage = read_usage(place_.view, place_.ns);
  if (!usage && !is_damaged_row(usage.error())) return tl::unexpected(usage.error());
  if (!usage) return quotas;
  const QuotaLimits& limits = quotas.limits;
  quotas.over_bytes =
      refused_if(usage->all_bytes() >= limits.of(Quota::kStoreBytes), Quota::kStoreBytes, limits);
  quotas.over_start =
      refused_if(usage->live >= limits.of(Quota::kInstances), Quota::kInstances, limits);
  if (!quotas.over_start) quotas.over_start = quotas.over_bytes;
  return quotas;
}

Result<uint64_t> StartPredictor::waiting_starts(uint64_t enough) {
  if (waiting_) return *waiting_;
  std::vector<WorkflowNumber> workflows;
  TRY(each_workflow_behind(place_.view, place_.ns, "",
                           [&](std::string_view, const WorkflowRecord& record) {
                             workflows.push_back(record.number);
                             return workflows.size() < kMostCounts;
                           }));
  uint64_t waiting = 0;
  size_t looked = 0;
  for (const WorkflowNumber workflow : workflows) {
    if (looked >= kMostCounts || waiting >= enough) break;
    TRY(each_slot_counts(
        place_.view, workflow, std::nullopt,
        [&](const SlotKey&, const SlotCounts& counts) {
          waiting += counts.queued;
          return ++looked < kMostCounts && waiting < enough;
        },
        skip_damaged_place));
  }
  waiting_ = waiting;
  return waiting;
}

Result<bool> StartPredictor::has_key_left(TimePoint now) {
  const uint64_t most = TRY(quotas())->limits.of(Quota::kStartKeys);
  if (most == kUnlimited) return true;
  const uint64_t used = TRY(start_keys_of(place_.view, place_.ns));
  if (used < most) return true;
  // The batch of the start erases these first.
  const uint64_t over =
      TRY(ended_start_rates_of(place_.view, place_.ns, now, kStartRatesSweptAtOnce));
  return used < most + over;
}

Result<PredictedStart> StartPredictor::Questions::predict() {
  if (workflow_.debounce) return of_debounce();
  if (workflow_.batch) return of_batch();
  return of_gate(TRY(decide_start(*this, now_, entry_, workflow_, input_)));
}

Result<std::optional<Error>> StartPredictor::Questions::over_pending_keys() {
  const QuotaLimits& limits = TRY(of_.quotas())->limits;
  const uint64_t most = limits.of(Quota::kStartKeys);
  if (most == kUnlimited) return std::optional<Error>();
  const bool is_over = TRY(start_keys_of(view_, entry_.ns)) >= most;
  return refused_if(is_over, Quota::kStartKeys, limits);
}

Result<std::optional<Error>> StartPredictor::Questions::over_throttle_keys(const SlotKey& key) {
  const auto place = throttle_rate_place(view_.seal().id_key(), key.workflow, key.key);
  const auto record = TRY(undamaged(read_start_rate(view_, place)));
  if (record) {
    throttled_until_ = refused_until(workflow_.throttle->rate, record->use, now_);
    return std::optional<Error>();
  }
  const bool is_over = !TRY(of_.has_key_left(now_));
  return refused_if(is_over, Quota::kStartKeys, TRY(of_.quotas())->limits);
}

Result<std::optional<Error>> StartPredictor::Questions::over_queue() {
  const QuotaLimits& limits = TRY(of_.quotas())->limits;
  const uint64_t most = limits.of(Quota::kQueuedStarts);
  if (most == kUnlimited) return std::optional<Error>();
  const bool is_over = TRY(of_.waiting_starts(most)) >= most;
  return refused_if(is_over, Quota::kQueuedStarts, limits);
}

Result<std::optional<Error>> StartPredictor::Questions::over_rate() {
  if (!workflow_.rate_limit) return std::optional<Error>();
  const StartLimit& limit = *workflow_.rate_limit;
  auto key = start_key(limit.key, "rateLimit.key", as_input(input_), now_);
  if (!key) return std::optional(std::move(key).error());
  rate_key_ = *std::move(key);
  const auto record = TRY(undamaged(read_start_rate(
      view_, {entry_.number, keyed_fingerprint(view_.seal().id_key(), {rate_key_})})));
  has_rate_row_ = record.has_value();
  if (record) rate_until_ = refused_until(limit, record->use, now_);
  if (!rate_until_) return std::optional<Error>();
  return std::optional(over_rate_error(entry_.id, limit, rate_key_, *rate_until_ - now_));
}

Result<std::optional<Error>> StartPredictor::Questions::take_rate() {
  if (!workflow_.rate_limit) return std::optional<Error>();
  if (auto over = TRY(over_rate())) return over;
  if (has_rate_row_ || TRY(of_.has_key_left(now_))) return std::optional<Error>();
  return refused_if(true, Quota::kStartKeys, TRY(of_.quotas())->limits);
}

Result<std::optional<InstanceId>> StartPredictor::Questions::holder(const Slot& slot) {
  return oldest_holder(view_, entry_.number, slot);
}

/// A holder whose instance is gone does not count: the batch of the start frees its slot.
Result<bool> StartPredictor::Questions::has_slot(const Slot& slot) {
  const SlotKey key = slot_key_of(entry_.number, slot.key);
  const SlotCounts counts = TRY(counts_in(view_, key));
  const uint64_t most = slots_of(workflow_);
  if (counts.queued > 0) return false;
  if (counts.held < most) return true;
  uint64_t gone = 0;
  bool is_taken = false;
  Status status;
  TRY(each_slot_place(
      view_, QueueRow::kHolder, key,
      [&](const SlotPlace& holder) {
        const auto is_there = has_rows(view_, entry_.ns, holder.instance);
        if (!is_there) status = tl::unexpected(is_there.error());
        is_taken = !is_there || *is_there;
        return !is_taken && counts.held - ++gone >= most;
      },
      skip_damaged_place));
  TRY(std::move(status));
  return !is_taken;
}

Result<bool> StartPredictor::Questions::is_permitted(const SlotKey& key) {
  if (entry_.paused) return false;
  const SlotCounts counts = TRY(counts_in(view_, key));
  return counts.queued == 0 && !throttled_until_;
}

Result<PredictedStart> StartPredictor::Questions::of_gate(const StartGate& gate) {
  using enum PredictedStart::Outcome;
  PredictedStart start{.limit = gate.limit};
  if (gate.refusal) {
    start = refused(*gate.refusal, gate.limit.value_or(LimitKind::kQuota));
    if (gate.effect) start.outcome = kSkipped;
  } else if (gate.limit) {
    start.outcome = kWaits;
  }
  if (gate.limit == LimitKind::kConcurrency && gate.place.slot) {
    TRY(describe_slot(*gate.place.slot, start));
    const bool may_replace = workflow_.concurrency->on_limit == Concurrency::OnLimit::kReplace;
    if (start.outcome == kWaits && may_replace) TRY(replace(*gate.place.slot, start));
  }
  if (gate.limit == LimitKind::kThrottle && gate.place.throttled) {
    TRY(describe_throttle(*gate.place.throttled, start));
  }
  return start;
}

Result<PredictedStart> StartPredictor::Questions::of_debounce() {
  const Debounce& debounce = *workflow_.debounce;
  const auto key = start_key(debounce.key, "debounce.key", as_input(input_), now_);
  if (!key) return refused(key.error(), LimitKind::kDebounce);
  const PendingStartPlace place{entry_.ns, entry_.number,
                                keyed_fingerprint(view_.seal().id_key(), {*key})};
  const auto before = TRY(undamaged(read_pending_start(view_, place)));
  if (auto refusal = TRY(refusal_of_request(*this, workflow_, !before))) {
    return refused(*std::move(refusal), LimitKind::kRateLimit);
  }
  PredictedStart start{.outcome = PredictedStart::Outcome::kDebounced,
                       .limit = LimitKind::kDebounce};
  if (debounce.key) start.key = *key;
  start.starts_at = debounced_until(debounce, before ? before->first : now_, now_);
  if (before) start.instance = before->id;
  return start;
}

Result<PredictedStart> StartPredictor::Questions::of_batch() {
  const StartBatch& batch = *workflow_.batch;
  const LazyJson input = as_input(input_);
  const auto key = start_key(batch.key, "batch.key", input, now_);
  if (!key) return refused(key.error(), LimitKind::kBatch);
  if (auto refusal = refusal_of_batched(input)) {
    return refused(*std::move(refusal), LimitKind::kBatch);
  }
  const PendingStartPlace place = batch_place(view_.seal().id_key(), entry_, *key);
  const auto open = TRY(undamaged(read_pending_start(view_, place)));
  const bool is_new = !open || !has_space_for(*open, input.text().size());
  if (auto refusal = TRY(refusal_of_request(*this, workflow_, is_new))) {
    return refused(*std::move(refusal), LimitKind::kRateLimit);
  }
  PredictedStart start{.outcome = PredictedStart::Outcome::kBatched, .limit = LimitKind::kBatch};
  if (batch.key) start.key = *key;
  start.most = batch.max_size;
  start.size = is_new ? 1 : uint64_t{open->batch->inputs} + 1;
  const bool is_full = *start.size >= batch.max_size;
  start.starts_at = is_full ? now_ : is_new ? batch.timeout.after(now_) : open->at;
  if (!is_new) start.instance = open->id;
  return start;
}

/// What becomes of a start that is refused with that error. Beyond a `rateLimit` it is skipped.
PredictedStart StartPredictor::Questions::refused(Error refusal, LimitKind asked) const {
  PredictedStart start{.outcome = PredictedStart::Outcome::kRefused,
                       .limit = limit_of(refusal, asked)};
  if (refusal.code == kRateLimitError) {
    start.outcome = PredictedStart::Outcome::kSkipped;
    describe_rate(start);
  }
  start.error = std::move(refusal);
  return start;
}

void StartPredictor::Questions::describe_rate(PredictedStart& start) const {
  const StartLimit& limit = *workflow_.rate_limit;
  if (limit.key) start.key = rate_key_;
  start.most = limit.limit;
  start.period = limit.period.text;
  start.next_at = rate_until_;
}

Status StartPredictor::Questions::describe_slot(const Slot& slot, PredictedStart& start) const {
  const SlotKey key = slot_key_of(entry_.number, slot.key);
  const SlotCounts counts = TRY(counts_in(view_, key));
  start.key = slot.key;
  start.most = slots_of(workflow_);
  start.held = counts.held;
  start.waiting = counts.queued;
  if (start.outcome != PredictedStart::Outcome::kWaits) return {};
  start.priority = slot.priority;
  start.before = TRY(starts_before(view_, key, slot.priority));
  return {};
}

Status StartPredictor::Questions::describe_throttle(const Throttled& throttled,
                                                    PredictedStart& start) const {
  const SlotKey key = throttle_key_of(entry_.number, throttled.key);
  const Throttle& throttle = *workflow_.throttle;
  start.key = throttled.key;
  start.most = throttle.rate.limit;
  start.period = throttle.rate.period.text;
  start.waiting = TRY(counts_in(view_, key)).queued;
  if (start.outcome != PredictedStart::Outcome::kWaits) return {};
  start.priority = throttled.priority;
  start.before = TRY(starts_before(view_, key, throttled.priority));
  if (!entry_.paused) start.next_at = throttled_until_;
  return {};
}

/// Names the instance that is cancelled for the start, as Instances::replace() selects it: the next
/// of those that wait, else the one that has held its slot longest. One that makes its
/// compensations is not cancelled again: the start waits.
Status StartPredictor::Questions::replace(const Slot& slot, PredictedStart& start) const {
  const SlotKey key = slot_key_of(entry_.number, slot.key);
  const auto kind = start.waiting.value_or(0) > 0 ? QueueRow::kWaiting : QueueRow::kHolder;
  const auto first = TRY(read_first_place(view_, kind, key, skip_damaged_place));
  if (!first) return {};
  const auto head = TRY(undamaged(read_live_head(view_, entry_.ns, first->instance)));
  if (!head || !head->slot || head->compensating) return {};
  start.outcome = PredictedStart::Outcome::kReplaces;
  start.instance = first->instance;
  start.before.reset();
  start.priority.reset();
  return {};
}

}  // namespace millrace
