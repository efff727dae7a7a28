#include "tests/simulation/rich_store.h"

#include <utility>

#include <fmt/format.h>

#include "tests/simulation/compensated_order.h"

namespace millrace {
namespace {

constexpr const char* kDefinitions[] = {
    R"(
id: waits
states:
- {id: wait, type: consumeEvent, timeout: PT1H, event: {type: go}}
)",
    R"(
id: both
states:
- {id: wait, type: eventAnd, events: [{type: one}, {type: two}]}
)", kNaps,
    R"(
id: child
states:
- {id: wait, type: consumeEvent, event: {type: never}}
)",
    R"(
id: parent
functions: [{id: f, type: subflow, workflow: child}]
states:
- {id: call, type: foreach, array: '[1, 2]', action: {function: f}}
)",
    R"(
id: order
functions: [{id: charge, type: knative-namespace, service: charge}]
states:
- id: pay
  type: action
  action:
    function: charge
    secrets: [card]
    startToCloseTimeout: 1h
    retries: {maximumAttempts: 2, initialInterval: 1h}
)",
    R"(
id: posts
functions: [{id: post, type: knative-namespace, service: post}]
states:
- {id: send, type: action, async: true, action: {function: post}}
)", kPairs,
    R"(
id: nightly
start: {type: scheduled, cron: '0 0 * * *'}
states:
- {id: a, type: noop}
)",
    R"(
id: tells
states:
- {id: now, type: generateEvent, event: {type: told, source: s}, transition: later}
- {id: later, type: generateEvent, event: {type: told.later, source: s}, delay: PT1H}
)",
    R"(
id: keeps
states:
- id: keep
  type: setter
  variables:
  - {key: own, value: 1}
  - {key: ours, scope: workflow, value: 2}
  - {key: all, scope: namespace, value: 3}
)",
    R"(
id: fails
states:
- {id: a, type: error, error: some.error, message: it had to}
)",
    R"(
id: picks
states:
- id: answer
  type: eventXor
  timeout: P2D
  events:
  - {event: {type: yes, context: {order: 'jq(.n)'}}}
  - {event: {type: no, context: {order: '^o'}}}
)",
    R"(
id: timed
timeouts: {interrupt: P1D, kill: P2D}
workflowRunTimeout: P3D
workflowExecutionTimeout: P4D
states:
- {id: a, type: delay, duration: P9D}
)",
    R"(
id: again
retries: {max_attempts: 3, delay: PT20H, codes: ['*']}
states:
- {id: e, type: error, error: my.err, message: bad}
)",
    R"(
id: ships
functions: [{id: ship, type: knative-namespace, service: ship}]
states:
- id: send
  type: action
  action: {function: ship, input: {n: 'jq(.n)'}, scheduleToCloseTimeout: P1D}
)",
    R"(
id: shifts
states:
- {id: shift, type: noop, transform: {x: 1}, transition: wait}
- {id: wait, type: consumeEvent, event: {type: shifted}}
)",
    R"(
id: limited
concurrency: {limit: 1, timeout: P2D}
states:
- {id: wait, type: consumeEvent, event: {type: allowed}}
)",
    R"(
id: paced
throttle: {limit: 1, period: PT1H, timeout: P2D}
states:
- {id: wait, type: consumeEvent, event: {type: allowed}}
)",
    R"(
id: parks
states:
- {id: think, type: noop, transform: 'jq(slow)', transition: wait}
- {id: wait, type: consumeEvent, event: {type: kept}}
)",
    R"(
id: undoes
compensate: true
functions: [{id: undo, type: knative-namespace, service: undo}]
states:
- {id: one, type: noop, compensate: {function: undo, input: 1}, transition: two}
- id: two
  type: noop
  compensate: {function: undo, input: jq(.n), retries: {max_attempts: 2, delay: PT1H, codes: ['*']}}
  transition: stop
- {id: stop, type: error, error: some.error, message: it had to}
)",
    R"(
id: halts
compensate: true
functions:
- {id: do, type: knative-namespace, service: do}
- {id: undo, type: knative-namespace, service: undo}
states:
- id: each
  type: foreach
  array: '[1, 2]'
  action: {function: do}
  compensate: {function: undo, input: jq(.return)}
  transition: stop
- {id: stop, type: error, error: some.error, message: it had to}
)",
};

}  // namespace

RichStore::RichStore() {
  World world;
  world.evaluator.define("slow", [](const Json& input) -> QueryResult { return input; });
  world.receivers.answer = [](const Event&) {
    return WebhookFailure{.error = {"webhook.status", "it answers 500"}};
  };
  world.must(CreateNamespace{
      .name = "shop",
      .settings = Json::parse(R"({"lifecycle": true, "webhooks": [{"url": "http://hook"}]})")});
  world.must(PutSecret{"default", "card", "4711"});
  for (const char* const definition : kDefinitions) world.apply(definition);
  world.apply(kDefinitions[0], "shop");
  for (const char* const workflow :
       {"waits", "both", "naps", "parent", "order", "posts", "tells", "keeps", "fails"}) {
    start(world, workflow, fmt::format("key of {}", workflow));
  }
  const std::string cancelled = world.start("waits")["id"];
  world.must(CancelInstance{"default", *parse_instance_id(cancelled)});
  const std::string paused = world.start("naps")["id"];
  world.must(PauseInstance{"default", *parse_instance_id(paused)});
  world.must(StartInstance{.ns = "shop", .workflow = "waits", .input = Json::object()});
  // A second instance of `order` waits for its call's next attempt. The call of a third instance
  // has ended.
  world.start("order");
  world.functions.report({world.functions.tasks().back().id,
                          TaskEnded{.result = tl::unexpected(Error{"down", "no"})}});
  world.run_until_idle();
  world.start("order");
  world.functions.answer(world.functions.tasks().back().id, {{"paid", true}});
  world.run_until_idle();
  for (const char* const workflow :
       {"picks", "timed", "again", "ships", "shifts", "limited", "paced"}) {
    start(world, workflow, "");
  }
  start(world, "limited", "waits for a slot");
  start(world, "paced", "waits for the throttle");
  world.publish("one", "1", Json(1));
  world.publish("left", "2", Json(2), {{"key", std::string("k")}});
  world.run_until_idle();
  // An instance of `undoes` makes the newer one of its compensations. That of `halts` has ended,
  // because the newer one has failed.
  start(world, "undoes", "");
  start(world, "halts", "");
  for (const Task& task : tasks_of(world, "do")) world.functions.answer(task.id, 7);
  world.run_until_idle();
  fail_newest_task(world);
  world.evaluator.hold();
  start(world, "parks", "");
  world.publish("kept", "3", Json(3));
  world.run_until_idle();
  for (const auto& [key, value] : world.rows()) tables_.insert(key.substr(0, key.find('/')));
  for (const Json& one : world.instances()) {
    if (one["workflow"] == "child")
      ids_.emplace("child", *parse_instance_id(one["id"].get<std::string>()));
  }
  const std::filesystem::path from = world.environment().folder();
  world.crash();  // also checks the store
  std::filesystem::copy(from, folder_.path(), std::filesystem::copy_options::recursive);
}

void RichStore::start(World& world, const std::string& workflow, std::string key) {
  const std::string id = world.start(workflow, {{"n", 1}}, std::move(key))["id"];
  ids_.emplace(workflow, *parse_instance_id(id));
}

}  // namespace millrace
