#include "tests/simulation/queue_definition.h"

#include <string_view>

#include <fmt/format.h>

namespace millrace::queue_model {
namespace {

using reference::Random;
using std::chrono::seconds;

/// The customer and the rank of an input: of a call, of an event, of a group, or of a tick.
constexpr const char* kCustomer = R"('jq(.customer // .begin.customer // .a.customer // "c0")')";
constexpr const char* kRank = "'jq(.rank // .begin.rank // .a.rank // 0)'";
constexpr const char* kOrder = R"('jq(.order // .begin.order // .a.order // "tick")')";
/// Likewise, of the first input of a batch.
constexpr const char* kFirstCustomer =
    R"('jq(.events[0].customer // .events[0].begin.customer // .events[0].a.customer // "c0")')";
constexpr const char* kFirstRank =
    "'jq(.events[0].rank // .events[0].begin.rank // .events[0].a.rank // 0)'";
constexpr const char* kFirstOrder =
    R"('jq(.events[0].order // .events[0].begin.order // .events[0].a.order // "tick")')";

// The lengths are such that no two deadlines that begin together end together.
constexpr Duration kBodyTimeout = seconds(1'213);
constexpr Duration kQueueTimeout = seconds(187);

std::string time_text(Duration time) {
  return fmt::format("PT{}S", std::chrono::duration_cast<seconds>(time).count());
}

/// The customer in the data of an instance.
std::string_view customer_of(const Definition& definition) {
  return definition.batched() ? kFirstCustomer : kCustomer;
}

std::string_view name_of(OnLimit on_limit) {
  switch (on_limit) {
    case OnLimit::kQueue:
      return "queue";
    case OnLimit::kReject:
      return "reject";
    case OnLimit::kSkip:
      return "skip";
    case OnLimit::kReplace:
      return "replace";
  }
  return "";
}

std::string_view start_line(StartType start) {
  switch (start) {
    case StartType::kDefault:
      return "start: {type: default}\n";
    case StartType::kEvent:
      return "start: {type: event, event: {type: begin}}\n";
    case StartType::kGroup:
      return "start: {type: eventsAnd, correlate: [order], events: [{type: a}, {type: b}]}\n";
    case StartType::kScheduled:
      return "start: {type: scheduled, cron: '*/10 * * * *'}\n";
  }
  return "";
}

std::string concurrency_line(const Definition& definition) {
  std::string line = fmt::format("concurrency: {{limit: {}, onLimit: {}", definition.limit,
                                 name_of(definition.on_limit));
  if (definition.keyed) line += fmt::format(", key: {}", customer_of(definition));
  if (definition.queue_timeout > Duration(0))
    line += fmt::format(", timeout: {}", time_text(definition.queue_timeout));
  return line + "}\n";
}

std::string rate_line(const Definition& definition) {
  std::string line = fmt::format("rateLimit: {{limit: {}, period: {}", definition.rate_limit,
                                 time_text(definition.rate_period));
  if (definition.rate_keyed) line += fmt::format(", key: {}", kCustomer);
  return line + "}\n";
}

std::string debounce_line(const Definition& definition) {
  std::string line = fmt::format("debounce: {{period: {}", time_text(definition.debounce_period));
  if (definition.debounce_timeout > Duration(0))
    line += fmt::format(", timeout: {}", time_text(definition.debounce_timeout));
  if (definition.debounce_keyed) line += fmt::format(", key: {}", kCustomer);
  return line + "}\n";
}

std::string batch_line(const Definition& definition) {
  std::string line = fmt::format("batch: {{maxSize: {}, timeout: {}", definition.batch_size,
                                 time_text(definition.batch_timeout));
  if (definition.batch_keyed) line += fmt::format(", key: {}", kCustomer);
  return line + "}\n";
}

std::string throttle_line(const Definition& definition) {
  std::string line = fmt::format("throttle: {{limit: {}, period: {}", definition.throttle_limit,
                                 time_text(definition.throttle_period));
  if (definition.throttle_keyed) line += fmt::format(", key: {}", customer_of(definition));
  if (definition.throttle_timeout > Duration(0))
    line += fmt::format(", timeout: {}", time_text(definition.throttle_timeout));
  return line + "}\n";
}

void add_concurrency(Definition& definition, OnLimit on_limit, Random& random) {
  definition.limit = 1 + random.below(random.chance(50) ? 2 : 4);
  definition.on_limit = on_limit;
  definition.keyed = random.chance(60);
  if (on_limit != OnLimit::kQueue) return;
  definition.priority = random.chance(50);
}

void add_rate(Definition& definition, Random& random) {
  definition.rate_limit = 1 + random.below(3);
  definition.rate_period = seconds(random.of({61, 307, 911}));
  definition.rate_keyed = random.chance(60);
}

void add_debounce(Definition& definition, Random& random) {
  definition.debounce_period = seconds(random.of({7, 31, 97}));
  definition.debounce_keyed = random.chance(60);
  if (random.chance(50))
    definition.debounce_timeout = definition.debounce_period + seconds(random.of({3, 41, 89}));
}

void add_slots_of_any_kind(Definition& definition, Random& random) {
  const OnLimit on_limit =
      random.of({OnLimit::kQueue, OnLimit::kReject, OnLimit::kSkip, OnLimit::kReplace});
  if (random.chance(20)) {
    definition.singular = true;
  } else {
    add_concurrency(definition, on_limit, random);
  }
}

/// The times have other prime lengths than those of the other limits, so that no two of them end
/// together.
void add_throttle(Definition& definition, Random& random) {
  definition.throttle_limit = 1 + random.below(3);
  definition.throttle_period = seconds(random.of({59, 293, 887}));
  if (random.chance(40)) definition.throttle_timeout = seconds(random.of({173, 641}));
  // The documents leave open which of several keys gets a slot first.
  definition.throttle_keyed = random.chance(60) || (definition.queues() && definition.keyed);
  if (!definition.singular) definition.priority = definition.priority || random.chance(50);
}

/// A throttle, alone or with one or two other limits. Pending starts that wait for `rateLimit` are
/// due at one time, so `rateLimit` and `debounce` are not together.
void add_throttle_and_others(Definition& definition, Random& random) {
  if (random.chance(45)) add_slots_of_any_kind(definition, random);
  if (definition.queues() && random.chance(50)) definition.queue_timeout = kQueueTimeout;
  const int other = random.below(4);
  if (other == 0 && !definition.singular) add_debounce(definition, random);
  if (other == 1) add_rate(definition, random);
  add_throttle(definition, random);
}

void add_batch_and_others(Definition& definition, Random& random) {
  definition.batch_size = 1 + random.below(4);
  definition.batch_timeout = seconds(random.of(kBatchTimeouts));
  definition.batch_keyed = random.chance(60);
  if (random.chance(50)) add_slots_of_any_kind(definition, random);
  // Batches that a singular workflow does not permit may start in another order than they began,
  // and those of ticks alone would look alike.
  if (definition.start == StartType::kScheduled) definition.singular = false;
  if (random.chance(25)) add_rate(definition, random);
  if (!definition.singular && random.chance(20)) add_throttle(definition, random);
}

}  // namespace

std::string yaml_of(const Definition& definition) {
  std::string text = "id: w\n";
  if (definition.singular) text += "singular: true\n";
  if (definition.limit > 0) text += concurrency_line(definition);
  if (definition.priority)
    text += fmt::format("priority: {}\n", definition.batched() ? kFirstRank : kRank);
  if (definition.rate_limit > 0) text += rate_line(definition);
  if (definition.debounced()) text += debounce_line(definition);
  if (definition.batched()) text += batch_line(definition);
  if (definition.throttled()) text += throttle_line(definition);
  text += start_line(definition.start);
  return text + fmt::format(
                    "states:\n"
                    "- id: wait\n"
                    "  type: consumeEvent\n"
                    "  timeout: {}\n"
                    "  event: {{type: go, context: {{order: {}}}}}\n",
                    time_text(definition.body_timeout),
                    definition.batched() ? kFirstOrder : kOrder);
}

Definition random_definition(uint64_t seed, Random& random) {
  Definition definition{.body_timeout = kBodyTimeout};
  definition.start = random.of({StartType::kDefault, StartType::kEvent, StartType::kEvent,
                                StartType::kGroup, StartType::kScheduled});
  switch (seed % kThemes) {
    case 0:
      add_concurrency(definition, OnLimit::kQueue, random);
      break;
    case 1:
      add_concurrency(definition, OnLimit::kQueue, random);
      definition.queue_timeout = kQueueTimeout;
      break;
    case 2:
      add_concurrency(definition, random.of({OnLimit::kReject, OnLimit::kSkip}), random);
      break;
    case 3:
      add_concurrency(definition, OnLimit::kReplace, random);
      break;
    case 4:
      add_debounce(definition, random);
      if (random.chance(50)) add_rate(definition, random);
      break;
    case 5:
      add_rate(definition, random);
      definition.singular = random.chance(30);
      break;
    case 6:
      add_slots_of_any_kind(definition, random);
      add_debounce(definition, random);
      break;
    case 7:
      add_slots_of_any_kind(definition, random);
      add_rate(definition, random);
      if (random.chance(50)) add_debounce(definition, random);
      if (definition.queues() && random.chance(50)) definition.queue_timeout = kQueueTimeout;
      break;
    case 8:
      add_throttle_and_others(definition, random);
      break;
    default:
      add_batch_and_others(definition, random);
  }
  return definition;
}

}  // namespace millrace::queue_model
