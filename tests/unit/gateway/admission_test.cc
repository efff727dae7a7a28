#include "gateway/admission.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Admission, AcceptsRequestsWhoseHostHeaderNamesThisMachine) {
  const Headers rows[] = {
      {},  // HTTP/1.0
      {{"Host", "127.0.0.1:8780"}},
      {{"Host", "127.9.9.9"}},
      {{"host", "LocalHost:1"}},
      {{"Host", "[::1]:8780"}},
      {{"Host", "millrace.localhost"}},
      {{"Host", "Millrace.internal:80"}},
      {{"Host", "localhost:8780"}, {"Origin", "http://localhost:8780"}},
      {{"Host", "localhost"}, {"Content-Encoding", "identity"}},
      {{"Host", "localhost"}, {"Sec-Fetch-Site", "same-origin"}},
      {{"Host", "localhost"}, {"Sec-Fetch-Site", "none"}},
  };
  const std::vector<std::string> hosts = {"millrace.internal"};
  for (const Headers& row : rows) EXPECT_TRUE(admit(row, {.hosts = hosts}));
}

TEST(Admission, RefusesRequestsThatAForeignWebPageCouldSend) {
  struct Row {
    Headers headers;
    const char* code;
  };
  const Row rows[] = {
      {{{"Host", "evil.example:8780"}}, "request.host"},
      {{{"Host", "127.0.0.1.evil.example"}}, "request.host"},
      {{{"Host", "127.0.0"}}, "request.host"},
      {{{"Host", "localhost.evil.example"}}, "request.host"},
      {{{"Host", ""}}, "request.host"},
      {{{"Host", "localhost:8780"}, {"Origin", "http://evil.example"}}, "request.origin"},
      {{{"Host", "localhost:8780"}, {"Origin", "http://localhost:9999"}}, "request.origin"},
      {{{"Host", "localhost:8780"}, {"Origin", "null"}}, "request.origin"},
      {{{"Host", "localhost"}, {"Sec-Fetch-Site", "cross-site"}}, "request.origin"},
      {{{"Host", "localhost"}, {"Sec-Fetch-Site", "same-site"}}, "request.origin"},
      {{{"Host", "localhost"}, {"Content-Encoding", "gzip"}}, "request.content_encoding"},
  };
  for (const Row& row : rows) {
    const Status status = admit(row.headers, {});
    ASSERT_FALSE(status) << row.headers[0].second;
    EXPECT_EQ(status.error().code, row.code) << row.headers[0].second;
  }
}

TEST(Admission, AcceptsTheOriginsOfAProxyThatChangesTheHost) {
  const std::vector<std::string> origins = {"https://ops.example", "http://ops.example:8080"};
  for (const char* const good : {"https://ops.example", "HTTPS://Ops.Example",
                                 "http://ops.example:8080", "http://10.0.0.1"}) {
    EXPECT_TRUE(
        admit({{"Host", "10.0.0.1"}, {"Origin", good}}, {.origins = origins, .has_token = true}))
        << good;
  }
  for (const char* const foreign : {"http://ops.example", "https://ops.example:8080",
                                    "https://ops.example.evil.example", "null", ""}) {
    const Status refused =
        admit({{"Host", "10.0.0.1"}, {"Origin", foreign}}, {.origins = origins, .has_token = true});
    ASSERT_FALSE(refused) << foreign;
    EXPECT_EQ(refused.error().code, "request.origin") << foreign;
  }
}

TEST(Admission, AcceptsRequestsOfOtherSitesThatMustHaveAToken) {
  EXPECT_TRUE(
      admit({{"Host", "a.example"}, {"Sec-Fetch-Site", "cross-site"}}, {.has_token = true}));
}

TEST(Admission, LetsALinkOfAnotherSiteOpenThePageOnThisMachineOnly) {
  EXPECT_TRUE(
      admit({{"Host", "localhost:8780"}, {"Sec-Fetch-Site", "cross-site"}}, {.is_page = true}));
  const Status refused =
      admit({{"Host", "evil.example:8780"}, {"Sec-Fetch-Site", "none"}}, {.is_page = true});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "request.host");
}

}  // namespace
}  // namespace millrace
