#include "orchestrator/batch/batch_state.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "cloudevents/json_format.h"
#include "matchers/glob.h"
#include "model/hops.h"
#include "orchestrator/batch/call_slots.h"
#include "orchestrator/batch/call_throttles.h"
#include "orchestrator/batch/quotas.h"
#include "orchestrator/outgoing/lifecycle.h"
#include "orchestrator/outgoing/messages.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/variable_rows.h"

namespace millrace {
namespace {

/// Stages an effect: one overload for each type of effect, so that a new type without an overload
/// does not compile.
struct Stage {
  BatchState& batch;
  const Instance& instance;

  Status operator()(Publish& asked) const {
    if (hops_of(asked.event) > kMaxHops) return refuse(asked);
    if (!asked.at) {
      return batch.publish(asked.ns, instance.id, asked.event, instance.sealed);
    }
    const uint64_t number = TRY(batch.next(Counter::kDelayed));
    write_delayed(batch.tx, number,
                  {.ns = asked.ns,
                   .instance = instance.id,
                   .at = *asked.at,
                   .event = encode_json_event(asked.event),
                   .sealed = instance.sealed});
    batch.waiting.arm_delayed(number, *asked.at);
    return {};
  }
  Status operator()(SetVariable& asked) const {
    if (asked.value) {
      write_variable(batch.tx, asked.name, *asked.value);
    } else {
      erase_variable(batch.tx, asked.name);
    }
    return {};
  }
  Status operator()(StartTask& task) const {
    if (task.refused) return refuse(task, *task.refused);
    if (const auto over = TRY(refusal_of(task))) return refuse(task, *over);
    std::optional<CallPlace> place;
    if (task.slot) place = TRY(take_call_slot(batch, task));
    if (task.throttle) task.throttle->number = TRY(batch.next(Counter::kSlots));
    batch.tasks.begin(batch.tx, task, place);
    if (place && place->kind != QueueRow::kCallHolder) return {};
    const bool is_free = !task.throttle || TRY(pass_call_throttle(batch, task, task.created));
    if (is_free) batch.after_commit(std::move(task));
    return {};
  }
  Status operator()(StopTask& task) const {
    TRY(end_task(batch, task.task));
    batch.after_commit(task);
    return {};
  }
  Status operator()(Evaluate& evaluate) const {
    batch.after_commit(std::move(evaluate));
    return {};
  }
  Status operator()(LookBack& asked) const {
    asked.space = batch.catalog.name_of(asked.ns);
    if (asked.until.stream == batch.stream) asked.stream_created = batch.cursor.stream_created;
    batch.after_commit(std::move(asked));
    return {};
  }
  Status operator()(StartChild& message) const { return queue(std::move(message)); }
  Status operator()(CancelChild& message) const { return queue(message); }
  Status operator()(ReturnResult& message) const { return queue(std::move(message)); }

 private:
  Status queue(InstanceMessage message) const {
    batch.messages.push_back({std::move(message), batch.listen_from_now(), lane_of(instance)});
    return {};
  }
  /// The error of a quota that does not permit the task; nullopt: the task may begin. Nothing waits
  /// for the task of a detached call, so the call is new work.
  Result<std::optional<Error>> refusal_of(const StartTask& task) const {
    const uint64_t most = batch.catalog.settings(task.ns).quotas.of(Quota::kCalls);
    if (batch.tasks.count(task.ns) >= most) {
      return std::optional(refuse_over_quota(batch, task.ns, Quota::kCalls));
    }
    if (task.throttle) {
      auto over = TRY(refusal_of_call_throttle(batch, task));
      if (over) return over;
    }
    Quotas quotas(batch);
    return task.caller ? quotas.refusal_of_need(task.ns) : quotas.refusal_of_bytes(task.ns);
  }
  /// Ends the attempt of the call with an error, as if its task had ended.
  Status refuse(const StartTask& task, const Error& error) const {
    if (task.caller) {
      return queue(ReturnResult{.ns = task.ns,
                                .to = *task.caller,
                                .result = tl::unexpected(error),
                                .sealed = task.sealed});
    }
    // One line for each batch: an instance may make thousands of such calls.
    if (++batch.outcome.counts.detached_refused == 1) {
      spdlog::warn("instance {} could not start a detached call of {}: {}", to_string(task.by),
                   task.function, error.message);
    }
    return {};
  }
  Status refuse(const Publish& asked) const {
    const std::string& ns = batch.catalog.name_of(asked.ns);
    return batch.dead_letter(
        {.ns = ns,
         .reason =
             {std::string(kHopsError),
              fmt::format(
                  "event {} would be number {} in a chain of generated events; the limit is {}",
                  asked.event.id, kMaxHops + 1, kMaxHops)},
         .message = event_message(ns, asked.event)},
        instance.sealed);
  }
};

}  // namespace

void BatchState::discard() {
  counters.clear();
  index.clear();
  effects.clear();
  trimmed_rows.clear();
  dropped_compensations.clear();
  dropped_pieces.clear();
  unfinished.clear();
  woken.clear();
  has_due_throttle = false;
  reviewed.clear();
  woken_calls.clear();
  has_due_call_throttle = false;
  reviewed_calls.clear();
  origins.clear();
  outcome = {};
}

Status BatchState::stage(const Instance& instance, Effect effect) {
  return std::visit(Stage{*this, instance}, effect);
}

Result<uint64_t> BatchState::next(Counter counter) {
  const auto found = counters.find(counter);
  const uint64_t number =
      found == counters.end() ? TRY(next_number(tx, counter)) : found->second + 1;
  counters[counter] = number;
  return number;
}

Result<uint64_t> BatchState::last(Counter counter) {
  const auto found = counters.find(counter);
  return found == counters.end() ? read_counter(tx, counter) : found->second;
}

void BatchState::show(const Instance& instance, bool is_deleted) {
  if (watch == nullptr || !watch->is_watched()) return;
  after_commit(ShowChange{watch,
                          {.instance = instance.id,
                           .ns = instance.ns,
                           .workflow = instance.revision.workflow,
                           .state = static_cast<uint32_t>(instance.state),
                           .status = instance.status,
                           .is_deleted = is_deleted}});
}

Status BatchState::publish(NamespaceNumber ns, const InstanceId& instance, const Event& event,
                           bool sealed) {
  ++outcome.counts.published;
  ++outcome.counts.traffic[ns].published;
  return send({instance, message_to_publish(message_key, catalog.name_of(ns), event), sealed});
}

Status BatchState::dead_letter(const DeadLetter& letter, bool sealed) {
  ++outcome.counts.dead_letters;
  NatsMessage message = dead_letter_message(letter, cursor.stream_created);
  const NamespaceNumber ns =
      letter.number.value_or(catalog.find_namespace(letter.ns).value_or(NamespaceNumber(0)));
  message.headers.emplace_back(kDeadLetterNamespace, std::to_string(static_cast<uint32_t>(ns)));
  return send({std::nullopt, std::move(message), sealed});
}

Status BatchState::publish_lifecycle(const Instance& instance,
                                     std::span<const HistoryRecord> records, uint64_t first) {
  const NamespaceSettings& settings = catalog.settings(instance.ns);
  if (!settings.has_lifecycle_events()) return {};
  const WorkflowEntry* const workflow = catalog.find_workflow(instance.revision.workflow);
  const LifecycleOf of{.ns = catalog.name_of(instance.ns),
                       .workflow = workflow == nullptr ? std::string_view() : workflow->id,
                       .instance = instance};
  for (const Event& event : lifecycle_events(of, records, first)) {
    if (settings.lifecycle) TRY(send({instance.id, lifecycle_message(of, event), instance.sealed}));
    for (const WebhookSetting& webhook : settings.webhooks) {
      const auto wants = [&](const std::string& glob) { return glob_matches(glob, event.type); };
      if (!webhook.types.empty() &&
          std::none_of(webhook.types.begin(), webhook.types.end(), wants)) {
        continue;
      }
      const uint64_t number = TRY(next(Counter::kWebhook));
      webhook_outbox.add(tx, number,
                         {.ns = instance.ns,
                          .url = webhook.url,
                          .at = records.back().time,
                          .event = encode_json_event(event),
                          .sealed = instance.sealed});
    }
  }
  return {};
}

void BatchState::count_compensations(std::span<const HistoryRecord> records) {
  for (const HistoryRecord& record : records) {
    if (record.kind == HistoryKind::kNoted) ++outcome.counts.compensations_noted;
    if (record.kind == HistoryKind::kUndone) ++outcome.counts.compensations_made;
    if (record.kind == HistoryKind::kCompensationStopped) ++outcome.counts.compensations_stopped;
  }
}

Status BatchState::send(OutboxRecord record) {
  const uint64_t number = TRY(next(Counter::kOutbox));
  write_outbox(tx, number, record);
  after_commit(NumberedMessage{number, std::move(record)});
  return {};
}

}  // namespace millrace
