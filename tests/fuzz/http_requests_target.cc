// The bytes of a client on a connection of the gateway, whose handlers send back what they got.
// Covers: gateway/http_connection.cc gateway/request_buffer.h gateway/request_head.cc
// Covers: gateway/router.cc gateway/parameters.cc gateway/admission.cc gateway/exchange.cc
// Covers: gateway/problem.cc
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "gateway/parameters.h"
#include "gateway/router.h"
#include "tests/fuzz/http_peer.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

constexpr size_t kMostBody = 200;

/// What a handler got, or what a client meant.
struct PlainRequest {
  std::string method;
  std::string path;
  std::string body;

  bool operator==(const PlainRequest&) const = default;
};

/// The requests that reached a handler, in their order.
std::vector<PlainRequest>& handled() {
  static std::vector<PlainRequest> requests;
  return requests;
}

Status echo(const std::shared_ptr<Exchange>& exchange) {
  const Request& request = exchange->request();
  handled().push_back({request.method, request.path, request.body});
  Json query = Json::object();
  for (const auto& [name, value] : request.query) query[name] = base64_encode(value);
  Json parts = Json::object();
  for (const auto& [name, value] : request.parts) parts[name] = base64_encode(value);
  exchange->reply(Json{{"method", request.method},
                       {"path", base64_encode(request.path)},
                       {"query", std::move(query)},
                       {"parts", std::move(parts)},
                       {"headers", request.headers.size()},
                       {"body", base64_encode(request.body)}});
  return {};
}

/// Reads every parameter that a request may have, and answers with the first error.
Status read_parameters(const std::shared_ptr<Exchange>& exchange) {
  const Request& request = exchange->request();
  const PageRequest page = TRY(page_of(request));
  CHECK(page.limit >= 1 && page.limit <= 1000);
  TRY(flag_parameter(request, "flag"));
  const std::string ns = TRY(namespace_of(request));
  CHECK(is_identifier(ns) && ns.find('.') == std::string::npos);
  CHECK(is_identifier(TRY(workflow_of(request))));
  TRY(instance_of(request));
  TRY(variable_place_of(request));
  TRY(variable_key_of(request));
  CHECK(is_identifier(TRY(secret_of(request))));
  return echo(exchange);
}

const Router& echo_router() {
  static const Router router = [] {
    Router made;
    made.add({.method = "GET", .path = "/echo/{a}", .query = {"a", "b"}, .handler = echo});
    made.add({.method = "POST",
              .path = "/echo/{a}",
              .query = {"a", "b"},
              .max_body = kMostBody,
              .handler = echo});
    made.add({.method = "GET",
              .path = "/all/{ns}/{workflow}/{instance}/{key}/{secret}",
              .query = {"limit", "cursor", "flag"},
              .handler = read_parameters});
    made.add({.method = "DELETE",
              .path = "/echo/{a}",
              .handler = [](const std::shared_ptr<Exchange>& exchange) -> Status {
                exchange->answer({.status = 204});
                return {};
              }});
    made.add({.method = "GET",
              .path = "/wait",
              .handler = [](const std::shared_ptr<Exchange>& exchange) -> Status {
                return exchange->expect_long_wait();
              }});
    return made;
  }();
  return router;
}

/// Reads requests as RFC 9112 defines them, where it leaves no choice; nothing else.
class PlainReader {
 public:
  explicit PlainReader(std::string_view bytes) : rest_(bytes) {}

  /// The next request; false if it is not plain.
  bool next(PlainRequest& request) {
    std::string_view line = take_text_line();
    const size_t space = line.find(' ');
    constexpr std::string_view kVersion = " HTTP/1.1";
    if (space == std::string_view::npos || !line.ends_with(kVersion)) return false;
    request.method = std::string(line.substr(0, space));
    line.remove_prefix(space + 1);
    if (line.size() < kVersion.size()) return false;
    request.path = std::string(line.substr(0, line.size() - kVersion.size()));
    if (!is_plain_path(request.path)) return false;
    return read_headers() && read_body(request);
  }

 private:
  static bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  }

  static bool is_plain_path(std::string_view path) {
    constexpr std::string_view kEcho = "/echo/";
    return path.starts_with(kEcho) && path.size() > kEcho.size() && path.size() < 100 &&
           std::all_of(path.begin() + kEcho.size(), path.end(), is_letter_or_digit);
  }

  /// The next line without its CRLF; empty if there is none.
  std::string_view take_text_line() {
    const size_t end = rest_.find("\r\n");
    if (end == std::string_view::npos) return {};
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 2);
    return line;
  }

  bool read_headers() {
    length_.reset();
    is_chunked_ = false;
    bool has_host = false;
    for (size_t count = 0; count < 20; ++count) {
      if (rest_.find("\r\n") == std::string_view::npos) return false;
      const std::string_view line = take_text_line();
      if (line.empty()) return has_host && !(length_ && is_chunked_);
      constexpr std::string_view kLength = "Content-Length: ";
      if (line == "Host: localhost" && !has_host) {
        has_host = true;
      } else if (line == "Transfer-Encoding: chunked" && !is_chunked_) {
        is_chunked_ = true;
      } else if (line.starts_with(kLength) && !length_) {
        if (!read_number(line.substr(kLength.size()), 10, length_.emplace())) return false;
      } else if (!line.starts_with("X-Plain: ") ||
                 !std::all_of(line.begin() + 9, line.end(), is_letter_or_digit)) {
        return false;
      }
    }
    return false;
  }

  static bool read_number(std::string_view digits, int base, size_t& number) {
    const bool are_digits = !digits.empty() && digits.size() <= 3 &&
                            std::all_of(digits.begin(), digits.end(), [](char c) {
                              return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                            });
    if (!are_digits) return false;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number, base);
    return error == std::errc() && end == digits.end();
  }

  bool read_body(PlainRequest& request) {
    request.body.clear();
    const bool may_have_body = request.method == "POST";
    if (!may_have_body && request.method != "GET") return false;
    if (is_chunked_) return may_have_body && read_chunks(request.body);
    const size_t size = length_.value_or(0);
    if (size > rest_.size() || size > (may_have_body ? kMostBody : 0)) return false;
    request.body = std::string(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return true;
  }

  bool read_chunks(std::string& body) {
    while (true) {
      size_t size = 0;
      if (!read_number(take_text_line(), 16, size)) return false;
      if (size + 2 > rest_.size() || body.size() + size > kMostBody) return false;
      body += rest_.substr(0, size);
      rest_.remove_prefix(size);
      if (!rest_.starts_with("\r\n")) return false;
      rest_.remove_prefix(2);
      if (size == 0) return true;
    }
  }

  std::string_view rest_;
  std::optional<size_t> length_;
  bool is_chunked_ = false;
};

/// The plain requests at the beginning of the bytes. A client that keeps its connection may send
/// them one after the other.
std::vector<PlainRequest> plain_requests(std::string_view bytes) {
  std::vector<PlainRequest> requests;
  PlainReader reader(bytes);
  for (PlainRequest request; reader.next(request);) requests.push_back(request);
  return requests;
}

void check_answer(const HttpAnswerText& answer) {
  CHECK(answer.status != 500, "a request fails by an exception: {}", answer.body);
  CHECK(find_header(answer.headers, "X-Content-Type-Options") != nullptr);
  if (answer.body.empty()) return;
  const Result<Json> body = parse_json(answer.body);
  CHECK(body, "the body of an answer is not JSON: {}", answer.body);
  if (answer.status < 400) return;
  CHECK(body->is_object() && body->contains("code") && body->contains("detail"),
        "the answer is not a problem document: {}", answer.body);
}

/// The answers to pieces of the bytes are others than those to the whole. They may only lack the
/// last one, to a malformed head without an end: Beast reads such a head once, and then waits for
/// its end. If it has one, the answers must be equal.
void check_head_without_end(std::string_view sent, size_t piece, std::string_view answers,
                            std::string_view in_pieces) {
  CHECK(answers.starts_with(in_pieces), "pieces of {} bytes make other answers: {} and {}", piece,
        in_pieces, answers);
  const std::vector<HttpAnswerText> missing = split_answers(answers.substr(in_pieces.size()));
  CHECK(missing.size() == 1 && missing.front().status == 400,
        "pieces of {} bytes make fewer answers: {} and {}", piece, in_pieces, answers);
  const std::string ended = std::string(sent) + "\r\n\r\n";
  const std::string ended_in_pieces = answers_to(echo_router(), ended, piece);
  CHECK(ended_in_pieces == answers, "pieces of {} bytes make other answers: {} and {}", piece,
        ended_in_pieces, answers);
}

// The mutator: changes requests by their lines.

class RequestMutator {
 public:
  RequestMutator(std::string text, unsigned seed) : text_(std::move(text)), random_(seed) {}

  std::string changed() && {
    switch (below(9)) {
      case 0:
        return insert(below(2) == 0 ? 0 : text_.size(), request());
      case 1:
        return insert(after_line(), one_of(kHeaderLines));
      case 2:
        return insert(after_line(), line_at(after_line()));
      case 3:
        return remove_line();
      case 4:
        return replace_break();
      case 5:
        return change_digit();
      case 6:
        return insert(text_.size(), chunk());
      case 7:
        return insert(after_line(), one_of(kRequestLines));
      default:
        return insert(below(text_.size() + 1), one_of(kPieces));
    }
  }

 private:
  static constexpr auto kRequestLines = std::to_array<std::string_view>({
      "GET /echo/a HTTP/1.1\r\n",
      "POST /echo/a HTTP/1.1\r\n",
      "HEAD /echo/a?a=1&b=%20 HTTP/1.1\r\n",
      "DELETE /echo/a HTTP/1.1\r\n",
      "GET /echo/a HTTP/1.0\r\n",
      "GET http://localhost/echo/a?b=+ HTTP/1.1\r\n",
      "GET /all/ns/wf/0190b5a4-7c1e-7f2a-8000-0123456789ab/k/s?limit=7&flag=1 HTTP/1.1\r\n",
      "GET /wait HTTP/1.1\r\n",
      "OPTIONS * HTTP/1.1\r\n",
      "CONNECT localhost:80 HTTP/1.1\r\n",
  });
  static constexpr auto kHeaderLines = std::to_array<std::string_view>({
      "Host: localhost\r\n",
      "Host: [::1]:8780\r\n",
      "Host: evil.example\r\n",
      "Content-Length: 3\r\n",
      "Content-Length: 0\r\n",
      "Content-Length: 201\r\n",
      "Content-Length: 18446744073709551616\r\n",
      "Content-Length: +3\r\n",
      "Content-Length : 3\r\n",
      "Transfer-Encoding: chunked\r\n",
      "Transfer-Encoding: gzip, chunked\r\n",
      "Transfer-Encoding: \x0b"
      "chunked\r\n",
      "Connection: close\r\n",
      "Connection: keep-alive\r\n",
      "Connection: Upgrade\r\n",
      "Upgrade: h2c\r\n",
      "Expect: 100-continue\r\n",
      "Origin: http://localhost\r\n",
      "Sec-Fetch-Site: cross-site\r\n",
      "Content-Encoding: gzip\r\n",
      "X-Plain: a\r\n",
      "X: a\r\n b\r\n",
      ": no name\r\n",
      "no colon\r\n",
      "\r\n",
  });
  static constexpr auto kPieces = std::to_array<std::string_view>({
      "\r\n",
      "\n",
      "\r",
      " ",
      "\t",
      "%00",
      "%2F",
      "%",
      "?a=1",
      "&a=2",
      "#",
      "//",
      "..",
      "\xff",
      "0\r\n\r\n",
      "3\r\nabc\r\n",
      "3;x=y\r\nabc\r\n",
      "0\r\nX: trailer\r\n\r\n",
      "ffffffffffffffff\r\n",
  });
  static constexpr auto kBreaks =
      std::to_array<std::string_view>({"\n", "\r", "\r\n ", "\r\n\t", "\r\r\n", ""});

  size_t below(size_t most) { return random_() % most; }

  template <size_t kCount>
  std::string one_of(const std::array<std::string_view, kCount>& all) {
    return std::string(all[below(kCount)]);
  }

  std::string chunk() {
    const std::string data(below(20), 'c');
    return fmt::format("{:x}\r\n{}\r\n", data.size(), data);
  }

  /// A whole request, plain or nearly.
  std::string request() {
    const bool is_post = below(2) == 0;
    std::string made = is_post ? "POST /echo/p HTTP/1.1\r\n" : one_of(kRequestLines);
    made += "Host: localhost\r\n";
    if (below(3) == 0) made += one_of(kHeaderLines);
    if (!is_post) return made + "\r\n";
    if (below(2) == 0) {
      const std::string body(below(30), 'b');
      return made + fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
    }
    return made + "Transfer-Encoding: chunked\r\n\r\n" + chunk() + "0\r\n\r\n";
  }

  std::string insert(size_t at, const std::string& piece) {
    return text_.substr(0, at) + piece + text_.substr(at);
  }

  /// A random place after a line break, or the end.
  size_t after_line() {
    const size_t end = text_.find("\r\n", below(text_.size() + 1));
    return end == std::string::npos ? text_.size() : end + 2;
  }

  std::string line_at(size_t begin) const {
    const size_t end = text_.find("\r\n", begin);
    return text_.substr(begin, end == std::string::npos ? end : end + 2 - begin);
  }

  std::string remove_line() {
    const size_t begin = after_line();
    text_.erase(begin, line_at(begin).size());
    return text_;
  }

  std::string replace_break() {
    const size_t after = after_line();
    if (after < 2 || text_.compare(after - 2, 2, "\r\n") != 0) return text_;
    return text_.replace(after - 2, 2, one_of(kBreaks));
  }

  std::string change_digit() {
    const size_t at = text_.find_first_of("0123456789", below(text_.size() + 1));
    if (at == std::string::npos) return text_;
    text_[at] = static_cast<char>('0' + below(10));
    return text_;
  }

  std::string text_;
  std::minstd_rand random_;
};

size_t mutate_requests(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  const std::string changed =
      RequestMutator({reinterpret_cast<const char*>(data), size}, seed).changed();
  const size_t kept = std::min(changed.size(), max_size);
  std::memcpy(data, changed.data(), kept);
  return kept;
}

}  // namespace

FUZZ_MUTATOR(http_requests, mutate_requests);

FUZZ_TARGET(http_requests) {
  const std::string_view sent = bytes.substr(0, size_t{16} << 10);
  handled().clear();
  const std::string answers = answers_to(echo_router(), sent, std::max(sent.size(), size_t{1}));
  const std::vector<PlainRequest> whole = handled();
  for (const HttpAnswerText& answer : split_answers(answers)) check_answer(answer);

  // How the bytes are split into packets must not matter.
  handled().clear();
  const size_t piece = sent.size() > 1024 ? 61 : 1 + sent.size() % 7;
  const std::string in_pieces = answers_to(echo_router(), sent, piece);
  CHECK(handled() == whole, "pieces of {} bytes make other requests", piece);
  if (in_pieces != answers) check_head_without_end(sent, piece, answers, in_pieces);

  const std::vector<PlainRequest> plain = plain_requests(sent);
  CHECK(plain.size() <= whole.size(), "request {} is not handled", whole.size());
  for (size_t i = 0; i < plain.size(); ++i) {
    CHECK(plain[i] == whole[i], "request {} is another one: {} {} \"{}\"", i, whole[i].method,
          whole[i].path, whole[i].body);
  }
}

}  // namespace millrace::fuzz
