// FairWork: inputs of one turn that lanes take turns to apply (fair_shares.h): work that earlier
// batches left, instances that continue, results of evaluations, reports of tasks, and, in another
// object, commands. Inputs of one lane are applied in the order in which they came, also over
// several turns, whatever their kinds are. So no input waits for ever behind others that come
// later. Engine thread only.
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
    kCommand,
  };
  struct Item {
    Kind kind{};
    size_t index = 0;  ///< into the list of its kind in Work
    /// The number of the turn since which it waits. For kUnfinished, the turn that did a unit of it
    /// last: then the items that came before come first.
    uint64_t since = 0;
  };
  /// Applies an item. Returns whether the item is done; false: the lane has more of it.
  using Apply = std::function<Result<bool>(const WorkLane& lane, const Item& item)>;

  /// `turn`: the number of the current turn.
  FairWork(FairShares& shares, UnitMeter& meter, uint64_t turn)
      : shares_(shares), meter_(meter), turn_(turn) {}

  /// Adds an item behind those of its lane that wait as long as it does or longer.
  void add(const WorkLane& lane, const Item& item);

  bool empty() const { return queues_.empty(); }
  /// Whether the lane has an item that was not applied.
  bool has(const WorkLane& lane) const { return queues_.contains(lane); }

  /// Whether all items of the turn were added. If not, lanes without an item may get one later.
  enum class Added : uint8_t { kSome, kAll };
  /// Which lanes take part: all, or those of namespaces that are sparse (fair_shares.h).
  enum class Lanes : uint8_t { kSparse, kAll };
  /// Decides after each item, with what it has cost, whether no further one is applied now.
  using Ends = std::function<bool(const UnitCost& cost)>;
  /// Applies items until none is left or until `ends` is true; with Lanes::kAll at least one item
  /// in any case, unless all lanes wait for the rate of bytes. Errors: those of `apply`.
  Status run(Added added, const Ends& ends, const Apply& apply, Lanes lanes = Lanes::kAll);

  /// Whether the last run() ended because all lanes wait for the rate of bytes.
  bool waits_for_rate() const { return waits_for_rate_; }

  /// Calls `see` for each item that was not applied, lane by lane, each in its order.
  void each_left(const std::function<void(const Item& item)>& see) const;

 private:
  FairShares& shares_;
  UnitMeter& meter_;
  const uint64_t turn_;
  std::map<WorkLane, std::deque<Item>> queues_;
  bool waits_for_rate_ = false;
};

}  // namespace millrace
