#include "states/event_pattern.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "cloudevents/json_format.h"
#include "matchers/pattern.h"

namespace millrace {
namespace {

constexpr const char* kEventJq = "direktiv.event.jq";

/// The most bytes of a jq program that an error message shows.
constexpr size_t kMostOfProgram = 100;

/// The text with which an attribute is compared: a string unchanged, any other value as compact
/// JSON, which for booleans and integers is the canonical form of the CloudEvents specification.
std::string canonical(const LazyJson& value) {
  return value.is_string() ? value.string() : value.text();
}

/// The predicate of one attribute. Removes the results of its programs from the front of `results`.
/// Error `direktiv.event.jq`: the value to compare with is null.
Result<Predicate> resolve(const EventPattern::Attribute& attribute,
                          std::span<const LazyJson>& results) {
  const Template& value = attribute.value;
  const auto mine = results.first(value.programs().size());
  results = results.subspan(mine.size());
  if (value.whole() != nullptr) {
    // An attribute is never null, so a null value is probably a misspelt key.
    if (mine[0].is_null()) {
      return fail(kEventJq,
                  fmt::format("the jq program `{}` yields null; correct the program or the data so "
                              "that the program yields a string, number or boolean",
                              excerpt(value.whole()->text, kMostOfProgram)));
    }
    return Predicate{attribute.name, Predicate::Kind::kEquals, canonical(mine[0])};
  }
  if (value.is_constant()) {
    const LazyJson constant = value.assemble({});
    return Predicate{attribute.name,
                     constant.is_string() ? Predicate::Kind::kPattern : Predicate::Kind::kEquals,
                     canonical(constant)};
  }
  std::string pattern;
  for (const Template::Part& part : value.parts()) {
    pattern += part.program ? quote_pattern(canonical(mine[*part.program])) : part.literal;
  }
  return Predicate{attribute.name, Predicate::Kind::kPattern, std::move(pattern)};
}

/// The filter of a pattern over that data; nullopt: the fast lane cannot evaluate it, or its value
/// is an error.
std::optional<EventFilter> known_filter(const EventPattern& pattern, const LazyJson& data) {
  EventFilter filter{.type = pattern.type};
  size_t left = kLargeJson;
  for (const EventPattern::Attribute& attribute : pattern.attributes) {
    std::vector<LazyJson> results;
    for (const Program& program : attribute.value.programs()) {
      if (program.fast == nullptr) return std::nullopt;
      auto result = program.fast->run_within(data, left, true);
      if (!result || !*result) return std::nullopt;
      results.push_back(std::move(**result));
    }
    std::span<const LazyJson> rest(results);
    Result<Predicate> predicate = resolve(attribute, rest);
    if (!predicate) return std::nullopt;
    filter.predicates.push_back(*std::move(predicate));
  }
  return filter;
}

}  // namespace

std::vector<std::string> types_of(std::span<const EventPattern> patterns) {
  std::vector<std::string> types;
  for (const EventPattern& pattern : patterns) types.push_back(pattern.type);
  return types;
}

Evaluated<std::vector<EventFilter>> resolve(Visit& visit, std::span<const EventPattern> patterns) {
  std::vector<const Program*> programs;
  for (const EventPattern& pattern : patterns) {
    for (const EventPattern::Attribute& attribute : pattern.attributes) {
      for (const Program& program : attribute.value.programs()) programs.push_back(&program);
    }
  }
  auto results = visit.run(programs);
  if (!results) {
    if (auto* raise = std::get_if<Raise>(&results.error())) raise->error.code = kEventJq;
    return tl::unexpected(std::move(results).error());
  }

  std::span<const LazyJson> rest = *results;
  std::vector<EventFilter> filters;
  for (const EventPattern& pattern : patterns) {
    EventFilter& filter = filters.emplace_back(EventFilter{.type = pattern.type});
    for (const EventPattern::Attribute& attribute : pattern.attributes) {
      const auto raise = [&](const Error& error) {
        return tl::unexpected(Outcome(
            Raise{{kEventJq, fmt::format("context.{}: {}", attribute.name, error.message)}}));
      };
      const auto predicate = resolve(attribute, rest);
      if (!predicate) return raise(predicate.error());
      filter.predicates.push_back(*predicate);
      if (predicate->kind != Predicate::Kind::kPattern) continue;
      // The pattern was valid at load, but a result of jq can make it invalid ("(?<jq(.name)>x)").
      if (const auto compiled = Pattern::compile(predicate->text); !compiled) {
        return raise(compiled.error());
      }
    }
  }
  return filters;
}

std::vector<std::optional<EventFilter>> known_filters(std::span<const EventPattern> patterns,
                                                      const LazyJson& data) {
  std::vector<std::optional<EventFilter>> filters;
  for (const EventPattern& pattern : patterns) filters.push_back(known_filter(pattern, data));
  return filters;
}

std::vector<std::optional<Duration>> lookbacks_of(std::span<const EventPattern> patterns) {
  std::vector<std::optional<Duration>> all;
  for (const EventPattern& pattern : patterns) all.push_back(pattern.lookback);
  return all;
}

std::optional<Outcome> look_back(Visit& visit, std::span<const EventPattern> patterns,
                                 std::span<const EventFilter> filters, bool fills_each) {
  std::vector<EarlyListener> listeners;
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (!patterns[i].lookback) continue;
    listeners.push_back({.entry = static_cast<uint32_t>(i),
                         .filter = filters[i],
                         .since = visit.instance().state_from - *patterns[i].lookback});
  }
  if (listeners.empty()) return std::nullopt;
  return visit.look_back(std::move(listeners), fills_each);
}

LazyJson captured(const Event& event, bool capture) {
  if (!event.data || event.data->size() <= kLargeJson) {
    return capture ? event_to_json(event) : payload(event);
  }
  if (capture) return LazyJson::of_text(encode_json_event(event));
  if (event.data_json.is_known) return LazyJson::of_checked_text(*event.data);
  return LazyJson::of_bytes(*event.data);
}

}  // namespace millrace
