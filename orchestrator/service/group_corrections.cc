#include "orchestrator/service/group_corrections.h"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"

namespace millrace {
namespace {

/// `orderid` "o-1", `shop` "s"
std::string attributes_in_words(const Json& attributes) {
  std::string words;
  for (const auto& [name, value] : attributes.items()) {
    words += fmt::format("{}`{}` \"{}\"", words.empty() ? "" : ", ", excerpt(name),
                         excerpt(value.get<std::string>()));
  }
  return words;
}

std::string names_in_words(const Json& attributes) {
  std::string words;
  for (const auto& [name, value] : attributes.items()) {
    words += fmt::format("{}`{}`", words.empty() ? "" : ", ", excerpt(name));
  }
  return words;
}

/// What the correction does with the group, as a clause.
std::string_view then_says(bool completes) {
  return completes ? "it completes this group"
                   : "it joins this group, which then waits for the other events";
}

/// The values of a group that differ from those of another one; null: one is too long to be shown.
Json differing_values(const CorrelationValues& values, const CorrelationValues& others) {
  Json differing = Json::object();
  for (size_t i = 0; i < values.size() && i < others.size(); ++i) {
    if (values[i] == others[i]) continue;
    if (values[i].second.size() > kMostOfACorrelation) return nullptr;
    differing[values[i].first] = values[i].second;
  }
  return differing;
}

std::string move_says(uint64_t sequence, bool is_to_own, const Json& attributes) {
  return fmt::format("event #{} waits in {}: sent again with {}, it completes {}", sequence,
                     is_to_own ? "another incomplete group of this workflow" : "this group",
                     attributes_in_words(attributes),
                     is_to_own ? "this group" : "another incomplete group of this workflow");
}

std::string partner_says(const Json& partner, bool completes) {
  const uint64_t sequence = partner["sequence"].get<uint64_t>();
  const std::string differs = partner["differs"].get<std::string>();
  const Json& fits = partner["fits"];
  if (differs == "type") {
    return fmt::format("event #{} has the type `{}`: sent again with {}, {}", sequence,
                       excerpt(partner["type"].get<std::string>()), attributes_in_words(fits),
                       then_says(completes));
  }
  if (differs == "data") {
    return fmt::format("event #{} has {} in its data only: sent again with {}, {}", sequence,
                       names_in_words(fits), attributes_in_words(fits), then_says(completes));
  }
  return fmt::format("event #{} was sent to the namespace `{}`: sent to this namespace, {}",
                     sequence, excerpt(partner["namespace"].get<std::string>()),
                     then_says(completes));
}

/// Where a correction comes in the list.
std::tuple<bool, size_t> rank_of(const Json& correction) {
  constexpr std::array<std::string_view, 4> kOrder = {"correlate", "data", "type", "namespace"};
  const auto at = std::find(kOrder.begin(), kOrder.end(), correction["differs"].get<std::string>());
  return {!correction["completes"].get<bool>(), at - kOrder.begin()};
}

bool is_same_event(const Json& a, const Json& b) { return a["sequence"] == b["sequence"]; }

}  // namespace

Json correction_of_move(const JudgedListener& one, const NearGroup& other,
                        const EventStanding& event) {
  const bool is_known = other.move && event.position && other.move->event.sequence > 0 &&
                        other.move->event.stream == event.applied.stream;
  if (!is_known) return nullptr;
  const GroupMove& move = *other.move;
  Json attributes = move.is_to_own ? differing_values(one.correlation, other.values)
                                   : differing_values(other.values, one.correlation);
  if (attributes.is_null() || attributes.empty()) return nullptr;
  std::string says = move_says(move.event.sequence, move.is_to_own, attributes);
  return {{"differs", "correlate"},
          {"sequence", move.event.sequence},
          {"own", move.event == *event.position},
          {"namespace", event.ns},
          {"attributes", std::move(attributes)},
          {"completes", true},
          {"says", std::move(says)}};
}

Json correction_of_partner(const Json& partner, const PartnerPlace& place) {
  const std::string from = partner.value("namespace", std::string(place.ns));
  const uint64_t sequence = partner["sequence"].get<uint64_t>();
  if (place.is_in_half_group && place.judged && *place.judged > sequence) {
    return {{"differs", "namespace"},
            {"sequence", *place.judged},
            {"own", true},
            {"namespace", place.ns},
            {"toNamespace", from},
            {"attributes", Json::object()},
            {"completes", true},
            {"says", fmt::format("event #{} came first, and waits in an incomplete group of the "
                                 "same workflow in the namespace `{}`: this event, sent to that "
                                 "namespace, completes that group",
                                 sequence, excerpt(from))}};
  }
  Json correction{{"differs", partner["differs"]},
                  {"sequence", sequence},
                  {"own", false},
                  {"namespace", from},
                  {"attributes", partner["fits"]},
                  {"completes", place.is_last_missing},
                  {"says", partner_says(partner, place.is_last_missing)}};
  if (from != place.ns) correction["toNamespace"] = place.ns;
  return correction;
}

void sort_corrections(Json& corrections) {
  std::vector<Json> sorted(corrections.begin(), corrections.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Json& a, const Json& b) { return rank_of(a) < rank_of(b); });
  corrections = Json::array();
  for (Json& one : sorted) {
    const bool is_known = std::any_of(corrections.begin(), corrections.end(),
                                      [&](const Json& other) { return is_same_event(one, other); });
    if (!is_known) corrections.push_back(std::move(one));
  }
}

}  // namespace millrace
