// LargeInstances: instances with many calls or with large data, as the last commit left them, so
// that their rows are not read, decoded and checked again for each result. A cache of the store,
// bounded in size. Its owner drops it if a batch is lost, and if the rows of an instance are
// written in another way. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "model/instance.h"

namespace millrace {

struct KeptInstance {
  Instance instance;
  /// The calls as their rows have them. They are kept, too, because to copy ten thousand calls in
  /// each batch takes milliseconds.
  std::vector<Call> calls;
};

class LargeInstances {
 public:
  /// An instance with fewer calls is not kept, unless its data is large.
  static constexpr size_t kFewestCalls = 250;

  struct Limits {
    size_t calls = 30'000;                ///< of all kept instances
    uint64_t bytes = uint64_t{64} << 20;  ///< of the rows of all kept instances
  };

  LargeInstances() = default;
  explicit LargeInstances(Limits limits) : limits_(limits) {}

  /// Whether the instance has many calls, or JSON texts that are together as long as a large value.
  /// Its texts are known, as they are when its rows are written.
  static bool is_large(const Instance& instance);

  /// Keeps a live instance that is_large() and equals its rows once the current batch is on disk,
  /// without its input and without the trees of its values. If there are too many, the instance
  /// that was not used for the longest time is forgotten.
  void put(KeptInstance kept);
  /// Removes and returns the instance of that namespace; nullopt: it is not kept.
  std::optional<KeptInstance> take(NamespaceNumber ns, const InstanceId& id);
  bool empty() const { return kept_.empty(); }

 private:
  using Kept = std::list<KeptInstance>;

  static uint64_t bytes_of(const Instance& instance);
  KeptInstance remove(Kept::iterator one);

  Limits limits_;
  Kept kept_;  ///< the one that was used last comes first
  std::map<std::pair<NamespaceNumber, InstanceId>, Kept::iterator> places_;
  size_t calls_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace millrace
