// Lifecycle: the CloudEvents about what happened to instances, for namespaces that enable them.
// Each event is made from a record of the history. Pure.
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

/// The instance whose history is published.
struct LifecycleOf {
  std::string_view ns;
  std::string_view workflow;
  const Instance& instance;
};

/// Makes the lifecycle events for `records`; some kinds of records have none. `first` is the number
/// of the first record in the instance's history. Types are `millrace.instance.started`,
/// `.completed`, `.failed`, `.cancelled`, `.timedout`, `.paused`, `.resumed`, `.revived`,
/// `millrace.step.failed`, `.timedout` and `millrace.retry.scheduled`. The subject is the
/// instance's id. `correlationid` is that of the event that started the instance, or else the
/// instance's id. `causationid` is the id of the event that caused these records. Events of a
/// sealed instance have no error texts.
std::vector<Event> lifecycle_events(const LifecycleOf& of, std::span<const HistoryRecord> records,
                                    uint64_t first);

/// All types that lifecycle_events() uses.
std::span<const std::string_view> lifecycle_types();

/// The message for a lifecycle event, in CloudEvents' structured mode, on
/// `millrace.lifecycle.<space>.<workflow>.<what>`. The last token is the end of the type:
/// `completed`, or `step-failed`, `step-timedout`, `retry-scheduled`.
NatsMessage lifecycle_message(const LifecycleOf& of, const Event& event);

}  // namespace millrace
