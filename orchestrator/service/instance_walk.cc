#include "orchestrator/service/instance_walk.h"

#include <algorithm>
#include <array>
#include <queue>
#include <utility>

#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/index_rows.h"

namespace millrace {
namespace {

using SeeHead = std::function<bool(const Instance& head)>;
using SeeDamaged = std::function<bool(const InstanceId& id, const Error&)>;

/// The instances of one workflow with one status.
struct IndexPlace {
  WorkflowNumber workflow{};
  InstanceStatus status{};
};
using IndexPlaces = std::vector<IndexPlace>;

constexpr std::array kEachStatus = {
    InstanceStatus::kPending,   InstanceStatus::kRunning,  InstanceStatus::kWaiting,
    InstanceStatus::kPaused,    InstanceStatus::kComplete, InstanceStatus::kFailed,
    InstanceStatus::kCancelled, InstanceStatus::kTimedOut,
};

bool has_selected_status(const InstanceSelection& selection, InstanceStatus status) {
  const auto& wanted = selection.statuses;
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), status) != wanted.end();
}

bool is_selected(const InstanceSelection& selection, const Instance& head) {
  return (!selection.workflow || head.revision.workflow == *selection.workflow) &&
         has_selected_status(selection, head.status);
}

/// The places of the index that the selection has; nullopt: too many.
Result<std::optional<IndexPlaces>> places_of(const View& view, const InstanceSelection& selection,
                                             size_t most) {
  IndexPlaces places;
  if (selection.workflow) {
    for (const InstanceStatus status : kEachStatus) {
      if (has_selected_status(selection, status)) places.push_back({*selection.workflow, status});
    }
    return std::optional(std::move(places));
  }
  const auto skip_damaged = [](const Error&) {};
  auto found = TRY(first_by_status(view, selection.ns, WorkflowNumber(0), {}, skip_damaged));
  for (size_t seen = 0; found; ++seen) {
    if (seen == most) return std::optional<IndexPlaces>();
    const IndexPlace place{found->place.revision.workflow, found->place.status};
    if (has_selected_status(selection, place.status)) places.push_back(place);
    found = TRY(first_by_status(view, selection.ns, place.workflow, place.status, skip_damaged));
  }
  return std::optional(std::move(places));
}

/// The instances of several places in one order, newest first.
class MergedPlaces {
 public:
  MergedPlaces(const View& view, const InstanceSelection& selection, IndexPlaces places)
      : view_(view), ns_(selection.ns), places_(std::move(places)) {}

  Status begin(const std::optional<InstanceId>& before) {
    for (size_t i = 0; i < places_.size(); ++i) TRY(push_next(i, before));
    return {};
  }

  struct Next {
    InstanceId id;
    IndexPlace place;
  };
  /// The next instance; nullopt: there is none.
  Result<std::optional<Next>> next() {
    if (heap_.empty()) return std::optional<Next>();
    const auto [id, place] = heap_.top();
    heap_.pop();
    TRY(push_next(place, id));
    return std::optional(Next{.id = id, .place = places_[place]});
  }

 private:
  Status push_next(size_t place, const std::optional<InstanceId>& before) {
    const auto [workflow, status] = places_[place];
    const auto found = TRY(last_by_status(view_, ns_, workflow, status, before));
    if (found) heap_.emplace(*found, place);
    return {};
  }

  const View& view_;
  const NamespaceNumber ns_;
  const IndexPlaces places_;
  /// The newest instance of each place that was not returned yet.
  std::priority_queue<std::pair<InstanceId, size_t>> heap_;
};

/// How many instances a walk may still look at.
class LooksLeft {
 public:
  explicit LooksLeft(size_t most) : left_(most) {}

  /// Whether the walk may look at this instance.
  bool look_at(const InstanceId& id) {
    is_cut_ = left_ == 0;
    if (is_cut_) return false;
    --left_;
    last_ = id;
    return true;
  }

  /// The last instance that the walk has looked at, if no look was left for another one.
  std::optional<InstanceId> cut() const { return is_cut_ ? last_ : std::nullopt; }

 private:
  size_t left_;
  bool is_cut_ = false;
  std::optional<InstanceId> last_;
};

Result<std::optional<InstanceId>> walk_index(const View& view, const InstanceSelection& selection,
                                             IndexPlaces places, size_t most, const SeeHead& see,
                                             const SeeDamaged& damaged) {
  LooksLeft looks(most);
  MergedPlaces merged(view, selection, std::move(places));
  TRY(merged.begin(selection.before));
  while (const auto next = TRY(merged.next())) {
    if (!looks.look_at(next->id)) break;
    const auto head = read_head_anywhere(view, selection.ns, next->id);
    if (!head && !is_damaged_row(head.error())) return tl::unexpected(head.error());
    if (!head) {
      if (!damaged(next->id, head.error())) break;
      continue;
    }
    // A damaged index may have an instance under another status.
    const bool fits = *head && (*head)->status == next->place.status &&
                      (*head)->revision.workflow == next->place.workflow;
    if (fits && !see(**head)) break;
  }
  return looks.cut();
}

Result<std::optional<InstanceId>> walk_all(const View& view, const InstanceSelection& selection,
                                           size_t most, const SeeHead& see,
                                           const SeeDamaged& damaged) {
  LooksLeft looks(most);
  TRY(each_instance_backward(
      view, selection.ns, selection.before,
      [&](const Instance& head) {
        if (!looks.look_at(head.id)) return false;
        return !is_selected(selection, head) || see(head);
      },
      [&](const InstanceId& id, const Error& error) {
        return looks.look_at(id) && damaged(id, error);
      }));
  return looks.cut();
}

}  // namespace

Result<std::optional<InstanceId>> each_selected(const View& view,
                                                const InstanceSelection& selection,
                                                const SeeHead& see, const SeeDamaged& damaged,
                                                const WalkBounds& bounds) {
  const bool has_filter = selection.workflow || !selection.statuses.empty();
  const bool is_incomplete = has_filter && is_index_incomplete(view);
  TRY(view.status());
  if (has_filter && !is_incomplete) {
    if (auto places = TRY(places_of(view, selection, bounds.places))) {
      return walk_index(view, selection, *std::move(places), bounds.heads, see, damaged);
    }
  }
  return walk_all(view, selection, bounds.heads, see, damaged);
}

}  // namespace millrace
