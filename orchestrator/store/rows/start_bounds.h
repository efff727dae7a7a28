// StartBounds: how far the starts of the instances of a namespace are, at most, from the times in
// their ids. Instances are stored in the order of their ids (base/ids.h). The order of their starts
// differs: a subflow gets its id when its caller asks for it, and the id of an instance that an
// event starts has the time at which the broker stored the event. There is no general limit for the
// difference: it may be as long as an outage, and the clock of the broker may be ahead. So the
// index has the bounds that hold for the instances of the namespace (index_rows.h). Pure.
#pragma once

#include <chrono>

#include "base/ids.h"
#include "base/time.h"

namespace millrace {

struct StartBounds {
  /// An instance that started longer than this after the time in its id started late.
  static constexpr Duration kLate = std::chrono::minutes(1);

  Duration early_by{};     ///< no instance started longer than this before the time in its id
  Duration late_by{};      ///< no instance started longer than this after the time in its id
  TimePoint late_until{};  ///< no instance started late after this time

  /// Widens the bounds, so that they hold for one more instance.
  void include(const InstanceId& id, TimePoint started_at);
  /// Widens the bounds, so that they hold for all instances for which `other` holds.
  void include(const StartBounds& other);

  /// Whether the bounds hold for all instances for which `other` holds.
  bool covers(const StartBounds& other) const;

  /// An instance with an earlier time in its id started before `since`. After the last late start
  /// this time is at most kLate before `since`, however late earlier instances started.
  TimePoint lowest_for(TimePoint since) const;

  /// An instance with this time or a later one in its id started at `before` or later.
  TimePoint end_for(TimePoint before) const { return before + early_by; }

  bool operator==(const StartBounds&) const = default;
};

}  // namespace millrace
