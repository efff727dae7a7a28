#include "gateway/sessions.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <sodium.h>

#include "base/bytes.h"
#include "base/characters.h"
#include "base/codec.h"
#include "language/findings.h"

namespace millrace {
namespace {

constexpr std::string_view kCookiePrefix = "millrace-";
constexpr size_t kMostCookies = 16;
/// The id and two times.
constexpr size_t kSignedBytes = 16 + 8 + 8;
constexpr size_t kMacBytes = sizeof(BearerToken::Key);

std::string signed_text(const BrowserSession& session) {
  Writer writer;
  writer.id(session.id);
  writer.u64(static_cast<uint64_t>(to_millis(session.started)));
  writer.u64(static_cast<uint64_t>(to_millis(session.renewed)));
  return writer.take();
}

/// The session of a text that signed_text() has made.
BrowserSession session_in(std::string_view text) {
  Reader reader(text);
  BrowserSession session;
  session.id = reader.id();
  session.started = from_millis(static_cast<int64_t>(reader.u64()));
  session.renewed = from_millis(static_cast<int64_t>(reader.u64()));
  return session;
}

struct Cookie {
  std::string_view name;
  std::string_view value;
};

bool is_session_name(std::string_view name) {
  if (!name.starts_with(kCookiePrefix)) return false;
  name.remove_prefix(kCookiePrefix.size());
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The cookies that may have a session.
std::vector<Cookie> session_cookies(const Headers& headers) {
  std::vector<Cookie> cookies;
  const std::string* const header = find_header(headers, "Cookie");
  if (header == nullptr) return cookies;
  for (std::string_view rest = *header; !rest.empty() && cookies.size() < kMostCookies;) {
    const std::string_view pair = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    const Cookie cookie{.name = trimmed(pair.substr(0, equals)),
                        .value = trimmed(pair.substr(equals + 1))};
    if (is_session_name(cookie.name)) cookies.push_back(cookie);
  }
  return cookies;
}

/// Whether the browser reaches the server, or the proxy in front of it, over HTTPS.
bool is_secure(const Headers& headers) {
  const std::string* const scheme = find_header(headers, "X-Forwarded-Proto");
  if (scheme != nullptr && to_lower(*scheme).starts_with("https")) return true;
  const std::string* const origin = find_header(headers, "Origin");
  return origin != nullptr && to_lower(*origin).starts_with("https://");
}

/// Whether the request with a cookie could come from a page of another site. Another port of the
/// same machine is the same site, to which a browser sends the cookie.
Status admit_sender(const Headers& headers, std::string_view method) {
  const std::string* const site = find_header(headers, "Sec-Fetch-Site");
  if (site != nullptr && !same_header(*site, "same-origin") && !same_header(*site, "none")) {
    return fail("request.origin",
                fmt::format("Sec-Fetch-Site: {}: pages of other sites may not call this server",
                            in_quotes(*site)));
  }
  if (method == "GET" || method == "HEAD") return {};
  const std::string* const page = find_header(headers, "Millrace-Page");
  if (page != nullptr && *page == "1") return {};
  return fail("request.page",
              fmt::format("a {} request with the cookie of a session must have the header "
                          "Millrace-Page: 1, which other pages cannot send",
                          method));
}

}  // namespace

Sessions::Sessions(std::function<TimePoint()> now, std::string realm)
    : now_(std::move(now)), realm_(std::move(realm)) {}

void Sessions::use_token(const BearerToken& token) {
  const BearerToken::Key key = token.derived_key("session of " + realm_);
  const std::lock_guard lock(lock_);
  key_ = key;
}

BrowserSession Sessions::begin() const {
  BrowserSession session{.id = {}, .started = now_(), .renewed = {}};
  randombytes_buf(session.id.data(), session.id.size());
  session.renewed = session.started;
  return session;
}

BrowserSession Sessions::renewed(const BrowserSession& session) const {
  BrowserSession later = session;
  later.renewed = std::max(session.renewed, now_());
  return later;
}

TimePoint Sessions::end_of(const BrowserSession& session) {
  return std::min(session.renewed + kIdle, session.started + kLongest);
}

void Sessions::end(const BrowserSession& session) {
  const TimePoint now = now_();
  const std::lock_guard lock(lock_);
  std::erase_if(ended_, [&](const auto& one) { return one.second <= now; });
  if (ended_.size() >= kMostEnded) {
    ended_.clear();
    valid_from_ = now;
  }
  // A value of the cookie from before the latest renewal ends earlier, and one of a later renewal
  // may end as late as the session can.
  ended_[session.id] = session.started + kLongest;
}

std::string Sessions::value_of(const BrowserSession& session) const {
  const std::string text = signed_text(session);
  const std::lock_guard lock(lock_);
  if (!key_) return "";
  return to_hex(text) + to_hex(keyed_hash(*key_, text));
}

std::optional<BrowserSession> Sessions::find(std::string_view value) const {
  std::array<uint8_t, kSignedBytes + kMacBytes> bytes{};
  if (value.size() != 2 * bytes.size() || !read_hex(value, bytes)) return std::nullopt;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), kSignedBytes);
  const BrowserSession session = session_in(text);
  const TimePoint now = now_();
  const std::lock_guard lock(lock_);
  if (!key_ ||
      sodium_memcmp(keyed_hash(*key_, text).data(), &bytes[kSignedBytes], kMacBytes) != 0) {
    return std::nullopt;
  }
  const bool has_ended =
      end_of(session) <= now || session.started <= valid_from_ || ended_.contains(session.id);
  return has_ended ? std::nullopt : std::optional(session);
}

std::optional<SessionCookie> session_of(const Headers& headers, const Sessions& sessions) {
  for (const Cookie& cookie : session_cookies(headers)) {
    if (const auto session = sessions.find(cookie.value)) {
      return SessionCookie{.name = std::string(cookie.name), .session = *session};
    }
  }
  return std::nullopt;
}

std::string set_cookie(std::string_view name, std::string_view value, const Headers& headers) {
  return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict{}{}", name, value,
                     is_secure(headers) ? "; Secure" : "", value.empty() ? "; Max-Age=0" : "");
}

Status authorize(const Headers& headers, std::string_view method, const BearerToken& token,
                 const Sessions& sessions) {
  const Status by_token = token.admit(headers);
  if (by_token || has_bearer_token(headers) || session_cookies(headers).empty()) return by_token;
  if (!session_of(headers, sessions)) {
    return fail("session.ended", "the session of this browser has ended; sign in again");
  }
  return admit_sender(headers, method);
}

}  // namespace millrace
