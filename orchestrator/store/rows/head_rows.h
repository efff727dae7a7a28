// Head rows: the row of an instance that has all of it but its JSON texts and its calls, which
// stand in rows of their own beside it (instance_rows.h, call_rows.h). Heads of living instances
// stand in the table `live`, those of instances that have ended in `ended`, under the same keys.
// Reading takes any View. A row that is damaged is an error that names it (damage.h); walks that
// are given `damaged` pass over such rows. For what is certain of a damaged head: doubtful_head.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The rows of one instance, by the byte behind namespace and id in their keys. kCall is followed
/// by the call's index.
// On disk: never renumber.
enum class Part : uint8_t {
  kHead = 0,
  kInput = 1,
  kData = 2,
  kSlots = 3,
  kFoundData = 4,
  kCall = 5,
  kFailedData = 6,
};

/// The key of a part; `prefix` is that of the instance (rows::instance_prefix).
std::string part_key(std::string prefix, Part part);

/// The bytes of a head. Of the calls it has the number. Decoding fails with `store.corrupt`.
std::string encode_head(const Instance& instance);
Result<Instance> decode_head(std::string_view bytes);

/// The head in kLive or kEnded; nullopt: there is none in that table. A head that belongs to
/// another key or to the other table is a damaged row.
Result<std::optional<Instance>> read_head(const View& view, Table table, NamespaceNumber space,
                                          const InstanceId& id);

/// The head of a living instance.
Result<std::optional<Instance>> read_living_head(const View& view, NamespaceNumber space,
                                                 const InstanceId& id);

/// The head of an instance, living or ended.
Result<std::optional<Instance>> read_head_anywhere(const View& view, NamespaceNumber space,
                                                   const InstanceId& id);

/// All living heads (without JSON), in key order; the walk of start-up.
Status each_living(const View& view, const std::function<void(Instance head)>& see,
                   const OnDamage& damaged = nullptr);
/// Those of a namespace, behind `behind` if it is given, until `see` returns false.
Status each_living(const View& view, NamespaceNumber space, const std::optional<InstanceId>& behind,
                   const std::function<bool(const Instance& head)>& see,
                   const OnDamage& damaged = nullptr);

/// Heads of living and ended instances of a namespace, newest first, those before `before`; until
/// `see` returns false. `damaged` gets the ids of those whose heads are damaged, with what is
/// wrong, in their places among the others, and returns as `see`; none: they end the walk.
Status each_instance_backward(
    const View& view, NamespaceNumber space, const std::optional<InstanceId>& before,
    const std::function<bool(const Instance& head)>& see,
    const std::function<bool(const InstanceId& id, const Error&)>& damaged = nullptr);

/// The error of a living instance that does not fit what belongs to it; it names its head.
Error damaged_instance(NamespaceNumber space, const InstanceId& id, std::string_view what);

}  // namespace millrace
