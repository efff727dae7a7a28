#include "tests/unit/definition/described.h"

#include "base/check.h"
#include "cloudevents/json_format.h"
#include "states/visit.h"
#include "tests/tables/test_lookup.h"

namespace millrace {
namespace {

constexpr TimePoint kNow{std::chrono::hours(24 * 365 * 50)};
const TestLookup kNoVariables;
const std::vector<Effect> kNoEffects;

/// The value as JSON, with the text of each jq program in its place.
Json described(const Template& value) {
  std::vector<LazyJson> texts;
  for (const Program& program : value.programs()) {
    texts.emplace_back(Json("<" + program.text + ">"));
  }
  return {{"value", value.assemble(texts).value()}, {"whole", value.whole() != nullptr}};
}

Json described(StateIndex state) { return state; }

Json described(const Span& span) { return {span.months, span.fixed.count()}; }

template <class T>
Json described(const std::optional<T>& value);

Json described(const Concurrency& concurrency) {
  return {{"limit", concurrency.limit},
          {"key", described(concurrency.key)},
          {"on_limit", static_cast<int>(concurrency.on_limit)},
          {"timeout", described(concurrency.timeout)}};
}

Json described(const Throttle& throttle) {
  return {{"limit", throttle.rate.limit},
          {"period", described(throttle.rate.period)},
          {"key", described(throttle.rate.key)},
          {"timeout", described(throttle.timeout)}};
}

Json described(const EvaluatedTime& time) {
  return {{"key", time.key},
          {"form", static_cast<int>(time.form)},
          {"zero", time.zero},
          {"value", described(time.value)}};
}

Json described(const RetryPolicy& policy) {
  Json only = Json::array();
  for (const CodePattern& code : policy.only) only.push_back(code.text());
  return {{"attempts", policy.attempts ? Json(*policy.attempts) : Json()},
          {"delay", described(policy.delay)},
          {"delay_template", policy.delay_template ? described(*policy.delay_template) : Json()},
          {"factor", policy.factor},
          {"max_delay", policy.max_delay ? described(*policy.max_delay) : Json()},
          {"jitter", policy.jitter},
          {"window", policy.window ? described(*policy.window) : Json()},
          {"only", only},
          {"never", policy.never},
          {"asked", static_cast<int>(policy.asked)},
          {"used_up", static_cast<int>(policy.used_up)}};
}

template <class T>
Json described(const std::optional<T>& value) {
  return value ? described(*value) : Json();
}

Json described(const WorkflowTimeouts& timeouts) {
  return {{"interrupt", described(timeouts.interrupt)},
          {"kill", described(timeouts.kill)},
          {"run", described(timeouts.run)},
          {"task", described(timeouts.task)},
          {"execution", described(timeouts.execution)},
          {"fails", timeouts.fails},
          {"on_failure", described(timeouts.on_failure)},
          {"on_any_failure", timeouts.on_any_failure}};
}

Json described(const EventFilter& filter) {
  Json predicates = Json::array();
  for (const auto& [attribute, kind, text] : filter.predicates) {
    const bool is_pattern = kind == Predicate::Kind::kPattern;
    predicates.push_back({attribute, is_pattern ? "matches" : "is", text});
  }
  return {{"type", filter.type}, {"predicates", predicates}};
}

Json described(const Start& start) {
  Json events = Json::array();
  for (const StartEvent& event : start.events) {
    events.push_back({{"filter", described(event.filter)}, {"capture", event.capture}});
  }
  return {{"kind", static_cast<int>(start.kind)},
          {"state", start.state},
          {"events", events},
          {"correlate", start.correlate},
          {"lifespan", described(start.lifespan)},
          {"cron", start.cron ? Json(start.cron->text()) : Json()}};
}

Json described(const Outcome& outcome) {
  if (const auto* leave = std::get_if<Leave>(&outcome)) return {{"leave", leave->exit}};
  if (const auto* raise = std::get_if<Raise>(&outcome)) {
    return {{"raise", {raise->error.code, raise->error.message}}};
  }
  return "wait";
}

Json described(const Instance& instance) {
  Json listeners = Json::array();
  for (const Listener& one : instance.listeners) listeners.push_back(described(one.filter));
  Json timers = Json::array();
  for (const Timer& one : instance.timers) timers.push_back(format_rfc3339(one.deadline));
  Json slots = Json::array();
  for (const auto& slot : instance.slots) slots.push_back(slot ? slot->value() : Json());
  Json out = {{"listeners", listeners},
              {"timers", timers},
              {"slots", slots},
              {"data", instance.data.value()}};
  if (instance.error) out["error"] = {instance.error->code, instance.error->message};
  return out;
}

/// What the state does when the instance enters it. Each program that a jq worker would evaluate
/// yields its own text.
Json entering(const State& state, Instance& instance) {
  std::vector<EvaluationResult> results;
  while (true) {
    Visit visit(instance, kNow, results, kNoVariables, kNoEffects);
    const Outcome outcome = state.enter(visit);
    Json published = Json::array();
    const Evaluate* asked = nullptr;
    const std::vector<Effect> effects = visit.take_effects();
    for (const Effect& effect : effects) {
      if (const auto* publish = std::get_if<Publish>(&effect)) {
        published.push_back({{"event", event_to_json(publish->event)},
                             {"at", publish->at ? format_rfc3339(*publish->at) : ""}});
      }
      if (const auto* set = std::get_if<SetVariable>(&effect)) {
        published.push_back({{"variable", set->name.key},
                             {"scope", to_string(set->name.owner.scope)},
                             {"bytes", set->value ? Json(set->value->bytes) : Json()}});
      }
      if (const auto* evaluate = std::get_if<Evaluate>(&effect)) asked = evaluate;
    }
    if (asked == nullptr) {
      return {{"outcome", described(outcome)},
              {"published", published},
              {"instance", described(instance)}};
    }
    EvaluationResult result;
    for (const Query& query : asked->evaluation.queries) result.emplace_back(Json(query.program));
    results.push_back(std::move(result));
  }
}

Json behaviour(const State& state, const Json& data) {
  Instance instance;
  instance.data = LazyJson(data);
  Json out = {{"enter", entering(state, instance)}};
  const std::vector<Listener> listeners = instance.listeners;
  for (const Listener& listener : listeners) {
    const Event event{.id = "1", .source = "/", .type = listener.filter.type, .data = R"({"n":1})"};
    const size_t entry = listener.entry;
    Visit visit(instance, kNow, {}, kNoVariables, kNoEffects);
    const Outcome outcome = state.take(visit, event, {&entry, 1});
    out["take"].push_back({{"outcome", described(outcome)}, {"instance", described(instance)}});
  }
  return out;
}

Json described(const State& state) {
  const StateCommon& common = state.common();
  Json catches = Json::array();
  for (const Catch& one : common.catches) {
    catches.push_back({one.error, described(one.transition)});
  }
  Json exits = Json::array();
  for (const Exit& exit : common.exits) {
    exits.push_back({described(exit.transform), described(exit.transition)});
  }
  const Json full = {{"customerId", "c-7"},
                     {"guestName", "Ada"},
                     {"item", {{"name", "milk"}}},
                     {"contact", {{"mobile", "1"}, {"landline", "2"}}},
                     {"patient", {{"contactInfo", {{"landline", "2"}}}}}};
  return {{"id", common.id},
          {"type", common.type},
          {"log", described(common.log)},
          {"timeout", described(common.timeout)},
          {"evaluated_timeout", described(common.evaluated_timeout)},
          {"retries", described(common.retries)},
          {"catches", catches},
          {"exits", exits},
          {"behaviour", {behaviour(state, full), behaviour(state, Json::object())}}};
}

}  // namespace

Json described(const Workflow& workflow) {
  Json states = Json::array();
  for (const auto& state : workflow.states) {
    CHECK(state != nullptr, "a workflow without findings has all its states");
    states.push_back(described(*state));
  }
  return {{"id", workflow.id},
          {"name", workflow.name},
          {"description", workflow.description},
          {"version", workflow.version},
          {"singular", workflow.singular},
          {"concurrency", described(workflow.concurrency)},
          {"throttle", described(workflow.throttle)},
          {"priority", described(workflow.priority)},
          {"start", described(workflow.start)},
          {"timeouts", described(workflow.timeouts)},
          {"retries", described(workflow.retries)},
          {"states", states}};
}

}  // namespace millrace
