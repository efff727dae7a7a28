// TurnQueue: what waits for jq workers. The namespaces take turns, and in a namespace its
// workflows; what waits for one workflow keeps its order. So a namespace with many evaluations does
// not make those of another one wait for all of them. Pure; for one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace millrace {

template <class T>
class TurnQueue {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  /// Adds an item behind the others of the workflow `lane` of the namespace `space`.
  void push(uint64_t space, uint64_t lane, T item) {
    Space& to = spaces_[space];
    if (to.lanes.empty()) turns_.push_back(space);
    std::deque<T>& queue = to.lanes[lane];
    if (queue.empty()) to.turns.push_back(lane);
    queue.push_back(std::move(item));
    ++size_;
  }
  /// Adds an item that comes before all others.
  void push_front(T item) {
    first_.push_front(std::move(item));
    ++size_;
  }

  /// The item whose turn it is. Precondition: the queue is not empty.
  const T& front() const {
    if (!first_.empty()) return first_.front();
    const Space& next = spaces_.at(turns_.front());
    return next.lanes.at(next.turns.front()).front();
  }
  /// Removes and returns the item whose turn it is. Precondition: the queue is not empty.
  T pop() { return first_.empty() ? take(turns_.begin()) : take_first(); }
  /// As pop(), but only of the namespaces for which `may_take` holds; the others keep their turns.
  /// nullopt if there is no item of such a namespace.
  template <class Predicate>
  std::optional<T> pop_of(const Predicate& may_take) {
    if (!first_.empty()) return take_first();
    const auto turn = std::find_if(turns_.begin(), turns_.end(), may_take);
    if (turn == turns_.end()) return std::nullopt;
    return take(turn);
  }

  /// Removes and returns all items for which `is_one` holds; those of one workflow in their order.
  template <class Predicate>
  std::vector<T> take_if(const Predicate& is_one) {
    std::vector<T> taken;
    const auto take = [&](std::deque<T>& queue) {
      const auto from = std::stable_partition(queue.begin(), queue.end(),
                                              [&](const T& item) { return !is_one(item); });
      taken.insert(taken.end(), std::make_move_iterator(from),
                   std::make_move_iterator(queue.end()));
      queue.erase(from, queue.end());
    };
    take(first_);
    for (auto& one : spaces_) {
      auto& lanes = one.second.lanes;
      for (auto& lane : lanes) take(lane.second);
      std::erase_if(lanes, [](const auto& lane) { return lane.second.empty(); });
      std::erase_if(one.second.turns, [&](uint64_t lane) { return !lanes.contains(lane); });
    }
    std::erase_if(spaces_, [](const auto& one) { return one.second.lanes.empty(); });
    std::erase_if(turns_, [&](uint64_t space) { return !spaces_.contains(space); });
    size_ -= taken.size();
    return taken;
  }

 private:
  struct Space {
    std::map<uint64_t, std::deque<T>> lanes;  ///< no queue is empty
    std::deque<uint64_t> turns;               ///< the lanes, the next one first
  };

  T take_first() {
    --size_;
    return pop(first_);
  }
  T take(const std::deque<uint64_t>::iterator& turn) {
    --size_;
    const uint64_t space = *turn;
    turns_.erase(turn);
    const auto from = spaces_.find(space);
    T item = pop(from->second);
    if (from->second.lanes.empty()) {
      spaces_.erase(from);
    } else {
      turns_.push_back(space);
    }
    return item;
  }
  static T pop(std::deque<T>& queue) {
    T item = std::move(queue.front());
    queue.pop_front();
    return item;
  }
  static T pop(Space& space) {
    const uint64_t lane = space.turns.front();
    space.turns.pop_front();
    const auto queue = space.lanes.find(lane);
    T item = pop(queue->second);
    if (queue->second.empty()) {
      space.lanes.erase(queue);
    } else {
      space.turns.push_back(lane);
    }
    return item;
  }

  std::deque<T> first_;
  std::map<uint64_t, Space> spaces_;  ///< each has a lane
  std::deque<uint64_t> turns_;        ///< the namespaces, the next one first
  size_t size_ = 0;
};

}  // namespace millrace
