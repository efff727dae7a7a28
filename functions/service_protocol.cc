#include "functions/service_protocol.h"

#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/ids.h"
#include "cloudevents/headers.h"
#include "model/answer_word.h"
#include "model/attempt_key.h"
#include "model/call_limit.h"

namespace millrace {
namespace {

/// How many bytes of an invalid answer a message shows.
constexpr size_t kShownBytes = 256;

constexpr Duration kStopTimeout{5000};

/// The start of what a service wrote, for the text of an error: UTF-8, and not too long.
std::string shown(std::string_view bytes, size_t most = kShownBytes) {
  const bool is_text = is_utf8(bytes);
  const bool is_cut = bytes.size() > most;
  size_t end = is_cut ? most : bytes.size();
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  while (is_text && is_cut && continues(bytes[end])) --end;
  std::string text(bytes.substr(0, end));
  if (!is_text) {
    for (char& c : text) {
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    }
  }
  return is_cut ? text + "..." : text;
}

tl::unexpected<Error> failed(std::string_view code, std::string message) {
  return tl::unexpected(Error{std::string(code), std::move(message)});
}

Error function_error(const Error& error, std::optional<Duration> limit) {
  if (limit && error.code == kHttpTimeout) return call_limit_error(*limit);
  const bool too_large = error.code == kHttpTooLarge;
  return {std::string(too_large ? kFunctionTooLarge : kFunctionUnavailable), error.message};
}

Headers task_headers(const Task& task, const std::string& folder) {
  Headers headers = {{"Content-Type", "application/json"},
                     {"Direktiv-ActionID", to_string(task.id)},
                     {"Direktiv-InstanceID", to_string(task.instance)},
                     {"Direktiv-Namespace", task.ns},
                     {"Direktiv-Step", task.state},
                     {"Direktiv-Attempt", std::to_string(task.attempt)},
                     {kCallHeader, task.call}};
  const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  if (const auto deadline = deadline_if_started(task, now)) {
    headers.emplace_back("Direktiv-Deadline", format_rfc3339(*deadline));
  }
  if (task.epoch > 0) headers.emplace_back(kEpochHeader, std::to_string(task.epoch));
  if (task.callback) headers.emplace_back(kCallbackHeader, task.callback->url);
  if (!task.progress.empty()) headers.emplace_back(kLastProgressHeader, task.progress);
  if (!folder.empty()) headers.emplace_back("Direktiv-TempDir", folder);
  if (task.folder) {
    headers.emplace_back(kFilesHeader, task.folder->url);
    headers.emplace_back(kAttemptKeyHeader, task.folder->key);
  }
  return headers;
}

tl::expected<std::string, Error> read_result(HttpAnswer& answer) {
  const std::string* const code = find_header(answer.headers, "Direktiv-ErrorCode");
  if (code != nullptr && !code->empty()) {
    const std::string* const said = find_header(answer.headers, "Direktiv-ErrorMessage");
    std::string message = said == nullptr ? "" : shown(*said, kMaxHeaderBytes);
    if (is_identifier(*code)) return failed(*code, std::move(message));
    return failed(kFunctionStatus,
                  fmt::format("the function answered with HTTP {} and the error code \"{}\"; "
                              "expected letters, digits, '.', '-' and '_', at most 128: {}",
                              answer.status, shown(*code), message));
  }
  if (answer.status < 200 || answer.status > 299) {
    return failed(kFunctionStatus, fmt::format("the function answered with HTTP {}: {}",
                                               answer.status, shown(answer.body)));
  }
  const std::string* const word = find_header(answer.headers, kAnswerHeader);
  if (auto unknown = answer_word_error(word == nullptr ? "" : *word)) {
    return tl::unexpected(*std::move(unknown));
  }
  return std::move(answer.body);
}

}  // namespace

bool is_accepted(const HttpAnswer& answer) {
  if (answer.status < 200 || answer.status > 299) return false;
  const std::string* const word = find_header(answer.headers, kAnswerHeader);
  const std::string* const code = find_header(answer.headers, "Direktiv-ErrorCode");
  return word != nullptr && *word == kAcceptedAnswer && (code == nullptr || code->empty());
}

HttpClient::Ticket call_service(HttpClient& client, const std::string& url, const Task& task,
                                const std::string& folder, ServiceWatch watch,
                                std::optional<Duration> limit) {
  return client.send({.url = url,
                      .headers = task_headers(task, folder),
                      .body = task.input,
                      .timeout = limit,
                      .once = true,
                      .ns = task.ns},
                     {.sent = std::move(watch.sent),
                      .alive = std::move(watch.alive),
                      .done = [done = std::move(watch.done), accepted = std::move(watch.accepted),
                               limit](Result<HttpAnswer> answer) {
                        if (answer && accepted && is_accepted(*answer)) {
                          accepted();
                        } else if (answer) {
                          done(read_answer(std::move(*answer)));
                        } else {
                          done({.result = tl::unexpected(function_error(answer.error(), limit))});
                        }
                      }});
}

void stop_service(HttpClient& client, const std::string& url, const Task& task) {
  client.send({.method = "DELETE",
               .url = url,
               .headers = {{"Direktiv-ActionID", to_string(task.id)}},
               .timeout = kStopTimeout,
               .urgent = true,
               .ns = task.ns},
              {.done = [](const Result<HttpAnswer>&) {}});
}

TaskEnded read_answer(HttpAnswer answer) {
  TaskEnded ended{.result = read_result(answer)};
  constexpr long kTooManyRequests = 429;
  constexpr long kServiceUnavailable = 503;
  const bool is_busy = answer.status == kTooManyRequests || answer.status == kServiceUnavailable;
  if (is_busy && !ended.result) ended.retry_after = answer.retry_after;
  return ended;
}

}  // namespace millrace
