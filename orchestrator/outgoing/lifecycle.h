// Lifecycle: the CloudEvents that tell what happens to instances, for namespaces that ask for them.
// Each stands for a record of the history. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/event.h"
#include "cloudevents/nats_binding.h"
#include "model/history.h"
#include "model/instance.h"

namespace millrace {

/// Whose history it is.
struct LifecycleOf {
  std::string_view space;
  std::string_view workflow;
  const Instance& instance;
};

/// The events for those of `records` that are told. `first` is the number of the first record in
/// the instance's history. Types are `millrace.instance.started`, `.completed`, `.failed`,
/// `.cancelled`, `.timedout`, `.paused`, `.resumed`, `.revived`, `millrace.step.failed`,
/// `.timedout` and `millrace.retry.scheduled`; the subject is the instance's id, `correlationid`
/// that of the event which started it or else that id too, `causationid` the id of the event by
/// which these records came about. Of a sealed instance no text of an error is told.
std::vector<Event> lifecycle_events(const LifecycleOf& of, std::span<const HistoryRecord> records,
                                    uint64_t first);

/// All types that these events have.
std::span<const std::string_view> lifecycle_types();

/// Under `millrace.lifecycle.<space>.<workflow>.<what>`, structured; the last token is the type's
/// end: `completed`, and `step-failed`, `step-timedout`, `retry-scheduled`.
NatsMessage lifecycle_message(const LifecycleOf& of, const Event& event);

}  // namespace millrace
