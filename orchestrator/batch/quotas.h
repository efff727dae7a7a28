// Quotas: whether the quotas of a namespace (model/quota.h) permit what a batch begins or stores.
// The live instances and the calls are counted in memory, the bytes in the index of the store; so
// the same batches refuse the same, also after a restart. Engine thread only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/result.h"
#include "model/instance.h"
#include "model/quota.h"
#include "model/rate.h"
#include "model/variable.h"
#include "orchestrator/batch/batch_state.h"

namespace millrace {

/// Each function refusal_of_…() returns the error of a refusal, which it counts; nullopt: the
/// quotas permit it. Errors of the results: those of the store.
class Quotas {
 public:
  explicit Quotas(BatchState& batch) : batch_(batch) {}

  /// Of the start of an instance: error `millrace.quota.instances` or `millrace.quota.storeBytes`.
  Result<std::optional<Error>> refusal_of_start(NamespaceNumber ns);

  /// Of something else that the namespace would store and that no active instance waits for: error
  /// `millrace.quota.storeBytes`.
  Result<std::optional<Error>> refusal_of_bytes(NamespaceNumber ns);

  /// Of a call or a kept event that active instances need in order to continue: error
  /// `millrace.quota.storeBytes` only if the namespace has an eighth more bytes than its quota.
  Result<std::optional<Error>> refusal_of_need(NamespaceNumber ns);

  /// Of a value of `bytes` bytes for a variable: as refusal_of_bytes(). A value that is not longer
  /// than the present one is permitted.
  Result<std::optional<Error>> refusal_of_variable(const VariableName& name, size_t bytes);

  /// Of an event that an instance generates at that time: error `millrace.quota.eventsPerSecond`.
  /// The generated events of the namespace count together, besides those that the stream brings
  /// (event_rates.h). In memory only: after a restart the namespace may generate as many again.
  std::optional<Error> refusal_of_generated(NamespaceNumber ns, TimePoint now);

  /// Whether the quota `storeBytes` of the namespace is used up.
  Result<bool> is_full(NamespaceNumber ns);

  /// What the quotas of bytes mean for the next step of an instance.
  struct OfStep {
    uint64_t history_bytes = kUnlimited;  ///< the quota `historyBytes`
    /// `historyBytes` of the instance, or `storeBytes` if the namespace has an eighth more.
    std::optional<ExceededQuota> exceeded;
    /// The namespace has a quarter more than `storeBytes`: only a step that fits_far_beyond()
    /// (step_growth.h) may be applied.
    bool is_far_beyond = false;
  };
  Result<OfStep> of_step(const Instance& instance);

 private:
  Result<bool> has_used(NamespaceNumber ns, uint64_t reserve);
  Result<uint64_t> bytes_of(NamespaceNumber ns);

  BatchState& batch_;
  std::map<NamespaceNumber, RateUse> generated_;  ///< of namespaces that have the quota
};

/// Counts what a quota refuses, and returns its error.
Error refuse_over_quota(BatchState& batch, NamespaceNumber ns, Quota quota);

/// Notes in the index how the writes of the batch change the counted rows of each namespace
/// (counted_rows.h). To be called once, after all writes of such rows. Errors: those of the store.
Status count_bytes(BatchState& batch);

}  // namespace millrace
