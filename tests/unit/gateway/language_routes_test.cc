// The routes about the workflow language.
#include <gtest/gtest.h>

#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

class LanguageRoutes : public ApiTest {};

TEST_F(LanguageRoutes, EvaluateAnExpression) {
  const std::string path = "/v1/expressions";
  const Row rows[] = {
      {"POST", path, {}, R"({"text":".a","data":{"a":1}})", 200, R"({"result":[".a",{"a":1}]})"},
      {"POST", path, {}, R"({"text":{"b":"."},"as":"value"})", 200, R"({"result":[{"b":"."},{}]})"},
      {"POST", path, {}, R"({"text":"x","as":"template"})", 200, R"({"result":["x",{}]})"},
      {"POST",
       path,
       {},
       R"({"text":".","instance":{"id":1}})",
       200,
       R"({"result":[".",{},{"id":1}]})"},
      {"POST", path, {}, R"({"text":"fail"})", 422, "direktiv.jq.badCommand"},
      {"POST", path, {}, R"({"text":"x","as":"number"})", 400, "request.parameter"},
      {"POST", path, {}, R"({"text":"x","input":1})", 400, "request.parameter"},
      {"POST", path, {}, R"({"data":1})", 400, "request.parameter"},
      {"POST", path, {}, "[]", 400, "request.parameter"},
      {"POST", path, {}, "{", 400, "json.malformed"},
      {"POST", path, {}, std::string(1'100'000, ' '), 413, "request.body_too_large"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
}

TEST_F(LanguageRoutes, ShowTheSchemaOfDefinitions) {
  const HttpReply reply = call("GET", "/v1/schema");
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.json().contains("$schema")) << reply.body.substr(0, 200);
  EXPECT_TRUE(reply.json().contains("definitions")) << reply.body.substr(0, 200);
}

}  // namespace
}  // namespace millrace
