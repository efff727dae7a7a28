// DyingStore: a world whose process died while its store had rows of every kind. Tests damage these
// rows and then restart the world.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/row.h"
#include "tests/simulation/world.h"

namespace millrace {

inline constexpr const char* kWorkflows[] = {
    R"(
id: canary
start: {type: event, event: {type: canary}}
states:
- {id: wait, type: consumeEvent, event: {type: sing}}
)",
    R"(
id: consume
timeouts: {interrupt: P2D, kill: P3D}
states:
- id: wait
  type: consumeEvent
  timeout: P1D
  event: {type: go, context: {source: '^/te', n: jq(.n)}}
  transform: 'jq({got: .go, n: .n})'
  catch: [{error: 'direktiv.stateTimeout', transition: late}]
  transition: read
- {id: late, type: noop}
- {id: read, type: getter, variables: [{key: k, scope: namespace}, {key: w, scope: workflow}, {key: i, scope: instance}]}
)",
    R"(
id: both
states:
- {id: wait, type: eventAnd, timeout: P1D, events: [{type: left}, {type: right}], transition: next}
- {id: next, type: delay, duration: PT1M}
)",
    R"(
id: either
states:
- id: wait
  type: eventXor
  events: [{event: {type: heads}, transition: a}, {event: {type: tails}, transition: b}]
- {id: a, type: noop}
- {id: b, type: delay, duration: PT1M}
)",
    R"(
id: sleeper
states:
- {id: wait, type: delay, duration: PT30M, transition: set}
- {id: set, type: setter, variables: [{key: k, scope: instance, value: jq(.)}]}
)",
    R"(
id: order
functions: [{id: charge, type: knative-namespace, service: charge, files: [{key: k, scope: namespace}]}]
states:
- id: pay
  type: action
  timeout: P1D
  action: {function: charge, scheduleToStartTimeout: 2h, startToCloseTimeout: 3h, heartbeatTimeout: 1h, retries: {maximumAttempts: 3, initialInterval: 10m}}
)",
    R"(
id: loop
functions: [{id: charge, type: knative-namespace, service: many}]
states:
- {id: each, type: foreach, array: jq(.items), concurrency: 2, action: {function: charge, input: 'jq({item: .})'}}
)",
    R"(
id: child
states:
- {id: wait, type: consumeEvent, event: {type: grown}}
)",
    R"(
id: parent
functions: [{id: f, type: subflow, workflow: child}, {id: g, type: knative-namespace, service: charge}]
states:
- id: call
  type: parallel
  mode: and
  actions:
  - {function: f, input: 'jq({a: 1})', retries: {max_attempts: 2, delay: PT1H, codes: ['*']}}
  - {function: g, input: 'jq({b: 2})'}
  - {function: f}
)",
    R"(
id: secretive
functions: [{id: f, type: subflow, workflow: keeper}]
states:
- {id: call, type: action, action: {function: f, secrets: [token], input: 'jq({go: .secrets.token})'}}
)",
    R"(
id: keeper
states:
- {id: keep, type: setter, variables: [{key: kept, scope: namespace, value: jq(.go)}], transition: wait}
- {id: wait, type: consumeEvent, event: {type: grown, context: {secretly: jq(.go)}}}
)",
    R"(
id: pair
start: {type: eventsAnd, lifespan: PT6H, correlate: [n], events: [{type: one}, {type: two}]}
states:
- {id: done, type: noop}
)",
    R"(
id: reminds
states:
- {id: remind, type: generateEvent, delay: PT1H, event: {type: reminder, source: /r, data: jq(.)}}
)",
    R"(
id: ticks
start: {type: scheduled, cron: '0 */3 * * *'}
states:
- {id: done, type: noop}
)",
    R"(
id: fails
functions: [{id: f, type: subflow, workflow: quick}]
states:
- {id: before, type: noop, transform: 'jq({n: .n, more: 1})', transition: loop}
- {id: loop, type: foreach, array: jq(.n), action: {function: f}}
)",
    R"(
id: breaks
states:
- {id: a, type: noop, transform: 'jq({x: .n})', transition: b}
- {id: b, type: error, error: no.luck, message: no}
)",
    R"(
id: again
retries: {max_attempts: 2, delay: PT2H, codes: ['*']}
states:
- {id: a, type: error, error: no.luck, message: no}
)",
    R"(
id: thinks
states:
- {id: think, type: noop, transform: 'jq(think)', transition: wait}
- {id: wait, type: consumeEvent, event: {type: go}}
)",
    R"(
id: crowd
states:
- {id: wait, type: consumeEvent, event: {type: flood}}
)",
    R"(
id: limited
concurrency: {limit: 1, key: jq(.n), timeout: PT9H}
priority: jq(.items[0])
states:
- {id: wait, type: consumeEvent, event: {type: go}}
)",
    R"(
id: paced
throttle: {limit: 1, period: PT5H, timeout: PT9H}
states:
- {id: wait, type: consumeEvent, event: {type: go}}
)",
    R"(
id: pays
functions: [{id: pay, type: knative-namespace, service: bank, concurrency: {limit: 1, key: jq(.n)}}]
states:
- {id: pay, type: action, action: {function: pay}}
)",
    R"(
id: settles
functions:
- id: settle
  type: knative-namespace
  service: bank
  throttle: {limit: 1, period: PT1H, key: jq(.n), timeout: P1D}
  priority: jq(.items[0])
states:
- {id: settle, type: action, action: {function: settle}}
)",
    R"(
id: rations
rateLimit: {limit: 9, period: PT5H, key: jq(.n)}
states:
- {id: a, type: noop}
)",
    R"(
id: rests
debounce: {period: PT5H, key: jq(.n)}
states:
- {id: a, type: noop}
)",
    R"(
id: gathers
batch: {maxSize: 3, timeout: PT5H, key: jq(.n)}
states:
- {id: a, type: noop}
)",
    R"(
id: quick
states:
- {id: tell, type: generateEvent, event: {type: told, source: /q}, transition: done}
- {id: done, type: noop, transform: 'jq({r: .n})'}
)",
};

inline WorldOptions world_options() {
  WorldOptions options;
  options.processor.engine.batch = {.woken = 4, .woken_later = 1, .messages = 1};
  options.processor.engine.kept = {.time = std::chrono::hours(1)};
  return options;
}

/// A world whose process died while its store had rows of every kind.
class DyingStore {
 public:
  DyingStore() {
    define(world_);
    world_.must(CreateNamespace{
        .name = "default",
        .settings = Json::parse(
            R"({"lifecycle": true, "webhooks": [{"url": "http://away", "types": ["*ended", "*failed"]}]})")});
    world_.must(PutSecret{"default", "token", "open sesame"});
    const Variable value{.content_type = "text/plain", .bytes = "v"};
    world_.must(PutVariable{.place = {.ns = "default"}, .key = "k", .value = value});
    for (const char* const text : kWorkflows) world_.apply(text);
    world_.must(
        PutVariable{.place = {.ns = "default", .workflow = "consume"}, .key = "w", .value = value});
    const std::string consumer = start("consume", "key");
    world_.must(PutVariable{.place = {.ns = "default", .instance = *parse_instance_id(consumer)},
                            .key = "i",
                            .value = value});
    start("both");
    world_.publish("left", "left-1", Json{{"l", 1}});
    start("both");
    start("either");
    start("sleeper");
    start("order");
    const std::string broken = start("order");
    fail_task(broken);
    start("loop");
    world_.functions.answer(task_of("many"), {{"part", 1}});
    world_.run_until_idle();
    start("parent");
    start("parent");
    start("secretive");
    start("reminds");
    start("fails");
    start("breaks");
    start("again");
    start("quick", "quick-key");
    const std::string paused = start("sleeper");
    world_.must(PauseInstance{"default", *parse_instance_id(paused)});
    world_.must(PauseInstance{"default", *parse_instance_id(start("both"))});
    world_.publish("one", "one-1", Json{{"o", 1}}, {{"n", "7"}});
    world_.publish("two", "two-1", Json{{"o", 1}}, {{"n", "8"}});
    world_.run_until_idle();
    // A deleted workflow with an ended instance.
    world_.apply("id: gone\nstates:\n- {id: done, type: noop}\n");
    start("gone");
    world_.must(DeleteWorkflow{.ns = "default", .id = "gone"});
    world_.must(CreateNamespace{.name = "other"});
    world_.apply(kWorkflows[1], "other");
    world_.must(StartInstance{.ns = "other", .workflow = "consume", .input = {{"n", "1"}}});
    world_.must(CreateNamespace{.name = "dying"});
    world_.apply(kWorkflows[4], "dying");
    for (int i = 0; i < 3; ++i) {
      world_.must(StartInstance{.ns = "dying", .workflow = "sleeper", .input = {{"n", "1"}}});
    }
    for (int i = 0; i < 6; ++i) start("crowd");
    for (int i = 0; i < 3; ++i) start("limited");
    start_calls_and_starts_that_wait();
    // From here on no evaluation is answered, so no work ends.
    world_.evaluator.hold();
    start("thinks");
    world_.publish("go", "kept", Json{{"k", 1}}, {{"n", "nobody's"}});
    world_.run_until_idle();
    world_.broker.disconnect();
    start("breaks");
    world_.run_until_idle();
    world_.broker.reconnect();
    world_.publish("flood", "flood-1");
    for (int i = 0; i < 2; ++i) world_.step(1);
    world_.command(StartInstance{.ns = "default", .workflow = "parent", .input = {{"n", "1"}}});
    world_.command(DeleteNamespace{.name = "dying", .cancel = true});
    world_.broker.disconnect();
    world_.crash_after_commit();
    world_.checks_store = false;
    read_rows();
  }

  struct Row {
    Table table{};
    std::string key;
    std::string value;  ///< the decrypted value
    bool sealed = false;
  };

  World& world() { return world_; }
  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<std::string>& ids() const { return ids_; }

  /// Defines the jq programs of the world's evaluator and the answers of its receivers of webhooks.
  static void define(World& world) {
    world.evaluator.define("think", [](const Json& input) -> QueryResult { return input; });
    world.receivers.answer = [](const Event&) {
      return WebhookFailure{.error = {"webhook.refused", "away"}};
    };
  }

 private:
  /// Starts of calls and of instances that their limits let wait. The turn of the first call comes
  /// while its instance is paused, so it is left out. The second call is handed out, and the third
  /// waits.
  void start_calls_and_starts_that_wait() {
    for (const char* const workflow : {"pays", "settles"}) {
      world_.must(PauseService{.ns = "default", .name = "bank"});
      world_.must(PauseInstance{"default", *parse_instance_id(start(workflow))});
      world_.must(PauseService{.ns = "default", .name = "bank", .paused = false});
      start(workflow);
      start(workflow);
    }
    for (const char* const workflow : {"paced", "rations", "rests", "gathers"}) {
      start(workflow);
      start(workflow);
    }
  }

  std::string start(const std::string& workflow, std::string key = "") {
    const Json answer =
        world_.start(workflow, {{"n", "7"}, {"items", {1, 2, 3, 4}}}, std::move(key));
    ids_.push_back(answer["id"]);
    return ids_.back();
  }

  InstanceId task_of(std::string_view function) {
    for (const Task& task : world_.functions.tasks()) {
      const auto* const queue = std::get_if<WorkQueue>(&task.target);
      if (queue != nullptr && queue->subject.ends_with(function)) return task.id;
    }
    ADD_FAILURE() << "no task for " << function;
    return {};
  }

  void fail_task(const std::string& instance) {
    for (const Task& task : world_.functions.tasks()) {
      if (to_string(task.instance) != instance) continue;
      world_.functions.report(
          {task.id, TaskEnded{.result = tl::unexpected(Error{"some.error", "no"})}});
    }
    world_.run_until_idle();
  }

  void read_rows() {
    world_.change_store([&](Transaction& tx) {
      for (const auto& [table, name, since] : kTables) {
        tx.scan(table, {}, [&, of = table](std::string_view key, std::string_view value) {
          Row row{of, std::string(key), std::string(value)};
          if (Seal::is_sealed(value) && of != Table::kDedupe) {
            row.sealed = true;
            row.value = *tx.seal().open(value, rows::seal_context(of, key));
          }
          rows_.push_back(std::move(row));
          return true;
        });
      }
    });
  }

  World world_{world_options()};
  std::vector<Row> rows_;
  std::vector<std::string> ids_;
};

}  // namespace millrace
