#include "gateway/request_head.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

struct HeadRow {
  unsigned version;
  const char* target;
  Headers headers;
};

TEST(RequestHead, AcceptsRequestsThatCanBeReadInOneWayOnly) {
  const HeadRow rows[] = {
      {10, "/livez", {}},
      {10, "/livez", {{"Host", "localhost"}, {"Content-Length", "3"}}},
      {11, "/livez", {{"Host", "localhost:8780"}}},
      {11, "/livez", {{"Host", ""}}},
      {11, "/livez", {{"Host", "[::1]:8780"}}},
      {11, "http://localhost:1/livez?a=http://b", {{"Host", "LocalHost:1"}}},
      {11, "/redirect?to=http://b/", {{"Host", "localhost"}}},
      {11, "/livez", {{"Host", "localhost"}, {"Transfer-Encoding", "Chunked"}}},
      {11, "/livez", {{"Host", "localhost"}, {"ce-id", "1"}, {"Accept", "a"}, {"Accept", "b"}}},
  };
  for (const HeadRow& row : rows) {
    const Status read =
        check_head({.version = row.version, .target = row.target, .headers = row.headers});
    EXPECT_TRUE(read) << fmt::format("{} {}", row.target, row.headers);
  }
}

TEST(RequestHead, RefusesRequestsThatAProxyCouldReadInAnotherWay) {
  const std::pair<std::string, std::string> host{"Host", "localhost"};
  const HeadRow rows[] = {
      {11, "/livez", {}},
      {11, "/livez", {host, host}},
      {11, "/livez", {{"Host", "localhost, b"}}},
      {11, "/livez", {{"Host", "a@localhost"}}},
      {11, "/livez", {{"Host", "localhost/a"}}},
      {11, "http://other.example/livez", {host}},
      {11, "http://localhost:1/livez", {host}},
      {11, "http://a@localhost/livez", {host}},
      {11, "/livez", {host, {"Origin", "http://localhost"}, {"origin", "http://b"}}},
      {11, "/livez", {host, {"Authorization", "Bearer a"}, {"authorization", "Bearer b"}}},
      {11, "/livez", {host, {"Content-Type", "text/plain"}, {"Content-Type", "text/plain"}}},
      {11, "/livez", {host, {"Content-Length", "3"}, {"Content-Length", "3"}}},
      {11, "/livez", {host, {"Content-Length", "3, 3"}}},
      {11, "/livez", {host, {"Content-Length", "+3"}}},
      {11, "/livez", {host, {"Content-Length", ""}}},
      {11, "/livez", {host, {"Transfer-Encoding", "gzip, chunked"}}},
      {11, "/livez", {host, {"Transfer-Encoding", "chunked, chunked"}}},
      {11, "/livez", {host, {"Transfer-Encoding", "identity"}}},
      {11, "/livez", {host, {"Transfer-Encoding", "chunked"}, {"Transfer-Encoding", "chunked"}}},
      {11, "/livez", {host, {"Transfer-Encoding", "chunked"}, {"Content-Length", "3"}}},
      {10, "/livez", {host, {"Transfer-Encoding", "chunked"}}},
  };
  for (const HeadRow& row : rows) {
    const Status read =
        check_head({.version = row.version, .target = row.target, .headers = row.headers});
    ASSERT_FALSE(read) << fmt::format("{} {}", row.target, row.headers);
    EXPECT_EQ(read.error().code, "request.malformed");
  }
}

TEST(RequestHead, RefusesAHeaderThatContinuesOnAnotherLine) {
  const Headers headers = {{"Host", "localhost"}, {"Transfer-Encoding", "chunked"}};
  const Status read =
      check_head({.version = 11, .target = "/", .headers = headers, .has_folded_line = true});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, "request.malformed");
}

TEST(RequestHead, NamesTheHeaderThatOccursTwice) {
  const Headers headers = {{"Host", "localhost"}, {"Authorization", "a"}, {"Authorization", "a"}};
  const Status read = check_head({.version = 11, .target = "/", .headers = headers});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message,
            "the request has more than one Authorization header; expected one");
}

}  // namespace
}  // namespace millrace
