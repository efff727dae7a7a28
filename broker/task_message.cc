#include "broker/task_message.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/check.h"
#include "broker/task_callbacks.h"
#include "broker/wire.h"
#include "cloudevents/headers.h"
#include "cloudevents/percent.h"
#include "cloudevents/subject.h"
#include "model/answer_word.h"
#include "model/attempt_key.h"

namespace millrace {
namespace {

constexpr std::string_view kResultSubjectPrefix = "millrace.results.";
constexpr std::string_view kStopSubjectPrefix = "millrace.stops.";
constexpr std::string_view kPartition = "0";
constexpr std::string_view kMessageId = "Nats-Msg-Id";
constexpr std::string_view kActionId = "Direktiv-ActionID";
constexpr std::string_view kErrorCode = "Direktiv-ErrorCode";
constexpr std::string_view kServiceErrorCode = "Nats-Service-Error-Code";
constexpr std::string_view kServiceError = "Nats-Service-Error";

constexpr size_t kMostConsumerName = 128;
constexpr size_t kFingerprintDigits = 16;

/// The limit for a worker's error message, in bytes, so that the message cannot fill the history.
constexpr size_t kMostMessage = 4096;

tl::unexpected<Error> workflow_error(std::string_view code, std::string message) {
  return tl::unexpected<Error>(Error{std::string(code), std::move(message)});
}

/// A worker's text in a form that may be shown and stored: not too long, and valid UTF-8.
std::string shown_text(std::string_view text) {
  std::string cut(text.substr(0, kMostMessage));
  while (cut.size() < text.size() && !cut.empty() && (text[cut.size()] & 0xc0) == 0x80) {
    cut.pop_back();  // do not cut within a character
  }
  if (!is_utf8(cut))
    std::replace_if(
        cut.begin(), cut.end(), [](char c) { return c < 0; }, '?');
  return cut;
}

tl::unexpected<Error> named_error(std::string_view code, std::string_view message) {
  if (is_identifier(code)) return workflow_error(code, shown_text(message));
  if (code.empty()) return workflow_error(kFunctionStatus, shown_text(message));
  return workflow_error(kFunctionStatus,
                        fmt::format("\"{}\" is not a valid error code: {}",
                                    shown_text(code.substr(0, 128)), shown_text(message)));
}

}  // namespace

tl::expected<NatsMessage, Error> task_message(const Task& task, std::string_view prefix) {
  const auto* queue = std::get_if<WorkQueue>(&task.target);
  const auto* service = std::get_if<NatsService>(&task.target);
  CHECK(queue != nullptr || service != nullptr,
        "the target of a task is neither a work queue nor a NATS service; expected one of these");
  NatsMessage message{.subject = queue != nullptr ? queue->subject : service->subject};
  if (queue != nullptr && !message.subject.starts_with(kTaskSubjectPrefix)) {
    return workflow_error(
        kFunctionUnavailable,
        fmt::format("\"{}\" is not a subject of the work queue; expected one that "
                    "begins with {}",
                    message.subject, kTaskSubjectPrefix));
  }
  if (!task.files.empty()) {
    return workflow_error(
        kFunctionFiles,
        fmt::format(
            "function {} is for workers, which cannot get files: remove its `files`, or set "
            "a `url` or `request` for the service in the settings of the namespace",
            task.function));
  }
  const std::string id = to_string(task.id);
  message.headers = {{std::string(kMessageId), id},
                     {std::string(kActionId), id},
                     {"Direktiv-InstanceID", to_string(task.instance)},
                     {"Direktiv-Namespace", task.ns},
                     {"Direktiv-Step", task.state},
                     {"Direktiv-Attempt", std::to_string(task.attempt)},
                     {kCallHeader, task.call}};
  if (task.deadline) {
    message.headers.emplace_back("Direktiv-Deadline", format_rfc3339(*task.deadline));
  }
  if (task.epoch > 0) {
    message.headers.emplace_back(kEpochHeader, std::to_string(task.epoch));
  }
  if (task.folder) {
    message.headers.emplace_back(kFilesHeader, task.folder->url);
    message.headers.emplace_back(kAttemptKeyHeader, task.folder->key);
  }
  if (task.callback) {
    message.headers.emplace_back(kCallbackHeader, task.callback->url);
    message.headers.emplace_back(kCallbackSubjectHeader,
                                 callback_subject(task.ns, task.id, prefix));
    if (!task.folder) message.headers.emplace_back(kAttemptKeyHeader, task.callback->key);
  }
  if (!task.progress.empty()) message.headers.emplace_back(kLastProgressHeader, task.progress);
  if (queue != nullptr) {
    message.headers.emplace_back("Millrace-Reply", reply_subject(task.ns, task.id, prefix));
  }
  message.data = task.input;
  return message;
}

NatsMessage sent_again(NatsMessage message, std::string_view folder) {
  const std::string digits = to_hex(fingerprint({folder})).substr(0, kFingerprintDigits);
  for (auto& [name, value] : message.headers) {
    if (name == kMessageId) value += "/" + digits;
  }
  return message;
}

std::string reply_subject(std::string_view ns, const InstanceId& task, std::string_view prefix) {
  return broker_subject(prefix, fmt::format("{}{}.{}.{}", kResultSubjectPrefix, kPartition,
                                            subject_token(ns), to_string(task)));
}

std::string stop_subject(const InstanceId& task, std::string_view prefix) {
  return broker_subject(prefix, fmt::format("{}{}", kStopSubjectPrefix, to_string(task)));
}

std::string task_consumer(std::string_view subject) {
  std::string name;
  for (const char c : subject.substr(kTaskSubjectPrefix.size())) {
    if (c == '.') {
      name.push_back('+');
    } else if (c == '+' || c == '/' || c == '\\') {
      append_percent_encoded(c, "+/\\", name);
    } else {
      name.push_back(c);
    }
  }
  if (name.size() <= kMostConsumerName) return name;
  name.resize(kMostConsumerName - kFingerprintDigits - 1);
  name.push_back('+');
  return name + to_hex(fingerprint({subject})).substr(0, kFingerprintDigits);
}

std::optional<AckWord> read_ack_word(std::string_view body) {
  if (body == "+WPI") return AckWord::kAlive;
  if (body.empty() || body == "+ACK" || body == "+OK" || body.starts_with("+NXT")) {
    return AckWord::kDone;
  }
  if (body.starts_with("-NAK")) return AckWord::kNak;
  if (body.starts_with("+TERM")) return AckWord::kTerm;
  return std::nullopt;
}

std::optional<AnsweredTask> answered_task(std::string_view on_broker, std::string_view prefix) {
  const std::optional<std::string> inside = inside_subject(prefix, on_broker);
  if (!inside || !inside->starts_with(kResultSubjectPrefix)) return std::nullopt;
  std::string_view subject = *inside;
  subject.remove_prefix(kResultSubjectPrefix.size());
  std::vector<std::string_view> tokens;
  for (size_t dot = 0; dot != std::string_view::npos && tokens.size() <= 3;) {
    dot = subject.find('.');
    tokens.push_back(subject.substr(0, dot));
    subject.remove_prefix(dot == std::string_view::npos ? subject.size() : dot + 1);
  }
  const bool is_old = tokens.size() == 2;
  if (!is_old && (tokens.size() != 3 || tokens.front() != kPartition)) return std::nullopt;
  const Result<InstanceId> task = parse_instance_id(tokens.back());
  std::optional<std::string> ns = percent_decode(tokens[tokens.size() - 2]);
  if (!task || !ns) return std::nullopt;
  return AnsweredTask{*task, *std::move(ns)};
}

tl::expected<std::string, Error> read_answer(NatsMessage answer) {
  const Headers& headers = answer.headers;
  if (const std::string_view code = header_text(headers, kErrorCode); !code.empty()) {
    return named_error(code, header_text(headers, "Direktiv-ErrorMessage"));
  }
  const std::string_view code = header_text(headers, kServiceErrorCode);
  const std::string_view message = header_text(headers, kServiceError);
  if (!code.empty() || !message.empty()) return named_error(code, message);
  if (auto unknown = answer_word_error(header_text(headers, kAnswerHeader))) {
    return tl::unexpected(*std::move(unknown));
  }
  if (answer.data.size() > kMaxAnswerBytes) {
    return workflow_error(kFunctionTooLarge,
                          fmt::format("the answer has {} bytes; at most {} are accepted",
                                      answer.data.size(), kMaxAnswerBytes));
  }
  return std::move(answer.data);
}

bool is_accepted(const NatsMessage& answer) {
  if (header_text(answer.headers, kAnswerHeader) != kAcceptedAnswer) return false;
  const auto is_missing = [&](std::string_view name) {
    return header_text(answer.headers, name).empty();
  };
  return is_missing(kErrorCode) && is_missing(kServiceErrorCode) && is_missing(kServiceError);
}

Headers apart(Headers headers) {
  for (size_t i = 0, count = headers.size(); i < count; ++i) {
    const std::string value = headers[i].second;
    if (!may_hold_the_next_header(value)) continue;
    const size_t colon = value.find(':');
    const size_t begin = value.find_first_not_of(' ', colon + 1);
    headers.emplace_back(value.substr(0, colon),
                         begin == std::string::npos ? "" : value.substr(begin));
    const std::string_view name = headers[i].first;
    if (same_header(name, kErrorCode) || same_header(name, kServiceErrorCode)) {
      headers[i].second.clear();
    }
  }
  return headers;
}

}  // namespace millrace
