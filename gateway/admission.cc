#include "gateway/admission.h"

#include <algorithm>

#include <fmt/format.h>

#include "language/findings.h"
#include "model/loopback_host.h"

namespace millrace {
namespace {

/// Removes the port: `example.org:80` gives `example.org`, `[::1]:80` gives `[::1]`.
std::string_view without_port(std::string_view authority) {
  if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
  return authority.substr(0, authority.find(':'));
}

}  // namespace

Status admit(const Headers& headers, const AdmissionRules& rules) {
  const std::string* host = find_header(headers, "Host");
  if (host != nullptr && !rules.has_token) {
    const std::string_view name = without_port(*host);
    const bool listed =
        std::any_of(rules.hosts.begin(), rules.hosts.end(),
                    [&](const std::string& known) { return same_header(known, name); });
    if (!listed && !is_loopback_host(name)) {
      return fail(
          "request.host",
          fmt::format("the Host header {} is not accepted without a token; call this server "
                      "as localhost, or configure a token for it",
                      in_quotes(name)));
    }
  }
  if (const std::string* origin = find_header(headers, "Origin")) {
    const size_t scheme = origin->find("://");
    const std::string_view authority = scheme == std::string::npos
                                           ? std::string_view()
                                           : std::string_view(*origin).substr(scheme + 3);
    const bool is_listed =
        std::any_of(rules.origins.begin(), rules.origins.end(),
                    [&](const std::string& known) { return same_header(known, *origin); });
    if (!is_listed && (host == nullptr || !same_header(authority, *host))) {
      return fail("request.origin",
                  fmt::format("the Origin header {} differs from the Host header; pages of other "
                              "sites may not call this server",
                              in_quotes(*origin)));
    }
  }
  if (const std::string* site = find_header(headers, "Sec-Fetch-Site");
      site != nullptr && !rules.has_token && !rules.is_page && !same_header(*site, "same-origin") &&
      !same_header(*site, "none")) {
    return fail("request.origin",
                fmt::format("Sec-Fetch-Site: {}: pages of other sites may not call this server",
                            in_quotes(*site)));
  }
  const std::string* encoding = find_header(headers, "Content-Encoding");
  if (encoding != nullptr && !same_header(*encoding, "identity")) {
    return fail(
        "request.content_encoding",
        fmt::format("Content-Encoding: {} is not supported; send the body without an encoding",
                    in_quotes(*encoding)));
  }
  return {};
}

}  // namespace millrace
