// IdRange: the instance ids from one to another. Lists read the index and the heads of instances in
// ranges of ids. Ids begin with a time, so bounds of time are bounds of ids, too. Pure.
#pragma once

#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"

namespace millrace {

/// The last of all ids.
inline constexpr InstanceId kLastId{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                     0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

/// The ids from `first` to `last`, both included; none if `first` is after `last`. By default all.
struct IdRange {
  InstanceId first{};
  InstanceId last = kLastId;

  bool is_empty() const { return last < first; }
  bool contains(const InstanceId& id) const { return first <= id && id <= last; }

  /// Keeps only the ids after `id`.
  void begin_behind(const InstanceId& id);
  /// Keeps only the ids before `id`.
  void end_before(const InstanceId& id);
  /// Keeps only the ids with that time or a later one.
  void begin_at(TimePoint time);
  /// Keeps only the ids with an earlier time.
  void end_before(TimePoint time);

  bool operator==(const IdRange&) const = default;
};

/// The ids whose texts (to_string) begin with `text`; upper-case digits are accepted. Error
/// `id.malformed`: no id begins so.
Result<IdRange> ids_with_prefix(std::string_view text);

}  // namespace millrace
