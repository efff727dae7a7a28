// KeyLanes: the keys of flow control that are to be looked at because something that waits for them
// may go on now. Each lane has its keys, which take turns, and may have a review: all keys of the
// lane are read in portions, and those that something waits for are added. Plain values; no store.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "model/work_lane.h"

namespace millrace {

/// How many keys of a review one unit of work reads.
inline constexpr size_t kReviewedKeysAtOnce = 64;

template <class Key>
class KeyLanes {
 public:
  class Lane {
   public:
    /// Adds the key behind the others, if it is not among them.
    void add(const Key& key) {
      if (known_.insert(key).second) keys_.push_back(key);
    }
    /// Begins a review of all keys, in place of one that is under way.
    void review() {
      is_reviewed_ = true;
      reviewed_until_.reset();
    }
    /// The key up to which the review has come; nullopt: to none.
    const std::optional<Key>& reviewed_until() const { return reviewed_until_; }
    /// Begins the next portion of the review, which is the last one unless note() ends it.
    void begin_portion() {
      portion_ = 0;
      is_reviewed_ = false;
    }
    /// Notes the next key of the portion. Returns whether the portion continues.
    bool note(const Key& key, bool is_awaited) {
      if (is_awaited) add(key);
      reviewed_until_ = key;
      is_reviewed_ = ++portion_ >= kReviewedKeysAtOnce;
      return !is_reviewed_;
    }

   private:
    friend class KeyLanes;

    bool empty() const { return keys_.empty() && !is_reviewed_; }

    std::deque<Key> keys_;      ///< each once
    std::set<Key> known_;       ///< those of `keys_`
    bool is_reviewed_ = false;  ///< more keys may have to be added
    std::optional<Key> reviewed_until_;
    size_t portion_ = 0;  ///< how many keys the portion has read
  };

  /// The lane of that owner. A lane that is new is added to `fresh`.
  Lane& of(const WorkLane& owner, std::set<WorkLane>& fresh) {
    const auto [lane, is_new] = lanes_.try_emplace(owner);
    if (is_new) fresh.insert(owner);
    return lane->second;
  }
  /// The lane of that owner.
  Lane& of(const WorkLane& owner) { return lanes_[owner]; }

  bool empty() const { return lanes_.empty(); }
  bool contains(const WorkLane& owner) const { return lanes_.contains(owner); }
  void clear() { lanes_.clear(); }
  std::vector<WorkLane> owners() const {
    std::vector<WorkLane> owners;
    for (const auto& [owner, lane] : lanes_) owners.push_back(owner);
    return owners;
  }

  /// Looks at the next key of the lane: `admit(key)` returns whether the key is to be looked at
  /// again, after the others. A lane without keys first reads a portion of its review by
  /// `review(lane)`. Precondition: contains(). Errors: those of the two.
  template <class Review, class Admit>
  Status go_on(const WorkLane& owner, const Review& review, const Admit& admit) {
    const auto found = lanes_.find(owner);
    CHECK(found != lanes_.end(), "a lane without keys went on");
    Lane& lane = found->second;
    if (lane.keys_.empty() && lane.is_reviewed_) TRY(review(lane));
    if (!lane.keys_.empty()) {
      const Key key = lane.keys_.front();
      const bool has_more = TRY(admit(key));
      lane.keys_.pop_front();
      lane.known_.erase(key);
      if (has_more) lane.add(key);
    }
    if (lane.empty()) lanes_.erase(found);
    return {};
  }

 private:
  std::map<WorkLane, Lane> lanes_;
};

}  // namespace millrace
