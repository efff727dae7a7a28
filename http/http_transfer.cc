#include "http/http_transfer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "model/service_url.h"

namespace millrace {
namespace {

/// TCP keep-alive: detects after one to three minutes that a peer has vanished without closing the
/// connection.
constexpr long kKeepAliveIdleSeconds = 60;
constexpr long kKeepAliveEverySeconds = 15;

/// How long a connection may have been idle if a request with `once` reuses it: less than peers
/// wait before they close an idle connection.
constexpr long kMostIdleSeconds = 1;

constexpr std::chrono::seconds kMostRetryAfter = std::chrono::hours(24);

void add(HeaderList& list, const std::string& line) {
  list.reset(curl_slist_append(list.release(), line.c_str()));
}

/// Whether a header contains a line break or a zero byte: a line break would begin another header
/// or the body.
bool breaks_line(const Headers& headers) {
  const auto breaks = [](const std::string& text) {
    return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos;
  };
  return std::any_of(headers.begin(), headers.end(), [&](const auto& header) {
    return breaks(header.first) || breaks(header.second);
  });
}

/// The origin of the URL, such as `https://example.com:443`. Requests with the same origin share
/// connections, and messages show nothing else of a URL. Error `http.request`: the request cannot
/// be sent.
Result<std::string> origin_of(const HttpRequest& request) {
  const auto refuse = [](std::string why) {
    return fail(std::string(kHttpRequest), std::move(why));
  };
  if (breaks_line(request.headers)) return refuse("a header contains a line break or a zero byte");
  auto origin = http_origin(request.url);
  if (!origin) return refuse(std::move(origin).error());
  return *std::move(origin);
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
    case CURLE_OUT_OF_MEMORY:  // a line exceeded libcurl's limit on one line
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

}  // namespace

HttpTransfer::HttpTransfer(HttpClient::Ticket ticket, HttpRequest request, HttpWatch watch)
    : ticket_(ticket),
      request_(std::move(request)),
      watch_(std::move(watch)),
      origin_(origin_of(request_)),
      timeout_(request_.timeout) {}

void HttpTransfer::end(Result<HttpAnswer> result) {
  if (!result && origin_) {
    result = fail_in(request_.method + " " + *origin_, std::move(result).error());
  }
  watch_.done(std::move(result));
}

void HttpTransfer::put_back() {
  if (timeout_) {
    const auto passed = std::chrono::steady_clock::now() - prepared_;
    timeout_ = std::max(*timeout_ - std::chrono::duration_cast<Duration>(passed), Duration(1));
  }
  is_held_ = false;
  easy_.reset();
  header_list_.reset();
  complaint_ = {};
}

void HttpTransfer::prepare(const HttpSettings& settings, const Permission& permission) {
  permission_ = &permission;
  prepared_ = std::chrono::steady_clock::now();
  easy_.reset(curl_easy_init());
  CURL* const easy = easy_.get();
  CHECK(easy != nullptr);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, complaint_.data());
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  // Without this option a request that is cancelled during the lookup of its host name blocks the
  // thread.
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_PROXY, settings.proxy.c_str());
  curl_easy_setopt(easy, CURLOPT_NOPROXY, settings.no_proxy.c_str());
  if (!settings.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, settings.ca_file.c_str());
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(settings.connect_timeout.count()));
  if (timeout_) {
    const long timeout = static_cast<long>(std::max(*timeout_, Duration(1)).count());
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout);
  }
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, kKeepAliveEverySeconds);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "millrace");

  curl_easy_setopt(easy, CURLOPT_URL, request_.url.c_str());
  set_body();
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  // Suppresses headers that libcurl would add: Expect, which costs a round trip before a large
  // body, and the content type of a form.
  add(header_list_, "Expect:");
  if (find_header(request_.headers, "Content-Type") == nullptr) add(header_list_, "Content-Type:");
  for (const auto& [name, value] : request_.headers) {
    // libcurl expects a semicolon after the name of a header without a value.
    add(header_list_, value.empty() ? name + ";" : fmt::format("{}: {}", name, value));
  }
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, header_list_.get());

  curl_easy_setopt(easy, CURLOPT_PREREQDATA, this);
  curl_easy_setopt(
      easy, CURLOPT_PREREQFUNCTION, +[](void* self, char*, char*, int, int) -> int {
        const bool is_sent = static_cast<HttpTransfer*>(self)->begin_sending();
        return is_sent ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
      });
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(
      easy, CURLOPT_HEADERFUNCTION, +[](char* line, size_t, size_t size, void* self) -> size_t {
        return static_cast<HttpTransfer*>(self)->take_header({line, size});
      });
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(
      easy, CURLOPT_WRITEFUNCTION, +[](char* bytes, size_t, size_t size, void* self) -> size_t {
        return static_cast<HttpTransfer*>(self)->take_body({bytes, size});
      });
}

void HttpTransfer::set_body() {
  CURL* const easy = easy_.get();
  if (request_.body.empty()) {
    // A request without a body cannot be protected by the seek (see below). On a connection that
    // was never used before, libcurl sends such a request only once.
    if (request_.once) curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    if (request_.method != "POST" && request_.method != "PUT") return;
  }
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                   static_cast<curl_off_t>(request_.body.size()));
  if (!request_.once || request_.body.empty()) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request_.body.c_str());
    return;
  }
  // libcurl has no option against sending a request again on another connection. But to send it
  // again, libcurl has to seek back to the beginning of the body, and the transfer fails if the
  // seek fails.
  curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, kMostIdleSeconds);
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_READDATA, this);
  curl_easy_setopt(
      easy, CURLOPT_READFUNCTION, +[](char* to, size_t size, size_t most, void* self) -> size_t {
        return static_cast<HttpTransfer*>(self)->give_body(to, size * most);
      });
  curl_easy_setopt(
      easy, CURLOPT_SEEKFUNCTION,
      +[](void*, curl_off_t, int) -> int { return CURL_SEEKFUNC_FAIL; });
}

size_t HttpTransfer::give_body(char* to, size_t most) {
  const size_t copied = request_.body.copy(to, most, given_);
  given_ += copied;
  return copied;
}

/// Returns false if the request may not be sent now. libcurl calls it on each connection on which
/// it is about to send the request.
bool HttpTransfer::begin_sending() {
  is_held_ = !permission_->is_valid();
  if (is_held_) return false;
  given_ = 0;  // no part of the body was sent on another connection, or the seek would have failed
  if (!std::exchange(was_sent_, true) && watch_.sent) watch_.sent();
  return true;
}

size_t HttpTransfer::take_header(std::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > kMaxHeaderBytes) {
    too_large_ = fmt::format("headers of more than {} bytes", kMaxHeaderBytes);
    return CURL_WRITEFUNC_ERROR;
  }
  if (watch_.alive) watch_.alive();
  if (line != "\r\n" && line != "\n") return line.size();
  // The end of the headers: of the answer, of an interim answer before it, or of its trailers.
  constexpr long kLeastFinal = 200;
  long status = 0;
  curl_easy_getinfo(easy(), CURLINFO_RESPONSE_CODE, &status);
  if (status < kLeastFinal || std::exchange(has_head_, true)) return line.size();
  is_refused_ = watch_.head && !watch_.head(head_of_answer());
  return is_refused_ ? CURL_WRITEFUNC_ERROR : line.size();
}

size_t HttpTransfer::take_body(std::string_view bytes) {
  if (watch_.body) {
    if (watch_.alive) watch_.alive();
    is_refused_ = !watch_.body(bytes);
    return is_refused_ ? CURL_WRITEFUNC_ERROR : bytes.size();
  }
  if (body_.size() + bytes.size() > kMaxAnswerBytes) {
    too_large_ = fmt::format("a body of more than {} bytes", kMaxAnswerBytes);
    return CURL_WRITEFUNC_ERROR;
  }
  body_ += bytes;
  if (watch_.alive) watch_.alive();
  return bytes.size();
}

Result<HttpAnswer> HttpTransfer::outcome(CURLcode code) {
  if (!too_large_.empty()) {
    return fail(std::string(kHttpTooLarge), "the answer has " + too_large_);
  }
  if (is_refused_) {
    return fail(std::string(kHttpCancelled), "the answer is not wanted any more");
  }
  if (code == CURLE_SEND_FAIL_REWIND) {
    return fail(
        std::string(kHttpClosed),
        "the connection was closed before an answer arrived; the request is not sent again, "
        "because the peer may have processed it");
  }
  if (code != CURLE_OK) {
    const char* const said =
        complaint_.front() != '\0' ? complaint_.data() : curl_easy_strerror(code);
    return fail(std::string(code_of(code, was_sent_)), said);
  }
  HttpAnswer answer = head_of_answer();
  answer.body = std::move(body_);
  return answer;
}

HttpAnswer HttpTransfer::head_of_answer() const {
  HttpAnswer answer;
  curl_easy_getinfo(easy(), CURLINFO_RESPONSE_CODE, &answer.status);
  curl_header* header = nullptr;
  while ((header = curl_easy_nextheader(easy(), CURLH_HEADER, -1, header)) != nullptr) {
    std::string_view value = header->value;
    if (value.ends_with('\r')) value.remove_suffix(1);  // libcurl leaves the \r in an empty value
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

}  // namespace millrace
