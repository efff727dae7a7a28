// Task rows: work that a commit has left to do. Table `tasks`: the work that is done outside and
// has not ended; `inbox`: errands between instances that a batch has left to the next one; `hooks`:
// CloudEvents that are yet to be taken by URLs. Reading takes any View, writing the Transaction. A
// row that is damaged is an error that names it (damage.h); walks that are given `damaged` pass
// over such rows. All decoders fail with `store.corrupt`. A member `sealed` is not in the bytes: it
// says that they are sealed in their row.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/event.h"
#include "base/result.h"
#include "base/time.h"
#include "model/effect.h"
#include "model/instance.h"
#include "model/task.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

// Tasks, by their ids.

std::string encode(const StartTask& task);
Result<StartTask> decode_task(std::string_view bytes);

void write_task(Transaction& tx, const StartTask& task);
Result<std::optional<StartTask>> read_task(const View& view, const InstanceId& task);
void erase_task(Transaction& tx, const InstanceId& task);
Status each_task(const View& view, const std::function<void(StartTask task)>& see,
                 const OnDamage& damaged = nullptr);

// Inbox: errands of instances that a batch has left to the next one, in their order.

/// An errand that waits for the next batch.
struct InboxRecord {
  Errand errand;
  uint64_t listen_from = 0;  ///< of a child that is to start
  bool sealed = false;
};
std::string encode(const InboxRecord& record);
Result<InboxRecord> decode_inbox(std::string_view bytes);

void write_inbox(Transaction& tx, uint64_t number, const InboxRecord& record);
void erase_inbox(Transaction& tx, uint64_t number);
Status each_inbox(const View& view,
                  const std::function<void(uint64_t number, InboxRecord record)>& see,
                  const OnDamage& damaged = nullptr);
/// The error of an errand that does not fit the instance that it is for.
Error damaged_errand(uint64_t number, std::string_view what);

// Hooks, by number.

/// A CloudEvent that is yet to be taken by a URL.
struct HookRecord {
  NamespaceNumber space{};
  std::string url;
  TimePoint at;          ///< when its next attempt is due
  uint32_t attempt = 1;  ///< which one that is
  std::string event;     ///< JSON format
  bool sealed = false;
};
std::string encode(const HookRecord& record);
Result<HookRecord> decode_hook(std::string_view bytes);

/// The event itself. Error: a damaged row.
Result<Event> event_of(uint64_t number, const HookRecord& record);
void write_hook(Transaction& tx, uint64_t number, const HookRecord& record);
void erase_hook(Transaction& tx, uint64_t number);
Result<std::optional<HookRecord>> read_hook(const View& view, uint64_t number);
Status each_hook(const View& view,
                 const std::function<void(uint64_t number, const HookRecord& record)>& see,
                 const OnDamage& damaged = nullptr);

}  // namespace millrace
