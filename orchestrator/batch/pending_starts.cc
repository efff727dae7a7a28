#include "orchestrator/batch/pending_starts.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "orchestrator/batch/instances.h"
#include "orchestrator/batch/start_decision.h"
#include "orchestrator/engine/runs.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "states/start_key.h"

namespace millrace {
namespace {

/// How many pending starts one input of the timer begins.
constexpr size_t kStartedAtOnce = 16;
/// After how many rows of them it begins no further one.
constexpr size_t kRowsAtOnce = 256;
/// After which time a pending start that something refuses is tried again.
constexpr Duration kTryAgain{std::chrono::seconds(10)};

/// At how many pending starts one batch looks for a command that drops them, at most.
constexpr size_t kDroppedAtOnce = 64;

/// Whether the input of the start is the reason, so that a later try is refused too.
bool is_key_error(const Error& reason) {
  return reason.code == kStartKeyError || reason.code == "millrace.concurrency.priority";
}

/// The detail of the first history record, with the revision that starts.
LazyJson how_of(const PendingStart& pending, uint32_t revision) {
  Json how = pending.how.value();
  how["revision"] = revision;
  return how;
}

}  // namespace

Error cancelled_before_start() {
  return {"direktiv.cancels.api", "cancelled by a call, before it began"};
}

Error workflow_is_deleted() { return {"direktiv.subflow.notExist", "its workflow was deleted"}; }

Result<PendingStarts::Deferred> PendingStarts::defer(TimePoint now, const WorkflowEntry& entry,
                                                     const Workflow& workflow, StartSpec spec,
                                                     const InstanceId& id) {
  if (workflow.batch) return join(now, entry, workflow, std::move(spec), id);
  const Debounce& debounce = *workflow.debounce;
  const auto key = start_key(debounce.key, "debounce.key", as_input(spec.data), now);
  if (!key) return Deferred{.refusal = key.error(), .id = {}, .at = {}};
  const PendingStartPlace place{entry.ns, entry.number, keyed_fingerprint(batch_.id_key, {*key})};
  const auto before = TRY(batch_.damages.pass_over(read_pending_start(batch_.tx, place)));
  const bool is_repeated =
      before && !spec.idempotency_key.empty() && before->idempotency_key == spec.idempotency_key;
  if (is_repeated) {
    if (before->input.text() == spec.data.text()) return Deferred{{}, before->id, before->at};
    return Deferred{.refusal = Error{"start.conflict",
                                     fmt::format("instance {} is to start under this idempotency "
                                                 "key with another input",
                                                 to_string(before->id))},
                    .id = {},
                    .at = {}};
  }
  auto refused = TRY(instances_.refuse_request(now, entry, workflow, spec.data, !before));
  if (refused) return Deferred{.refusal = std::move(refused), .id = {}, .at = {}};
  PendingStart pending{.first = before ? before->first : now,
                       .id = spec.id ? *spec.id : (before ? before->id : id),
                       .input = spec.data,
                       .how = std::move(spec.how),
                       .hops = spec.hops,
                       .depth = spec.depth,
                       .caller = spec.caller,
                       .idempotency_key = std::move(spec.idempotency_key),
                       .own_policy = std::move(spec.origin.own_policy),
                       .execution_from = spec.origin.execution_from,
                       .traceparent = std::move(spec.traceparent),
                       .correlation = std::move(spec.correlation),
                       .start_event = std::move(spec.start_event),
                       .consumed = std::move(spec.consumed),
                       .sealed = workflow.sealed ? Sealing::kHidden : spec.sealed.level()};
  pending.at = debounced_until(debounce, pending.first, now);
  pending.listed = before ? std::min(before->listed, pending.at) : pending.at;
  if (before) {
    ++batch_.outcome.counts.starts_debounced;
    TRY(replace(place, *before, pending.id));
  }
  const auto listed = before ? std::optional(before->listed) : std::nullopt;
  batch_.meter.add_bytes(pending.input.weight());
  TRY(write_pending_start(batch_.tx, place, pending, listed));
  TRY(arm());
  return Deferred{.refusal = {}, .id = pending.id, .at = pending.at, .is_new = !before};
}

EventEffect::Kind PendingStarts::effect_of(const Workflow& workflow, const Deferred& deferred) {
  using enum EventEffect::Kind;
  if (deferred.refusal) return kRateLimited;
  return workflow.batch ? kBatched : kDebounced;
}

/// Gives the result to the caller that waits for the start, if there is one.
void PendingStarts::answer(const PendingStartPlace& place, const PendingStart& pending,
                           CallResult result) {
  if (!pending.caller) return;
  batch_.messages.push_back(
      {ReturnResult{.ns = place.ns, .to = *pending.caller, .result = std::move(result)},
       batch_.listen_from_now(), WorkLane{place.ns, {}}});
}

/// Gives the caller of a subflow that will not start the error that a newer start has come.
Status PendingStarts::replace(const PendingStartPlace& place, const PendingStart& before,
                              const InstanceId& newer) {
  answer(place, before,
         tl::unexpected(Error{std::string(kDebouncedError),
                              fmt::format("a newer start of its key has replaced the start of the "
                                          "subflow: instance {} is to start in its place",
                                          to_string(newer))}));
  return {};
}

Result<bool> PendingStarts::cancel(TimePoint now, const PendingStartPlace& place,
                                   const InstanceId& id) {
  // A batch that is full has moved since its place was found.
  for (const PendingStartPlace& at : {place, closed_place(batch_.id_key, place, id)}) {
    auto pending = TRY(batch_.damages.pass_over(read_pending_start(batch_.tx, at)));
    if (!pending || pending->id != id || (pending->batch && pending->batch->is_over)) continue;
    TRY(abandon(now, at, *std::move(pending), cancelled_before_start()));
    TRY(arm());
    return true;
  }
  return false;
}

/// Drops a start that a command is about.
Status PendingStarts::abandon(TimePoint now, const PendingStartPlace& place, PendingStart pending,
                              Error error) {
  ++batch_.outcome.counts.starts_cancelled;
  answer(place, pending, tl::unexpected(std::move(error)));
  pending.at = now;  // the inputs of a batch that are left are erased from now on
  return erase(place, std::move(pending));
}

Result<bool> PendingStarts::drop_some(TimePoint now, const PendingSelection& selected,
                                      const Error& error, PendingSweep& sweep) {
  std::vector<std::pair<PendingStartPlace, PendingStart>> page;
  size_t bytes = 0;
  bool is_last = true;
  TRY(each_pending_start(
      batch_.tx, selected.ns, selected.workflow, sweep.last,
      [&](const PendingStartPlace& place, const PendingStart& pending) {
        is_last = page.size() < kDroppedAtOnce && bytes < kMostBatchBytes;
        if (is_last) page.emplace_back(place, pending);
        bytes += pending.input.text().size();
        return is_last;
      },
      batch_.damages.noting()));
  for (auto& [place, pending] : page) {
    const bool is_meant = !selected.since || pending.first >= *selected.since;
    if (is_meant && !(pending.batch && pending.batch->is_over)) {
      TRY(abandon(now, place, std::move(pending), error));
      ++sweep.dropped;
    }
    sweep.last = place;
    const bool has_more = &place != &page.back().first;
    if (!has_more || !batch_.meter.is_spent()) continue;
    is_last = false;
    break;
  }
  TRY(arm());
  return is_last;
}

Status PendingStarts::fire(TimePoint now) {
  size_t rows = 0;
  for (size_t i = 0; i < kStartedAtOnce && rows < kRowsAtOnce; ++i) {
    if (i > 0 && batch_.meter.is_spent()) break;
    const auto first = TRY(first_pending_start(batch_.tx));
    if (!first || first->listed > now) break;
    rows += TRY(fire_one(now, *first));
  }
  return arm();
}

/// Returns how many rows the start has, about.
Result<size_t> PendingStarts::fire_one(TimePoint now, const ListedStart& listed) {
  auto read = TRY(batch_.damages.pass_over(read_pending_start(batch_.tx, listed.place)));
  if (!read || read->listed != listed.listed) {
    erase_listed_start(batch_.tx, listed);
    return size_t{1};
  }
  const size_t rows = read->batch ? read->batch->inputs : 1;
  if (read->batch && read->batch->is_over) {
    TRY(erase(listed.place, *std::move(read)));
  } else if (const TimePoint at = read->at; at > now) {
    TRY(put_off(listed.place, *std::move(read), at));
  } else {
    TRY(start(now, listed.place, *std::move(read)));
  }
  return rows;
}

/// Lists the start at another time, at which it is due.
Status PendingStarts::put_off(const PendingStartPlace& place, PendingStart pending, TimePoint at) {
  const TimePoint before = pending.listed;
  pending.at = pending.listed = at;
  return write_pending_start(batch_.tx, place, pending, before);
}

/// Gives up a start. A caller that waits for it gets the result.
Status PendingStarts::drop(const PendingStartPlace& place, const PendingStart& pending,
                           CallResult result) {
  if (!pending.caller && !result) {
    spdlog::warn("the pending start of instance {} is given up: {}", to_string(pending.id),
                 result.error().message);
  }
  answer(place, pending, std::move(result));
  return erase(place, pending);
}

Status PendingStarts::erase(const PendingStartPlace& place, PendingStart pending) {
  if (pending.batch) return erase_batch(place, std::move(pending));
  return erase_pending_start(batch_.tx, place, pending.listed);
}

/// Decides about a start that is due and that Instances::admit() has refused: what will be
/// permitted later is put off, until `again`. A compensation that calls a dropped subflow gets the
/// refusal, not null: it was not made.
Status PendingStarts::refuse(TimePoint now, TimePoint again, const PendingStartPlace& place,
                             PendingStart pending, const StartGate& gate) {
  const bool has_no_slot = gate.effect == EventEffect::Kind::kSkipped && gate.place.slot;
  const bool is_dropped = has_no_slot && (gate.is_dropped || !pending.caller);
  if (is_dropped) instances_.count_skipped(gate);
  if (is_dropped && !TRY(instances_.is_compensation(now, place.ns, pending.caller))) {
    return drop(place, pending, LazyJson());
  }
  const Error& reason = *gate.refusal;
  if (pending.caller || is_key_error(reason)) {
    instances_.count_rejected(gate);
    // The key, and what jq says about it, may be data of a secret.
    return drop(place, pending,
                tl::unexpected(Error{
                    reason.code, pending.sealed ? std::string(kHiddenReason) : reason.message}));
  }
  ++batch_.outcome.counts.pending_refused;
  return put_off(place, std::move(pending), again);
}

/// Whether the caller of a subflow still waits for it.
Result<bool> PendingStarts::is_wanted(TimePoint now, const PendingStartPlace& place,
                                      const PendingStart& pending) {
  if (!pending.caller) return true;
  const LoadedInstance* const loaded =
      TRY(instances_.load(now, place.ns, pending.caller->instance));
  return loaded != nullptr && waits_for(loaded->instance, *pending.caller) &&
         loaded->instance.calls[pending.caller->index].id == pending.id;
}

/// Starts the instance, or puts it off if something does not permit it now.
Status PendingStarts::start(TimePoint now, const PendingStartPlace& place, PendingStart pending) {
  const bool has_namespace = batch_.catalog.has_namespace(place.ns);
  const WorkflowEntry* const entry =
      has_namespace ? batch_.catalog.find_workflow(place.workflow) : nullptr;
  if (entry == nullptr || entry->ns != place.ns) {
    return drop(place, pending, tl::unexpected(workflow_is_deleted()));
  }
  if (!TRY(is_wanted(now, place, pending))) return erase(place, std::move(pending));
  const auto found = batch_.catalog.definition(batch_.tx, {entry->number, entry->latest});
  if (!found && is_damaged_row(found.error())) {
    batch_.damages.note(found.error());
    return put_off(place, std::move(pending), now + kTryAgain);
  }
  const auto workflow = TRY(found);
  PendingStart whole = pending;  // with the inputs of a batch
  if (pending.batch && !TRY(collect(place, whole))) {
    return drop(place, pending,
                tl::unexpected(Error{"millrace.store.damaged", "its inputs are damaged"}));
  }
  StartGate gate =
      TRY(instances_.admit(now, *entry, *workflow, whole.input, pending.batch.has_value()));
  if (gate.refusal) {
    TimePoint again = now + kTryAgain;
    // Of a batch, the `rateLimit` has counted the requests already.
    if (!pending.batch) {
      again = TRY(instances_.rates().limited_until(now, *entry, *workflow, whole.input))
                  .value_or(again);
    }
    return refuse(now, again, place, std::move(pending), gate);
  }
  TRY(erase(place, std::move(pending)));
  // A store that was restored may have an instance with this id.
  const bool is_taken =
      instances_.is_loaded(whole.id) || TRY(has_rows(batch_.tx, place.ns, whole.id));
  const std::string key = whole.idempotency_key;
  const Fingerprint input = key.empty() ? Fingerprint() : fingerprint({whole.input.text()});
  const InstanceId id = TRY(instances_.start_later(
      now, *entry, *workflow,
      {.data = whole.input,
       .how = how_of(whole, entry->latest),
       .hops = whole.hops,
       .idempotency_key = key,
       .id = is_taken ? std::nullopt : std::optional(whole.id),
       .caller = whole.caller,
       .depth = whole.depth,
       .sealed = whole.sealed,
       .traceparent = whole.traceparent,
       .correlation = whole.correlation,
       .start_event = whole.start_event,
       .consumed = whole.consumed,
       .origin = {.own_policy = whole.own_policy, .execution_from = whole.execution_from},
       .place = std::move(gate.place)}));
  if (!key.empty()) {
    write_idempotency(batch_.tx, entry->number, key, {.instance = id, .input = input});
  }
  return {};
}

/// Arms the timer for the start that is listed first.
Status PendingStarts::arm() {
  const auto first = TRY(first_pending_start(batch_.tx));
  if (first) {
    batch_.waiting.arm_starts(first->listed);
  } else {
    batch_.waiting.disarm_starts();
  }
  return {};
}

}  // namespace millrace
