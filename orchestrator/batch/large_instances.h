// LargeInstances: instances with many calls, as the last commit left them, so that the rows of
// their calls are not read and decoded again for each result. A cache of the store, bounded in
// size. Its owner drops it if a batch is lost, and if the rows of an instance are written in
// another way. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>

#include "model/instance.h"

namespace millrace {

class LargeInstances {
 public:
  /// An instance with fewer calls is not kept.
  static constexpr size_t kFewestCalls = 250;

  struct Limits {
    size_t calls = 30'000;                ///< of all kept instances
    uint64_t bytes = uint64_t{16} << 20;  ///< of the rows of all kept instances
  };

  LargeInstances() = default;
  explicit LargeInstances(Limits limits) : limits_(limits) {}

  /// Keeps a live instance that equals its rows once the current batch is on disk. If there are too
  /// many, the instance that was not used for the longest time is forgotten.
  void put(Instance instance);
  /// Removes and returns the instance; nullopt: it is not kept.
  std::optional<Instance> take(const InstanceId& id);
  bool empty() const { return kept_.empty(); }

 private:
  static uint64_t bytes_of(const Instance& instance);
  Instance remove(std::list<Instance>::iterator one);

  Limits limits_;
  std::list<Instance> kept_;  ///< the one that was used last comes first
  size_t calls_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace millrace
