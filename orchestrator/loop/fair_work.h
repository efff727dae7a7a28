// FairWork: the inputs of one turn that lanes take turns to apply (fair_shares.h): work that
// earlier batches left, instances that continue, results of evaluations, and reports of tasks.
// Inputs of one lane keep their order. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>

#include "base/result.h"
#include "model/work_lane.h"
#include "orchestrator/batch/unit_meter.h"
#include "orchestrator/loop/fair_shares.h"

namespace millrace {

class FairWork {
 public:
  enum class Kind : uint8_t {
    kUnfinished,  ///< the lane's work that earlier batches left (Batch::go_on); it has no index
    kContinue,
    kEvaluated,
    kTask,
  };
  struct Item {
    Kind kind{};
    size_t index = 0;  ///< into the list of its kind in Work
  };
  /// Applies an item. Returns whether the item is done; false: the lane has more of it.
  using Apply = std::function<Result<bool>(const WorkLane& lane, const Item& item)>;

  FairWork(FairShares& shares, UnitMeter& meter) : shares_(shares), meter_(meter) {}

  void add(const WorkLane& lane, Item item);

  bool empty() const { return queues_.empty(); }

  /// Applies items until none is left or until the given share of the turn is used; at least one
  /// item in any case, unless all lanes wait for the rate of bytes. Errors: those of `apply`.
  Status run(double share, const Apply& apply);

  /// Whether the last run() ended because all lanes wait for the rate of bytes.
  bool waits_for_rate() const { return waits_for_rate_; }

  /// Calls `see` for each item that was not applied, lane by lane, each in its order.
  void each_left(const std::function<void(const Item& item)>& see) const;

 private:
  FairShares& shares_;
  UnitMeter& meter_;
  std::map<WorkLane, std::deque<Item>> queues_;
  bool waits_for_rate_ = false;
};

}  // namespace millrace
