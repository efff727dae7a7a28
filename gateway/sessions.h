// Sessions: a browser signs in with the token once, and then sends the cookie of its session. The
// value of the cookie is signed by a key that is derived from the token, so the server stores no
// session: sign-ins use no memory, and each node of a cluster accepts the sessions of the others.
// Only sessions that were ended before their time are stored. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "cloudevents/headers.h"
#include "gateway/bearer_token.h"

namespace millrace {

struct BrowserSession {
  std::array<uint8_t, 16> id{};  ///< random
  TimePoint started;
  TimePoint renewed;
};

class Sessions {
 public:
  static constexpr Duration kIdle = std::chrono::hours(12);         ///< since it was renewed
  static constexpr Duration kLongest = std::chrono::hours(24 * 7);  ///< since it started
  /// How many ended sessions are stored. If a further one ends before its time, all sessions that
  /// have started until then end.
  static constexpr size_t kMostEnded = 1000;

  /// `now` is the wall clock. Processes with the same token and the same `realm` accept the
  /// sessions of each other. There is no session before use_token() is called.
  Sessions(std::function<TimePoint()> now, std::string realm);

  /// Sessions need this token from now on. Those that started with another one have ended.
  void use_token(const BearerToken& token);

  /// A session that starts now.
  BrowserSession begin() const;
  /// The session as it is if it is used now.
  BrowserSession renewed(const BrowserSession& session) const;
  /// When the session ends unless it is renewed before.
  static TimePoint end_of(const BrowserSession& session);
  /// Ends the session in this process.
  void end(const BrowserSession& session);

  /// The value of the session's cookie: 128 hexadecimal digits.
  std::string value_of(const BrowserSession& session) const;
  /// The session with this value; nullopt: it has ended, or this is not a value of value_of().
  std::optional<BrowserSession> find(std::string_view value) const;

 private:
  const std::function<TimePoint()> now_;
  const std::string realm_;
  mutable std::mutex lock_;
  std::optional<BearerToken::Key> key_;                 ///< guarded by lock_
  std::map<std::array<uint8_t, 16>, TimePoint> ended_;  ///< guarded by lock_; until end_of()
  TimePoint valid_from_ = TimePoint::min();             ///< guarded by lock_; see kMostEnded
};

/// A session, and the name of the cookie that has it.
struct SessionCookie {
  std::string name;
  BrowserSession session;
};

/// The session of a request: the first one that is valid among its cookies whose names are
/// `millrace-` and a port. Of the cookies with such names the first 16 count.
std::optional<SessionCookie> session_of(const Headers& headers, const Sessions& sessions);

/// The value of Set-Cookie for a cookie that only this site gets and no script reads. `headers` are
/// those of the request: if its connection to a proxy is HTTPS, so must be that of the cookie. An
/// empty `value` removes the cookie.
std::string set_cookie(std::string_view name, std::string_view value, const Headers& headers);

/// Whether a request is allowed to a server with this token: it has the token, or the cookie of a
/// session. With the cookie, a foreign web page must not be the sender, and a request with another
/// `method` than GET and HEAD has the header `Millrace-Page: 1`, which no form of a page can send.
/// Errors: `token.missing`, `token.wrong`, `session.ended`; `request.page` and `request.origin`.
Status authorize(const Headers& headers, std::string_view method, const BearerToken& token,
                 const Sessions& sessions);

}  // namespace millrace
