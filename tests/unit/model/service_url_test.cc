#include "model/service_url.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::HasSubstr;

TEST(ServiceUrl, HasAnOriginIfARequestCanBeSentToIt) {
  const struct {
    const char* url;
    const char* origin;
  } rows[] = {
      {"http://host", "http://host:80"},
      {"https://host/pay?a=b#c", "https://host:443"},
      {"http://host/pay?to=http:///a", "http://host:80"},
      {"http://user:password@host:8080/x", "http://host:8080"},
      {"http://[::1]:8080/", "http://[::1]:8080"},
  };
  for (const auto& row : rows) EXPECT_EQ(http_origin(row.url), row.origin) << row.url;
}

TEST(ServiceUrl, IsRefusedWithAReasonThatDoesNotQuoteIt) {
  const struct {
    std::string url;
    const char* why;
  } rows[] = {
      {"", "not a valid URL"},
      {"http://", "No host part in the URL"},
      {"http:///secret", "No host part in the URL"},
      {"https:///secret:8080/x", "No host part in the URL"},
      {std::string("http://secret\0/x", 16), "it has a zero byte"},
      {std::string("http://host/a\0secret", 20), "it has a zero byte"},
      {"http://?secret", "No host part in the URL"},
      {"http://host:secret/", "Port number"},
      {"http://host:99999/", "Port number"},
      {"http://a secret/", "Bad hostname"},
      {"http://user:sec@ret@host/", "Bad hostname"},
      {"secret/x", "not a valid URL"},
      {"ftp://secret/x", "the URL has the scheme ftp; expected http or https"},
      {"secret:x", "not a valid URL"},
      {"http://secret%7f/", "its host has control characters or is not UTF-8"},
      {"http://secret%01/", "Bad hostname"},
      {"http://secret%ff/", "its host has control characters or is not UTF-8"},
  };
  for (const auto& row : rows) {
    const auto origin = http_origin(row.url);
    ASSERT_FALSE(origin) << row.url;
    EXPECT_THAT(origin.error(), HasSubstr(row.why)) << row.url;
    EXPECT_THAT(origin.error(), testing::Not(HasSubstr("secret"))) << row.url;
  }
}

TEST(ServiceUrl, IsShownWithoutUserAndPasswordAndQueryAndFragment) {
  const struct {
    const char* url;
    const char* shown;
    const char* origin;
  } rows[] = {
      {"", "", ""},
      {"http://host", "http://host", "http://host"},
      {"http://host:8080/a/b", "http://host:8080/a/b", "http://host:8080"},
      {"http://user:password@host/a", "http://***@host/a", "http://host"},
      {"http://user@host", "http://***@host", "http://host"},
      {"http://user:pass@word@host/a", "http://***@host/a", "http://host"},
      {"http:///user:password@host/a", "http:///***@host/a", "http:///host"},
      {"http:/user:password@host/a", "http:/***@host/a", "http:/host"},
      {"user:password@host", "***@host", "host"},
      {"http://host/a@b", "http://host/a@b", "http://host"},
      {"http://host/a?key=1", "http://host/a?***", "http://host"},
      {"http://host?", "http://host?***", "http://host"},
      {"http://host?user@x/y", "http://host?***", "http://host"},
      {"http://host/a#key", "http://host/a#***", "http://host"},
      {"http://u:p@host/a?key=1#x?y", "http://***@host/a?***#***", "http://host"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(shown_url(row.url), row.shown) << row.url;
    EXPECT_EQ(shown_url(row.shown), row.shown) << "a shown URL stays the same: " << row.url;
    EXPECT_EQ(shown_origin(row.url), row.origin) << row.url;
    EXPECT_EQ(is_masked_url(row.shown), std::string_view(row.shown) != row.url) << row.url;
  }
  EXPECT_FALSE(is_masked_url("http://host/***"));
  EXPECT_FALSE(is_masked_url("http://user:***@host/"));
}

TEST(ServiceUrl, HasPartsThatMayBeCredentials) {
  const struct {
    const char* url;
    std::vector<std::string> parts;
  } rows[] = {
      {"", {}},
      {"http://host:8080/a/b?x=1", {}},
      {"http://bob:pass@host/a", {"pass", "bob:pass"}},
      {"http://bob:p%40ss%3A@host", {"p%40ss%3A", "p@ss:", "bob:p@ss:"}},
      {"http://bob:100%@host", {"100%", "bob:100%"}},
      {"http://token-1@host", {"token-1", "token-1:"}},
      {"http://:pass@host", {"pass", ":pass"}},
      {"http://@host", {}},
      {"http://host?key=0123456789abcdef&n=7", {"0123456789abcdef"}},
      {"http://host?n=7&0123456789abcdef#x", {"0123456789abcdef"}},
      {"http://host?key=0123456789abcde", {}},
      {"http://host?a=0123456789abcde=&b=0123456789ABC%2b",
       {"0123456789abcde=", "0123456789ABC%2b", "0123456789ABC+"}},
  };
  for (const auto& row : rows) EXPECT_EQ(url_credentials(row.url), row.parts) << row.url;
}

}  // namespace
}  // namespace millrace
