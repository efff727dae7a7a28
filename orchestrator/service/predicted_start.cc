#include "orchestrator/service/predicted_start.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/service/slot_item.h"

namespace millrace {
namespace {

constexpr std::array<std::string_view, 7> kOutcomeNames = {
    "starts", "waits", "replaces", "debounced", "batched", "skipped", "refused"};

/// ` (limit 2 in PT1M, key "a")`
std::string limit_in_words(const PredictedStart& start) {
  std::string words;
  if (start.most) {
    words = fmt::format("limit {}", *start.most);
    if (!start.period.empty()) words += " in " + start.period;
  }
  if (!start.key.empty()) {
    words += fmt::format("{}key {}", words.empty() ? "" : ", ", excerpt(start.key));
  }
  return words.empty() ? words : fmt::format(" ({})", words);
}

/// How many starts come before the one that waits.
std::string place_in_words(const PredictedStart& start) {
  if (!start.before) return "many starts wait before it";
  if (*start.before == 0) return "no start waits before it";
  return fmt::format("{} {} before it", *start.before,
                     *start.before == 1 ? "start waits" : "starts wait");
}

std::string wait_says(const PredictedStart& start, std::string_view ns) {
  const bool is_throttle = start.limit == LimitKind::kThrottle;
  const std::string next = start.next_at
                               ? fmt::format("; the throttle permits the next start at {}",
                                             format_rfc3339(*start.next_at))
                               : "";
  return fmt::format(
      "the event would start an instance, which would wait for {}{}: {}{}; `millrace -n {} queue "
      "list` shows what waits",
      is_throttle ? "the `throttle`" : "a slot of its `concurrency`", limit_in_words(start),
      place_in_words(start), next, ns);
}

std::string batch_says(const PredictedStart& start) {
  return fmt::format(
      "the workflow has `batch`: the event would be in the input of an instance that starts when "
      "the batch is full, or its timeout has passed: it would be input {} of {}, and the instance "
      "would start at {} at the latest",
      start.size.value_or(1), start.most.value_or(1),
      format_rfc3339(start.starts_at.value_or(TimePoint())));
}

}  // namespace

std::string_view to_string(PredictedStart::Outcome outcome) {
  return kOutcomeNames.at(static_cast<size_t>(outcome));
}

std::span<const std::string_view> outcome_names() { return kOutcomeNames; }

Verdict verdict_of(const PredictedStart& start) {
  using enum PredictedStart::Outcome;
  switch (start.outcome) {
    case kStarts:
    case kWaits:
    case kReplaces:
      return Verdict::kStarted;
    case kDebounced:
      return Verdict::kDebounced;
    case kBatched:
      return Verdict::kBatched;
    case kSkipped:
      return start.limit == LimitKind::kRateLimit ? Verdict::kRateLimit : Verdict::kSkipped;
    case kRefused:
      return Verdict::kDead;
  }
  return Verdict::kStarted;
}

std::string says(const PredictedStart& start, std::string_view ns, std::string_view workflow) {
  using enum PredictedStart::Outcome;
  switch (start.outcome) {
    case kStarts:
      return "the event would start an instance";
    case kWaits:
      return wait_says(start, ns);
    case kReplaces:
      return fmt::format(
          "the event would start an instance, for which instance {} would be cancelled "
          "(`concurrency.onLimit: replace`){}",
          start.instance ? to_string(*start.instance) : "", limit_in_words(start));
    case kDebounced:
      return fmt::format(
          "the workflow has `debounce`, which would put off the start until {}; a newer request "
          "for its key would replace this one",
          format_rfc3339(start.starts_at.value_or(TimePoint())));
    case kBatched:
      return batch_says(start);
    case kSkipped:
      if (start.limit == LimitKind::kConcurrency) {
        return fmt::format(
            "workflow \"{}\" has no free slot of its `concurrency`{}, so the start would be "
            "skipped; `millrace -n {} queue list` shows what waits for slots",
            workflow, limit_in_words(start), ns);
      }
      if (start.limit == LimitKind::kRateLimit) {
        const std::string of_rate_key =
            start.key.empty() ? "" : fmt::format(", key {}", excerpt(start.key));
        return fmt::format(
            "rate limit of workflow {}{} ({} in {}): it is used up, so the start would be skipped",
            workflow, of_rate_key, start.most.value_or(0), start.period);
      }
      return "the start would be skipped";
    case kRefused:
      return fmt::format(
          "the start would be refused, and the event would become a dead letter: {}: {}",
          start.error ? start.error->code : "", start.error ? start.error->message : "");
  }
  return "";
}

Json to_json(const PredictedStart& start, const Disclosure& disclosure) {
  Json json{{"outcome", to_string(start.outcome)}};
  if (start.limit) json["reason"] = to_string(*start.limit);
  if (!start.key.empty()) json["key"] = disclosure.over(slot_key_json(start.key));
  if (start.most) json["limit"] = *start.most;
  if (!start.period.empty()) json["period"] = start.period;
  if (start.held) json["held"] = *start.held;
  if (start.waiting) json["waiting"] = *start.waiting;
  if (start.before) json["before"] = *start.before;
  if (start.priority) json["priority"] = *start.priority;
  if (start.next_at) json["nextAt"] = format_rfc3339(*start.next_at);
  if (start.starts_at) json["startsAt"] = format_rfc3339(*start.starts_at);
  if (start.size) json["size"] = *start.size;
  if (start.instance) json["instance"] = to_string(*start.instance);
  if (start.error) json["error"] = to_json(*start.error);
  return json;
}

}  // namespace millrace
