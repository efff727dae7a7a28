// The schema of a workflow's input, an example of it, and the errors of a validation.
#include "orchestrator/service/input_schema.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

std::optional<InputSchema> schema_of(std::string_view text) {
  Findings findings;
  const std::optional<Node> document = parse_document(text, findings);
  EXPECT_TRUE(document) << render_text(findings, "f");
  return document ? input_schema(*document) : std::nullopt;
}

TEST(InputSchema, IsThatOfAFirstStateThatValidatesAllData) {
  const auto own = schema_of(R"(id: a
states:
- {id: check, type: validate, schema: {type: object}}
)");
  ASSERT_TRUE(own);
  EXPECT_EQ(own->state, "check");
  EXPECT_EQ(own->schema, (Json{{"type", "object"}}));
  const auto named = schema_of(R"(id: a
start: {type: default, state: check}
schemas:
- {id: other, schema: {type: string}}
- {id: order, schema: {type: array}}
states:
- {id: first, type: noop}
- {id: check, type: validate, schema: order}
)");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->schema, (Json{{"type", "array"}}));
}

TEST(InputSchema, IsMissingIfTheFirstStateDoesNotCheckAllData) {
  for (const char* const state :
       {"{id: s, type: noop}", "{id: s, type: validate, subject: .a, schema: {type: object}}",
        "{id: s, type: validate, schema: none}"}) {
    EXPECT_FALSE(schema_of(std::string("id: a\nstates: [") + state + "]")) << state;
  }
}

TEST(InputSchema, HasAnExample) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"type":"object","required":["id","n","ok","tags","when","none"],"properties":{
          "id":{"type":"string"},"n":{"type":"integer","minimum":3},"ok":{"type":"boolean"},
          "tags":{"type":"array"},"when":{"enum":["now","later"]},"left":{"type":"string"}}})",
       R"({"id":"","n":3,"ok":false,"tags":[],"when":"now","none":null})"},
      {R"({"examples":[{"a":1}],"type":"object"})", R"({"a":1})"},
      {R"({"default":5})", "5"},
      {R"({"const":"x"})", R"("x")"},
      {R"({"type":["number","null"]})", "0"},
      {R"({})", "null"},
      {"true", "null"},
  };
  for (const auto& [schema, example] : rows) {
    EXPECT_EQ(example_of(Json::parse(schema)), Json::parse(example)) << schema;
  }
}

TEST(InputSchema, ListsTheErrorsOfAValidation) {
  EXPECT_EQ(schema_errors(".lines[0].n: Value should be a number; .: Missing property \"id\"; and "
                          "2 more"),
            Json::parse(R"([{"path":".lines[0].n","message":"Value should be a number"},
                            {"path":".","message":"Missing property \"id\""},
                            {"path":".","message":"and 2 more"}])"));
  EXPECT_EQ(schema_errors(""), Json::array());
}

}  // namespace
}  // namespace millrace
