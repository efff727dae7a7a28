#include "tests/simulation/call_limit_case.h"

#include <fmt/format.h>

namespace millrace::call_limit_model {
namespace {

using reference::Random;
using std::chrono::seconds;

// The times have prime lengths, so that no two of them end together.

std::string in_seconds(Duration time) { return fmt::format("PT{}S", time / seconds(1)); }

std::string keys_of_function(const Limits& limits) {
  std::string keys;
  if (limits.slots > 0) {
    keys += fmt::format(", concurrency: {{limit: {}", limits.slots);
    if (limits.slot_keyed) keys += ", key: jq(.customer)";
    if (limits.slot_timeout > Duration(0)) keys += ", timeout: " + in_seconds(limits.slot_timeout);
    keys += "}";
  }
  if (limits.rate > 0) {
    keys +=
        fmt::format(", throttle: {{limit: {}, period: {}", limits.rate, in_seconds(limits.period));
    if (limits.rate_keyed) keys += ", key: jq(.customer)";
    if (limits.rate_timeout > Duration(0)) keys += ", timeout: " + in_seconds(limits.rate_timeout);
    keys += "}";
  }
  if (limits.priority && limits.limited()) keys += ", priority: jq(.rank)";
  return keys;
}

/// The retries and the timeouts of a call.
std::string keys_of_call(const Limits& limits) {
  std::string keys = fmt::format(", retries: {{maximumAttempts: {}", limits.attempts);
  if (limits.attempts > 1) {
    keys +=
        fmt::format(", initialInterval: {}, backoffCoefficient: 1", in_seconds(limits.retry_delay));
  }
  keys += "}";
  if (limits.start_timeout > Duration(0))
    keys += ", scheduleToStartTimeout: " + in_seconds(limits.start_timeout);
  if (limits.run_timeout > Duration(0))
    keys += ", startToCloseTimeout: " + in_seconds(limits.run_timeout);
  return keys;
}

void add_slots(Limits& limits, Random& random, bool with_timeout) {
  limits.slots = 1 + random.below(3);
  limits.slot_keyed = random.chance(50);
  if (with_timeout) limits.slot_timeout = seconds(random.of({173, 641}));
}

void add_rate(Limits& limits, Random& random, Duration period) {
  limits.rate = 1 + random.below(3);
  limits.period = period;
  limits.rate_keyed = random.chance(50);
  if (random.chance(40)) limits.rate_timeout = seconds(random.of({127, 467}));
}

void add_policy(Limits& limits, Random& random) {
  if (limits.shape == Shape::kDetached) return;
  limits.attempts = 1 + random.below(3);
  limits.retry_delay = seconds(random.of({31, 83}));
  if (random.chance(60)) return;
  limits.run_timeout = seconds(1'009);
  if (random.chance(70)) limits.start_timeout = seconds(random.of({211, 887}));
}

}  // namespace

std::string yaml_of(size_t workflow, const Limits& limits) {
  std::string text =
      fmt::format("id: w{}\n{}functions: [{{id: pay, type: service, service: {}{}}}]\nstates:\n",
                  workflow, limits.shape == Shape::kCompensation ? "compensate: true\n" : "",
                  limits.service, keys_of_function(limits));
  const std::string policy = keys_of_call(limits);
  switch (limits.shape) {
    case Shape::kAction:
      return text +
             fmt::format("- {{id: call, type: action, action: {{function: pay{}}}}}\n", policy);
    case Shape::kForeach:
      return text + fmt::format(
                        "- {{id: each, type: foreach, array: jq(.all), "
                        "action: {{function: pay{}}}}}\n",
                        policy);
    case Shape::kDetached:
      return text + "- {id: call, type: action, async: true, action: {function: pay}}\n";
    case Shape::kCompensation:
      break;
  }
  return text + fmt::format(
                    "- {{id: book, type: noop, compensate: {{function: pay{}}}, transition: "
                    "stop}}\n- {{id: stop, type: error, error: {}, message: it had to}}\n",
                    policy, kCause);
}

std::vector<Limits> random_case(uint64_t seed, Random& random) {
  const Duration periods[] = {seconds(random.of({59, 293})), seconds(random.of({59, 293}))};
  std::vector<Limits> all;
  for (size_t i = 0; i < kWorkflows; ++i) {
    Limits limits;
    const bool is_mail = random.chance(25);
    limits.service = is_mail ? "mail" : "bank";
    limits.shape = random.of({Shape::kAction, Shape::kAction, Shape::kForeach, Shape::kForeach,
                              Shape::kDetached, Shape::kCompensation});
    limits.priority = random.chance(60);
    const uint64_t theme = seed % kThemes;
    if (theme != 2 && (theme != 4 || random.chance(60)))
      add_slots(limits, random, theme == 1 || (theme > 1 && random.chance(50)));
    if (theme == 2 || theme == 3 || (theme == 4 && random.chance(60)))
      add_rate(limits, random, periods[is_mail ? 1 : 0]);
    add_policy(limits, random);
    all.push_back(limits);
  }
  return all;
}

}  // namespace millrace::call_limit_model
