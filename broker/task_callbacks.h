// TaskCallbacks: the callbacks of services and workers over NATS. A callback is a request on a
// subject of the attempt, with the key of the attempt in a header, and gets a reply. The subject
// has the namespace of the task, so that the permissions of NATS say who may send one. Private to
// broker/, except CallbackMessage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"
#include "broker/connection.h"
#include "broker/nats_handles.h"
#include "broker/streams.h"
#include "model/request_subjects.h"

namespace millrace {

class Listening;

/// The header of a task with the subject of its callbacks.
inline constexpr const char* kCallbackSubjectHeader = "Millrace-Callback-Subject";

/// A request on the subject of the callbacks of a task.
struct CallbackMessage {
  std::string ns;    ///< the namespace in the subject
  InstanceId task;   ///< the action id in the subject
  std::string verb;  ///< the last token of the subject: `complete`, `fail`, `heartbeat` or another
  std::string key;   ///< the header kAttemptKeyHeader; empty: it is missing
  std::string data;

  bool operator==(const CallbackMessage&) const = default;
};

/// Takes a callback, on a thread of nats.c: must not block. The function that it gets is called
/// once with the answer, on any thread.
using CallbackHandler =
    std::function<void(CallbackMessage message, std::function<void(const Result<Json>&)> done)>;

/// The subject of the callbacks of a task, without `.complete`, `.fail` or `.heartbeat`:
/// `millrace.callbacks.0.<namespace>.<action id>`. The 0 is the partition, as in reply_subject().
std::string callback_subject(std::string_view ns, const InstanceId& task,
                             std::string_view prefix = kDefaultPrefix);

/// The namespace, the action id and the verb in the subject of a callback; nullopt: the subject is
/// not that of a callback.
std::optional<CallbackMessage> read_callback_subject(std::string_view subject,
                                                     std::string_view prefix = kDefaultPrefix);

/// Limits of the callbacks that have no answer yet; further ones are answered with `busy`.
struct CallbackLimits {
  size_t callbacks = 1'024;
  uint64_t bytes = uint64_t{32} << 20;  ///< the last one may exceed it
};

class TaskCallbacks {
 public:
  /// `connection` must outlive this object. Callbacks come only while the connection may be used,
  /// so no process takes them but the owner of the streams. `subjects`: the prefix of the subjects,
  /// and the subjects to which no answer goes.
  TaskCallbacks(Connection& connection, RequestSubjects subjects, CallbackHandler handler,
                CallbackLimits limits = {});

  /// Afterwards the handler is not called any more; callbacks that it has are answered.
  ~TaskCallbacks();
  TaskCallbacks(const TaskCallbacks&) = delete;
  TaskCallbacks& operator=(const TaskCallbacks&) = delete;

  /// Takes callbacks from now on, unless it does already. To be called for each new connection of
  /// the Connection, on one thread at a time. Errors: `broker.unreachable`.
  Status listen();

  /// How many callbacks were answered with `busy`. Any thread.
  uint64_t refused_as_busy() const;

 private:
  struct Open;

  void on_message(natsMsg* message);

  Connection& connection_;
  const RequestSubjects subjects_;
  const CallbackHandler handler_;
  const CallbackLimits limits_;
  const std::shared_ptr<Open> open_;
  std::unique_ptr<Listening> listening_;
};

}  // namespace millrace
