#include "http/http_client.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <curl/curl.h>
#include <fmt/format.h>

#include "base/check.h"
#include "os/thread.h"

namespace millrace {
namespace {

/// How long the thread sleeps where nothing says that it should wake earlier.
constexpr int kPollMs = 10'000;

/// A peer that vanished without a word is found out after a minute or three, not never.
constexpr long kKeepAliveIdleSeconds = 60;
constexpr long kKeepAliveEverySeconds = 15;

/// How long a connection may have been idle for a request that is sent once: less than any peer
/// waits before it closes one.
constexpr long kMostIdleSeconds = 1;

constexpr std::chrono::seconds kMostRetryAfter = std::chrono::hours(24);

template <auto function>
struct Free {
  template <class T>
  void operator()(T* handle) const {
    function(handle);
  }
};
using EasyHandle = std::unique_ptr<CURL, Free<curl_easy_cleanup>>;
using MultiHandle = std::unique_ptr<CURLM, Free<curl_multi_cleanup>>;
using HeaderList = std::unique_ptr<curl_slist, Free<curl_slist_free_all>>;
using UrlHandle = std::unique_ptr<CURLU, Free<curl_url_cleanup>>;
using CurlText = std::unique_ptr<char, Free<curl_free>>;

void add(HeaderList& list, const std::string& line) {
  list.reset(curl_slist_append(list.release(), line.c_str()));
}

std::string part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  const bool is_there = curl_url_get(url, part, &text, flags) == CURLUE_OK;
  const CurlText owned(text);
  return is_there ? std::string(text) : std::string();
}

/// One would begin another header, or the body.
bool breaks_line(const Headers& headers) {
  const auto breaks = [](const std::string& text) {
    return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos;
  };
  return std::any_of(headers.begin(), headers.end(), [&](const auto& header) {
    return breaks(header.first) || breaks(header.second);
  });
}

/// `https://example.com:443`: who shares connections, and all of a URL that a message may show.
/// The error is why it can't be sent at all.
Result<std::string> origin_of(const HttpRequest& request) {
  const auto refuse = [](std::string why) {
    return fail(std::string(kHttpRequest), std::move(why));
  };
  if (breaks_line(request.headers)) return refuse("a header holds a line break or a zero byte");
  const UrlHandle url(curl_url());
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, request.url.c_str(), 0);
  if (code != CURLUE_OK) {
    return refuse(fmt::format("the URL is none: {}", curl_url_strerror(code)));
  }
  const std::string scheme = part_of(url.get(), CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") {
    return refuse(fmt::format("the URL is of {}; expected http or https", scheme));
  }
  return fmt::format("{}://{}:{}", scheme, part_of(url.get(), CURLUPART_HOST),
                     part_of(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT));
}

std::string_view code_of(CURLcode code, bool was_sent) {
  switch (code) {
    case CURLE_URL_MALFORMAT:
      return kHttpRequest;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
      return kHttpUnreachable;
    case CURLE_OPERATION_TIMEDOUT:
      return was_sent ? kHttpTimeout : kHttpUnreachable;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
      return kHttpTls;
    case CURLE_OUT_OF_MEMORY:  // of libcurl's bound on one line
      return kHttpTooLarge;
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_SEND_FAIL_REWIND:
      return kHttpClosed;
    default:
      return kHttpProtocol;
  }
}

Result<HttpAnswer> cancelled(std::string_view why) {
  return fail(std::string(kHttpCancelled), std::string(why));
}

/// One request from send() to its last word. Only for the thread, but for its making.
class Transfer {
 public:
  Transfer(HttpClient::Ticket ticket, HttpRequest request, HttpWatch watch)
      : ticket_(ticket),
        request_(std::move(request)),
        watch_(std::move(watch)),
        origin_(origin_of(request_)) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  HttpClient::Ticket ticket() const { return ticket_; }
  bool urgent() const { return request_.urgent; }
  /// Where it goes to, or why it can't.
  const Result<std::string>& origin() const { return origin_; }
  CURL* easy() const { return easy_.get(); }

  /// Makes the handle that is given to the multi handle.
  void prepare(const HttpSettings& settings);

  /// The last word.
  void end(Result<HttpAnswer> result) {
    if (!result && origin_) {
      result = fail_in(request_.method + " " + *origin_, std::move(result).error());
    }
    watch_.done(std::move(result));
  }

  /// What has come of it, where libcurl is done with it.
  Result<HttpAnswer> outcome(CURLcode code);

 private:
  void set_body();
  size_t give_body(char* to, size_t most);
  size_t take_header(size_t size);
  size_t take_body(std::string_view bytes);
  void tell_sent();

  const HttpClient::Ticket ticket_;
  HttpRequest request_;
  const HttpWatch watch_;
  const Result<std::string> origin_;

  EasyHandle easy_;
  HeaderList header_list_;
  std::array<char, CURL_ERROR_SIZE> complaint_{};
  bool was_sent_ = false;
  std::string too_large_;  ///< what is, and than what; empty: nothing
  size_t header_bytes_ = 0;
  std::string body_;
  size_t given_ = 0;  ///< of the request's body, where it is sent once
};

void Transfer::prepare(const HttpSettings& settings) {
  easy_.reset(curl_easy_init());
  CURL* const easy = easy_.get();
  CHECK(easy != nullptr);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, complaint_.data());
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  // Otherwise a request that is given up while its host's name is looked up holds the thread.
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_PROXY, settings.proxy.c_str());
  curl_easy_setopt(easy, CURLOPT_NOPROXY, settings.no_proxy.c_str());
  if (!settings.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, settings.ca_file.c_str());
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(settings.connect_timeout.count()));
  if (request_.timeout) {
    const long timeout = static_cast<long>(std::max(*request_.timeout, Duration(1)).count());
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout);
  }
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, kKeepAliveEverySeconds);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "millrace");

  curl_easy_setopt(easy, CURLOPT_URL, request_.url.c_str());
  set_body();
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  // What libcurl would add: a round trip before a large body, and the content type of a form.
  add(header_list_, "Expect:");
  if (find_header(request_.headers, "Content-Type") == nullptr) add(header_list_, "Content-Type:");
  for (const auto& [name, value] : request_.headers) {
    // The semicolon is how libcurl is told of a header without a value.
    add(header_list_, value.empty() ? name + ";" : fmt::format("{}: {}", name, value));
  }
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, header_list_.get());

  curl_easy_setopt(easy, CURLOPT_PREREQDATA, this);
  curl_easy_setopt(
      easy, CURLOPT_PREREQFUNCTION, +[](void* self, char*, char*, int, int) -> int {
        static_cast<Transfer*>(self)->tell_sent();
        return CURL_PREREQFUNC_OK;
      });
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(
      easy, CURLOPT_HEADERFUNCTION, +[](char*, size_t, size_t size, void* self) -> size_t {
        return static_cast<Transfer*>(self)->take_header(size);
      });
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(
      easy, CURLOPT_WRITEFUNCTION, +[](char* bytes, size_t, size_t size, void* self) -> size_t {
        return static_cast<Transfer*>(self)->take_body({bytes, size});
      });
}

void Transfer::set_body() {
  CURL* const easy = easy_.get();
  if (request_.body.empty()) {
    // Without a body there is nothing to seek in: only on a connection that was never used does
    // libcurl send such a request once.
    if (request_.once) curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    if (request_.method != "POST" && request_.method != "PUT") return;
  }
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                   static_cast<curl_off_t>(request_.body.size()));
  if (!request_.once || request_.body.empty()) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request_.body.c_str());
    return;
  }
  // libcurl has no switch against sending again on another connection. But for that it has to seek
  // back to the beginning of the body, and the transfer fails where it cannot.
  curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, kMostIdleSeconds);
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_READDATA, this);
  curl_easy_setopt(
      easy, CURLOPT_READFUNCTION, +[](char* to, size_t size, size_t most, void* self) -> size_t {
        return static_cast<Transfer*>(self)->give_body(to, size * most);
      });
  curl_easy_setopt(
      easy, CURLOPT_SEEKFUNCTION,
      +[](void*, curl_off_t, int) -> int { return CURL_SEEKFUNC_FAIL; });
}

size_t Transfer::give_body(char* to, size_t most) {
  const size_t copied = request_.body.copy(to, most, given_);
  given_ += copied;
  return copied;
}

void Transfer::tell_sent() {
  given_ = 0;  // had any of it been sent on another connection, libcurl would not have come here
  if (!std::exchange(was_sent_, true) && watch_.sent) watch_.sent();
}

size_t Transfer::take_header(size_t size) {
  header_bytes_ += size;
  if (header_bytes_ > kMaxHeaderBytes) {
    too_large_ = fmt::format("headers of more than {} bytes", kMaxHeaderBytes);
    return CURL_WRITEFUNC_ERROR;
  }
  if (watch_.alive) watch_.alive();
  return size;
}

size_t Transfer::take_body(std::string_view bytes) {
  if (body_.size() + bytes.size() > kMaxAnswerBytes) {
    too_large_ = fmt::format("a body of more than {} bytes", kMaxAnswerBytes);
    return CURL_WRITEFUNC_ERROR;
  }
  body_ += bytes;
  if (watch_.alive) watch_.alive();
  return bytes.size();
}

Result<HttpAnswer> Transfer::outcome(CURLcode code) {
  if (!too_large_.empty()) {
    return fail(std::string(kHttpTooLarge), "the answer has " + too_large_);
  }
  if (code == CURLE_SEND_FAIL_REWIND) {
    return fail(std::string(kHttpClosed),
                "the connection was closed before an answer came; the request is not sent again, "
                "because what it asks for may have been done");
  }
  if (code != CURLE_OK) {
    const char* const said =
        complaint_.front() != '\0' ? complaint_.data() : curl_easy_strerror(code);
    return fail(std::string(code_of(code, was_sent_)), said);
  }
  HttpAnswer answer{.body = std::move(body_)};
  curl_easy_getinfo(easy(), CURLINFO_RESPONSE_CODE, &answer.status);
  curl_header* header = nullptr;
  while ((header = curl_easy_nextheader(easy(), CURLH_HEADER, -1, header)) != nullptr) {
    std::string_view value = header->value;
    if (value.ends_with('\r')) value.remove_suffix(1);  // as libcurl leaves it of an empty one
    answer.headers.emplace_back(header->name, value);
  }
  if (find_header(answer.headers, "Retry-After") != nullptr) {
    curl_off_t seconds = 0;
    curl_easy_getinfo(easy(), CURLINFO_RETRY_AFTER, &seconds);
    answer.retry_after =
        std::chrono::seconds(std::clamp<curl_off_t>(seconds, 0, kMostRetryAfter.count()));
  }
  return answer;
}

}  // namespace

/// libcurl would make requests wait for a connection itself, but those of a host that has one to
/// spare behind those of one that has not. So it is given only what has a connection for certain.
class HttpClient::Loop {
 public:
  explicit Loop(HttpSettings settings) : settings_(std::move(settings)), multi_(make_multi()) {
    const long connections = static_cast<long>(settings_.connections);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, connections);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, connections);
    curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
    thread_ = std::thread(&Loop::run, this);
  }

  ~Loop() {
    order([this] { stopping_ = true; });
    thread_.join();
  }

  Ticket send(HttpRequest request, HttpWatch watch) {
    const Ticket ticket = ++last_ticket_;
    auto transfer = std::make_unique<Transfer>(ticket, std::move(request), std::move(watch));
    order([&] { orders_.sent.push_back(std::move(transfer)); });
    return ticket;
  }

  void cancel(Ticket ticket) {
    order([&] { orders_.cancelled.push_back(ticket); });
  }

 private:
  struct Orders {
    std::vector<std::unique_ptr<Transfer>> sent;
    std::vector<Ticket> cancelled;

    bool none() const { return sent.empty() && cancelled.empty(); }
  };
  /// The requests to one origin. In `ready_` while it could begin another one.
  struct Host {
    std::deque<Ticket> waiting;  ///< some may be cancelled
    size_t running = 0;
    bool is_ready = false;
  };
  using Hosts = std::map<std::string, Host>;

  static MultiHandle make_multi() {
    CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    MultiHandle multi(curl_multi_init());
    CHECK(multi != nullptr);
    return multi;
  }

  /// Leaves word for the thread. It looks again before it sleeps, so it is woken from sleep only.
  template <class Change>
  void order(Change change) {
    bool slept = false;
    {
      const std::lock_guard lock(mutex_);
      slept = orders_.none();
      change();
    }
    if (slept) curl_multi_wakeup(multi_.get());
  }

  void run();
  bool take_orders();
  void take(std::unique_ptr<Transfer> transfer);
  void begin_waiting();
  void take_outcomes();
  void offer(Hosts::value_type& host);
  void end(Ticket ticket, Result<HttpAnswer> result);
  void end_all();

  const HttpSettings settings_;
  std::atomic<Ticket> last_ticket_ = 0;

  std::mutex mutex_;
  bool stopping_ = false;
  Orders orders_;

  const MultiHandle multi_;  ///< only for the thread, but to wake it
  // Only for the thread.
  std::unordered_map<Ticket, std::unique_ptr<Transfer>> transfers_;
  Hosts hosts_;
  std::deque<Hosts::value_type*> ready_;
  size_t running_ = 0;
  std::thread thread_;
};

void HttpClient::Loop::run() {
  name_thread("http");
  // TLS writes without MSG_NOSIGNAL, and whoever embeds this need not have ignored the signal.
  sigset_t signals;
  sigfillset(&signals);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  while (take_orders()) {
    begin_waiting();
    int running = 0;
    curl_multi_perform(multi_.get(), &running);
    take_outcomes();
    begin_waiting();
    curl_multi_poll(multi_.get(), nullptr, 0, kPollMs, nullptr);
  }
  end_all();
}

/// False: it is to end. Takes until there are none, for what is cancelled may be followed by
/// something urgent that wants its place.
bool HttpClient::Loop::take_orders() {
  while (true) {
    Orders orders;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return false;
      if (orders_.none()) return true;
      std::swap(orders, orders_);
    }
    for (std::unique_ptr<Transfer>& transfer : orders.sent) take(std::move(transfer));
    for (const Ticket ticket : orders.cancelled) {
      end(ticket, cancelled("nobody waits for it"));
    }
  }
}

void HttpClient::Loop::take(std::unique_ptr<Transfer> transfer) {
  if (!transfer->origin()) {
    transfer->end(tl::unexpected(transfer->origin().error()));
    return;
  }
  auto& host = *hosts_.try_emplace(*transfer->origin()).first;
  if (transfer->urgent()) {
    host.second.waiting.push_front(transfer->ticket());
  } else {
    host.second.waiting.push_back(transfer->ticket());
  }
  transfers_.emplace(transfer->ticket(), std::move(transfer));
  offer(host);
}

void HttpClient::Loop::offer(Hosts::value_type& host) {
  Host& state = host.second;
  if (state.is_ready || state.running >= settings_.connections_per_host) return;
  if (!state.waiting.empty()) {
    state.is_ready = true;
    ready_.push_back(&host);
  } else if (state.running == 0) {
    hosts_.erase(hosts_.find(host.first));
  }
}

/// One request of each host in turn, as many as there may be connections.
void HttpClient::Loop::begin_waiting() {
  while (running_ < settings_.connections && !ready_.empty()) {
    auto& host = *ready_.front();
    ready_.pop_front();
    host.second.is_ready = false;
    const auto found = transfers_.find(host.second.waiting.front());
    host.second.waiting.pop_front();
    if (found != transfers_.end()) {
      ++running_;
      ++host.second.running;
      found->second->prepare(settings_);
      CHECK(curl_multi_add_handle(multi_.get(), found->second->easy()) == CURLM_OK);
    }
    offer(host);
  }
}

void HttpClient::Loop::take_outcomes() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    void* its_transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &its_transfer);
    auto* const transfer = static_cast<Transfer*>(its_transfer);
    end(transfer->ticket(), transfer->outcome(message->data.result));
  }
}

/// Its connection is free, or closed, before anybody is told.
void HttpClient::Loop::end(Ticket ticket, Result<HttpAnswer> result) {
  const auto found = transfers_.find(ticket);
  if (found == transfers_.end()) return;
  const std::unique_ptr<Transfer> transfer = std::move(found->second);
  transfers_.erase(found);
  if (transfer->easy() != nullptr) {
    curl_multi_remove_handle(multi_.get(), transfer->easy());
    auto& host = *hosts_.find(*transfer->origin());
    --running_;
    --host.second.running;
    offer(host);
  }
  transfer->end(std::move(result));
}

/// Those too that are sent by those who hear of the end.
void HttpClient::Loop::end_all() {
  while (!transfers_.empty()) end(transfers_.begin()->first, cancelled("the client ends"));
  while (true) {
    Orders orders;
    {
      const std::lock_guard lock(mutex_);
      std::swap(orders, orders_);
    }
    if (orders.sent.empty()) return;
    for (const std::unique_ptr<Transfer>& transfer : orders.sent)
      transfer->end(cancelled("the client ends"));
  }
}

HttpClient::HttpClient(HttpSettings settings)
    : loop_(std::make_unique<Loop>(std::move(settings))) {}

HttpClient::~HttpClient() = default;

HttpClient::Ticket HttpClient::send(HttpRequest request, HttpWatch watch) {
  return loop_->send(std::move(request), std::move(watch));
}

void HttpClient::cancel(Ticket ticket) { loop_->cancel(ticket); }

}  // namespace millrace
