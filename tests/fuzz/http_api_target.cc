// One request of the HTTP API, whose handler runs with a service in memory: a line with the method
// and the target, headers, an empty line, and the body (headed_input.h).
// Covers: gateway/event_routes.cc gateway/instance_routes.cc gateway/namespace_routes.cc
// Covers: gateway/schedule_routes.cc gateway/secret_routes.cc gateway/start_route.cc
// Covers: gateway/system_routes.cc gateway/variable_routes.cc gateway/workflow_routes.cc
// Covers: gateway/backup_routes.cc gateway/parameters.cc gateway/router.cc gateway/exchange.cc
// Covers: gateway/find_route.cc gateway/instance_filter.cc gateway/language_routes.cc
// Covers: gateway/letter_routes.cc gateway/replay_routes.cc gateway/stream_routes.cc
// Covers: gateway/why_routes.cc gateway/work_routes.cc gateway/page_answer.cc
// Covers: gateway/page_routes.cc gateway/session_routes.cc
// Covers: gateway/call_routes.cc gateway/callback_routes.cc gateway/file_routes.cc
// Covers: gateway/inbound_routes.cc gateway/queue_routes.cc gateway/source_routes.cc
// Covers: gateway/task_end_body.cc gateway/bearer_token.cc
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/bytes.h"
#include "base/json.h"
#include "cloudevents/event_check.h"
#include "gateway/problem.h"
#include "gateway/routes.h"
#include "tests/fuzz/headed_input.h"
#include "tests/fuzz/target.h"
#include "tests/unit/gateway/fake_service.h"
#include "tests/unit/gateway/page_fixture.h"

namespace millrace::fuzz {
namespace {

/// The gateway's thread, as an exchange sees it: runs work until there is an answer. The service
/// answers on a thread of its own.
class FuzzedGateway : public std::enable_shared_from_this<FuzzedGateway> {
 public:
  Exchange::Transport transport() {
    const auto put = [self = shared_from_this()](std::function<void()> work) {
      const std::lock_guard lock(self->mutex_);
      if (self->is_closed_) return;
      self->work_.push_back(std::move(work));
      self->changed_.notify_all();
    };
    return {.post = put,
            .read = put,
            .send = [this](Response response) { response_ = std::move(response); },
            .watch = [this] { waits_long_ = true; }};
  }

  /// The answer; nullopt: the request waits long.
  std::optional<Response> run() {
    while (!response_ && !waits_long_) {
      const std::function<void()> work = next();
      work();
    }
    return std::move(response_);
  }

  /// Drops the work that is left and all that comes later; the work holds its exchange.
  void close() {
    std::deque<std::function<void()>> left;
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    left.swap(work_);
  }

 private:
  std::function<void()> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !work_.empty(); });
    std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    return work;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool is_closed_ = false;
  std::optional<Response> response_;  ///< used by run() only
  bool waits_long_ = false;
};

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t') || byte == 0x7f;
}

/// Whether the gateway's parser of HTTP lets the headers through.
bool are_valid(const Headers& headers) {
  return std::all_of(headers.begin(), headers.end(), [](const auto& header) {
    return !header.first.empty() && is_printable_ascii(header.first) &&
           header.first.find(' ') == std::string::npos &&
           std::none_of(header.second.begin(), header.second.end(), is_control);
  });
}

std::optional<Response> answer_of(Service& service, std::string_view bytes) {
  std::string_view rest = bytes;
  std::string_view target = take_line(rest);
  const size_t space = std::min(target.find(' '), target.size());
  const std::string method(target.substr(0, space));
  target.remove_prefix(std::min(space + 1, target.size()));
  HeadedInput input = read_headed_input(rest);

  const Router router = make_router(service, {}, [] { return std::string("gateway 1\n"); }, nullptr,
                                    {.files = kFixturePage});
  auto found = router.find(method, target);
  if (auto* const refusal = std::get_if<Response>(&found)) return std::move(*refusal);
  auto& [route, request, head] = std::get<Router::Found>(found);
  if (input.body.size() > route->max_body || !are_valid(input.headers)) return std::nullopt;
  request.headers = std::move(input.headers);
  request.body = std::string(input.body);
  request.client = "127.0.0.1";

  const auto gateway = std::make_shared<FuzzedGateway>();
  const auto waits = std::make_shared<GatewayBudget>(4);
  const auto exchange =
      std::make_shared<Exchange>(std::move(request), gateway->transport(),
                                 Exchange::Leases{.body = {}, .wait = GatewayBudget::Lease(waits)});
  exchange->guard([&, chosen = route] {
    if (const Status done = chosen->handler(exchange); !done) {
      exchange->answer(problem(done.error()));
    }
  });
  std::optional<Response> response = gateway->run();
  exchange->close();
  gateway->close();
  return response;
}

void check_response(const Response& response) {
  CHECK(response.status >= 200 && response.status <= 599 && response.status != 500,
        "the status is {}: {}", response.status, response.body);
  bool is_json = false;
  for (const auto& [name, value] : response.headers) {
    CHECK(is_printable_ascii(name) && !name.empty());
    CHECK(std::none_of(value.begin(), value.end(), is_control), "header {} breaks its line", name);
    is_json = is_json || (same_header(name, "Content-Type") &&
                          (value == "application/json" || value == "application/problem+json"));
  }
  if (response.status >= 400) CHECK(is_json, "a refusal is not a problem document");
  // A variable is returned as it was stored, under the content type that it was stored with.
  if (response.status < 400 || !is_json) return;
  const Result<Json> body = parse_json(response.body);
  CHECK(body && body->is_object() && body->contains("code"), "not a problem: {}", response.body);
}

}  // namespace

FUZZ_TARGET(http_api) {
  FakeService service;
  if (const std::optional<Response> response = answer_of(service, bytes)) check_response(*response);
  for (const Event& event : service.published()) {
    const Status checked = check_event(event);
    CHECK(checked, "an event that is not valid is published: {}", checked.error().message);
  }
}

}  // namespace millrace::fuzz
