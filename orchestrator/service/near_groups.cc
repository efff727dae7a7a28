#include "orchestrator/service/near_groups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "matchers/correlation.h"
#include "orchestrator/service/why_probes.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/group_rows.h"

namespace millrace {
namespace {

/// How many groups are looked at, and from how many an event is read, for one start.
constexpr size_t kMostGroupsLooked = 100;
constexpr size_t kMostGroupsRead = 20;

/// How the two values probably came to differ; nullopt: that is not known.
std::optional<Hint::Kind> likeness_of(const std::string& asked, const std::string& got) {
  if (asked.size() > kMostOfAProbe || got.size() > kMostOfAProbe) return std::nullopt;
  JudgedPatterns none;  // an equality needs no pattern
  const Predicate predicate{.text = asked};
  if (differs_in_case(predicate, got, none)) return Hint::Kind::kCase;
  if (differs_in_space(predicate, got, none)) return Hint::Kind::kSpace;
  if (differs_in_zeros(predicate, got, none)) return Hint::Kind::kZeros;
  return std::nullopt;
}

/// The values by which a start groups an event; nullopt: the event lacks one of the attributes.
std::optional<CorrelationValues> values_of(const Attributes& event, const Start& start) {
  CorrelationValues values;
  for (const std::string& name : start.correlate) {
    const auto value = event.find(name);
    if (!value) return std::nullopt;
    values.emplace_back(name, *value);
  }
  return values;
}

class NearGroupSearch {
 public:
  NearGroupSearch(const View& view, const WorkflowRecord& record, const Start& start,
                  CorrelationValues own, const std::vector<std::string>& missing)
      : view_(view), record_(record), start_(start), own_(std::move(own)), missing_(missing) {
    if (const auto group = group_of(own_)) seen_.insert(*group);
  }

  /// Looks at the groups with a variant of one of the values.
  Status look_at_variants() {
    size_t looked = 0;
    for (size_t i = 0; i < own_.size(); ++i) {
      if (own_[i].second.size() > kMostOfAProbe) continue;
      for (std::string& variant : variants_of(own_[i].second)) {
        if (++looked > kMostProbes) return {};
        CorrelationValues values = own_;
        values[i].second = std::move(variant);
        const auto group = group_of(values);
        if (!group || seen_.contains(*group)) continue;
        const auto counts = read_counts(view_, record_.number, *group);
        if (!counts && !is_damaged_row(counts.error())) return tl::unexpected(counts.error());
        if (counts && *counts) TRY(look_at(*group, **counts));
      }
    }
    return {};
  }

  Status look_at_first() {
    size_t looked = 0;
    const Status walked = each_group(
        view_, record_.number, std::nullopt,
        [&](const Fingerprint& group, const std::vector<uint32_t>& waiting) -> Result<bool> {
          TRY(look_at(group, waiting));
          return ++looked < kMostGroupsLooked && read_ < kMostGroupsRead;
        });
    if (!walked && !is_damaged_row(walked.error())) return walked;
    return {};
  }

  std::vector<NearGroup> nearest() && {
    const auto rank = [](const Found& one) { return std::pair(one.differing, !one.group.hint); };
    std::stable_sort(found_.begin(), found_.end(),
                     [&](const Found& a, const Found& b) { return rank(a) < rank(b); });
    std::vector<NearGroup> groups;
    for (Found& one : found_) {
      if (groups.size() < kMostNearGroups) groups.push_back(std::move(one.group));
    }
    return groups;
  }

 private:
  struct Found {
    NearGroup group;
    size_t differing = 0;  ///< how many values differ
  };

  /// The fingerprint of a group of the present start with these values.
  std::optional<Fingerprint> group_of(const CorrelationValues& values) const {
    std::map<std::string_view, std::string_view> each;
    for (const auto& [name, value] : values) each.emplace(name, value);
    std::vector<Attribute> attributes;
    for (const auto& [name, value] : each) attributes.emplace_back(name, value);
    const auto key = correlation_key(Attributes(attributes), start_.correlate);
    if (!key) return std::nullopt;
    return record_.groups_from == 0 ? fingerprint({*key})
                                    : fingerprint({*key, std::to_string(record_.groups_from)});
  }

  /// Adds the group if it has an event of a missing type, and is one of the present start.
  Status look_at(const Fingerprint& group, const std::vector<uint32_t>& waiting) {
    if (!seen_.insert(group).second || waiting.size() != start_.events.size()) return {};
    std::optional<size_t> entry;
    NearGroup near;
    for (size_t i = 0; i < waiting.size(); ++i) {
      const std::string& type = start_.events[i].filter.type;
      if (waiting[i] == 0) continue;
      if (std::find(missing_.begin(), missing_.end(), type) == missing_.end()) continue;
      if (!entry) entry = i;
      near.has.push_back(type);
    }
    if (!entry || read_ >= kMostGroupsRead) return {};
    ++read_;
    const auto first = TRY(read_first_grouped(
        view_, {record_.number, group, static_cast<uint16_t>(*entry)}, [](const Error&) {}));
    if (!first) return {};
    const Result<Event> event = event_of(*first);
    if (!event) return {};
    auto values = values_of(Attributes(*event), start_);
    if (!values || group_of(*values) != group) return {};
    Found one{.group = std::move(near)};
    for (size_t i = 0; i < own_.size(); ++i) {
      if (own_[i].second == (*values)[i].second) continue;
      ++one.differing;
      one.group.hint = likeness_of((*values)[i].second, own_[i].second);
    }
    if (one.differing != 1) one.group.hint.reset();
    one.group.values = *std::move(values);
    found_.push_back(std::move(one));
    return {};
  }

  const View& view_;
  const WorkflowRecord& record_;
  const Start& start_;
  const CorrelationValues own_;
  const std::vector<std::string>& missing_;
  std::set<Fingerprint> seen_;
  std::vector<Found> found_;
  size_t read_ = 0;
};

}  // namespace

Status add_near_groups(const View& view, const WorkflowRecord& record, const Start& start,
                       const Attributes& event, JudgedListener& one) {
  auto values = values_of(event, start);
  if (!values || values->empty() || one.waits_for.empty()) return {};
  one.correlation = *std::move(values);
  NearGroupSearch search(view, record, start, one.correlation, one.waits_for);
  TRY(search.look_at_variants());
  TRY(search.look_at_first());
  one.near_groups = std::move(search).nearest();
  return {};
}

}  // namespace millrace
