// JSON Schemas of definitions: the limit on their size. The keywords are in
// tests/tables/validate.table.
#include "states/json_schema.h"

#include <gtest/gtest.h>

#include "orchestrator/definition/loader.h"

namespace millrace {
namespace {

/// Loads a workflow with a schema of this description.
Loaded with_description(const std::string& text) {
  return load_workflow(
      "{id: w, states: [{id: check, type: validate, schema: {description: " + text + "}}]}", {});
}

TEST(JsonSchema, HasAtMost256KibibytesOfJson) {
  const size_t most = (size_t{256} << 10) - std::string_view(R"({"description":""})").size();
  EXPECT_NE(with_description(std::string(most, 'x')).workflow, nullptr);
  const Loaded larger = with_description(std::string(most + 1, 'x'));
  EXPECT_EQ(larger.workflow, nullptr);
  const std::vector<Finding> findings = larger.findings.sorted();
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings.front().code, "schema.too_large");
}

}  // namespace
}  // namespace millrace
