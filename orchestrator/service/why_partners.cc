// What LocalWhyDesk says about the partners of an event that waits in a group: events of the stream
// that would have completed the group, but for their namespace, their type, or a value that only
// their data has.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/attributes.h"
#include "cloudevents/nats_binding.h"
#include "matchers/correlation.h"
#include "orchestrator/service/group_corrections.h"
#include "orchestrator/service/local_why_desk.h"
#include "orchestrator/service/walk_back.h"
#include "orchestrator/service/why_parts.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/why/hints.h"
#include "orchestrator/why/typo.h"

namespace millrace {
namespace {

/// For how many groups partners are looked for, and how many of each are shown.
constexpr size_t kMostGroupsAsked = 3;
constexpr size_t kMostPartnersShown = 3;
/// How many other namespaces are read, and how long all reads of an answer may take.
constexpr size_t kMostNamespacesSearched = 5;
constexpr Duration kPartnersTime{200};

/// The group in which an event waits.
struct AskedGroup {
  std::string workflow;
  std::string own;                 ///< the type of the event
  std::vector<std::string> types;  ///< of the events that are missing
  CorrelationValues values;        ///< which the events of the group share
};

AskedGroup group_of_answer(const Json& one, const Json& event) {
  AskedGroup group{.workflow = one["workflow"].get<std::string>(),
                   .own = event["type"].get<std::string>()};
  for (const Json& type : one.value("waitsFor", Json::array()))
    group.types.push_back(type.get<std::string>());
  const Json correlate = one.value("correlate", Json::object());
  for (const auto& [name, value] : correlate.items()) {
    group.values.emplace_back(name, value.get<std::string>());
  }
  return group;
}

/// The missing type that the type is, or, if `is_similar`, from which it differs in case or a typo.
const std::string* missing_type(const AskedGroup& group, const std::string& type, bool is_similar) {
  const std::string small = in_small_letters(type);
  const auto found = std::find_if(group.types.begin(), group.types.end(), [&](const auto& missing) {
    if (!is_similar) return missing == type;
    return missing != type && (in_small_letters(missing) == small || is_typo(missing, type));
  });
  return found == group.types.end() ? nullptr : &*found;
}

bool is_near_type(const AskedGroup& group, const std::string& type) {
  return missing_type(group, type, false) != nullptr || missing_type(group, type, true) != nullptr;
}

bool has_all_values(const JudgedEvent& event, const CorrelationValues& values) {
  return std::all_of(values.begin(), values.end(), [&](const auto& one) {
    return event.attributes.find(one.first) == std::string_view(one.second);
  });
}

/// The values that the event lacks as attributes, if its data has all of them, and its attributes
/// have the others; empty: it is not so.
Json values_in_data(const JudgedEvent& event, const CorrelationValues& values) {
  JudgedPatterns none;  // an equality needs no pattern
  Json lacking = Json::object();
  for (const auto& [name, value] : values) {
    const auto got = event.attributes.find(name);
    if (got == std::string_view(value)) continue;
    const Predicate predicate{name, Predicate::Kind::kEquals, value};
    if (got || !member_in_data(predicate, event.data, none)) return Json::object();
    lacking[name] = value;
  }
  return lacking;
}

/// What differs of an event of the own namespace, and the attributes that would mend it; null: it
/// is no partner.
Json difference_of(const AskedGroup& group, const JudgedEvent& event) {
  if (const std::string* const type = missing_type(group, event.event.type, true)) {
    if (event.event.type == group.own) return nullptr;  // its type is that of another entry
    if (!has_all_values(event, group.values)) return nullptr;
    return {{"differs", "type"}, {"fits", {{"type", *type}}}};
  }
  if (missing_type(group, event.event.type, false) == nullptr) return nullptr;
  Json lacking = values_in_data(event, group.values);
  if (lacking.empty()) return nullptr;
  return {{"differs", "data"}, {"fits", std::move(lacking)}};
}

/// What differs of an event of another namespace; null: it is no partner.
Json difference_elsewhere(const AskedGroup& group, const JudgedEvent& event) {
  // Without `correlate`, an event of another namespace has nothing in common with the group.
  const bool fits = !group.values.empty() &&
                    missing_type(group, event.event.type, false) != nullptr &&
                    has_all_values(event, group.values);
  if (!fits) return nullptr;
  return {{"differs", "namespace"}, {"fits", Json::object()}};
}

/// Whether the group of a start with these values lacks only an event of the type `own`.
bool lacks_only(const Start& start, const std::vector<uint32_t>& counts, const std::string& own) {
  if (counts.size() != start.events.size()) return false;
  if (std::count(counts.begin(), counts.end(), 0U) != 1) return false;
  const auto empty = std::find(counts.begin(), counts.end(), 0U) - counts.begin();
  return start.events[empty].filter.type == own;
}

}  // namespace

Result<bool> LocalWhyDesk::is_half_group(std::string_view ns, std::string_view workflow,
                                         std::string_view own,
                                         const CorrelationValues& values) const {
  const Snapshot view = TRY(snapshot());
  const auto record = TRY(read_namespace(view, ns));
  if (!record) return false;
  const auto known = TRY(read_workflow(view, record->number, workflow));
  if (!known) return false;
  const auto definition =
      TRY(parts_.definitions.find_or_load(view, {known->number, known->latest}));
  const Start& start = definition->start;
  if (start.kind != Start::Kind::kEventsAnd) return false;
  std::map<std::string_view, std::string_view> each(values.begin(), values.end());
  std::vector<Attribute> attributes;
  for (const auto& [name, value] : each) attributes.emplace_back(name, value);
  const auto key = correlation_key(Attributes(attributes), start.correlate);
  if (!key || values.size() != start.correlate.size()) return false;
  const Fingerprint group = known->groups_from == 0
                                ? fingerprint({*key})
                                : fingerprint({*key, std::to_string(known->groups_from)});
  const auto counts = TRY(read_counts(view, known->number, group));
  return counts && lacks_only(start, *counts, std::string(own));
}

Result<LocalWhyDesk::SearchedNamespaces> LocalWhyDesk::searched_namespaces(
    std::string_view ns, const WhyFilter& filter) const {
  SearchedNamespaces found;
  const Snapshot view = TRY(snapshot());
  if (const auto record = TRY(read_namespace(view, ns))) found.created = record->created_at;
  if (!filter.shows_others) return found;
  TRY(each_namespace_behind(view, "", [&](std::string_view name, const NamespaceRecord&) {
    if (name != ns) found.others.emplace_back(name);
    return found.others.size() < kMostNamespacesSearched;
  }));
  return found;
}

Status LocalWhyDesk::read_newest(std::string_view ns, const NewestRange& which,
                                 const SeeEvent& see) const {
  const StreamSpan span = TRY(parts_.events.span());
  const BackwardRange range{.first = std::max(span.first, which.first),
                            .last = span.last,
                            .most = kMostStoredEvents,
                            .window = kMostEventsOfAnInstance,
                            .is_late = [&] { return parts_.clock.elapsed() >= which.end; }};
  TRY(walk_back(
      range,
      [&](uint64_t first, uint64_t last) {
        return parts_.events.read({.ns = std::string(ns), .first = first, .last = last});
      },
      [&](StoredEvent& stored) {
        if (stored.stamped < which.since) return false;
        Result<Event> event = decode_nats(stored.message);
        return !event || see(stored.sequence, *std::move(event));
      }));
  return {};
}

Status LocalWhyDesk::add_partners(std::string_view ns, const WhyFilter& filter,
                                  Json& answer) const {
  std::vector<std::pair<Json*, AskedGroup>> groups;
  for (Json& one : answer["near"]) {
    if (one["verdict"] != to_string(Verdict::kGrouped) || groups.size() == kMostGroupsAsked)
      continue;
    AskedGroup group = group_of_answer(one, answer["event"]);
    if (!group.types.empty()) groups.emplace_back(&one, std::move(group));
  }
  if (groups.empty()) return {};
  SearchedNamespaces searched = TRY(searched_namespaces(ns, filter));
  const Duration end = parts_.clock.elapsed() + kPartnersTime;
  std::optional<uint64_t> judged;
  if (answer["event"].contains("sequence")) judged = answer["event"]["sequence"].get<uint64_t>();
  size_t full = 0;  // groups with enough partners
  const auto add = [&](const std::string& other, uint64_t sequence, Event found) {
    const bool is_near = std::any_of(groups.begin(), groups.end(), [&](const auto& one) {
      return is_near_type(one.second, found.type);
    });
    if (!is_near) return true;
    const JudgedEvent event(std::move(found));
    for (auto& [one, group] : groups) {
      if (one->contains("partners") && (*one)["partners"].size() == kMostPartnersShown) continue;
      Json partner =
          other.empty() ? difference_of(group, event) : difference_elsewhere(group, event);
      if (partner.is_null()) continue;
      partner.update({{"sequence", sequence}, {"type", event.event.type}});
      if (!other.empty()) partner["namespace"] = other;
      PartnerPlace place{.ns = ns, .judged = judged, .is_last_missing = group.types.size() == 1};
      if (!other.empty()) {
        place.is_in_half_group =
            is_half_group(other, group.workflow, group.own, group.values).value_or(false);
      }
      (*one)["corrections"].push_back(correction_of_partner(partner, place));
      (*one)["partners"].push_back(std::move(partner));
      if ((*one)["partners"].size() == kMostPartnersShown) ++full;
    }
    return full < groups.size();
  };
  std::vector<std::string>& others = searched.others;
  others.insert(others.begin(), "");  // the own namespace comes first
  for (const std::string& other : others) {
    const std::string_view place = other.empty() ? ns : std::string_view(other);
    TRY(read_newest(
        place, {.since = other.empty() ? searched.created : TimePoint(), .end = end},
        [&](uint64_t sequence, Event event) { return add(other, sequence, std::move(event)); }));
  }
  return {};
}

}  // namespace millrace
