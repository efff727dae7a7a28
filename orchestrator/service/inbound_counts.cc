#include "orchestrator/service/inbound_counts.h"

#include <fmt/format.h>

namespace millrace {
namespace {

/// Of how many inbound webhooks the figures are known. If there are more, all are forgotten and
/// counted again.
constexpr size_t kMostInboundFigures = 10'000;

/// Whether the request became no event, and would not become one if it were sent again.
bool is_of_the_request(std::string_view code) {
  return code.starts_with("mapping.") || code.starts_with("event.");
}

Json failure_json(const InboundFigures::Failure& failure) {
  return {{"code", failure.error.code},
          {"msg", failure.error.message},
          {"at", format_rfc3339(failure.at)}};
}

}  // namespace

InboundCounts::InboundCounts(const Clock& clock, Metrics& metrics)
    : clock_(&clock), metrics_(&metrics), since_(clock.now()) {}

void InboundCounts::count_refused(const WebhookPlace& place, const Error& why) {
  note_request(place);
  count(place, InboundOutcome::kRefused, &why);
}

void InboundCounts::note_request(const WebhookPlace& place) {
  const std::lock_guard lock(mutex_);
  if (clock_ != nullptr) figures_of(place);
}

void InboundCounts::count_answer(const WebhookPlace& place, const Result<InboundAnswer>& answer) {
  if (!answer) {
    const bool is_unmapped = is_of_the_request(answer.error().code);
    return count(place, is_unmapped ? InboundOutcome::kUnmapped : InboundOutcome::kDeferred,
                 &answer.error());
  }
  if (!answer->challenge.empty()) return;
  count(place, answer->is_repeated ? InboundOutcome::kRepeated : InboundOutcome::kAccepted,
        nullptr);
}

InboundFigures& InboundCounts::figures_of(const WebhookPlace& place) {
  const std::pair key(place.ns, place.name);
  if (figures_.size() >= kMostInboundFigures && !figures_.contains(key)) {
    figures_.clear();
    since_ = clock_->now();
  }
  const Counted none{.ns_name = place.ns_name, .figures = {.since = since_}};
  return figures_.try_emplace(key, none).first->second.figures;
}

void InboundCounts::count(const WebhookPlace& place, InboundOutcome outcome, const Error* why) {
  const std::lock_guard lock(mutex_);
  const auto found = figures_.find({place.ns, place.name});
  if (metrics_ == nullptr || found == figures_.end()) return;
  metrics_->count_inbound_outcome(place.ns_name, place.name, outcome);
  const TimePoint now = clock_->now();
  InboundFigures& figures = found->second.figures;
  ++figures.counts.at(static_cast<size_t>(outcome));
  if (why == nullptr) {
    figures.accepted_at = now;
  } else if (outcome == InboundOutcome::kRefused) {
    figures.refusal = {.at = now, .error = *why};
  } else {
    figures.failure = {.at = now, .error = *why};
  }
}

void InboundCounts::forget(const std::string& ns,
                           const std::function<bool(const std::string&)>& is_kept) {
  const std::lock_guard lock(mutex_);
  std::erase_if(figures_, [&](const auto& one) {
    return one.second.ns_name == ns && !is_kept(one.first.second);
  });
  if (metrics_ != nullptr) metrics_->remove_inbound_outcomes(ns, is_kept);
}

InboundFigures InboundCounts::figures(NamespaceNumber ns, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = figures_.find({ns, name});
  return found == figures_.end() ? InboundFigures{.since = since_} : found->second.figures;
}

void InboundCounts::close() {
  const std::lock_guard lock(mutex_);
  clock_ = nullptr;
  metrics_ = nullptr;
}

Json inbound_json(std::string_view ns, const std::string& name, const Json& settings,
                  const InboundFigures& figures) {
  const Json verify = settings.value("verify", Json::object());
  const Json mapping = settings.value("mapping", Json::object());
  Json json = {{"name", name},
               {"path", fmt::format("/v1/ns/{}/{}/{}", ns, kInboundSetting, name)},
               {"form", verify.value("form", Json())},
               {"secrets", verify.value("secrets", Json())},
               {"type", mapping.value("type", Json())},
               {"paused", settings.value(kPausedWebhook, false)},
               {"countedSince", format_rfc3339(figures.since)}};
  for (size_t i = 0; i < figures.counts.size(); ++i) {
    json[std::string(to_string(InboundOutcome(i)))] = figures.counts[i];
  }
  if (figures.accepted_at) json["lastAcceptedAt"] = format_rfc3339(*figures.accepted_at);
  if (figures.refusal) json["lastRefusal"] = failure_json(*figures.refusal);
  if (figures.failure) json["lastError"] = failure_json(*figures.failure);
  return json;
}

}  // namespace millrace
