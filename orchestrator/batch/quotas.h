// Quotas: whether the quotas of a namespace (model/quota.h) permit what a batch begins. The live
// instances and the calls are counted in memory, the bytes in the index of the store; so the same
// batches refuse the same starts and calls, also after a restart. Engine thread only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/batch_notes.h"
#include "base/result.h"
#include "model/quota.h"
#include "orchestrator/batch/batch_state.h"

namespace millrace {

class Quotas {
 public:
  explicit Quotas(BatchState& batch) : batch_(batch), bytes_(batch.batches) {}

  /// Why no instance of the namespace may start now: error `millrace.quota.instances` or
  /// `millrace.quota.storeBytes`; nullopt: an instance may start. Counts the refusal. Errors of the
  /// result: those of the store.
  Result<std::optional<Error>> refusal_of_start(NamespaceNumber ns);

 private:
  Result<uint64_t> bytes_of(NamespaceNumber ns);

  BatchState& batch_;
  /// The bytes of the instances of namespaces, as they were when the current batch first needed
  /// them. Instances are written at the end of a batch, so one batch may exceed the quota.
  BatchNotes<std::map<NamespaceNumber, uint64_t>> bytes_;
};

/// Counts what a quota refuses, and returns its error.
Error refuse_over_quota(BatchState& batch, NamespaceNumber ns, Quota quota);

/// Notes in the index how the writes of the batch change the counted rows of each namespace
/// (counted_rows.h). To be called once, after all writes of such rows. Errors: those of the store.
Status count_bytes(BatchState& batch);

}  // namespace millrace
