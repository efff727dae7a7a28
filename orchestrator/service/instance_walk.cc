#include "orchestrator/service/instance_walk.h"

#include <algorithm>
#include <array>
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

/// Reads a sequence in chunks, one scan for each. A chunk has twice as many elements as the one
/// before: a walk that ends early has read at most about as much as it has used.
template <class T>
class ChunkReader {
 public:
  /// Reads at most `most` elements of a range.
  using Read = std::function<Result<std::vector<T>>(const IdRange& range, size_t most)>;

  ChunkReader(const InstanceSelection& selection, Read read)
      : rest_(selection.ids), oldest_first_(selection.oldest_first), read_(std::move(read)) {}

  /// The next element, which is valid until the next call; null: there is none. `id_of` returns the
  /// id of an element.
  template <class IdOf>
  Result<const T*> next(IdOf id_of) {
    if (next_ == chunk_.size()) {
      if (rest_.is_empty()) return nullptr;
      chunk_ = TRY(read_(rest_, size_));
      next_ = 0;
      size_ = std::min(2 * size_, kLargestChunk);
      if (chunk_.empty()) {
        rest_ = kNoIds;
        return nullptr;
      }
      const InstanceId last = id_of(chunk_.back());
      if (oldest_first_) {
        rest_.begin_behind(last);
      } else {
        rest_.end_before(last);
      }
    }
    return &chunk_[next_++];
  }

 private:
  static constexpr size_t kLargestChunk = 256;
  static constexpr IdRange kNoIds{.first = kLastId, .last = {}};

  IdRange rest_;  ///< has the elements that were not read yet
  const bool oldest_first_;
  const Read read_;
  std::vector<T> chunk_;
  size_t next_ = 0;
  size_t size_ = 1;  ///< of the next chunk
};

Direction direction_of(const InstanceSelection& selection) {
  return selection.oldest_first ? Direction::kForward : Direction::kBackward;
}

/// Whether `one` comes before `other` in the order of the walk.
bool comes_first(const InstanceSelection& selection, const InstanceId& one,
                 const InstanceId& other) {
  return selection.oldest_first ? one < other : one > other;
}

/// The instances of several places in one order.
class MergedPlaces {
 public:
  MergedPlaces(const View& view, const InstanceSelection& selection, const IndexPlaces& places)
      : selection_(selection) {
    for (const IndexPlace& place : places) {
      const auto read = [&view, &selection, place](const IdRange& range, size_t most) {
        return some_by_status(view, selection.ns, place.workflow, place.status, range,
                              direction_of(selection), most);
      };
      sources_.push_back({place, ChunkReader<InstanceId>(selection, read)});
    }
  }

  Status begin() {
    for (size_t i = 0; i < sources_.size(); ++i) TRY(push_next(i));
    return {};
  }

  struct Next {
    InstanceId id;
    IndexPlace place;
  };
  /// The next instance; nullopt: there is none.
  Result<std::optional<Next>> next() {
    if (heap_.empty()) return std::optional<Next>();
    std::pop_heap(heap_.begin(), heap_.end(),
                  [this](const Entry& one, const Entry& other) { return comes_later(one, other); });
    const auto [id, source] = heap_.back();
    heap_.pop_back();
    TRY(push_next(source));
    return std::optional(Next{.id = id, .place = sources_[source].place});
  }

 private:
  struct Source {
    IndexPlace place;
    ChunkReader<InstanceId> ids;
  };
  using Entry = std::pair<InstanceId, size_t>;  ///< of sources_

  /// Whether `one` is returned after `other`.
  bool comes_later(const Entry& one, const Entry& other) const {
    return comes_first(selection_, other.first, one.first);
  }
  Status push_next(size_t source) {
    const InstanceId* const found =
        TRY(sources_[source].ids.next([](const InstanceId& id) { return id; }));
    if (found == nullptr) return {};
    heap_.emplace_back(*found, source);
    std::push_heap(heap_.begin(), heap_.end(), [this](const Entry& one, const Entry& other) {
      return comes_later(one, other);
    });
    return {};
  }

  const InstanceSelection& selection_;
  std::vector<Source> sources_;
  /// The first instance of each place that was not returned yet.
  std::vector<Entry> heap_;
};

/// How many instances a walk may still look at.
class LooksLeft {
 public:
  explicit LooksLeft(const WalkBounds& bounds) : bounds_(bounds) {}

  /// Whether the walk may look at this instance.
  bool look_at(const InstanceId& id) {
    is_cut_ = looked_ == bounds_.heads || (looked_ > 0 && bounds_.is_over && bounds_.is_over());
    if (is_cut_) return false;
    ++looked_;
    last_ = id;
    return true;
  }

  WalkEnd end() const { return {.cut = is_cut_ ? last_ : std::nullopt, .looked = looked_}; }

 private:
  const WalkBounds& bounds_;
  size_t looked_ = 0;
  bool is_cut_ = false;
  std::optional<InstanceId> last_;
};

Result<WalkEnd> walk_index(const View& view, const InstanceSelection& selection,
                           const IndexPlaces& places, const WalkBounds& bounds, const SeeHead& see,
                           const SeeDamaged& damaged) {
  LooksLeft looks(bounds);
  MergedPlaces merged(view, selection, places);
  TRY(merged.begin());
  while (const auto next = TRY(merged.next())) {
    if (!looks.look_at(next->id)) break;
    const Table table = has_ended(next->place.status) ? Table::kEnded : Table::kLive;
    const auto head = read_head(view, table, selection.ns, next->id);
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
  return looks.end();
}

Result<WalkEnd> walk_all(const View& view, const InstanceSelection& selection,
                         const WalkBounds& bounds, const SeeHead& see, const SeeDamaged& damaged) {
  const auto heads_of = [&](Table table) {
    return ChunkReader<StoredHead>(selection, [&, table](const IdRange& range, size_t most) {
      return some_heads(view, table, selection.ns, range, direction_of(selection), most);
    });
  };
  const auto id_of = [](const StoredHead& head) { return head.id; };
  LooksLeft looks(bounds);
  auto live_heads = heads_of(Table::kLive);
  auto ended_heads = heads_of(Table::kEnded);
  const StoredHead* live = TRY(live_heads.next(id_of));
  const StoredHead* ended = TRY(ended_heads.next(id_of));
  while (live != nullptr || ended != nullptr) {
    const bool take_live =
        live != nullptr && (ended == nullptr || comes_first(selection, live->id, ended->id));
    const StoredHead& next = take_live ? *live : *ended;
    if (!looks.look_at(next.id)) break;
    const Result<Instance> head = head_of(view, next.table, next.key, next.value);
    if (!head && !is_damaged_row(head.error())) return tl::unexpected(head.error());
    const bool continues =
        head ? !is_selected(selection, *head) || see(*head) : damaged(next.id, head.error());
    if (!continues) break;
    if (take_live) {
      live = TRY(live_heads.next(id_of));
    } else {
      ended = TRY(ended_heads.next(id_of));
    }
  }
  return looks.end();
}

}  // namespace

Result<WalkEnd> each_selected(const View& view, const InstanceSelection& selection,
                              const SeeHead& see, const SeeDamaged& damaged,
                              const WalkBounds& bounds) {
  const bool has_filter = selection.workflow || !selection.statuses.empty();
  const bool is_incomplete = has_filter && is_index_incomplete(view);
  TRY(view.status());
  if (has_filter && !is_incomplete) {
    if (const auto places = TRY(places_of(view, selection, bounds.places))) {
      return walk_index(view, selection, *places, bounds, see, damaged);
    }
  }
  return walk_all(view, selection, bounds, see, damaged);
}

Result<WalkEnd> each_of(const View& view, const InstanceSelection& selection,
                        const std::vector<InstanceId>& ids, const SeeHead& see,
                        const SeeDamaged& damaged, const WalkBounds& bounds) {
  LooksLeft looks(bounds);
  for (const InstanceId& id : ids) {
    if (!selection.ids.contains(id)) continue;
    if (!looks.look_at(id)) break;
    const auto head = read_head_anywhere(view, selection.ns, id);
    if (!head && !is_damaged_row(head.error())) return tl::unexpected(head.error());
    if (!head) {
      if (!damaged(id, head.error())) break;
    } else if (*head && is_selected(selection, **head) && !see(**head)) {
      break;
    }
  }
  return looks.end();
}

}  // namespace millrace
