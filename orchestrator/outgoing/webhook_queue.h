// WebhookQueue: which delivery to a webhook is sent next. Namespaces take turns. A namespace may
// have as many deliveries in flight as the window still has room for, so that there is always room
// for another namespace, however long the receivers of the first one take. No I/O; engine thread
// only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/time.h"
#include "model/instance.h"

namespace millrace {

/// A delivery that is due at a time.
struct DueWebhook {
  NamespaceNumber ns{};
  TimePoint at;
  uint64_t number = 0;
};

class WebhookQueue {
 public:
  /// `window` is the maximum number of deliveries in flight.
  explicit WebhookQueue(size_t window) : window_(window) {}

  void put(const DueWebhook& due);
  /// Removes a delivery that is not in flight. Returns false if there is none.
  bool remove(const DueWebhook& due);
  /// Removes all deliveries that are not in flight.
  void clear_due();

  /// The next delivery that is due at `now` and may be sent; it is in flight from now on. Of one
  /// namespace the delivery that is due first.
  std::optional<DueWebhook> take(TimePoint now);
  /// When take() next has a delivery; nullopt: there is none, or those that are due have to wait
  /// until a delivery in flight has ended.
  std::optional<TimePoint> next_due() const;

  /// Whether there is a delivery that is not in flight.
  bool has_due() const;

  void put_in_flight(uint64_t number, NamespaceNumber ns);
  /// The delivery has ended. Returns its namespace; nullopt: it was not in flight.
  std::optional<NamespaceNumber> end(uint64_t number);
  bool is_in_flight(uint64_t number) const { return in_flight_.contains(number); }

 private:
  /// The deliveries of one namespace.
  struct Lane {
    std::set<std::pair<TimePoint, uint64_t>> due;
    size_t in_flight = 0;
  };
  using Lanes = std::map<NamespaceNumber, Lane>;

  bool has_share(const Lane& lane) const;
  void forget_if_empty(Lanes::iterator lane);

  const size_t window_;
  Lanes lanes_;
  std::map<uint64_t, NamespaceNumber> in_flight_;
  NamespaceNumber last_{};  ///< the namespace whose delivery was taken most recently
};

}  // namespace millrace
