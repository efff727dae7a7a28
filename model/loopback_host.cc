#include "model/loopback_host.h"

#include <charconv>

#include "cloudevents/headers.h"
#include "model/service_url.h"

namespace millrace {
namespace {

/// Whether the host is four decimal bytes, the first of them 127, and nothing else:
/// `127.evil.example` is a name.
bool is_loopback_ipv4(std::string_view host) {
  const char* at = host.data();
  const char* const end = at + host.size();
  for (int i = 0; i < 4; ++i) {
    if (i > 0 && (at == end || *at++ != '.')) return false;
    unsigned byte = 0;
    const auto [next, error] = std::from_chars(at, end, byte);
    if (error != std::errc() || byte > 255 || (i == 0 && byte != 127)) return false;
    at = next;
  }
  return at == end;
}

}  // namespace

bool is_loopback_host(std::string_view host) {
  const std::string name = to_lower(host);
  return name == "localhost" || name.ends_with(".localhost") || name == "[::1]" ||
         is_loopback_ipv4(name);
}

bool is_plain_to_other_machine(const std::string& url) {
  constexpr std::string_view kPlain = "http://";
  // libcurl takes a URL without a scheme for one of http.
  const bool has_scheme = url.find("://") != std::string::npos;
  const auto origin = http_origin(has_scheme ? url : std::string(kPlain) + url);
  if (!origin || !origin->starts_with(kPlain)) return false;
  const std::string_view authority = std::string_view(*origin).substr(kPlain.size());
  return !is_loopback_host(authority.substr(0, authority.rfind(':')));
}

}  // namespace millrace
