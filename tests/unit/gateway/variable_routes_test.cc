// The routes of variables and secrets.
#include <gtest/gtest.h>

#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

class VariableRoutes : public ApiTest {};

TEST_F(VariableRoutes, StoresTheBytesAndTheContentTypeOfVariables) {
  const std::string bytes("\0\xff{\r\n", 5);
  const std::string owners[] = {"", "/workflows/order",
                                "/instances/" + std::string(FakeService::kInstance)};
  for (const std::string& owner : owners) {
    const std::string list = "/v1/ns/default" + owner + "/variables";
    const HttpReply put = call("PUT", list + "/logo", {{"Content-Type", "image/png; a=b"}}, bytes);
    EXPECT_EQ(put.status, 200) << put.body;
    EXPECT_EQ(put.json(), (Json{{"key", "logo"}, {"size", 5}, {"contentType", "image/png; a=b"}}));
    const HttpReply got = call("GET", list + "/logo");
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(got.header("Content-Type"), "image/png; a=b");
    EXPECT_EQ(got.header("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(got.header("Content-Security-Policy"), "sandbox; default-src 'none'")
        << "a stored page must not run scripts in the origin of the server";
    EXPECT_EQ(got.body, bytes);
    EXPECT_EQ(call("PUT", list + "/a.b-c_D9", {}, "").status, 200) << "a value may be empty";
    EXPECT_EQ(call("GET", list + "/a.b-c_D9").header("Content-Type"), "application/octet-stream");
    EXPECT_EQ(call("GET", list + "?limit=1").json()["next"], "a.b-c_D9");
    EXPECT_EQ(call("GET", list + "?cursor=a.b-c_D9").json()["items"][0]["key"], "logo");
    EXPECT_EQ(call("DELETE", list + "/logo").json(), (Json{{"key", "logo"}, {"deleted", true}}));
    EXPECT_EQ(call("GET", list + "/logo").code(), "variable.not_found");
    EXPECT_EQ(call("DELETE", list + "/logo").status, 404);
  }
}

TEST_F(VariableRoutes, SendsNoHeaderThatAStoredContentTypeInjects) {
  for (const char* const stored : {"text/plain\r\nSet-Cookie: a=b", "", "no type", "text/\xff"}) {
    service_.keep("odd", {.content_type = stored, .bytes = "v"});
    const HttpReply got = call("GET", "/v1/ns/default/variables/odd");
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(got.header("Content-Type"), "application/octet-stream") << stored;
    EXPECT_EQ(got.header("Set-Cookie"), "");
    EXPECT_EQ(got.body, "v");
  }
}

TEST_F(VariableRoutes, RefusesInvalidVariables) {
  const std::string list = "/v1/ns/default/variables";
  const std::string longest(kMaxVariableKey, 'x');
  const Row rows[] = {
      {"PUT", list + "/1st", {}, "1", 400, "request.identifier"},
      {"PUT", list + "/a%20b", {}, "1", 400, "request.identifier"},
      {"PUT", list + "/" + longest + "x", {}, "1", 400, "request.identifier"},
      {"PUT", list + "/a", {{"Content-Type", "png"}}, "1", 400, "request.content_type"},
      {"PUT",
       list + "/a",
       {},
       std::string(kMaxVariableBytes + 1, 'x'),
       413,
       "request.body_too_large"},
      {"GET", list + "?cursor=%FF", {}, "", 400, "request.parameter"},
      {"GET", list + "?limit=0", {}, "", 400, "request.parameter"},
      {"GET", "/v1/ns/other/variables", {}, "", 404, "namespace.not_found"},
      {"GET", "/v1/ns/default/instances/x/variables", {}, "", 404, "instance.not_found"},
      {"POST", list + "/a", {}, "1", 405, "request.method_not_allowed"},
  };
  for (const Row& row : rows) {
    expect(row, call(row.method, row.target, row.headers, row.body));
  }
  EXPECT_EQ(call("PUT", list + "/" + longest, {}, std::string(kMaxVariableBytes, 'x')).status, 200);
  EXPECT_THAT(call("PUT", list + "/a", {}, std::string(kMaxVariableBytes + 1, 'x')).body,
              testing::HasSubstr("a variable has at most 4 MiB: divide the value"));
}

TEST_F(VariableRoutes, StoresSecretsAndNeverReturnsThem) {
  const std::string list = "/v1/ns/default/secrets";
  const std::string value = "s3cr3t-\xc3\xa9\n";
  const Row rows[] = {
      {"PUT", list + "/token", {}, value, 201, R"({"name":"token","created":true})"},
      {"PUT", list + "/token", {}, value, 200, R"({"name":"token","created":false})"},
      {"GET", list, {}, "", 200, R"({"items":[{"name":"token"}],"next":null})"},
      {"GET", list + "/token", {}, "", 405, "request.method_not_allowed"},
      {"PUT", list + "/a%20b", {}, value, 400, "request.identifier"},
      {"PUT", list + "/token", {}, "\xff" + value, 422, "secret.not_text"},
      {"PUT",
       list + "/token",
       {},
       std::string(kMaxSecretBytes + 1, 'x'),
       413,
       "request.body_too_large"},
      {"PUT", "/v1/ns/other/secrets/token", {}, value, 404, "namespace.not_found"},
      {"GET", list + "?cursor=%FF", {}, "", 400, "request.parameter"},
  };
  for (const Row& row : rows) {
    const HttpReply reply = call(row.method, row.target, row.headers, row.body);
    expect(row, reply);
    EXPECT_EQ(reply.body.find("s3cr3t"), std::string::npos) << row.target;
  }
  EXPECT_EQ(service_.known_secrets().at("token"), value) << "the value is stored byte for byte";
  EXPECT_EQ(call("DELETE", list + "/token").json(), (Json{{"name", "token"}, {"deleted", true}}));
  EXPECT_EQ(call("DELETE", list + "/token").code(), "secret.not_found");
}

}  // namespace
}  // namespace millrace
