#include "cli/client.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <optional>
#include <system_error>

#include <curl/curl.h>
#include <fmt/format.h>

#include "cloudevents/percent.h"

namespace millrace {
namespace {

constexpr long kConnectTimeoutMs = 5000;

/// For curl_easy_header(): the headers of the latest response.
constexpr int kLatestRequest = -1;

/// Characters that are percent-encoded in a segment of a path and in a query parameter.
constexpr std::string_view kReserved = "/?#[]@!$&'()*+,;=\"<>\\^`{|}";

/// What arrives of the body of a response.
struct Receiver {
  CURL* curl = nullptr;
  const std::function<bool(std::string_view bytes)>* see = nullptr;  ///< null: keep all bytes
  std::string body;
  bool is_stopped = false;    ///< `see` has returned false, or has thrown
  std::exception_ptr thrown;  ///< what `see` has thrown: it must not pass through libcurl
};

size_t receive(char* bytes, size_t, size_t count, void* receiver) {
  auto& into = *static_cast<Receiver*>(receiver);
  long status = 0;
  curl_easy_getinfo(into.curl, CURLINFO_RESPONSE_CODE, &status);
  if (into.see == nullptr || status >= 400) {
    into.body.append(bytes, count);
    return count;
  }
  try {
    into.is_stopped = !(*into.see)({bytes, count});
  } catch (const Json::exception&) {
    into.thrown = std::current_exception();
    into.is_stopped = true;
  }
  return into.is_stopped ? 0 : count;
}

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

void add(HeaderList& list, const std::string& line) {
  list.reset(curl_slist_append(list.release(), line.c_str()));
}

ExitCode exit_code_of(long status) {
  switch (status) {
    case 401:
    case 403:
      return ExitCode::kNotAllowed;
    case 404:
      return ExitCode::kNotFound;
    case 409:
      return ExitCode::kConflict;
    default:
      return ExitCode::kFailed;
  }
}

/// The value of the header Millrace-Stale; nullopt: the answer has none.
std::optional<double> age_of_answer(CURL* curl) {
  curl_header* header = nullptr;
  const CURLHcode found =
      curl_easy_header(curl, "Millrace-Stale", 0, CURLH_HEADER, kLatestRequest, &header);
  if (found != CURLHE_OK) return std::nullopt;
  const std::string_view text = header->value;
  double seconds = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (read.ec != std::errc()) return std::nullopt;
  return seconds;
}

/// Converts a response with a status of 400 or more to a failure.
tl::unexpected<Failure> refused(const std::string& url, long status, const std::string& body) {
  const Result<Json> json = parse_json(body);
  const auto text = [&](const char* key) {
    const auto found = json->find(key);
    return found != json->end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (!json || !json->is_object() || text("code").empty()) {
    return give_up(exit_code_of(status), "client.status",
                   fmt::format("{} returned HTTP {}", url, status));
  }
  std::string detail = text("detail");
  if (status == 401) detail += " (set --token-file, MILLRACE_TOKEN or MILLRACE_TOKEN_FILE)";
  return tl::unexpected(Failure{exit_code_of(status), Error{text("code"), std::move(detail)},
                                json->value("errors", Json())});
}

}  // namespace

struct Client::Handle {
  struct Free {
    void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  };
  std::unique_ptr<CURL, Free> curl{curl_easy_init()};
};

Client::Client(std::string base_url, std::string token)
    : base_url_(std::move(base_url)),
      token_(std::move(token)),
      handle_(std::make_unique<Handle>()) {
  while (base_url_.ends_with('/')) base_url_.pop_back();
}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;

std::string Client::url_path(std::initializer_list<std::string_view> pieces) {
  std::string path;
  for (const std::string_view piece : pieces) path += "/" + percent_encode(piece, kReserved);
  return path;
}

Fallible<Reply> Client::send(const ApiCall& call) {
  const RawReply reply = TRY(fetch(call));
  if (reply.body.empty()) return Reply{reply.status, {}};
  // The answer may hold data with as many levels as JSON from outside may have, within its own.
  Result<Json> json = parse_own_json(reply.body);
  if (json) return Reply{reply.status, std::move(*json)};
  return give_up(ExitCode::kFailed, "client.answer",
                 fmt::format("{}{} returned a body that is not JSON; is this a millrace server?",
                             base_url_, call.path));
}

Fallible<RawReply> Client::fetch(const ApiCall& call) { return perform(call, nullptr); }

Fallible<RawReply> Client::stream(const ApiCall& call,
                                  const std::function<bool(std::string_view bytes)>& see) {
  return perform(call, &see);
}

Fallible<RawReply> Client::perform(const ApiCall& call,
                                   const std::function<bool(std::string_view bytes)>* see) {
  if (accepts_stale_ && call.method != "GET") {
    return give_up(ExitCode::kUsage, "cli.usage",
                   "--stale is only for commands that read, and this one would change something");
  }
  std::string url = base_url_ + call.path;
  char separator = '?';
  for (const auto& [name, value] : call.query) {
    if (value.empty()) continue;
    url += fmt::format("{}{}={}", separator, name, percent_encode(value, kReserved));
    separator = '&';
  }
  if (accepts_stale_) url += fmt::format("{}stale=1", separator);
  HeaderList headers;
  for (const auto& [name, value] : call.headers) add(headers, fmt::format("{}: {}", name, value));
  if (!token_.empty()) add(headers, "Authorization: Bearer " + token_);
  add(headers, "Expect:");  // no 100-continue: the server refuses a too large body at once

  CURL* curl = handle_->curl.get();
  curl_easy_reset(curl);
  Receiver receiver{.curl = curl, .see = see, .body = {}};
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call.method.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "localhost,127.0.0.1,::1");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(call.timeout.count()));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &receiver);
  if (call.method == "POST" || call.method == "PUT") {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call.body.c_str());
    const bool typed = find_header(call.headers, "Content-Type") != nullptr;
    if (!typed) add(headers, "Content-Type:");
  }
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());

  const CURLcode code = curl_easy_perform(curl);
  if (receiver.thrown) std::rethrow_exception(receiver.thrown);
  if (code != CURLE_OK && !receiver.is_stopped) {
    const bool wrong_url = code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL;
    return give_up(wrong_url ? ExitCode::kUsage : ExitCode::kUnreachable, "client.unreachable",
                   fmt::format("{}: {}{}", base_url_, curl_easy_strerror(code),
                               code == CURLE_COULDNT_CONNECT
                                   ? "; is a server running there? (--url, MILLRACE_URL)"
                                   : ""));
  }
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (const auto age = age_of_answer(curl)) age_ = std::max(*age, age_.value_or(0));
  if (status >= 400) return refused(url, status, receiver.body);
  return RawReply{status, std::move(receiver.body)};
}

}  // namespace millrace
