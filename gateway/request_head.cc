#include "gateway/request_head.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "language/findings.h"

namespace millrace {
namespace {

/// Headers whose second occurrence would leave open which one counts.
constexpr auto kSingle = std::to_array<std::string_view>({
    "Host",
    "Origin",
    "Authorization",
    "Content-Length",
    "Content-Type",
    "Content-Encoding",
    "Transfer-Encoding",
    "Expect",
    "Sec-Fetch-Site",
    "Idempotency-Key",
    "Millrace-Retry",
});

tl::unexpected<Error> malformed_head(std::string message) {
  return fail("request.malformed", std::move(message));
}

Status check_single(const Headers& headers) {
  for (const std::string_view name : kSingle) {
    const auto is_one = [&](const auto& header) { return same_header(header.first, name); };
    if (std::count_if(headers.begin(), headers.end(), is_one) > 1) {
      return malformed_head(
          fmt::format("the request has more than one {} header; expected one", name));
    }
  }
  return {};
}

/// Whether the byte may be part of a host, in brackets or not, or of a port (RFC 3986, 3.2.2).
bool is_host_byte(char byte) {
  constexpr std::string_view kOther = "-._~%!$&'()*+;=:[]";
  return std::isalnum(static_cast<unsigned char>(byte)) != 0 ||
         kOther.find(byte) != std::string_view::npos;
}

/// The host and port of a target that is an absolute URL; empty: it is not one.
std::string_view authority_of(std::string_view target) {
  const size_t scheme = target.find("://");
  if (target.starts_with('/') || scheme == std::string_view::npos) return {};
  target.remove_prefix(scheme + 3);
  return target.substr(0, target.find_first_of("/?#"));
}

Status check_host(const RequestHead& head) {
  const std::string* const host = find_header(head.headers, "Host");
  if (host == nullptr) {
    if (head.version < 11) return {};
    return malformed_head("the request has no Host header, which HTTP/1.1 requires; send one");
  }
  if (!std::all_of(host->begin(), host->end(), is_host_byte)) {
    return malformed_head(
        fmt::format("Host: {} is not a host; expected a name or an address, and optionally a port",
                    in_quotes(*host)));
  }
  const std::string_view authority = authority_of(head.target);
  if (authority.empty() || same_header(authority, *host)) return {};
  return malformed_head(
      fmt::format("the target of the request is on {}, and its Host header is {}; they must be "
                  "equal",
                  in_quotes(authority), in_quotes(*host)));
}

Status check_length(const RequestHead& head) {
  const std::string* const length = find_header(head.headers, "Content-Length");
  const bool is_number =
      length == nullptr ||
      (!length->empty() && length->find_first_not_of("0123456789") == std::string::npos);
  if (!is_number) {
    return malformed_head(
        fmt::format("Content-Length: {} is not one number of bytes", in_quotes(*length)));
  }
  const std::string* const encoding = find_header(head.headers, "Transfer-Encoding");
  if (encoding == nullptr) return {};
  if (!same_header(*encoding, "chunked")) {
    return malformed_head(fmt::format("Transfer-Encoding: {} is not supported; expected chunked",
                                      in_quotes(*encoding)));
  }
  if (head.version < 11) {
    return malformed_head(
        "HTTP/1.0 has no Transfer-Encoding; send a Content-Length, or use HTTP/1.1");
  }
  if (length == nullptr) return {};
  return malformed_head(
      "the request has both a Content-Length and a Transfer-Encoding; send one of them");
}

}  // namespace

Status check_head(const RequestHead& head) {
  if (head.has_folded_line) {
    return malformed_head(
        "a header of the request continues on another line; send each header as one line");
  }
  TRY(check_single(head.headers));
  TRY(check_host(head));
  return check_length(head);
}

}  // namespace millrace
