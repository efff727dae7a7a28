// Sessions on a clock that the test moves: when they end, which values are accepted, and which
// requests a session allows.
#include "gateway/sessions.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr const char* kFirstToken = "correct-horse-battery-staple-and-more";

class SessionsTest : public testing::Test {
 protected:
  SessionsTest() { sessions_.use_token(token_); }

  Sessions of_realm(const std::string& realm) {
    return Sessions([this] { return now_; }, realm);
  }
  std::string begin() { return sessions_.value_of(sessions_.begin()); }
  bool is_valid(const std::string& value) { return sessions_.find(value).has_value(); }
  std::string code_of(const Headers& headers, std::string_view method) {
    const Status status = authorize(headers, method, token_, sessions_);
    return status ? "" : status.error().code;
  }

  TimePoint now_ = from_millis(1'700'000'000'000);
  const BearerToken token_{kFirstToken};
  Sessions sessions_ = of_realm("a");
};

TEST_F(SessionsTest, EndAfterATimeWithoutRenewalAndAfterTheirLongestTime) {
  const TimePoint started = now_;
  std::string value = begin();
  now_ += Sessions::kIdle - Duration(1);
  EXPECT_TRUE(is_valid(value));
  now_ += Duration(1);
  EXPECT_FALSE(is_valid(value));

  now_ = started;
  value = begin();
  while (now_ + hours(11) < started + Sessions::kLongest) {
    now_ += hours(11);
    ASSERT_TRUE(is_valid(value));
    value = sessions_.value_of(sessions_.renewed(*sessions_.find(value)));
  }
  EXPECT_EQ(Sessions::end_of(*sessions_.find(value)), started + Sessions::kLongest);
  now_ = started + Sessions::kLongest - Duration(1);
  EXPECT_TRUE(is_valid(value));
  now_ += Duration(1);
  EXPECT_FALSE(is_valid(value));
}

TEST_F(SessionsTest, AreRenewedAlsoIfTheClockHasGoneBack) {
  const std::string value = begin();
  const BrowserSession session = *sessions_.find(value);
  now_ -= hours(1);
  EXPECT_TRUE(is_valid(value));
  EXPECT_EQ(sessions_.renewed(session).renewed, session.renewed);
}

TEST_F(SessionsTest, HaveValuesThatCannotBeForged) {
  const std::string value = begin();
  ASSERT_EQ(value.size(), 128U);
  ASSERT_TRUE(is_valid(value));
  for (size_t at = 0; at < value.size(); ++at) {
    std::string forged = value;
    forged[at] = forged[at] == '0' ? '1' : '0';
    EXPECT_FALSE(is_valid(forged)) << at;
  }
  for (const std::string& other :
       {std::string(), value.substr(2), value + "00", std::string(128, '0'), std::string(128, 'x'),
        value.substr(0, 64) + std::string(64, '0')}) {
    EXPECT_FALSE(is_valid(other)) << other;
  }
  std::set<std::string> values;
  for (int i = 0; i < 100; ++i) values.insert(begin());
  EXPECT_EQ(values.size(), 100U);
}

TEST_F(SessionsTest, AreAcceptedByProcessesOfTheirRealmWithTheirToken) {
  const std::string value = begin();
  Sessions same = of_realm("a");
  EXPECT_FALSE(same.find(value)) << "it knows no token yet";
  EXPECT_EQ(same.value_of(same.begin()), "");
  same.use_token(BearerToken(kFirstToken));
  EXPECT_TRUE(same.find(value));
  Sessions other = of_realm("b");
  other.use_token(BearerToken(kFirstToken));
  EXPECT_FALSE(other.find(value));
}

TEST_F(SessionsTest, EndWithTheirToken) {
  const std::string value = begin();
  sessions_.use_token(BearerToken(kFirstToken));
  EXPECT_TRUE(is_valid(value)) << "the token was read again and is the same";
  sessions_.use_token(BearerToken("another-token-altogether-that-is-long"));
  EXPECT_FALSE(is_valid(value));
}

TEST_F(SessionsTest, EndBySigningOutWithAllTheirValues) {
  const std::string value = begin();
  const std::string other = begin();
  now_ += minutes(5);
  const BrowserSession session = *sessions_.find(value);
  const std::string later = sessions_.value_of(sessions_.renewed(session));
  sessions_.end(session);
  EXPECT_FALSE(is_valid(value));
  EXPECT_FALSE(is_valid(later));
  EXPECT_TRUE(is_valid(other));
}

TEST_F(SessionsTest, AllEndIfTooManyHaveBeenEnded) {
  const std::string kept = begin();
  for (size_t i = 0; i < Sessions::kMostEnded; ++i) sessions_.end(sessions_.begin());
  EXPECT_TRUE(is_valid(kept));
  const std::string ended = begin();
  sessions_.end(*sessions_.find(ended));
  EXPECT_FALSE(is_valid(kept));
  EXPECT_FALSE(is_valid(ended));
  now_ += Duration(1);
  EXPECT_TRUE(is_valid(begin()));
}

TEST_F(SessionsTest, ForgetWhichOnesWereEndedWhenThoseWouldHaveEndedAnyway) {
  for (size_t i = 0; i < Sessions::kMostEnded; ++i) sessions_.end(sessions_.begin());
  now_ += Sessions::kLongest;
  const std::string kept = begin();
  sessions_.end(sessions_.begin());
  EXPECT_TRUE(is_valid(kept));
}

TEST_F(SessionsTest, AllowReadingAndWithTheHeaderOfThePageAlsoChanging) {
  const std::string cookie = "a=b; millrace-8780=" + begin() + "; c";
  const std::string several = "millrace-1=" + std::string(128, '0') + "; " + cookie;
  const std::pair<std::string, std::string> page = {"Millrace-Page", "1"};
  struct Case {
    const char* method;
    Headers headers;
    const char* code;  ///< of the error; empty: none
  };
  const std::vector<Case> cases = {
      {"GET", {{"Cookie", cookie}}, ""},
      {"HEAD", {{"cookie", cookie}}, ""},
      {"GET", {{"Cookie", several}}, ""},
      {"POST", {{"Cookie", cookie}, page}, ""},
      {"DELETE", {{"Cookie", cookie}, page, {"Sec-Fetch-Site", "same-origin"}}, ""},
      {"GET", {{"Cookie", cookie}, {"Authorization", "Basic eDp5"}}, ""},
      {"POST", {{"Cookie", cookie}}, "request.page"},
      {"PUT", {{"Cookie", cookie}, {"Millrace-Page", ""}}, "request.page"},
      {"OPTIONS", {{"Cookie", cookie}}, "request.page"},
      {"GET", {{"Cookie", cookie}, {"Sec-Fetch-Site", "same-site"}}, "request.origin"},
      {"POST", {{"Cookie", cookie}, page, {"Sec-Fetch-Site", "cross-site"}}, "request.origin"},
      {"GET", {{"Cookie", "millrace-8780=" + std::string(128, '0')}}, "session.ended"},
      {"GET", {{"Cookie", "millrace-8780="}}, "session.ended"},
      {"GET", {{"Cookie", "millrace-x=" + begin()}}, "token.missing"},
      {"GET", {{"Cookie", "millrace-=" + begin() + "; other=1"}}, "token.missing"},
      {"GET", {page}, "token.missing"},
      {"POST", {{"Authorization", std::string("Bearer ") + kFirstToken}}, ""},
      {"POST", {{"Cookie", cookie}, {"Authorization", "Bearer x"}, page}, "token.wrong"},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(code_of(cases[i].headers, cases[i].method), cases[i].code) << "case " << i;
  }
}

TEST_F(SessionsTest, LookAtABoundedNumberOfCookies) {
  std::string cookies;
  for (int i = 0; i < 16; ++i) cookies += "millrace-1=x; ";
  EXPECT_EQ(code_of({{"Cookie", cookies + "millrace-2=" + begin()}}, "GET"), "session.ended");
}

TEST(SetCookie, KeepsTheCookieFromScriptsOtherSitesAndPlainConnections) {
  EXPECT_EQ(set_cookie("millrace-1", "ab", {}), "millrace-1=ab; Path=/; HttpOnly; SameSite=Strict");
  EXPECT_EQ(set_cookie("millrace-1", "", {}),
            "millrace-1=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
  for (const Headers& secure :
       {Headers{{"X-Forwarded-Proto", "https"}}, Headers{{"Origin", "https://millrace.example"}}}) {
    EXPECT_EQ(set_cookie("millrace-1", "ab", secure),
              "millrace-1=ab; Path=/; HttpOnly; SameSite=Strict; Secure");
  }
  EXPECT_EQ(set_cookie("millrace-1", "ab", {{"Origin", "http://localhost:1"}}),
            "millrace-1=ab; Path=/; HttpOnly; SameSite=Strict");
}

}  // namespace
}  // namespace millrace
