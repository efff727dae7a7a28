#include "orchestrator/service/near_groups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/similar_names.h"
#include "matchers/correlation.h"
#include "orchestrator/service/why_probes.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/why/typo.h"

namespace millrace {
namespace {

/// How many groups are counted, from how many an event is read, and after how many bytes of events
/// no further one is read, for one start.
constexpr size_t kMostGroupsCounted = 1'000;
constexpr size_t kMostGroupsRead = 100;
constexpr size_t kMostBytesRead = size_t{1} << 20;

/// How many groups with a variant of a value are looked for, for one start.
constexpr size_t kMostVariants = 256;

/// How different two values count at least that are too long to be compared.
constexpr size_t kFarApart = 256;

/// How the two values probably came to differ; nullopt: that is not known.
std::optional<Hint::Kind> likeness_of(const std::string& asked, const std::string& got) {
  if (asked.size() > kMostOfAProbe || got.size() > kMostOfAProbe) return std::nullopt;
  JudgedPatterns none;  // an equality needs no pattern
  const Predicate predicate{.text = asked};
  if (differs_in_case(predicate, got, none)) return Hint::Kind::kCase;
  if (differs_in_space(predicate, got, none)) return Hint::Kind::kSpace;
  if (differs_in_zeros(predicate, got, none)) return Hint::Kind::kZeros;
  if (differs_in_typo(predicate, got, none)) return Hint::Kind::kTypo;
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

  /// Reads which entries the group of the event has.
  Status read_own() {
    const auto group = group_of(own_);
    if (!group) return {};
    const auto counts = read_counts(view_, record_.number, *group);
    if (!counts && !is_damaged_row(counts.error())) return tl::unexpected(counts.error());
    if (counts && *counts && (*counts)->size() == start_.events.size()) own_waiting_ = **counts;
    return {};
  }

  /// Looks at the groups with a variant of one of the values, those with a typo last.
  Status look_at_variants() {
    std::vector<std::pair<size_t, std::string>> variants;
    const auto add = [&](size_t of, std::vector<std::string> some) {
      for (std::string& one : some) variants.emplace_back(of, std::move(one));
    };
    for (size_t i = 0; i < own_.size(); ++i) {
      if (own_[i].second.size() <= kMostOfAProbe) add(i, variants_of(own_[i].second));
    }
    for (size_t i = 0; i < own_.size(); ++i) {
      add(i, typos_of(own_[i].second, kMostVariants / own_.size()));
    }
    if (variants.size() > kMostVariants) variants.resize(kMostVariants);
    for (auto& [of, variant] : variants) {
      CorrelationValues values = own_;
      values[of].second = std::move(variant);
      const auto group = group_of(values);
      if (!group || seen_.contains(*group)) continue;
      const auto counts = read_counts(view_, record_.number, *group);
      if (!counts && !is_damaged_row(counts.error())) return tl::unexpected(counts.error());
      if (counts && *counts) TRY(look_at(*group, **counts));
    }
    return {};
  }

  Status look_at_first() {
    size_t looked = 0;
    const Status walked = each_group(
        view_, record_.number, std::nullopt,
        [&](const Fingerprint& group, const std::vector<uint32_t>& waiting) -> Result<bool> {
          knows_all_ = looked++ < kMostGroupsCounted;
          if (knows_all_) TRY(look_at(group, waiting));
          return knows_all_;
        });
    if (walked) return {};
    knows_all_ = false;
    return is_damaged_row(walked.error()) ? Status() : walked;
  }

  /// Moves the nearest groups into the verdict, and counts the others.
  Status add_to(JudgedListener& one) && {
    const auto rank = [](const Found& found) {
      return std::tuple(found.differing, !found.group.hint, found.distance);
    };
    std::stable_sort(found_.begin(), found_.end(),
                     [&](const Found& a, const Found& b) { return rank(a) < rank(b); });
    // Beside a group whose value is probably a misspelling, the others are noise.
    const auto hinted =
        static_cast<size_t>(std::count_if(found_.begin(), found_.end(), [](const Found& found) {
          return found.group.hint.has_value();
        }));
    const size_t shown = std::min(hinted > 0 ? hinted : found_.size(), kMostNearGroups);
    for (size_t i = 0; i < shown; ++i) {
      if (found_[i].group.hint) found_[i].group.move = TRY(move_between(found_[i]));
      one.near_groups.push_back(std::move(found_[i].group));
    }
    one.more_groups = found_.size() - shown + unread_;
    one.knows_all_groups = knows_all_;
    return {};
  }

 private:
  struct Found {
    NearGroup group;
    size_t differing = 0;           ///< how many values differ
    size_t distance = 0;            ///< how much they differ
    std::vector<uint32_t> waiting;  ///< how many events each entry has
  };

  /// The only entry that has no event; nullopt: none or several have none.
  static std::optional<size_t> only_empty(const std::vector<uint32_t>& waiting) {
    if (std::count(waiting.begin(), waiting.end(), 0U) != 1) return std::nullopt;
    return std::find(waiting.begin(), waiting.end(), 0U) - waiting.begin();
  }

  /// The first event of the group `from` that would complete a group with `to`, if there is one.
  Result<std::optional<EventPosition>> completing(const CorrelationValues& from,
                                                  const std::vector<uint32_t>& has,
                                                  const std::vector<uint32_t>& to) const {
    const auto entry = only_empty(to);
    const auto group = group_of(from);
    if (!entry || !group || *entry >= has.size() || has[*entry] == 0) return std::nullopt;
    const auto first = TRY(read_first_grouped(
        view_, {record_.number, *group, static_cast<uint16_t>(*entry)}, [](const Error&) {}));
    if (!first) return std::nullopt;
    return first->row.record.position;
  }

  /// Which event completes one of the two groups. Does not depend on which of the two groups is
  /// that of the event: otherwise two people who ask about one event each start two instances.
  Result<std::optional<GroupMove>> move_between(const Found& other) const {
    const auto here = TRY(completing(other.group.values, other.waiting, own_waiting_));
    const auto there = TRY(completing(own_, own_waiting_, other.waiting));
    if (here && (!there || *there < *here)) return GroupMove{.event = *here, .is_to_own = true};
    if (there) return GroupMove{.event = *there, .is_to_own = false};
    return std::nullopt;
  }

  /// The fingerprint of a group of the present start with these values.
  std::optional<Fingerprint> group_of(const CorrelationValues& values) const {
    std::map<std::string_view, std::string_view> each;
    for (const auto& [name, value] : values) each.emplace(name, value);
    std::vector<Attribute> attributes;
    attributes.reserve(each.size());
    for (const auto& [name, value] : each) attributes.emplace_back(name, value);
    const auto key = correlation_key(Attributes(attributes), start_.correlate);
    if (!key) return std::nullopt;
    return record_.groups_from == 0 ? fingerprint({*key})
                                    : fingerprint({*key, std::to_string(record_.groups_from)});
  }

  /// Adds the group if it has an event of a missing type, and is one of the present start. Counts
  /// it only, also if it is one of an earlier start, when enough groups were read.
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
    if (!entry) return {};
    if (read_ >= kMostGroupsRead || bytes_ >= kMostBytesRead) {
      ++unread_;
      return {};
    }
    ++read_;
    const auto first = TRY(read_first_grouped(
        view_, {record_.number, group, static_cast<uint16_t>(*entry)}, [](const Error&) {}));
    if (!first) return {};
    bytes_ += first->row.record.event.size();
    auto values = values_of(Attributes(first->event), start_);
    if (!values || group_of(*values) != group) return {};
    Found one{.group = std::move(near), .waiting = waiting};
    for (size_t i = 0; i < own_.size(); ++i) {
      if (own_[i].second == (*values)[i].second) continue;
      ++one.differing;
      one.distance += name_distance((*values)[i].second, own_[i].second).value_or(kFarApart);
      one.group.hint = likeness_of((*values)[i].second, own_[i].second);
    }
    if (one.differing != 1) one.group.hint.reset();
    one.group.values = *std::move(values);
    one.group.event = first->row.record.position;
    found_.push_back(std::move(one));
    return {};
  }

  const View& view_;
  const WorkflowRecord& record_;
  const Start& start_;
  const CorrelationValues own_;
  const std::vector<std::string>& missing_;
  std::vector<uint32_t> own_waiting_;  ///< of the group of the event; empty: it is not stored
  std::set<Fingerprint> seen_;
  std::vector<Found> found_;
  size_t read_ = 0;        ///< groups
  size_t bytes_ = 0;       ///< of the events that were read
  size_t unread_ = 0;      ///< groups with an event of a missing type that were not read
  bool knows_all_ = true;  ///< no bound has ended the walk
};

}  // namespace

Status add_near_groups(const View& view, const WorkflowRecord& record, const Start& start,
                       const Attributes& event, JudgedListener& one) {
  auto values = values_of(event, start);
  if (!values || values->empty() || one.waits_for.empty()) return {};
  one.correlation = *std::move(values);
  NearGroupSearch search(view, record, start, one.correlation, one.waits_for);
  TRY(search.read_own());
  TRY(search.look_at_variants());
  TRY(search.look_at_first());
  return std::move(search).add_to(one);
}

}  // namespace millrace
