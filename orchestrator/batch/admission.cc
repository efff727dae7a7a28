// The part of Instances that decides whether an instance may start.
#include <optional>
#include <utility>

#include "orchestrator/batch/instances.h"
#include "orchestrator/batch/start_decision.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/rows/start_rate_rows.h"

namespace millrace {

/// Answers the questions about one start from the batch.
class Instances::Admission final : public StartQuestions {
 public:
  /// The arguments outlive the object.
  Admission(Instances& of, TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
            const LazyJson& input)
      : of_(of), now_(now), entry_(entry), workflow_(workflow), input_(input) {}

  Result<std::optional<Error>> over_quota() override {
    return of_.quotas_.refusal_of_start(entry_.ns);
  }
  Result<std::optional<Error>> over_bytes() override {
    return of_.quotas_.refusal_of_bytes(entry_.ns);
  }
  Result<std::optional<Error>> over_pending_keys() override {
    BatchState& batch = of_.batch_;
    const uint64_t most = batch.catalog.settings(entry_.ns).quotas.of(Quota::kStartKeys);
    if (most == kUnlimited) return std::optional<Error>();
    if (TRY(start_keys_of(batch.tx, entry_.ns)) < most) return std::optional<Error>();
    return std::optional(refuse_over_quota(batch, entry_.ns, Quota::kStartKeys));
  }
  Result<std::optional<Error>> over_throttle_keys(const SlotKey& key) override {
    return of_.rates_.refusal_of_throttle(now_, entry_.ns, of_.rates_.place_of(key));
  }
  Result<std::optional<Error>> over_queue() override { return of_.refusal_of_wait(entry_.ns); }
  Result<std::optional<Error>> over_rate() override {
    return of_.rates_.check(now_, entry_, workflow_, input_);
  }
  Result<std::optional<Error>> take_rate() override {
    return of_.rates_.take(now_, entry_, workflow_, input_);
  }
  Result<bool> is_live() override { return of_.batch_.live.any(entry_.number); }
  Result<bool> has_slot(const Slot& slot) override { return of_.has_room(entry_, workflow_, slot); }
  Result<std::optional<InstanceId>> holder(const Slot& slot) override {
    return oldest_holder(of_.batch_.tx, entry_.number, slot);
  }
  Result<bool> is_permitted(const SlotKey& key) override {
    return of_.is_permitted(now_, entry_, workflow_, key);
  }

 private:
  Instances& of_;
  const TimePoint now_;
  const WorkflowEntry& entry_;
  const Workflow& workflow_;
  const LazyJson& input_;
};

Status Instances::refuse_singular(const WorkflowEntry& entry, const Workflow& workflow) const {
  if (!workflow.singular || !batch_.live.any(entry.number)) return {};
  return tl::unexpected(not_single(entry.id));
}

Result<StartGate> Instances::admit(TimePoint now, const WorkflowEntry& entry,
                                   const Workflow& workflow, const LazyJson& input,
                                   bool has_counted) {
  Admission ask(*this, now, entry, workflow, input);
  return decide_start(ask, now, entry, workflow, input, has_counted);
}

Result<std::optional<Error>> Instances::refuse_request(TimePoint now, const WorkflowEntry& entry,
                                                       const Workflow& workflow,
                                                       const LazyJson& input, bool is_new) {
  Admission ask(*this, now, entry, workflow, input);
  return refusal_of_request(ask, workflow, is_new);
}

Result<bool> Instances::is_compensation(TimePoint now, NamespaceNumber ns,
                                        const std::optional<Caller>& caller) {
  if (!caller) return false;
  const LoadedInstance* const loaded = TRY(load(now, ns, caller->instance));
  return loaded != nullptr && loaded->instance.compensating.has_value();
}

void Instances::count_skipped(const StartGate& gate) {
  // StartRates counts the others.
  if (gate.effect == EventEffect::Kind::kSkipped) ++batch_.outcome.counts.starts_skipped;
}

void Instances::count_rejected(const StartGate& gate) {
  if (gate.effect == EventEffect::Kind::kSkipped) ++batch_.outcome.counts.starts_rejected;
}

void Instances::note_skipped(const EventPosition& position, const WorkflowEntry& entry,
                             const StartGate& gate) {
  count_skipped(gate);
  batch_.note_effect(position, {.kind = *gate.effect, .workflow = entry.number});
}

}  // namespace millrace
