// The steps of the random simulation: events, commands, time and faults.
#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orchestrator/outgoing/messages.h"
#include "tests/simulation/random_simulation.h"

namespace millrace {
namespace {

using std::chrono::hours;

/// A workflow that waits for the payment of its order, and publishes one event before the payment
/// and two events after it.
constexpr const char* kOrder = R"(
id: order
start: {type: event, event: {type: order.placed}}
states:
- id: accept
  type: generateEvent
  event: {type: order.accepted, source: /order, data: 'jq({order: .["order.placed"].order})'}
  transition: wait
- id: wait
  type: consumeEvent
  timeout: PT20S
  event: {type: paid, context: {order: 'jq(.["order.placed"].order)'}}
  catch:
  - {error: direktiv.stateTimeout, transition: give-up}
  transform: jq(think)
  transition: settle
- id: settle
  type: generateEvent
  event: {type: order.settled, source: /order, data: 'jq({order: .["order.placed"].order})'}
  transition: finish
- id: finish
  type: generateEvent
  event: {type: order.done, source: /order, data: 'jq({order: .["order.placed"].order})'}
- id: give-up
  type: generateEvent
  event: {type: order.late, source: /order, data: 'jq({order: .["order.placed"].order})'}
)";

/// A workflow that starts when both events of an order have come.
constexpr const char* kPair = R"(
id: pair
start:
  type: eventsAnd
  correlate: [order]
  events: [{type: paid}, {type: packed}]
states:
- id: tell
  type: generateEvent
  event: {type: paired, source: /pair, data: 'jq({order: .paid.order})'}
)";

/// A workflow that starts if both events of an order come within 30 seconds.
constexpr const char* kShortPair = R"(
id: short-pair
start:
  type: eventsAnd
  lifespan: PT30S
  correlate: [order]
  events: [{type: paid}, {type: packed}]
states:
- {id: done, type: noop}
)";

/// A workflow that an event starts which an instance of `order` generates. The workflow waits, and
/// publishes a delayed event.
constexpr const char* kEcho = R"(
id: echo
start: {type: event, event: {type: order.done}}
states:
- {id: pause, type: delay, duration: PT5S, transition: tell}
- id: tell
  type: generateEvent
  delay: PT3S
  event: {type: echoed, source: /echo, data: 'jq({order: .["order.done"].order})'}
)";

/// A workflow that waits for one event `tick` after the other, evaluates an expression after each,
/// and never ends.
constexpr const char* kWatch = R"(
id: watch
states:
- {id: wait, type: consumeEvent, event: {type: tick}, transform: jq(collect), transition: wait}
)";

/// A workflow that calls a subflow for each of the three parts of an order, two at a time.
constexpr const char* kMake = R"(
id: make
start: {type: event, event: {type: order.placed}}
functions: [{id: part, type: subflow, workflow: part}]
states:
- {id: parts, type: foreach, array: '[1, 2, 3]', concurrency: 2, action: {function: part}}
)";

constexpr const char* kPart = R"(
id: part
states:
- {id: make, type: delay, duration: PT5S}
)";

constexpr const char* kDefinitions[] = {kOrder, kPair, kShortPair, kEcho, kWatch, kMake, kPart};

}  // namespace

Simulation::Simulation(uint64_t seed)
    : world_({.processor = {.engine = {.batch = batch_limits(seed)}}, .seed = seed}),
      random_(seed) {
  world_.evaluator.define("think", [](const Json& input) -> QueryResult { return input; });
  world_.evaluator.define("collect", [](const Json& input) -> QueryResult {
    Json seen = input.value("seen", Json::array());
    seen.push_back(input["tick"]);
    return Json{{"seen", std::move(seen)}};
  });
  for (const char* definition : kDefinitions) world_.apply(definition);
  first_watch_ = world_.start("watch", Json::object(), "first")["id"];
  world_.evaluator.hold();
}

BatchLimits Simulation::batch_limits(uint64_t seed) {
  if (seed % 2 == 0) return {};
  return {.woken = 2, .woken_later = 1, .messages = 1};
}

void Simulation::run(int steps) {
  world_.broker.decide_fates([this](const NatsMessage&) { return fate(); });
  for (int i = 0; i < steps; ++i) {
    step();
    read_stream();
  }
}

void Simulation::run_to_rest() {
  world_.broker.decide_fates({});
  world_.broker.reconnect();
  world_.crash();
  world_.options().store = {};
  world_.recover();
  world_.evaluator.release();
  for (const Event& event : due_) world_.publish(event);
  due_.clear();
  world_.run_until_idle();
  check_caches();
  world_.run_for(hours(1) + jumped_back_);
  // Acked messages that are too old are erased by batches that write something, such as these.
  for (int i = 0; i < 8; ++i) world_.must(CreateNamespace{.name = fmt::format("after-{}", i)});
  engine_time_ = std::max(engine_time_, world_.clock.now());
  read_stream();
}

void Simulation::step() {
  switch (below(32)) {
    case 0:
    case 1:
    case 2:
      return publish_order();
    case 3:
    case 4:
    case 5:
    case 6:
      return publish_due();
    case 7:
    case 8:
      return publish_tick();
    case 9:
      return publish_again();
    case 10:
    case 11:
    case 12:
    case 13:
      world_.broker.pump(1 + below(8));
      return;
    case 14:
    case 15:
    case 16:
    case 17:
    case 18:
      return turn();
    case 19:
    case 20:
    case 21:
      if (world_.evaluator.waiting() > 0) {
        world_.evaluator.answer(below(world_.evaluator.waiting()));
      }
      return;
    case 22:
    case 23:
    case 24:
      world_.clock.advance(Duration(below(one_in(8) ? 6'000 : 300)));
      return;
    case 25:
      return command();
    default:
      if (one_in(3)) return inject_fault();
      world_.step(1 + below(64));
      engine_time_ = std::max(engine_time_, world_.clock.now());
  }
}

void Simulation::turn() {
  engine_time_ = std::max(engine_time_, world_.clock.now());
  world_.processor().turn();
}

void Simulation::inject_fault() {
  switch (below(10)) {
    case 0:
      world_.broker.disconnect();
      return;
    case 1:
    case 2:
      world_.broker.reconnect();
      return;
    case 3:
      world_.broker.lose_consumer();
      return;
    case 4:
    case 5:
      return crash(false);
    case 6:
      return crash(true);
    case 7:
      world_.clock.jump(Duration(below(10'000)));
      return;
    case 8: {
      const Duration back(below(10'000));
      jumped_back_ += back;
      world_.clock.jump(-back);
      return;
    }
    default:
      return publish_nonsense();
  }
}

void Simulation::crash(bool after_commit) {
  engine_time_ = std::max(engine_time_, world_.clock.now());
  EnvironmentOptions store;
  // Sometimes the store is full until the next crash. Sometimes checkpoints are frequent, so that
  // LMDB gets committed rows early.
  if (one_in(6)) store.soft_limit_bytes = world_.stored_bytes() - 1 + below(3) * 8'192;
  if (one_in(2)) store.checkpoint_bytes = below(100'000);
  after_commit ? world_.crash_after_commit() : world_.crash();
  world_.options().store = store;
  world_.recover();
}

PublishFate Simulation::fate() {
  PublishFate fate;
  if (!one_in(4)) return fate;
  fate.arrives = !one_in(4);
  fate.acked = !one_in(4);
  fate.twice = one_in(4);
  fate.delay = static_cast<int>(below(5));
  fate.ack_delay = static_cast<int>(below(5));
  if (one_in(8)) fate.refused = Error{"broker.refused", "not now"};
  return fate;
}

Event Simulation::make(std::string type, std::string id, Json data) {
  Event event{.id = std::move(id), .source = "/outside", .type = std::move(type)};
  if (data.contains("order")) event.extensions["order"] = data["order"].get<std::string>();
  event.data = dump_json(data);
  return event;
}

void Simulation::publish(const Event& event) {
  world_.publish(event);
  published_.push_back(event);
}

void Simulation::publish_order() {
  const std::string order = fmt::format("o{}", ++orders_);
  publish(make("order.placed", order, {{"order", order}}));
  if (!one_in(5)) due_.push_back(make("paid", "paid-" + order, {{"order", order}}));
  if (!one_in(5)) due_.push_back(make("packed", "packed-" + order, {{"order", order}}));
}

void Simulation::publish_due() {
  if (due_.empty()) return;
  const size_t which = below(due_.size());
  publish(due_[which]);
  due_.erase(due_.begin() + static_cast<ptrdiff_t>(which));
}

void Simulation::publish_tick() {
  ++ticks_;
  publish(make("tick", fmt::format("tick-{}", ticks_), Json{{"n", ticks_}}));
}

void Simulation::publish_again() {
  if (published_.empty()) return;
  const size_t back = 1 + below(std::min<size_t>(published_.size(), 8));
  world_.broker.inject(event_message("default", published_[published_.size() - back]));
}

void Simulation::publish_nonsense() {
  if (one_in(2)) {
    ++dead_;
    world_.broker.inject({.subject = "millrace.events.default.t", .data = "nonsense"});
  } else {
    ++dead_;
    world_.publish(make("tick", fmt::format("nowhere-{}", dead_), {}), "nowhere");
  }
}

void Simulation::command() {
  switch (below(4)) {
    case 0:
      world_.command(StartInstance{.ns = "default", .workflow = "watch"});
      return;
    case 1:
      // A caller that did not get the answer repeats its command.
      world_.command(StartInstance{.ns = "default",
                                   .workflow = "watch",
                                   .input = Json::object(),
                                   .idempotency_key = "first"});
      return;
    case 2: {
      // Applies a new revision of a workflow with the same start.
      const std::string text = kDefinitions[below(std::size(kDefinitions))];
      world_.command(World::application(text + fmt::format("# revision {}\n", ++revisions_)));
      return;
    }
    default:
      if (first_watch_.empty()) return;
      world_.wait_for_end(first_watch_, Duration(below(10'000)));
  }
}

}  // namespace millrace
