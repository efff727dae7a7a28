// CallBudget: how many tasks for HTTP services and containers each namespace may have with their
// runners, which keep the inputs in memory. Further tasks are held: they stay in the store, and
// only their ids are in memory. No I/O; engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/ids.h"
#include "model/instance.h"

namespace millrace {

class CallBudget {
 public:
  /// The limits of each namespace. A task may be handed out while less than each limit is used, so
  /// the bytes may exceed their limit by one task.
  struct Limits {
    size_t tasks = 1'024;
    uint64_t bytes = uint64_t{64} << 20;  ///< of the inputs and files of tasks
  };

  explicit CallBudget(Limits limits) : limits_(limits) {}

  /// Whether the task of the namespace may be handed out: the budget has room, and no older task of
  /// the namespace is held. Otherwise newer tasks would take each free place before held ones.
  bool has_room(NamespaceNumber ns, const InstanceId& task) const;
  void hand_out(const InstanceId& task, NamespaceNumber ns, uint64_t bytes);
  /// The task is held until it is released or ends.
  void hold(const InstanceId& task, NamespaceNumber ns);
  /// Whether hand_out() was called for the task, and it has not ended.
  bool is_handed_out(const InstanceId& task) const { return handed_out_.contains(task); }
  /// The task has ended, whether it was handed out or held. Other tasks are ignored.
  void end(const InstanceId& task);
  /// Forgets all held tasks.
  void clear_held();

  /// Whether release() returns a task.
  bool has_releasable() const;
  /// Removes and returns held tasks that may be handed out: for each namespace the oldest ones, at
  /// most as many as it has room for and as it may have in one turn.
  std::vector<InstanceId> release();
  size_t held() const { return held_.size(); }

 private:
  struct Space {
    size_t tasks = 0;
    uint64_t bytes = 0;
    std::set<InstanceId> held;  ///< ids sort by time
  };
  struct HandedOut {
    NamespaceNumber ns{};
    uint64_t bytes = 0;
  };
  using Spaces = std::map<NamespaceNumber, Space>;

  bool is_below(const Space& space) const;
  void forget_if_empty(Spaces::iterator space);

  const Limits limits_;
  Spaces spaces_;
  std::map<InstanceId, HandedOut> handed_out_;
  std::map<InstanceId, NamespaceNumber> held_;
};

}  // namespace millrace
