// The routes of sources: what they answer, and which errors.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

const std::string kSources = "/v1/ns/default/sources";

class SourceRoutesTest : public ApiTest {};

TEST_F(SourceRoutesTest, ApplyShowPauseAndDelete) {
  const std::string orders = kSources + "/orders";
  EXPECT_EQ(call("PUT", orders, {}, R"({"stream": "ORDERS", "begin": "all"})").status, 201);
  const HttpReply again = call("PUT", orders, {}, R"({"stream": "ORDERS", "rate": 5})");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.json(), (Json{{"name", "orders"}, {"created", false}, {"continues", true}}));
  EXPECT_EQ(call("GET", kSources).json()["items"][0]["name"], "orders");
  const Json shown = call("GET", orders).json();
  EXPECT_EQ(shown["stream"], "ORDERS");
  EXPECT_EQ(shown["lag"], 2);
  EXPECT_EQ(shown["settings"], (Json{{"stream", "ORDERS"}, {"rate", 5}}));
  EXPECT_EQ(call("POST", orders + "/pause").json()["paused"], true);
  EXPECT_EQ(call("GET", orders).json()["reading"], false);
  EXPECT_EQ(call("POST", orders + "/resume").json()["paused"], false);
  EXPECT_EQ(call("POST", orders + "/try").json()["items"][0]["sequence"], 42);
  EXPECT_EQ(call("POST", orders + "/try", {}, R"({"stream": "MORE"})").json()["stream"], "MORE");
  const std::string own = kSources + "/own";
  EXPECT_EQ(call("PUT", own, {}, R"({"subjects": ["shop.>"], "maxBytes": "1GiB"})").status, 201);
  EXPECT_EQ(call("GET", own).json()["ownStream"], true);
  EXPECT_EQ(call("DELETE", orders).json(), (Json{{"name", "orders"}, {"deleted", true}}));
  EXPECT_EQ(call("GET", orders).status, 404);
}

TEST_F(SourceRoutesTest, RefuseWrongRequests) {
  const struct {
    const char* method;
    std::string path;
    std::string body;
    int status;
    const char* code;
  } rows[] = {
      {"PUT", kSources + "/orders", "{", 400, "json.malformed"},
      {"PUT", kSources + "/orders", "[]", 422, "settings.invalid"},
      {"PUT", kSources + "/orders", R"({"stream": "S", "rate": 0})", 422, "settings.invalid"},
      {"PUT", kSources + "/orders", R"({"stream": "S", "consume": true})", 422, "settings.invalid"},
      {"PUT", kSources + "/orders", R"({"stream": "NONE"})", 409, "source.no_stream"},
      {"PUT", kSources + "/a%20b", R"({"stream": "S"})", 400, "request.identifier"},
      {"PUT", "/v1/ns/nowhere/sources/orders", R"({"stream": "S"})", 404, "namespace.not_found"},
      {"GET", "/v1/ns/nowhere/sources", "", 404, "namespace.not_found"},
      {"GET", kSources + "/none", "", 404, "source.not_found"},
      {"POST", kSources + "/none/pause", "", 404, "source.not_found"},
      {"POST", kSources + "/none/resume", "", 404, "source.not_found"},
      {"DELETE", kSources + "/none", "", 404, "source.not_found"},
      {"POST", kSources + "/none/try", "", 404, "source.not_found"},
      {"POST", kSources + "/none/try", "{}", 422, "settings.invalid"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.method) + " " + row.path + " " + row.body);
    const HttpReply reply = call(row.method, row.path, {}, row.body);
    EXPECT_EQ(reply.status, row.status);
    EXPECT_EQ(reply.json()["code"], row.code);
  }
}

}  // namespace
}  // namespace millrace
