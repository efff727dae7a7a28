#include "http/http_client.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>

#include <curl/curl.h>

#include "base/check.h"
#include "http/held_timeouts.h"
#include "http/http_transfer.h"
#include "http/request_queue.h"
#include "os/mailbox.h"
#include "os/permission.h"
#include "os/thread.h"

namespace millrace {
namespace {

/// How long the thread sleeps at most, in milliseconds, if nothing wakes it earlier.
constexpr int kPollMs = 10'000;

/// The same while requests of a guarded client wait that have a timeout.
constexpr int kHeldPollMs = 100;

Result<HttpAnswer> cancelled(std::string_view why) {
  return fail(std::string(kHttpCancelled), std::string(why));
}

}  // namespace

/// The thread and its requests. libcurl has its own queue for connections, but in that queue a
/// request to a host with a free connection waits for earlier requests to hosts without one, and
/// the requests of one namespace for those of another. So libcurl is given only requests for which
/// a connection is certainly free.
class HttpClient::Impl {
 public:
  explicit Impl(HttpSettings settings)
      : settings_(std::move(settings)),
        permission_(settings_.guarded),
        multi_(make_multi()),
        queue_({.total = settings_.connections, .per_host = settings_.connections_per_host}) {
    const long connections = static_cast<long>(settings_.connections);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, connections);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, connections);
    curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
    thread_ = std::thread(&Impl::run, this);
  }

  ~Impl() {
    orders_.put(Stop{});
    thread_.join();
  }

  Ticket send(HttpRequest request, HttpWatch watch) {
    const Ticket ticket = ++last_ticket_;
    auto transfer = std::make_unique<HttpTransfer>(ticket, std::move(request), std::move(watch));
    orders_.put(std::move(transfer));
    return ticket;
  }

  void cancel(Ticket ticket) { orders_.put(ticket); }

  HttpLoad load() const {
    const std::lock_guard lock(queue_mutex_);
    return queue_.load();
  }

  void allow_until(Permission::Time until, std::optional<Permission::Time> asked) {
    if (permission_.allow_until(until, asked)) curl_multi_wakeup(multi_.get());
  }

  void forbid() { permission_.forbid(); }

 private:
  struct Stop {};
  /// An order to the thread: send a request, cancel a ticket, or stop.
  using Order = std::variant<std::unique_ptr<HttpTransfer>, Ticket, Stop>;

  static MultiHandle make_multi() {
    CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    MultiHandle multi(curl_multi_init());
    CHECK(multi != nullptr);
    return multi;
  }

  void run();
  bool take_orders();
  void take(std::unique_ptr<HttpTransfer> transfer);
  void wait(const HttpTransfer& transfer);
  void end_expired();
  void begin_waiting();
  void take_outcomes();
  std::optional<Ticket> next();
  void hold_back(HttpTransfer& transfer);
  void end(Ticket ticket, Result<HttpAnswer> result);
  void end_all();

  const HttpSettings settings_;
  Permission permission_;
  std::atomic<Ticket> last_ticket_ = 0;

  /// For the client's thread only; other threads may only wake that thread.
  const MultiHandle multi_;
  Mailbox<Order> orders_{[this] { curl_multi_wakeup(multi_.get()); }};
  // The following members are for the client's thread only.
  std::unordered_map<Ticket, std::unique_ptr<HttpTransfer>> transfers_;
  HeldTimeouts timeouts_;  ///< of the requests that wait, if the client is guarded

  mutable std::mutex queue_mutex_;  // guards queue_
  RequestQueue queue_;

  std::thread thread_;
};

void HttpClient::Impl::run() {
  name_thread("http");
  // TLS writes without MSG_NOSIGNAL, so this thread blocks all signals: a program with this client
  // need not ignore SIGPIPE.
  sigset_t signals;
  sigfillset(&signals);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  while (take_orders()) {
    end_expired();
    begin_waiting();
    int running = 0;
    curl_multi_perform(multi_.get(), &running);
    take_outcomes();
    begin_waiting();
    const int poll_ms = timeouts_.empty() ? kPollMs : kHeldPollMs;
    curl_multi_poll(multi_.get(), nullptr, 0, poll_ms, nullptr);
  }
  end_all();
}

/// Takes orders until there are none: the callback of a cancelled request may send an urgent
/// request, which must get the free connection before other requests. Returns false if the thread
/// must stop.
bool HttpClient::Impl::take_orders() {
  bool goes_on = true;
  while (goes_on) {
    auto orders = orders_.take();
    if (orders->empty()) break;
    for (Order& order : *orders) {
      if (auto* const sent = std::get_if<std::unique_ptr<HttpTransfer>>(&order)) {
        take(std::move(*sent));
      } else if (const auto* const ticket = std::get_if<Ticket>(&order)) {
        end(*ticket, cancelled("the request was cancelled"));
      } else {
        goes_on = false;
      }
    }
  }
  return goes_on;
}

void HttpClient::Impl::take(std::unique_ptr<HttpTransfer> transfer) {
  if (!transfer->origin()) {
    transfer->end(tl::unexpected(transfer->origin().error()));
    return;
  }
  wait(*transfer);
  transfers_.emplace(transfer->ticket(), std::move(transfer));
}

void HttpClient::Impl::wait(const HttpTransfer& transfer) {
  if (settings_.guarded && transfer.timeout())
    timeouts_.add(transfer.ticket(), *transfer.timeout());
  const std::lock_guard lock(queue_mutex_);
  queue_.add(transfer.ticket(), transfer.ns(), *transfer.origin(), transfer.urgent());
}

/// Ends the requests whose timeouts have passed while the client was not allowed to send.
void HttpClient::Impl::end_expired() {
  if (!settings_.guarded) return;
  timeouts_.note(std::chrono::steady_clock::now(), !permission_.is_valid());
  while (const auto ticket = timeouts_.first_expired()) {
    end(*ticket, fail(std::string(kHttpTimeout),
                      "the request was not sent: millrace was not allowed to send it before its "
                      "timeout passed"));
  }
}

std::optional<HttpClient::Ticket> HttpClient::Impl::next() {
  const std::lock_guard lock(queue_mutex_);
  return queue_.take();
}

/// Starts the waiting requests for which a connection is free, while the client may send.
void HttpClient::Impl::begin_waiting() {
  while (permission_.is_valid()) {
    const auto ticket = next();
    if (!ticket) return;
    HttpTransfer& transfer = *transfers_.at(*ticket);
    if (const auto left = timeouts_.remove(*ticket)) transfer.set_timeout(*left);
    transfer.prepare(settings_, permission_);
    CHECK(curl_multi_add_handle(multi_.get(), transfer.easy()) == CURLM_OK);
  }
}

void HttpClient::Impl::take_outcomes() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    void* its_transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &its_transfer);
    auto* const transfer = static_cast<HttpTransfer*>(its_transfer);
    if (transfer->is_held()) {
      hold_back(*transfer);
    } else {
      end(transfer->ticket(), transfer->outcome(message->data.result));
    }
  }
}

/// Lets a request wait that was not sent because the permission ended meanwhile. It is sent before
/// all requests of its namespace to its host that came after it.
void HttpClient::Impl::hold_back(HttpTransfer& transfer) {
  curl_multi_remove_handle(multi_.get(), transfer.easy());
  transfer.put_back();
  {
    const std::lock_guard lock(queue_mutex_);
    queue_.end(transfer.ticket());
  }
  wait(transfer);
}

/// Ends a request. The connection of the request is free or closed before the callback is called.
void HttpClient::Impl::end(Ticket ticket, Result<HttpAnswer> result) {
  const auto found = transfers_.find(ticket);
  if (found == transfers_.end()) return;
  const std::unique_ptr<HttpTransfer> transfer = std::move(found->second);
  transfers_.erase(found);
  timeouts_.remove(ticket);
  if (transfer->easy() != nullptr) curl_multi_remove_handle(multi_.get(), transfer->easy());
  {
    const std::lock_guard lock(queue_mutex_);
    queue_.end(ticket);
  }
  transfer->end(std::move(result));
}

/// Cancels all requests, including those that callbacks send meanwhile.
void HttpClient::Impl::end_all() {
  while (true) {
    while (!transfers_.empty())
      end(transfers_.begin()->first, cancelled("the HTTP client of millrace stopped"));
    const auto orders = orders_.take();
    if (orders->empty()) return;
    for (const Order& order : *orders) {
      const auto* const sent = std::get_if<std::unique_ptr<HttpTransfer>>(&order);
      if (sent != nullptr) (*sent)->end(cancelled("the HTTP client of millrace stopped"));
    }
  }
}

HttpClient::HttpClient(HttpSettings settings)
    : impl_(std::make_unique<Impl>(std::move(settings))) {}

HttpClient::~HttpClient() = default;

HttpClient::Ticket HttpClient::send(HttpRequest request, HttpWatch watch) {
  return impl_->send(std::move(request), std::move(watch));
}

void HttpClient::cancel(Ticket ticket) { impl_->cancel(ticket); }

HttpLoad HttpClient::load() const { return impl_->load(); }

void HttpClient::allow_until(Permission::Time until, std::optional<Permission::Time> asked) {
  impl_->allow_until(until, asked);
}

void HttpClient::forbid() { impl_->forbid(); }

}  // namespace millrace
