// Scenarios for crash points: a workflow for each type of state, and the crash points that the
// process passes while it runs.
#pragma once

#include <cstddef>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "os/crash_point.h"

namespace millrace {

using Points = std::set<CrashPoint>;

/// Every scenario passes these points at least three times: it has events, commands and commits.
inline const Points kAlways = {
    CrashPoint::kPulled,         CrashPoint::kDecoded,       CrashPoint::kDelivered,
    CrashPoint::kGathered,       CrashPoint::kEventApplied,  CrashPoint::kCommandApplied,
    CrashPoint::kFinished,       CrashPoint::kWritten,       CrashPoint::kCommitted,
    CrashPoint::kJournalStarted, CrashPoint::kJournalTurned, CrashPoint::kPagesWritten,
    CrashPoint::kPagesSynced,    CrashPoint::kRootWritten,   CrashPoint::kCheckpointStep,
    CrashPoint::kCheckpointed,   CrashPoint::kAnswering,     CrashPoint::kAnswered};
inline const Points kTimers = {CrashPoint::kTimerApplied};
inline const Points kMessages = {CrashPoint::kSending, CrashPoint::kSent, CrashPoint::kAcknowledged,
                                 CrashPoint::kAckQueued, CrashPoint::kAckApplied};
inline const Points kEvaluations = {CrashPoint::kEvaluating, CrashPoint::kEvaluationAsked,
                                    CrashPoint::kEvaluated, CrashPoint::kResultQueued,
                                    CrashPoint::kResultApplied};
inline const Points kTimersAndEvaluations = [] {
  Points points = kEvaluations;
  points.insert(kTimers.begin(), kTimers.end());
  return points;
}();

inline const Points kTasks = {CrashPoint::kHandingOut,   CrashPoint::kHandedOut,
                              CrashPoint::kTaskSent,     CrashPoint::kReported,
                              CrashPoint::kReportQueued, CrashPoint::kReportStored,
                              CrashPoint::kResultApplied};
inline const Points kWebhooks = {CrashPoint::kDelivering, CrashPoint::kDeliveryReported,
                                 CrashPoint::kDeliveryQueued, CrashPoint::kDeliveryApplied};

/// A workflow `work`, the events that start and wake its instances, and the expected end of each
/// instance. Events start three instances. Calls with the same input start three more.
struct CrashScenario {
  std::string name;
  std::string definition;
  std::vector<std::string> start_events = {"begin"};  ///< types of the events of one start
  std::vector<std::string> wake_events;               ///< types of the events for each instance
  std::vector<std::string> entered;                   ///< the states of the last run, in order
  int runs = 1;                                       ///< all but the last one end by continueAsNew
  Points also;                                        ///< points that it passes beside kAlways
  std::string status = "complete";
  std::string error;             ///< the error code of the instance
  Duration at_least{0};          ///< shortest time from the start to the end or generated event
  bool generates_event = false;  ///< each instance generates one event
  std::string child;             ///< definition of a workflow `child`
  size_t children = 0;           ///< number of subflows of each instance
  bool has_task = false;         ///< each instance has one task of the service `echo`
  bool has_webhook = false;      ///< a webhook gets the completion of each instance
};

inline std::ostream& operator<<(std::ostream& out, const CrashScenario& scenario) {
  return out << scenario.name;
}

inline constexpr const char* kStart =
    "id: work\nstart: {type: event, event: {type: begin}}\nstates:\n";

inline const CrashScenario kScenarios[] = {
    {.name = "noop",
     .definition = std::string(kStart) + "- {id: a, type: noop}\n",
     .entered = {"a"}},
    {.name = "delay",
     .definition = std::string(kStart) + "- {id: a, type: delay, duration: PT0.15S}\n",
     .entered = {"a"},
     .also = kTimers,
     .at_least = Duration(150)},
    {.name = "consumeEvent",
     .definition = std::string(kStart) + R"(
- {id: a, type: consumeEvent, event: {type: go, context: {key: jq(.begin.key)}}, transition: b}
- {id: b, type: noop}
)",
     .wake_events = {"go"},
     .entered = {"a", "b"}},
    {.name = "stateTimeout",
     .definition = std::string(kStart) + R"(
- id: a
  type: consumeEvent
  timeout: PT0.15S
  event: {type: never}
  catch: [{error: direktiv.stateTimeout, transition: b}]
- {id: b, type: noop}
)",
     .entered = {"a", "b"},
     .also = kTimers,
     .at_least = Duration(150)},
    {.name = "evaluatedDelay",
     .definition = std::string(kStart) + R"(
- {id: a, type: delay, duration: 'jq("pt0.15s" | ascii_upcase)', transition: b}
- {id: b, type: delay, until: {cron: '@every 1s', timezone: jq(.begin.zone // "UTC")}}
)",
     .entered = {"a", "b"},
     .also = kTimersAndEvaluations,
     .at_least = Duration(1150)},
    {.name = "evaluatedTimeout",
     .definition = std::string(kStart) + R"(
- id: a
  type: consumeEvent
  timeout: jq("pt0.15s" | ascii_upcase)
  event: {type: never}
  catch: [{error: direktiv.stateTimeout, transition: b}]
- id: b
  type: consumeEvent
  until: jq(0)
  event: {type: never}
  catch: [{error: direktiv.stateTimeout, transition: c}]
- {id: c, type: noop}
)",
     .entered = {"a", "b", "c"},
     .also = kTimersAndEvaluations,
     .at_least = Duration(150)},
    {.name = "continueAsNew",
     .definition = std::string(kStart) + R"(
- {id: a, type: switch, conditions: [{condition: .run, transition: c}], defaultTransition: b}
- id: b
  type: consumeEvent
  event: {type: go, context: {key: jq(.begin.key)}}
  continueAsNew: {begin: jq(.begin), run: jq($instance.run)}
- {id: c, type: consumeEvent, event: {type: stop, context: {key: jq(.begin.key)}}, transition: d}
- {id: d, type: switch, conditions: [{condition: .run == 1, transition: e}]}
- {id: e, type: noop}
)",
     .wake_events = {"go", "stop"},
     .entered = {"a", "c", "d", "e"},
     .runs = 2},
    {.name = "eventAnd",
     .definition = std::string(kStart) + R"(
- id: a
  type: eventAnd
  events:
  - {type: one, context: {key: jq(.begin.key)}}
  - {type: two, context: {key: jq(.begin.key)}}
  transition: b
- {id: b, type: noop}
)",
     .wake_events = {"one", "two"},
     .entered = {"a", "b"}},
    {.name = "eventXor",
     .definition = std::string(kStart) + R"(
- id: a
  type: eventXor
  events:
  - {event: {type: one, context: {key: jq(.begin.key)}}, transition: b}
  - {event: {type: two, context: {key: jq(.begin.key)}}, transition: c}
- {id: b, type: noop}
- {id: c, type: noop}
)",
     .wake_events = {"two", "one"},
     .entered = {"a", "c"}},
    {.name = "variables",
     .definition = std::string(kStart) + R"(
- id: a
  type: setter
  variables: [{key: seen, value: jq(.begin)}, {key: last, scope: workflow, value: jq(.begin)}]
  transition: b
- {id: b, type: getter, variables: [{key: seen}], transition: c}
- id: c
  type: switch
  conditions: [{condition: 'jq((.var.seen.key | explode) == (.begin.key | explode))', transition: d}]
- {id: d, type: noop}
)",
     .entered = {"a", "b", "c", "d"},
     .also = kEvaluations},
    {.name = "generateEvent",
     .definition = std::string(kStart) + R"(
- {id: a, type: generateEvent, event: {type: told, source: work, data: 'jq({key: .begin.key})'}}
)",
     .entered = {"a"},
     .also = kMessages,
     .generates_event = true},
    {.name = "generateEventLater",
     .definition = std::string(kStart) + R"(
- id: a
  type: generateEvent
  delay: PT0.15S
  event: {type: told, source: work, data: 'jq({key: .begin.key})'}
)",
     .entered = {"a"},
     .also = {CrashPoint::kTimerApplied, CrashPoint::kSending, CrashPoint::kSent,
              CrashPoint::kAcknowledged, CrashPoint::kAckQueued, CrashPoint::kAckApplied},
     .at_least = Duration(150),
     .generates_event = true},
    {.name = "switch",
     .definition = std::string(kStart) + R"(
- id: a
  type: switch
  conditions:
  - {condition: '.begin.key == "nobody"', transition: b}
  - {condition: .begin.key, transition: c}
- {id: b, type: noop}
- {id: c, type: noop}
)",
     .entered = {"a", "c"}},
    {.name = "error",
     .definition = std::string(kStart) + R"(
- {id: a, type: error, error: work.failed, message: it had to}
)",
     .entered = {"a"},
     .status = "failed",
     .error = "work.failed"},
    {.name = "eventsAndStart",
     .definition = R"(
id: work
start: {type: eventsAnd, correlate: [key], events: [{type: begin}, {type: second}]}
states:
- {id: a, type: noop}
)",
     .start_events = {"begin", "second"},
     .entered = {"a"}},
    {.name = "jqWorker",
     .definition = std::string(kStart) + R"(
- {id: a, type: noop, transform: 'jq({begin: {key: (.begin.key | explode | implode)}})'}
)",
     .entered = {"a"},
     .also = kEvaluations},
    {.name = "validate",
     .definition = std::string(kStart) + R"(
- {id: a, type: validate, schema: {type: object, required: [begin]}, transition: b}
- {id: b, type: noop}
)",
     .entered = {"a", "b"},
     .also = kEvaluations},
    {.name = "subflows",
     .definition =
         "functions: [{id: f, type: subflow, workflow: child}]\n" + std::string(kStart) + R"(
- {id: a, type: foreach, array: '[1, 2, 3]', concurrency: 2, action: {function: f}, transition: b}
- id: b
  type: switch
  conditions: [{condition: 'jq(.return == [{"input":1},{"input":2},{"input":3}])', transition: c}]
- {id: c, type: noop}
)",
     .entered = {"a", "b", "c"},
     .also = kTimers,
     .at_least = Duration(100),
     .child = "id: child\nstates:\n- {id: a, type: delay, duration: PT0.05S}\n",
     .children = 3},
    {.name = "action",
     .definition = "functions: [{id: f, type: knative-namespace, service: echo}]\n" +
                   std::string(kStart) + R"(
- {id: a, type: action, action: {function: f, input: jq(.begin.key)}, transition: b}
- {id: b, type: switch, conditions: [{condition: jq(.return == .begin.key), transition: c}]}
- {id: c, type: noop}
)",
     .entered = {"a", "b", "c"},
     .also = kTasks,
     .has_task = true},
    {.name = "webhook",
     .definition = std::string(kStart) + "- {id: a, type: noop}\n",
     .entered = {"a"},
     .also = kWebhooks,
     .has_webhook = true},
};

}  // namespace millrace
