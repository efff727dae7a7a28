#include "orchestrator/batch/errands.h"

#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "orchestrator/store/rows/head_rows.h"

namespace millrace {
namespace {

bool is_sealed(const Errand& errand) {
  if (const auto* start = std::get_if<StartChild>(&errand)) return start->sealed;
  const auto* result = std::get_if<ReturnResult>(&errand);
  return result != nullptr && result->sealed;
}

/// Of one that was read: whether it is sealed is told by its row.
void set_sealed(Errand& errand, bool sealed) {
  if (auto* start = std::get_if<StartChild>(&errand)) start->sealed = sealed;
  if (auto* result = std::get_if<ReturnResult>(&errand)) result->sealed = sealed;
}

/// A child that is yet to start, as Recent is to see it.
Instance waiting_to_start(const StartChild& errand, uint64_t listen_from) {
  return {.id = errand.child, .space = errand.space, .listen_from = listen_from};
}

}  // namespace

Status Errands::load() {
  draft_.errands.clear();
  TRY(each_inbox(
      draft_.tx,
      [&](uint64_t number, InboxRecord record) {
        set_sealed(record.errand, record.sealed);
        draft_.errands.push_back(
            {.errand = std::move(record.errand), .listen_from = record.listen_from, .row = number});
      },
      draft_.damages.noting()));
  for (const QueuedErrand& queued : draft_.errands) TRY(keep_events(queued));
  return {};
}

Status Errands::run(TimePoint now) {
  auto& queue = draft_.errands;
  for (; !queue.empty() && left_ > 0; --left_) {
    const QueuedErrand next = std::move(queue.front());
    queue.pop_front();
    if (next.row != 0) erase_inbox(draft_.tx, next.row);
    TRY(std::visit([&](const auto& errand) { return run(now, errand, next); }, next.errand));
  }
  return {};
}

Status Errands::write() {
  for (QueuedErrand& queued : draft_.errands) {
    if (queued.row != 0) continue;
    queued.row = TRY(draft_.next(Counter::kInbox));
    write_inbox(draft_.tx, queued.row,
                {queued.errand, queued.listen_from, is_sealed(queued.errand)});
    TRY(keep_events(queued));
  }
  return {};
}

/// A child that has still to start may miss no event of those that come in between.
Status Errands::keep_events(const QueuedErrand& queued) {
  const auto* const start = std::get_if<StartChild>(&queued.errand);
  if (start == nullptr || !draft_.catalog.has_namespace(start->space)) return {};
  const WorkflowEntry* const entry = draft_.catalog.find_workflow(start->space, start->workflow);
  if (entry == nullptr) return {};
  const Revision revision{entry->number, entry->latest};
  const auto workflow = draft_.catalog.definition(draft_.tx, revision);
  if (!workflow && is_damaged_row(workflow.error())) return {};  // its start is refused
  const StateIndex first = TRY(workflow)->start.state;
  auto awaited = TRY(draft_.catalog.awaited(draft_.tx, revision, first));
  draft_.recent.update(waiting_to_start(*start, queued.listen_from), std::move(awaited));
  return {};
}

Status Errands::run(TimePoint now, const StartChild& errand, const QueuedErrand& queued) {
  draft_.recent.forget(errand.child);
  if (errand.caller && !TRY(is_wanted(now, errand.space, *errand.caller, errand.child))) return {};
  const auto known = read_head_anywhere(draft_.tx, errand.space, errand.child);
  if (!known || *known) {  // what is there must not be written over
    if (!known && !is_damaged_row(known.error())) return tl::unexpected(known.error());
    draft_.damages.note(damaged_instance(errand.space, errand.child,
                                         "a child is to start under the id of an instance that is "
                                         "there"));
    return {};
  }
  const WorkflowEntry* const entry =
      draft_.catalog.has_namespace(errand.space)
          ? draft_.catalog.find_workflow(errand.space, errand.workflow)
          : nullptr;
  if (entry == nullptr) {
    return refuse(
        now, errand,
        {"direktiv.subflow.notExist", fmt::format("there is no workflow \"{}\"", errand.workflow)});
  }
  const auto workflow = draft_.catalog.definition(draft_.tx, {entry->number, entry->latest});
  if (!workflow) {
    TRY(draft_.tx.status());
    return refuse(
        now, errand,
        {"direktiv.subflow.notExist", fmt::format("workflow \"{}\" does not load: {}",
                                                  errand.workflow, workflow.error().message)});
  }
  if (const Status single = instances_.refuse_singular(*entry, **workflow); !single) {
    return refuse(now, errand, {single.error().code, single.error().message});
  }
  TRY(instances_.start(
      now, *entry, **workflow,
      {.data = errand.input.value(),
       .how =
           Json{{"by", "subflow"}, {"parent", to_string(errand.by)}, {"revision", entry->latest}},
       .hops = errand.hops,
       .id = errand.child,
       .listen_from = queued.listen_from,
       .caller = errand.caller,
       .depth = errand.depth,
       .sealed = errand.sealed}));
  return {};
}

Result<bool> Errands::is_wanted(TimePoint now, NamespaceNumber space, const Caller& caller,
                                const InstanceId& child) {
  const Touched* const touched = TRY(instances_.touch(now, space, caller.instance));
  return touched != nullptr && waits_for(touched->instance, caller) &&
         touched->instance.calls[caller.index].id == child;
}

Status Errands::refuse(TimePoint now, const StartChild& errand, Error error) {
  if (!errand.caller) {
    spdlog::warn("instance {} could start no detached subflow: {}", to_string(errand.by),
                 error.message);
    return {};
  }
  return run(
      now,
      ReturnResult{
          .space = errand.space, .to = *errand.caller, .result = tl::unexpected(std::move(error))},
      {});
}

Status Errands::run(TimePoint now, const CancelChild& errand, const QueuedErrand& queued) {
  Touched* const touched = TRY(instances_.touch(now, errand.space, errand.child));
  if (touched == nullptr) return {};
  // A caller that cancels a child waits for it no longer; what nobody called is cancelled by none.
  const std::optional<Caller> caller = touched->instance.caller;
  if (!caller || TRY(is_wanted(now, errand.space, *caller, errand.child))) {
    draft_.damages.note(damaged_errand(
        queued.row, fmt::format("it would cancel instance {}, {}", to_string(errand.child),
                                caller ? "for whose result its caller waits"
                                       : "which no instance waited for")));
    return {};
  }
  TRY(instances_.step(now, *touched,
                      Cancel{.error = {"direktiv.cancels.parent",
                                       "the instance that called it waits for it no longer"},
                             .at_once = errand.at_once}));
  return {};
}

Status Errands::run(TimePoint now, const ReturnResult& errand, const QueuedErrand&) {
  Touched* const touched = TRY(instances_.touch(now, errand.space, errand.to.instance));
  if (touched == nullptr) return {};
  TRY(instances_.step(
      now, *touched,
      Returned{.call = errand.to, .result = errand.result, .sealed = errand.sealed}));
  return {};
}

}  // namespace millrace
