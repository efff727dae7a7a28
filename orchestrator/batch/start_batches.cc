// The batches of PendingStarts: the inputs of requests for one key become the input of one
// instance. Each input is a row (pending_input_rows.h), and the pending start has their number, so
// that a request writes two small rows.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orchestrator/batch/instances.h"
#include "orchestrator/batch/pending_starts.h"
#include "orchestrator/batch/start_decision.h"
#include "orchestrator/engine/runs.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/pending_input_rows.h"
#include "states/start_key.h"

namespace millrace {
namespace {

/// How many inputs of a batch one unit erases; a later one erases the others.
constexpr size_t kInputsErasedAtOnce = 128;

/// The name of the member of the input that has the inputs of the requests.
constexpr const char* kBatchMember = "events";
/// The bytes of `{"events":[]}`.
constexpr uint64_t kBytesAround = 13;

PendingStarts::Deferred refused_to_join(Error error) {
  return {.refusal = std::move(error), .id = {}, .at = {}};
}

/// Takes over what the request says of the instance beside its input. Of all requests, the one with
/// the most hops says it, of equals the newest: so a chain of starts that never ends is noticed.
void let_lead(PendingStart& pending, StartSpec& spec) {
  if (spec.hops < pending.hops) return;
  pending.how = std::move(spec.how);
  pending.hops = spec.hops;
  pending.own_policy = std::move(spec.origin.own_policy);
  pending.execution_from = spec.origin.execution_from;
  pending.traceparent = std::move(spec.traceparent);
  pending.correlation = std::move(spec.correlation);
  pending.start_event = std::move(spec.start_event);
}

}  // namespace

PendingStartPlace batch_place(std::string_view id_key, const WorkflowEntry& entry,
                              const std::string& key) {
  return {entry.ns, entry.number, keyed_fingerprint(id_key, {key, "batch"})};
}

PendingStartPlace closed_place(std::string_view id_key, const PendingStartPlace& place,
                               const InstanceId& instance) {
  return {place.ns, place.workflow,
          keyed_fingerprint(id_key, {to_string(instance), "closed batch", ""})};
}

/// Adds the input of a request to the batch of its key, which begins with the first one.
Result<PendingStarts::Deferred> PendingStarts::join(TimePoint now, const WorkflowEntry& entry,
                                                    const Workflow& workflow, StartSpec spec,
                                                    const InstanceId& id) {
  const LazyJson input = as_input(std::move(spec.data));
  const auto key = start_key(workflow.batch->key, "batch.key", input, now);
  if (!key) return refused_to_join(key.error());
  if (auto refused = refusal_of_batched(input)) return refused_to_join(*std::move(refused));
  const PendingStartPlace place = batch_place(batch_.id_key, entry, *key);
  auto open = TRY(batch_.damages.pass_over(read_pending_start(batch_.tx, place)));
  const size_t bytes = input.text().size();
  const bool is_new = !open || !has_space_for(*open, bytes);
  auto over = TRY(instances_.refuse_request(now, entry, workflow, input, is_new));
  if (over) return refused_to_join(*std::move(over));
  if (open && is_new) {
    TRY(close(place, *std::move(open), now));
    open.reset();
  }
  const auto listed = open ? std::optional(open->listed) : std::nullopt;
  PendingStart pending =
      open ? *std::move(open)
           : PendingStart{
                 .first = now, .id = id, .batch = PendingBatch{.inputs = 0, .bytes = kBytesAround}};
  if (!listed) pending.at = pending.listed = workflow.batch->timeout.after(now);
  const Sealing sealed = workflow.sealed ? Sealing::kHidden : spec.sealed.level();
  write_pending_input(batch_.tx, {place.ns, pending.id, pending.batch->inputs},
                      {.input = input, .consumed = std::move(spec.consumed), .sealed = sealed});
  let_lead(pending, spec);
  pending.sealed |= sealed;
  pending.batch->bytes += bytes + 1;
  ++pending.batch->inputs;
  ++batch_.outcome.counts.starts_batched;
  batch_.meter.add_bytes(bytes);
  const bool is_full = pending.batch->inputs >= workflow.batch->max_size;
  const TimePoint at = is_full ? now : pending.at;
  Deferred deferred{.refusal = {}, .id = pending.id, .at = at, .is_new = !listed};
  TRY(write_pending_start(batch_.tx, place, pending, listed));
  if (is_full) TRY(close(place, std::move(pending), now));
  TRY(arm());
  return deferred;
}

/// Lets a stored batch collect nothing more, and lists it at `at`.
Status PendingStarts::close(const PendingStartPlace& place, PendingStart pending, TimePoint at) {
  const PendingStartPlace closed = closed_place(batch_.id_key, place, pending.id);
  if (closed == place) return put_off(place, std::move(pending), at);
  TRY(erase_pending_start(batch_.tx, place, pending.listed));
  pending.at = pending.listed = at;
  return write_pending_start(batch_.tx, closed, pending, std::nullopt);
}

/// Reads the inputs of a batch, which become the input of its instance. Returns false if none of
/// them can be read.
Result<bool> PendingStarts::collect(const PendingStartPlace& place, PendingStart& pending) {
  std::vector<LazyJson> inputs;
  TRY(each_pending_input(
      batch_.tx, place.ns, pending.id,
      [&](PendingInput one) {
        inputs.push_back(std::move(one.input));
        pending.sealed |= one.sealed;
        for (const ConsumedEvent& event : one.consumed.events) {
          pending.consumed.add({one.consumed.stream, event.sequence}, event.known_as);
        }
      },
      batch_.damages.noting()));
  if (inputs.empty()) return false;
  std::map<std::string, LazyJson> members;
  members.emplace(kBatchMember, LazyJson::of_elements(inputs));
  pending.input = LazyJson::of_members(std::move(members));
  batch_.meter.add_bytes(pending.input.weight());
  return true;
}

/// Erases a batch. Of many inputs, later units erase the last ones; until then the batch is over.
Status PendingStarts::erase_batch(const PendingStartPlace& place, PendingStart pending) {
  if (TRY(erase_pending_inputs(batch_.tx, place.ns, pending.id, kInputsErasedAtOnce))) {
    return erase_pending_start(batch_.tx, place, pending.listed);
  }
  pending.input = LazyJson();
  pending.consumed = {};
  pending.batch->is_over = true;
  const TimePoint at = pending.at;
  return close(place, std::move(pending), at);
}

}  // namespace millrace
