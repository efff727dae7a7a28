#include "functions/http_service.h"

#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/ids.h"
#include "cloudevents/headers.h"

namespace millrace {
namespace {

/// How much of an answer that is none a message shows.
constexpr size_t kShownBytes = 256;

constexpr Duration kStopTimeout{5000};

/// The head of what a service wrote, as the text of an error: UTF-8, and not too long.
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

Error function_error(const Error& error) {
  const bool too_large = error.code == kHttpTooLarge;
  return {std::string(too_large ? kFunctionTooLarge : kFunctionUnavailable), error.message};
}

Headers task_headers(const Task& task, const std::string& folder) {
  Headers headers = {{"Content-Type", "application/json"},
                     {"Direktiv-ActionID", to_string(task.id)},
                     {"Direktiv-InstanceID", to_string(task.instance)},
                     {"Direktiv-Namespace", task.space},
                     {"Direktiv-Step", task.state},
                     {"Direktiv-Attempt", std::to_string(task.attempt)}};
  const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  if (const auto deadline = deadline_if_begun(task, now)) {
    headers.emplace_back("Direktiv-Deadline", format_rfc3339(*deadline));
  }
  if (!folder.empty()) headers.emplace_back("Direktiv-TempDir", folder);
  return headers;
}

}  // namespace

HttpClient::Ticket call_service(HttpClient& client, const std::string& url, const Task& task,
                                const std::string& folder, ServiceWatch watch) {
  return client.send(
      {.url = url, .headers = task_headers(task, folder), .body = task.input, .once = true},
      {.sent = std::move(watch.sent),
       .alive = std::move(watch.alive),
       .done = [done = std::move(watch.done)](Result<HttpAnswer> answer) {
         if (answer) {
           done(read_answer(std::move(*answer)));
         } else {
           done({.result = tl::unexpected(function_error(answer.error()))});
         }
       }});
}

void stop_service(HttpClient& client, const std::string& url, const InstanceId& task) {
  client.send({.method = "DELETE",
               .url = url,
               .headers = {{"Direktiv-ActionID", to_string(task)}},
               .timeout = kStopTimeout,
               .urgent = true},
              {.done = [](const Result<HttpAnswer>&) {}});
}

namespace {

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
  return std::move(answer.body);
}

}  // namespace

TaskEnded read_answer(HttpAnswer answer) {
  TaskEnded ended{.result = read_result(answer)};
  constexpr long kTooManyRequests = 429;
  constexpr long kServiceUnavailable = 503;
  const bool is_busy = answer.status == kTooManyRequests || answer.status == kServiceUnavailable;
  if (is_busy && !ended.result) ended.retry_after = answer.retry_after;
  return ended;
}

/// One task from run() until nothing more is heard of it. Guarded by the runner's mutex, but for
/// what no other thread asks for.
struct HttpServices::Call {
  explicit Call(Task its_task) : task(std::move(its_task)) {}

  const std::string& url() const { return std::get<HttpService>(task.target).url; }

  Task task;
  std::optional<HttpClient::Ticket> ticket;
  bool was_sent = false;
  bool is_stopped = false;
};

HttpServices::~HttpServices() {
  std::unique_lock lock(mutex_);
  closing_ = true;
  for (const auto& [id, call] : calls_) {
    call->is_stopped = true;
    if (call->ticket) client_.cancel(*call->ticket);
  }
  ended_.wait(lock, [this] { return calls_.empty(); });
}

void HttpServices::run(Task task) {
  const auto call = std::make_shared<Call>(std::move(task));
  {
    const std::lock_guard lock(mutex_);
    if (!calls_.try_emplace(call->task.id, call).second) return;  // it is under way
  }
  if (call->task.files.empty()) return send(call);
  end(call, {.result = failed(kFunctionFiles,
                              "the service shares no folder that files could be laid in")});
}

void HttpServices::send(const CallPtr& call) {
  {
    const std::lock_guard lock(mutex_);
    if (!call->is_stopped) {
      // Under the lock, so that nobody hears of it before its ticket is known.
      call->ticket =
          call_service(client_, call->url(), call->task, "",
                       {.sent = [this, call] { started(call); },
                        .alive = [this, id = call->task.id] { signs_.heard(id); },
                        .done = [this, call](TaskEnded ended) { end(call, std::move(ended)); }});
      call->task.input = {};  // the client has it; there may be many that wait
      return;
    }
  }
  end(call, {.result = failed(kFunctionUnavailable, "it was stopped")});
}

void HttpServices::started(const CallPtr& call) {
  {
    const std::lock_guard lock(mutex_);
    call->was_sent = true;
  }
  signs_.heard(call->task.id);
  tell(call, TaskStarted{});
}

void HttpServices::end(const CallPtr& call, TaskEnded ended) {
  {
    const std::lock_guard lock(mutex_);
    // At our own end no service is asked to end: the next process sends the task again.
    if (call->is_stopped && call->was_sent && !closing_) {
      stop_service(client_, call->url(), call->task.id);
    }
  }
  tell(call, std::move(ended));
  signs_.forget(call->task.id);
  const std::lock_guard lock(mutex_);
  calls_.erase(call->task.id);
  ended_.notify_all();
}

void HttpServices::tell(const CallPtr& call, decltype(TaskReport::what) what) {
  {
    const std::lock_guard lock(mutex_);
    if (call->is_stopped) return;
  }
  sink_.report({call->task.id, std::move(what)}, nullptr);
}

void HttpServices::stop(const InstanceId& task) {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(task);
  if (found == calls_.end()) return;
  found->second->is_stopped = true;
  if (found->second->ticket) client_.cancel(*found->second->ticket);
}

bool HttpServices::look(const InstanceId& task) {
  CallPtr call;
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(task);
    if (found == calls_.end() || !found->second->was_sent) return false;
    call = found->second;
  }
  tell(call, TaskStarted{});
  return true;
}

std::optional<Duration> HttpServices::silence(const InstanceId& task) const {
  return signs_.silence(task);
}

}  // namespace millrace
