// Validation with JSON Schema (draft 7) in the workers: results, messages about violations, and
// schemas that hang, crash or fill a worker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pool_fixture.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kFailed = "direktiv.schema.failed";
constexpr const char* kMatches = "";

struct SchemaRow {
  const char* schema;
  const char* subject;
  const char* message;  ///< part of the error message; kMatches: `subject` matches the schema
};

class JsonSchemaTest : public PoolTest {
 protected:
  void SetUp() override { start({.workers = 1, .slice = Duration(50), .probation = Duration(0)}); }

  QueryResult validate(std::string schema, std::string subject, Duration timeout = kNoTimeout) {
    return evaluate_later(pool(), {.queries = {{std::move(schema), shared_text(std::move(subject)),
                                                Query::Mode::kSchema}},
                                   .timeout = timeout})
        .get()
        .at(0);
  }

  void expect(std::initializer_list<SchemaRow> rows) {
    for (const SchemaRow& row : rows) {
      const QueryResult result = validate(row.schema, row.subject);
      if (row.message == std::string_view(kMatches)) {
        EXPECT_EQ(result, Json(true)) << row.schema << " " << row.subject;
        continue;
      }
      ASSERT_FALSE(result) << row.schema << " " << row.subject;
      EXPECT_EQ(result.error().code, kFailed);
      EXPECT_THAT(result.error().message, HasSubstr(row.message)) << row.schema;
    }
  }

  std::optional<Error> check(const std::string& schema) {
    return pool().check_schemas({&schema, 1}, kPatience).at(0);
  }
};

TEST_F(JsonSchemaTest, AcceptsMatchingValuesAndNamesViolations) {
  expect({
      {"{}", "null", kMatches},
      {"true", "[1]", kMatches},
      {"false", "1", ".: The value is not allowed"},
      {R"({"type":"object"})", "{}", kMatches},
      {R"({"type":"object"})", "[]", ".: Value type not permitted by 'type' constraint"},
      {R"({"type":"null"})", "null", kMatches},
      {R"({"type":["string","integer"]})", "7", kMatches},
      {R"({"type":["string","integer"]})", "7.5", "'type'"},
      {R"({"type":"integer"})", "1.0", kMatches},
      {R"({"type":"integer"})", "9007199254740993", kMatches},
      {R"({"type":"integer"})", "1e300", "'type'"},
      {R"({"type":"number"})", "\"1\"", "'type'"},
      {R"({"type":"integer"})", "true", "'type'"},
      {R"({"const":1.0})", "1", kMatches},
      {R"({"const":9007199254740991})", "9007199254740990", "'const'"},
      {R"({"enum":["a",null,{"b":1}]})", R"({"b":1})", kMatches},
      {R"({"enum":["a",null]})", "\"b\"", "enum values"},
      {R"({"required":["name"]})", "{}", ".: Missing required property 'name'"},
      {R"({"required":["name"]})", "7", kMatches},
      {R"({"additionalProperties":false,"properties":{"a":true}})", R"({"a":1})", kMatches},
      {R"({"additionalProperties":false,"properties":{"a":true}})", R"({"b":1})", "'b'"},
      {R"({"properties":{"a":{"type":"string"}}})", R"({"a":1})", ".a: Value type"},
      {R"({"properties":{"a b":{"type":"string"}}})", R"({"a b":1})", R"(.["a b"]: Value type)"},
      {R"({"properties":{"a":false}})", R"({"a":1})", "'a'"},
      {R"({"items":{"properties":{"n":{"minimum":1}}}})", R"([{"n":1},{"n":0}])",
       ".[1].n: Expected number greater than or equal to 1"},
      {R"({"items":[{"type":"string"}],"additionalItems":false})", R"(["a","b"])", "items"},
      {R"({"minLength":2})", "\"\u00e9\"", "2 characters"},
      {R"({"maxLength":1})", "\"\u00e9\"", kMatches},
      {R"({"pattern":"^a+$"})", "\"aaa\"", kMatches},
      {R"({"pattern":"b"})", "\"abc\"", kMatches},
      {R"({"pattern":"^a+$"})", "\"ab\"", "'pattern'"},
      {R"({"pattern":"^a+$"})", "7", kMatches},
      {R"({"patternProperties":{"^x-":{"type":"string"}}})", R"({"x-a":1})",
       R"(.["x-a"]: Value type)"},
      {R"({"multipleOf":0.01})", "19.99", kMatches},
      {R"({"multipleOf":0.01})", "19.995", "multiple of 0.01"},
      {R"({"multipleOf":3})", "9", kMatches},
      {R"({"multipleOf":3})", "7", ".: Value should be a multiple of 3"},
      {R"({"multipleOf":1})", "7.5", "multiple of 1"},
      {R"({"multipleOf":3})", "\"7\"", kMatches},
      {R"({"properties":{"multipleOf":{"multipleOf":3}}})", R"({"multipleOf":7})",
       ".multipleOf: Value should"},
      {R"({"exclusiveMaximum":7})", "7", "less than 7"},
      {R"({"uniqueItems":true})", "[1,1]", "uniqueness"},
      {R"({"contains":{"const":2}})", "[1,3]", "contains"},
      {R"({"propertyNames":{"maxLength":1}})", R"({"ab":1})", "not allowed"},
      {R"({"anyOf":[{"type":"string"},{"type":"null"}]})", "1", "anyOf"},
      {R"({"oneOf":[{"type":"number"},{"minimum":1}]})", "1", "exactly one"},
      {R"({"not":{"type":"null"}})", "null", "'not'"},
      {R"({"if":{"required":["a"]},"then":{"required":["b"]}})", R"({"a":1})", "'b'"},
      {R"({"if":{"required":["a"]},"then":{"required":["b"]}})", R"({"c":1})", kMatches},
      {R"({"dependencies":{"a":["b"]}})", R"({"a":1})", "dependency 'b'"},
      // Values of different types are never equal.
      {R"({"const":0})", "false", "'const'"},
      {R"({"const":1})", "\"1\"", "'const'"},
      {R"({"const":"1"})", "1", "'const'"},
      {R"({"const":null})", "\"\"", "'const'"},
      {R"({"const":[]})", "{}", "'const'"},
      {R"({"const":{}})", "null", "'const'"},
      {R"({"enum":[0,""]})", "false", "enum values"},
      {R"({"uniqueItems":true})", "[1,true,\"1\",0,false,null,\"\",[],{}]", kMatches},
      {R"({"type":"boolean"})", "\"true\"", "'type'"},
      {R"({"type":"null"})", "\"\"", "'type'"},
      {R"({"type":"object"})", "\"\"", "'type'"},
      {R"({"minimum":5})", "\"1\"", kMatches},
      {R"({"minLength":5})", "1", kMatches},
      {R"({"minItems":1})", "{}", kMatches},
      {R"({"minProperties":1})", "[]", kMatches},
      {R"({"required":["a"]})", "[]", kMatches},
      {R"({"items":{"type":"string"}})", "{\"a\":1}", kMatches},
      {R"({"properties":{"a":false}})", "[1]", kMatches},
      {R"({"contains":{"type":"string"}})", "7", kMatches},
      {R"({"contains":{"type":"string"}})", "[]", "contains"},
      {R"({"propertyNames":{"maxLength":1}})", "7", kMatches},
      {R"({"patternProperties":{"^a":true},"additionalProperties":false})", R"({"ab":1})",
       kMatches},
      {R"({"patternProperties":{"^a":true},"additionalProperties":false})", R"({"b":1})", "'b'"},
      {R"({"dependencies":{"a":{"required":["b"]}}})", R"({"c":1})", kMatches},
      {R"({"maximum":9007199254740993})", "9007199254740992", kMatches},
      {R"({"minimum":-0.5})", "-0.25", kMatches},
      {R"({"minimum":-0.5})", "-0.75", "equal to -0.5"},
      {R"({"maximum":0.1})", "1", "equal to 0.1"},
      {R"({"minimum":0.5})", "0", "equal to 0.5"},
      {R"({"format":"date-time"})", "\"2021-09-01T12:00:00Z\"", kMatches},
      {R"({"format":"date-time"})", "\"yesterday\"", "date-time"},
      {R"({"format":"unheard-of"})", "\"x\"", kMatches},
  });
}

TEST_F(JsonSchemaTest, FollowsReferencesWithinTheSchema) {
  expect({
      {R"({"$ref":"#/definitions/n","definitions":{"n":{"type":"number"}}})", "1", kMatches},
      {R"({"$ref":"#/definitions/n","definitions":{"n":{"type":"number"}}})", "\"1\"", "'type'"},
      // A schema that refers to itself.
      {R"({"properties":{"next":{"$ref":"#"},"n":{"type":"number"}}})",
       R"({"next":{"next":{"n":"x"}}})", ".next.next.n: Value type"},
      {R"({"$id":"http://example.com/a","items":{"$ref":"#/definitions/n"},
           "definitions":{"n":{"type":"number"}}})",
       R"(["x"])", ".[0]: Value type"},
  });
}

TEST_F(JsonSchemaTest, NamesTheFirstFiveViolationsAndCountsTheOthers) {
  const QueryResult result = validate(R"({"items":{"type":"string"}})", "[1,2,3,4,5,6,7,8]");
  EXPECT_EQ(result.error().message,
            "the subject does not match the schema: .[0]: Value type not permitted by 'type' "
            "constraint; .[1]: Value type not permitted by 'type' constraint; .[2]: Value type not "
            "permitted by 'type' constraint; .[3]: Value type not permitted by 'type' constraint; "
            ".[4]: Value type not permitted by 'type' constraint; and 3 more");

  std::string key(5000, 'k');
  key[298] = '\xc3';
  key[299] = '\xa9';
  const QueryResult of_long_names =
      validate(R"({"additionalProperties":{"type":"null"}})", Json{{key, 1}}.dump());
  EXPECT_LT(of_long_names.error().message.size(), 500U);
  EXPECT_NO_THROW(Json(of_long_names.error().message).dump())
      << "the message is cut between characters";
}

TEST_F(JsonSchemaTest, MayBeOneOfSeveralQueriesInAnEvaluation) {
  const auto input = shared_text(R"({"a":1})");
  const std::vector<QueryResult> results =
      evaluate({.queries = {{".a", input},
                            {R"({"type":"object"})", input, Query::Mode::kSchema},
                            {R"({"type":"array"})", input, Query::Mode::kSchema},
                            {".a + 1", input}}});
  ASSERT_EQ(results.size(), 4U);
  EXPECT_EQ(results[0], Json(1));
  EXPECT_EQ(results[1], Json(true));
  EXPECT_EQ(results[2].error().code, kFailed);
  EXPECT_EQ(results[3], Json(2));
}

TEST_F(JsonSchemaTest, IsRefusedByTheCheckIfItIsMalformed) {
  EXPECT_EQ(check(R"({"type":"object","pattern":"^a{2}(?=b)$"})"), std::nullopt);
  EXPECT_EQ(check("true"), std::nullopt);
  const std::vector<std::pair<const char*, const char*>> bad = {
      {R"({"pattern":"("})", R"(pattern "(")"},
      {R"({"pattern":"(?<=a)b"})", "pattern"},  // std::regex does not have look-behind
      {R"({"patternProperties":{"[":{}}})", R"(pattern "[")"},
      {R"({"$ref":"http://example.com/other.json"})", "Fetching of remote"},
      {R"({"$ref":"#/definitions/none"})", "not a valid JSON Schema"},
      {R"({"items":{"$ref":"file:///etc/passwd"}})", "Fetching of remote"},
      {R"({"properties":7})", "not a valid JSON Schema"},
      {"7", "not a valid JSON Schema"},
  };
  for (const auto& [schema, message] : bad) {
    const std::optional<Error> error = check(schema);
    ASSERT_TRUE(error) << schema;
    EXPECT_EQ(error->code, "schema.malformed") << schema;
    EXPECT_THAT(error->message, HasSubstr(message)) << schema;
  }
}

std::string nested(const std::string& open, const std::string& inside, const std::string& close,
                   int depth) {
  std::string text = inside;
  for (int i = 0; i < depth; ++i) text = open + text + close;
  return text;
}

TEST_F(JsonSchemaTest, FailsOnlyItsOwnEvaluationIfItIsHostile) {
  struct Hostile {
    const char* what;
    std::string schema;
    std::string subject;
    std::vector<std::string> codes;  ///< the possible error codes
    Duration timeout{500};
  };
  const std::string long_text = "\"" + std::string(2'000'000, 'a') + "\"";
  std::string doubling = R"({"$ref":"#/definitions/d0","definitions":{)";
  for (int i = 0; i < 40; ++i) {
    doubling += R"("d)" + std::to_string(i) + R"(":{"allOf":[{"$ref":"#/definitions/d)" +
                std::to_string(i + 1) + R"("},{"$ref":"#/definitions/d)" + std::to_string(i + 1) +
                R"("}]},)";
  }
  doubling += R"("d40":{"type":"null"}}})";
  std::string many = "[0";
  for (int i = 0; i < 500'000; ++i) many += ",0";
  many += "]";
  const std::string timeout = "millrace.timeout.task";
  const std::string memory = "millrace.jq.memory";
  const Hostile rows[] = {
      {"backtracks without end",
       R"({"pattern":"^(a+)+$"})",
       "\"" + std::string(60, 'a') + "!\"",
       {timeout}},
      {"overflows the stack of std::regex",
       R"({"pattern":"^(a|b)*$"})",
       long_text,
       {kFailed, memory, timeout},
       Duration(20'000)},
      {"overflows the stack with the pattern of a date",
       R"({"format":"date"})",
       "\"" + std::string(2'000'000, '1') + "\"",
       {kFailed, memory, timeout},
       Duration(20'000)},
      {"refers to itself without end",
       R"({"allOf":[{"$ref":"#"}]})",
       "1",
       {kFailed, memory, timeout},
       Duration(20'000)},
      {"doubles the work forty times", doubling, "null", {timeout}},
      {"has a pattern that fills the memory",
       R"({"pattern":"((a{1000}){1000}){1000}"})",
       "\"a\"",
       {kFailed, memory, timeout}},
      {"finds half a million violations",
       R"({"items":{"type":"string"}})",
       many,
       {kFailed},
       Duration(20'000)},
      {"compares half a million elements with each other",
       R"({"uniqueItems":true})",
       many,
       {kFailed, timeout, memory}},
  };
  for (const Hostile& row : rows) {
    const QueryResult result = validate(row.schema, row.subject, row.timeout);
    ASSERT_FALSE(result) << row.what;
    EXPECT_THAT(row.codes, testing::Contains(result.error().code))
        << row.what << ": " << result.error().message;
    EXPECT_THAT(result.error().message, Not(HasSubstr("jq program"))) << row.what;
    EXPECT_LT(result.error().message.size(), 2000U) << row.what;
    EXPECT_EQ(validate(R"({"type":"null"})", "null"), Json(true))
        << "after a schema that " << row.what;
  }
}

TEST_F(JsonSchemaTest, MayBeDeepOrLarge) {
  EXPECT_EQ(validate(nested(R"({"items":)", R"({"type":"string"})", "}", 120),
                     nested("[", "\"x\"", "]", 120)),
            Json(true));
  std::string large = R"({"properties":{)";
  for (int i = 0; i < 4000; ++i) {
    large += (i > 0 ? "," : "") + Json("p" + std::to_string(i)).dump() +
             R"(:{"type":"string","maxLength":10})";
  }
  large += "}}";
  EXPECT_EQ(validate(large, R"({"p3999":"x"})"), Json(true));
  EXPECT_FALSE(validate(large, R"({"p3999":7})"));
}

TEST_F(JsonSchemaTest, IsStillAppliedAfterMoreSchemasThanAJqWorkerCaches) {
  for (int i = 0; i < 100; ++i) {
    const std::string schema = R"({"const":)" + std::to_string(i) + "}";
    EXPECT_EQ(validate(schema, std::to_string(i)), Json(true));
  }
  EXPECT_EQ(validate(R"({"const":0})", "0"), Json(true));
}

}  // namespace
}  // namespace millrace
