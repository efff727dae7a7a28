#include "broker/task_callbacks.h"

#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "broker/listening.h"
#include "broker/nats_status.h"
#include "broker/task_message.h"
#include "cloudevents/headers.h"
#include "cloudevents/percent.h"
#include "cloudevents/subject.h"
#include "model/attempt_key.h"

namespace millrace {
namespace {

constexpr std::string_view kCallbackSubjects = "millrace.callbacks.0.";

/// Behind the common part, a subject has the namespace, the action id and the verb.
constexpr size_t kCallbackTokens = 3;

/// The reply to a callback, as docs/FORMATS.md describes it.
std::string reply_text(const Result<Json>& answer) {
  if (answer) return dump_json(*answer);
  return dump_json(Json{
      {"accepted", false}, {"code", answer.error().code}, {"message", answer.error().message}});
}

tl::unexpected<Error> wrong_subject() {
  return fail("request.parameter",
              "the subject is not that of a callback: send the request to the subject in the "
              "header Millrace-Callback-Subject of the task, with .complete, .fail or .heartbeat "
              "behind it");
}

}  // namespace

std::string callback_subject(std::string_view ns, const InstanceId& task, std::string_view prefix) {
  return broker_subject(
      prefix, fmt::format("{}{}.{}", kCallbackSubjects, subject_token(ns), to_string(task)));
}

std::optional<CallbackMessage> read_callback_subject(std::string_view on_broker,
                                                     std::string_view prefix) {
  const std::optional<std::string> inside = inside_subject(prefix, on_broker);
  if (!inside || !inside->starts_with(kCallbackSubjects)) return std::nullopt;
  std::string_view rest = *inside;
  rest.remove_prefix(kCallbackSubjects.size());
  std::vector<std::string_view> tokens;
  while (tokens.size() <= kCallbackTokens) {
    const size_t dot = rest.find('.');
    tokens.push_back(rest.substr(0, dot));
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  if (tokens.size() != kCallbackTokens) return std::nullopt;
  std::optional<std::string> ns = percent_decode(tokens[0]);
  const Result<InstanceId> task = parse_instance_id(tokens[1]);
  if (!ns || !task) return std::nullopt;
  return CallbackMessage{
      .ns = *std::move(ns), .task = *task, .verb = std::string(tokens[2]), .key = {}, .data = {}};
}

/// The callbacks that have no answer yet. Any thread. They may be answered after the TaskCallbacks
/// is destroyed, so their answers share this object.
struct TaskCallbacks::Open {
  std::mutex mutex;
  size_t callbacks = 0;
  uint64_t bytes = 0;
  uint64_t refused = 0;  ///< callbacks that were answered with `busy`

  bool add(uint64_t more, const CallbackLimits& limits) {
    const std::lock_guard lock(mutex);
    if (callbacks >= limits.callbacks || bytes >= limits.bytes) {
      ++refused;
      return false;
    }
    ++callbacks;
    bytes += more;
    return true;
  }
  void remove(uint64_t fewer) {
    const std::lock_guard lock(mutex);
    --callbacks;
    bytes -= fewer;
  }
};

TaskCallbacks::TaskCallbacks(Connection& connection, RequestSubjects subjects,
                             CallbackHandler handler, CallbackLimits limits)
    : connection_(connection),
      subjects_(std::move(subjects)),
      handler_(std::move(handler)),
      limits_(limits),
      open_(std::make_shared<Open>()) {}

TaskCallbacks::~TaskCallbacks() = default;

uint64_t TaskCallbacks::refused_as_busy() const {
  const std::lock_guard lock(open_->mutex);
  return open_->refused;
}

Status TaskCallbacks::listen() {
  if (listening_ && listening_->status() == NATS_OK &&
      listening_->handle() == connection_.handle()) {
    return {};
  }
  listening_.reset();
  const std::string subject =
      broker_subject(subjects_.prefix, fmt::format("{}>", kCallbackSubjects));
  listening_ = std::make_unique<Listening>(
      connection_, subject, [this](NatsMsgHandle& message) { on_message(message.get()); });
  if (listening_->status() == NATS_OK) return {};
  return tl::unexpected(nats_error(listening_->status(), "subscribing to " + subject));
}

void TaskCallbacks::on_message(natsMsg* message) {
  // A process that may not use the connection is not the owner of the streams. The owner gets the
  // same message.
  if (!connection_.connected()) return;
  NatsMessage request;
  if (!read_message(message, request)) request.headers = apart(std::move(request.headers));
  const char* const asked_on = natsMsg_GetReply(message);
  const std::string reply_to = asked_on == nullptr ? "" : asked_on;
  // millrace answers with its own permissions, and the client has chosen the subject.
  if (!reply_to.empty() && !subjects_.may_be_answered(reply_to)) return;
  const auto answer = [handle = connection_.handle(), reply_to](const Result<Json>& said) {
    if (reply_to.empty()) return;
    // Without the answer, the client sends the request again.
    std::ignore =
        natsConnection_PublishString(handle.get(), reply_to.c_str(), reply_text(said).c_str());
  };
  std::optional<CallbackMessage> callback =
      read_callback_subject(request.subject, subjects_.prefix);
  if (!callback) return answer(wrong_subject());
  const uint64_t bytes = request.data.size();
  if (!open_->add(bytes, limits_)) {
    return answer(fail("busy", "too many callbacks are waiting; try again in a second"));
  }
  callback->key = header_text(request.headers, kAttemptKeyHeader);
  callback->data = std::move(request.data);
  handler_(*std::move(callback), [answer, bytes, open = open_](const Result<Json>& said) {
    open->remove(bytes);
    answer(said);
  });
}

}  // namespace millrace
