// Task rows: work that remains after a commit. Table `tasks`: the tasks that have not ended;
// `inbox`: instance messages that a batch left to the next one; `hooks`: events that webhooks have
// not accepted yet. Functions that read take any View, functions that write the Transaction. A
// damaged row gives an error that names it (damage.h); walks with `damaged` skip such rows. All
// decoders fail with `store.corrupt`. A member `sealed` says whether the row is sealed; it is not
// in the encoded bytes.
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

// The functions namespace_of_…() return the namespace of a record, which may be damaged after that
// field; nullopt: it is not known.

// Tasks, by their ids.

/// The first minor number of a store with tasks that a service has accepted.
inline constexpr uint64_t kMinorOfAcceptedTasks = 7;

std::string encode(const StartTask& task);
Result<StartTask> decode_task(std::string_view bytes);
std::optional<NamespaceNumber> namespace_of_task(std::string_view bytes);

void write_task(Transaction& tx, const StartTask& task);
Result<std::optional<StartTask>> read_task(const View& view, const InstanceId& task);
void erase_task(Transaction& tx, const InstanceId& task);
Status each_task(const View& view, const std::function<void(StartTask task)>& see,
                 const OnDamage& damaged = nullptr);
/// Visits the tasks in the order of their ids until `see` returns false. `bytes`: the size of the
/// task's row. `behind`: begins with the first task after this id; nullopt: with the first one.
Status some_tasks(const View& view, const std::function<bool(StartTask task, size_t bytes)>& see,
                  const OnDamage& damaged = nullptr,
                  const std::optional<InstanceId>& behind = std::nullopt);

/// The error of a task whose row does not fit to another one.
Error damaged_task(const InstanceId& task, std::string_view what);

// Inbox: instance messages that a batch left to the next one, in their order.

/// An instance message that waits for the next batch.
struct InboxRecord {
  InstanceMessage message;
  ListenFrom listen_from;  ///< Instance::listen_from of a subflow that the message starts
  Sealing sealed;
};
std::string encode(const InboxRecord& record);
Result<InboxRecord> decode_inbox(std::string_view bytes);
std::optional<NamespaceNumber> namespace_of_inbox(std::string_view bytes);

void write_inbox(Transaction& tx, uint64_t number, const InboxRecord& record);
void erase_inbox(Transaction& tx, uint64_t number);
Status each_inbox(const View& view,
                  const std::function<void(uint64_t number, InboxRecord record)>& see,
                  const OnDamage& damaged = nullptr);
/// The error of an instance message that contradicts the instance that it is for.
Error damaged_instance_message(uint64_t number, std::string_view what);

// Webhooks: events for webhooks, by number.

/// An event that a webhook has not accepted yet.
struct WebhookRecord {
  NamespaceNumber ns{};
  std::string url;
  TimePoint at;          ///< when the next delivery attempt is due
  uint32_t attempt = 1;  ///< the number of the next delivery attempt, from 1
  std::string event;     ///< JSON format
  bool sealed = false;
};
std::string encode(const WebhookRecord& record);
Result<WebhookRecord> decode_webhook(std::string_view bytes);
std::optional<NamespaceNumber> namespace_of_webhook(std::string_view bytes);

/// The decoded event. Error: a damaged row.
Result<Event> event_of(uint64_t number, const WebhookRecord& record);
void write_webhook(Transaction& tx, uint64_t number, const WebhookRecord& record);
void erase_webhook(Transaction& tx, uint64_t number);
Result<std::optional<WebhookRecord>> read_webhook(const View& view, uint64_t number);
Status each_webhook(const View& view,
                    const std::function<void(uint64_t number, const WebhookRecord& record)>& see,
                    const OnDamage& damaged = nullptr);

}  // namespace millrace
