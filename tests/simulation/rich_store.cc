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
    R"(
id: pays
functions: [{id: pay, type: knative-namespace, service: bank, concurrency: {limit: 1, timeout: P2D}}]
states:
- {id: pay, type: action, action: {function: pay}}
)",
    R"(
id: settles
functions:
- {id: settle, type: knative-namespace, service: bank, throttle: {limit: 1, period: PT1H, timeout: P2D}}
states:
- {id: settle, type: action, action: {function: settle}}
)",
    R"(
id: rations
rateLimit: {limit: 2, period: PT1H}
states:
- {id: a, type: noop}
)",
    R"(
id: rests
debounce: {period: PT1H}
states:
- {id: a, type: noop}
)",
    R"(
id: gathers
batch: {maxSize: 3, timeout: PT1H}
states:
- {id: a, type: noop}
)",
    R"(
id: greets
start: {type: event, event: {type: greeted}}
states:
- {id: wait, type: consumeEvent, event: {type: never}, transform: 'jq($instance.event.id)'}
)",
    R"(
id: returns
functions: [{id: ask, type: knative-namespace, service: ask}]
states:
- {id: ask, type: action, action: {function: ask}, transform: 'jq(slow)'}
)",
};

/// A workflow that is deleted, and whose instance has ended.
constexpr const char* kGone = R"(
id: gone
states:
- {id: a, type: noop}
)";

/// A source that reads the stream ORDERS.
ApplySource source_of_orders(const std::string& name, bool consumes) {
  ApplySource command{.ns = "default", .name = name};
  command.record.origin.source[0] = consumes ? 8 : 7;
  command.record.origin.created = 1;
  command.record.stream = "ORDERS";
  command.record.begin = R"("all")";
  command.record.settings = consumes ? R"({"begin":"all","consume":true,"stream":"ORDERS"})"
                                     : R"({"begin":"all","stream":"ORDERS"})";
  return command;
}

/// Writes the rows of `meta` that no instance makes: a quota of events, a source, the consumer of a
/// deleted source, a replay, and a deleted workflow.
void make_rows_of_meta(World& world) {
  world.must(CreateNamespace{.name = "default",
                             .settings = Json::parse(R"({"quotas": {"eventsPerSecond": 1000}})")});
  world.must(source_of_orders("orders", false));
  world.must(source_of_orders("left", true));
  world.must(DeleteSource{.ns = "default", .name = "left"});
  ChangeReplay replay{.ns = "default", .kind = ChangeReplay::Kind::kBegin};
  replay.record.created_at = world.clock.now();
  replay.record.rate = 1;
  world.must(replay);
  world.apply(kGone);
  world.start("gone");
  world.must(DeleteWorkflow{.ns = "default", .id = "gone"});
}

/// A callback answers the call of an instance of `order`.
void answer_by_callback(World& world) {
  world.start("order");
  const InstanceId task = world.functions.tasks().back().id;
  world.functions.report({task, TaskAccepted{}});
  world.run_until_idle();
  world.must(
      AnswerTask{.ns = "default", .task = task, .what = TaskEnded{.result = R"({"paid":true})"}});
}

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
  for (const char* const value : {"4712", "4711"}) {
    world.must(PutSecret{"default", "card", value});
  }
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
  answer_by_callback(world);
  make_rows_of_meta(world);
  for (const char* const workflow :
       {"picks", "timed", "again", "ships", "shifts", "limited", "paced"}) {
    start(world, workflow, "");
  }
  start(world, "limited", "waits for a slot");
  start(world, "paced", "waits for the throttle");
  world.publish("one", "1", Json(1));
  world.publish("left", "2", Json(2), {{"key", std::string("k")}});
  world.run_until_idle();
  world.publish("greeted", "4", Json(4));
  world.run_until_idle();
  // An instance of `undoes` makes the newer one of its compensations. That of `halts` has ended,
  // because the newer one has failed.
  start(world, "undoes", "");
  start(world, "halts", "");
  for (const Task& task : tasks_of(world, "do")) world.functions.answer(task.id, 7);
  world.run_until_idle();
  fail_newest_task(world);
  start_calls_that_wait(world);
  // An instance of the first has started; those of the other two are put off.
  for (const char* const workflow : {"rations", "rests", "gathers"}) start(world, workflow, "");
  start(world, "returns", "");
  const InstanceId asked = world.functions.tasks().back().id;
  world.evaluator.hold();
  start(world, "parks", "");
  world.functions.answer(asked, {{"answered", true}});
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

void RichStore::start_calls_that_wait(World& world) {
  for (const char* const workflow : {"pays", "settles"}) {
    world.must(PauseService{.ns = "default", .name = "bank"});
    const std::string paused = world.start(workflow)["id"];
    world.must(PauseInstance{"default", *parse_instance_id(paused)});
    world.must(PauseService{.ns = "default", .name = "bank", .paused = false});
    start(world, workflow, "");
    start(world, workflow, "waits");
  }
}

void RichStore::start(World& world, const std::string& workflow, std::string key) {
  const std::string id = world.start(workflow, {{"n", 1}}, std::move(key))["id"];
  ids_.emplace(workflow, *parse_instance_id(id));
}

}  // namespace millrace
