// Head rows: the head of an instance has all its fields except its JSON texts and its calls, which
// have rows of their own next to the head (instance_rows.h, call_rows.h). The table `live` has the
// heads of live instances, the table `ended` those of ended instances, under the same keys. The
// functions take any View. A damaged row gives an error that names it (damage.h); walks with
// `damaged` skip such rows. doubtful_head.h reads the reliable fields of a damaged head.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_range.h"
#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The rows of one instance, by the byte after namespace and id in their keys. After kCall the key
/// has the call's index, after kCompensation the number of the compensation.
// On disk: never renumber.
enum class Part : uint8_t {
  kHead = 0,
  kInput = 1,
  kData = 2,
  kSlots = 3,
  kFoundData = 4,
  kCall = 5,
  kFailedData = 6,
  kStartEvent = 7,  ///< Instance::start_event; no row if that is null
  kCompensation = 8,
};
static_assert(static_cast<size_t>(Part::kCompensation) + 1 == kPartCount);

/// The first minor number of a store with rows Part::kStartEvent.
inline constexpr uint64_t kMinorOfStartEvents = 6;

/// The key of a part; `prefix` is the prefix of the instance's keys (rows::instance_prefix).
std::string part_key(std::string prefix, Part part);

/// The bytes of a head. A head contains the number of the instance's calls, but not the calls.
/// Decoding fails with `store.corrupt`.
std::string encode_head(const Instance& instance);
Result<Instance> decode_head(std::string_view bytes);

/// Decodes a head that a scan found. Error: a damaged row, also if the head belongs to another key
/// or to the other table.
Result<Instance> head_of(const View& view, Table table, std::string_view key,
                         std::string_view value);

/// The head in kLive or kEnded; nullopt: that table has none. Error: a damaged row, also if the
/// head belongs to another key or to the other table.
Result<std::optional<Instance>> read_head(const View& view, Table table, NamespaceNumber ns,
                                          const InstanceId& id);

/// The head of a live instance; nullopt: there is none.
Result<std::optional<Instance>> read_live_head(const View& view, NamespaceNumber ns,
                                               const InstanceId& id);

/// The head of an instance, live or ended; nullopt: there is none.
Result<std::optional<Instance>> read_head_anywhere(const View& view, NamespaceNumber ns,
                                                   const InstanceId& id);

/// Visits the heads of all live instances, in key order, as millrace does when it starts.
Status each_live(const View& view, const std::function<void(Instance&& head)>& see,
                 const OnDamage& damaged = nullptr);
/// Visits the heads of the live instances of a namespace, after the instance `behind` if that is
/// given, until `see` returns false.
Status each_live(const View& view, NamespaceNumber ns, const std::optional<InstanceId>& behind,
                 const std::function<bool(const Instance& head)>& see,
                 const OnDamage& damaged = nullptr);

/// Visits the heads of the ended instances of a namespace in the order of their ids, after the
/// instance `behind` if that is given, until `see` returns false.
Status each_ended(const View& view, NamespaceNumber ns, const std::optional<InstanceId>& behind,
                  const std::function<bool(const Instance& head)>& see,
                  const OnDamage& damaged = nullptr);

/// The bytes of a head as a scan found them; head_of() decodes them.
struct StoredHead {
  InstanceId id;
  Table table{};
  std::string key;
  std::string value;
};
/// The first heads of one table in a range of ids of a namespace, in the direction; at most `most`,
/// and after about 256 KiB no further one. Reads their bytes only, in one scan.
Result<std::vector<StoredHead>> some_heads(const View& view, Table table, NamespaceNumber ns,
                                           const IdRange& range, Direction direction, size_t most);

/// The lowest time in the id of an ended instance of a namespace, which is about the time of its
/// start (start_bounds.h); nullopt: the namespace has no ended instance. Reads one row, after the
/// rows that were erased since the last checkpoint. Errors: those of the view.
Result<std::optional<TimePoint>> read_oldest_ended(const View& view, NamespaceNumber ns);

/// The highest time in the id of an instance of a namespace, live or ended; nullopt: the namespace
/// has no instance. Reads one row of each table, as read_oldest_ended() does. Errors: those of the
/// view.
Result<std::optional<TimePoint>> read_newest_time(const View& view, NamespaceNumber ns);

/// Whether a table has a row of the instance, damaged or not. Errors: those of the view.
Result<bool> has_rows(const View& view, NamespaceNumber ns, const InstanceId& id);

/// The error of a live instance whose head contradicts its other rows; it names the head.
Error damaged_instance(NamespaceNumber ns, const InstanceId& id, std::string_view what);

}  // namespace millrace
