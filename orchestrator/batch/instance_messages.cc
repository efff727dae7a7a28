#include "orchestrator/batch/instance_messages.h"

#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/check.h"
#include "model/hops.h"
#include "orchestrator/store/rows/head_rows.h"
#include "states/start_key.h"

namespace millrace {
namespace {

Sealing sealing_of(const InstanceMessage& message) {
  if (const auto* start = std::get_if<StartChild>(&message)) return start->sealed;
  const auto* result = std::get_if<ReturnResult>(&message);
  return result == nullptr ? Sealing() : result->sealed;
}

/// Sets whether an instance message that was read from the store is sealed, as its row was.
void set_sealed(InstanceMessage& message, Sealing sealed) {
  if (auto* start = std::get_if<StartChild>(&message)) start->sealed = sealed;
  if (auto* result = std::get_if<ReturnResult>(&message)) result->sealed = sealed;
}

const InstanceId& receiver_of(const InstanceMessage& message) {
  if (const auto* start = std::get_if<StartChild>(&message)) return start->child;
  if (const auto* cancel = std::get_if<CancelChild>(&message)) return cancel->child;
  return std::get<ReturnResult>(message).to.instance;
}

/// A subflow that has not started yet, in the form of an Instance, for KeptEvents::update().
Instance waiting_to_start(const StartChild& message, const ListenFrom& listen_from) {
  return {.id = message.child, .ns = message.ns, .listen_from = listen_from};
}

/// The refusal of a start as its caller gets it. The key of a start is a part of its input.
Error shown_to_caller(const StartChild& message, const Error& refusal) {
  const bool has_key = refusal.code == kRateLimitError || refusal.code == kStartKeyError ||
                       refusal.code.starts_with("millrace.concurrency.");
  const bool is_hidden = message.sealed && has_key;
  return {refusal.code, is_hidden ? std::string(kHiddenReason) : refusal.message};
}

}  // namespace

Status InstanceMessages::load() {
  batch_.messages.clear();
  waiting_.clear();
  receivers_.clear();
  TRY(each_inbox(
      batch_.tx,
      [&](uint64_t number, InboxRecord record) {
        set_sealed(record.message, record.sealed);
        const WorkLane lane{std::visit([](const auto& one) { return one.ns; }, record.message), {}};
        wait({.message = std::move(record.message),
              .listen_from = record.listen_from,
              .lane = lane,
              .row = number});
      },
      batch_.damages.noting()));
  for (const auto& [lane, queue] : waiting_) {
    for (const QueuedMessage& queued : queue) TRY(keep_events(queued));
  }
  return {};
}

Status InstanceMessages::run(TimePoint now) {
  auto& messages = batch_.messages;
  while (!messages.empty()) {
    QueuedMessage next = std::move(messages.front());
    messages.pop_front();
    if (must_wait(next)) {
      wait(std::move(next));
    } else {
      TRY(process(now, std::move(next)));
    }
  }
  return {};
}

bool InstanceMessages::must_wait(const QueuedMessage& message) const {
  if (left_ == 0 || batch_.meter.is_spent()) return true;
  if (waiting_.empty()) return false;
  return waiting_.contains(message.lane) || receivers_.contains(receiver_of(message.message));
}

void InstanceMessages::wait(QueuedMessage message) {
  Receiver& receiver = receivers_[receiver_of(message.message)];
  if (receiver.waiting++ == 0) receiver.lane = message.lane;
  waiting_[receiver.lane].push_back(std::move(message));
}

std::vector<WorkLane> InstanceMessages::lanes() const {
  std::vector<WorkLane> lanes;
  for (const auto& [lane, queue] : waiting_) lanes.push_back(lane);
  return lanes;
}

Status InstanceMessages::go_on(TimePoint now, const WorkLane& lane) {
  const auto waiting = waiting_.find(lane);
  CHECK(waiting != waiting_.end(), "a lane without waiting messages went on");
  QueuedMessage next = std::move(waiting->second.front());
  waiting->second.pop_front();
  if (waiting->second.empty()) waiting_.erase(waiting);
  const auto receiver = receivers_.find(receiver_of(next.message));
  if (--receiver->second.waiting == 0) receivers_.erase(receiver);
  TRY(process(now, std::move(next)));
  return run(now);
}

Status InstanceMessages::process(TimePoint now, QueuedMessage queued) {
  --left_;
  if (queued.row != 0) erase_inbox(batch_.tx, queued.row);
  return std::visit([&](const auto& message) { return run(now, message, queued); }, queued.message);
}

Status InstanceMessages::write() {
  for (auto& [lane, queue] : waiting_) {
    // The messages that have no row yet are the newest ones.
    auto next = queue.end();
    while (next != queue.begin() && std::prev(next)->row == 0) --next;
    for (; next != queue.end(); ++next) {
      next->row = TRY(batch_.next(Counter::kInbox));
      write_inbox(batch_.tx, next->row,
                  {next->message, next->listen_from, sealing_of(next->message)});
      TRY(keep_events(*next));
    }
  }
  return {};
}

/// Makes KeptEvents keep the events that come before a queued subflow starts, so that the subflow
/// misses no event.
Status InstanceMessages::keep_events(const QueuedMessage& queued) {
  const auto* const start = std::get_if<StartChild>(&queued.message);
  if (start == nullptr || !batch_.catalog.has_namespace(start->ns)) return {};
  const WorkflowEntry* const entry = batch_.catalog.find_workflow(start->ns, start->workflow);
  if (entry == nullptr) return {};
  const Revision revision{entry->number, entry->latest};
  const auto workflow = batch_.catalog.definition(batch_.tx, revision);
  if (!workflow && is_damaged_row(workflow.error())) return {};  // run() later refuses the start
  const StateIndex first = TRY(workflow)->start.state;
  auto awaited = TRY(batch_.catalog.awaited(batch_.tx, revision, first));
  batch_.kept_events.update(waiting_to_start(*start, queued.listen_from), std::move(awaited));
  return {};
}

Status InstanceMessages::run(TimePoint now, const StartChild& message,
                             const QueuedMessage& queued) {
  batch_.kept_events.forget(message.child);
  if (message.caller && !TRY(is_wanted(now, message.ns, *message.caller, message.child))) return {};
  const auto known = read_head_anywhere(batch_.tx, message.ns, message.child);
  if (!known || *known) {  // a start must not overwrite existing rows
    if (!known && !is_damaged_row(known.error())) return tl::unexpected(known.error());
    batch_.damages.note(damaged_instance(message.ns, message.child,
                                         "a subflow would start under the id of an instance that "
                                         "exists"));
    return {};
  }
  const WorkflowEntry* const entry =
      batch_.catalog.has_namespace(message.ns)
          ? batch_.catalog.find_workflow(message.ns, message.workflow)
          : nullptr;
  if (entry == nullptr) {
    return refuse(now, message, queued.lane,
                  {"direktiv.subflow.notExist",
                   fmt::format("there is no workflow \"{}\"", message.workflow)});
  }
  const auto workflow = batch_.catalog.definition(batch_.tx, {entry->number, entry->latest});
  if (!workflow) {
    TRY(batch_.tx.status());
    return refuse(
        now, message, queued.lane,
        {"direktiv.subflow.notExist", fmt::format("workflow \"{}\" does not load: {}",
                                                  message.workflow, workflow.error().message)});
  }
  const std::string how = fmt::format(R"({{"by":"subflow","parent":"{}","revision":{}}})",
                                      to_string(message.by), entry->latest);
  StartSpec spec{.data = message.input,
                 .how = LazyJson::of_text(how),
                 .hops = message.hops,
                 .id = message.child,
                 .listen_from = queued.listen_from,
                 .caller = message.caller,
                 .depth = message.depth,
                 .sealed = message.sealed};
  if ((*workflow)->batch) {
    if (TRY(instances_.is_compensation(now, message.ns, message.caller))) {
      return refuse(
          now, message, queued.lane,
          {"millrace.compensation.batch",
           fmt::format("workflow \"{}\" has `batch`: its instance gets the inputs of many "
                       "calls, and none of them its result, so the compensation would "
                       "end before it is made",
                       message.workflow)});
    }
    return add_to_batch(now, message, queued, *entry, **workflow, std::move(spec));
  }
  if ((*workflow)->debounce) {
    const auto deferred =
        TRY(instances_.pending().defer(now, *entry, **workflow, std::move(spec), message.child));
    if (!deferred.refusal) return {};
    return refuse(now, message, queued.lane, shown_to_caller(message, *deferred.refusal));
  }
  StartGate gate = TRY(instances_.admit(now, *entry, **workflow, message.input));
  if (gate.is_dropped) return drop(now, message, queued.lane, *gate.refusal);
  if (gate.refusal) {
    instances_.count_rejected(gate);
    return refuse(now, message, queued.lane, shown_to_caller(message, *gate.refusal));
  }
  spec.place = std::move(gate.place);
  TRY(instances_.start(now, *entry, **workflow, std::move(spec)));
  return {};
}

/// Adds the input of a subflow to the batch of its workflow. The instance has the inputs of many
/// calls, so it is detached: a call that waits gets the id of the instance, and when it starts.
Status InstanceMessages::add_to_batch(TimePoint now, const StartChild& message,
                                      const QueuedMessage& queued, const WorkflowEntry& entry,
                                      const Workflow& workflow, StartSpec spec) {
  const bool waits = message.caller.has_value();
  if (waits && message.hops >= kMaxHops) {
    return refuse(now, message, queued.lane,
                  {"direktiv.limits.depth",
                   fmt::format("this start would be number {} in a chain of detached starts of "
                               "which none waited for at least one second; the limit is {}",
                               kMaxHops + 1, kMaxHops)});
  }
  spec.hops = message.hops + (waits ? 1 : 0);
  spec.id.reset();
  spec.caller.reset();
  spec.depth = 0;
  // The child of a call that waits is the instance of that call only.
  const InstanceId id = waits ? batch_.make_id(now) : message.child;
  const auto deferred = TRY(instances_.pending().defer(now, entry, workflow, std::move(spec), id));
  if (deferred.refusal) {
    return refuse(now, message, queued.lane, shown_to_caller(message, *deferred.refusal));
  }
  if (!waits) return {};
  return answer(
      now, message, queued.lane,
      LazyJson(Json{{"id", to_string(deferred.id)}, {"startsAt", format_rfc3339(deferred.at)}}));
}

Result<bool> InstanceMessages::is_wanted(TimePoint now, NamespaceNumber ns, const Caller& caller,
                                         const InstanceId& child) {
  const LoadedInstance* const loaded = TRY(instances_.load(now, ns, caller.instance));
  return loaded != nullptr && waits_for(loaded->instance, caller) &&
         loaded->instance.calls[caller.index].id == child;
}

Status InstanceMessages::refuse(TimePoint now, const StartChild& message, const WorkLane& lane,
                                Error error) {
  if (!message.caller) {
    spdlog::warn("instance {} could not start a detached subflow: {}", to_string(message.by),
                 error.message);
    return {};
  }
  return answer(now, message, lane, tl::unexpected(std::move(error)));
}

/// Drops a start because the workflow has no free slot: its caller gets null, or the reason if its
/// call is a compensation, which was not made.
Status InstanceMessages::drop(TimePoint now, const StartChild& message, const WorkLane& lane,
                              const Error& reason) {
  ++batch_.outcome.counts.starts_skipped;
  if (!message.caller) return {};
  if (TRY(instances_.is_compensation(now, message.ns, message.caller))) {
    return refuse(now, message, lane, shown_to_caller(message, reason));
  }
  return answer(now, message, lane, LazyJson());
}

/// Gives the call of a subflow its result. Precondition: a call waits for it.
Status InstanceMessages::answer(TimePoint now, const StartChild& message, const WorkLane& lane,
                                CallResult result) {
  ReturnResult returned{.ns = message.ns, .to = *message.caller, .result = std::move(result)};
  if (!receivers_.contains(returned.to.instance)) return run(now, returned, {});
  // Earlier messages to the caller wait.
  batch_.messages.push_back({std::move(returned), batch_.listen_from_now(), lane});
  return {};
}

Status InstanceMessages::run(TimePoint now, const CancelChild& message,
                             const QueuedMessage& queued) {
  LoadedInstance* const loaded = TRY(instances_.load(now, message.ns, message.child));
  if (loaded == nullptr) return {};
  // A caller cancels a subflow only if the caller no longer waits for it, and no instance message
  // cancels an instance that has no caller. So a cancel that contradicts this is a damaged row.
  const std::optional<Caller> caller = loaded->instance.caller;
  if (!caller || TRY(is_wanted(now, message.ns, *caller, message.child))) {
    batch_.damages.note(damaged_instance_message(
        queued.row,
        fmt::format("it would cancel instance {}, {}", to_string(message.child),
                    caller ? "whose caller still waits for its result" : "which has no caller")));
    return {};
  }
  TRY(instances_.step(
      now, *loaded,
      Cancel{.error = {"direktiv.cancels.parent", "its caller no longer waits for it"},
             .at_once = message.at_once,
             .by_caller = true}));
  return {};
}

Status InstanceMessages::run(TimePoint now, const ReturnResult& message, const QueuedMessage&) {
  LoadedInstance* const loaded = TRY(instances_.load(now, message.ns, message.to.instance));
  if (loaded == nullptr) return {};
  TRY(instances_.step(
      now, *loaded,
      Returned{.call = message.to, .result = message.result, .sealed = message.sealed}));
  return {};
}

}  // namespace millrace
