#include "orchestrator/batch/commands/variable_owner.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

/// Knows the namespace "a" (7), its workflow "w" (9), and no instance but that of zeros.
OwnerLookups lookups() {
  return {.find_namespace = [](std::string_view ns) -> Result<NamespaceNumber> {
            if (ns == "a") return NamespaceNumber(7);
            return fail("namespace.not_found", "");
          },
          .find_workflow = [](std::string_view, std::string_view id) -> Result<WorkflowNumber> {
            if (id == "w") return WorkflowNumber(9);
            return fail("workflow.not_found", "");
          },
          .check_instance = [](NamespaceNumber, const InstanceId& id) -> Status {
            if (id == InstanceId{}) return {};
            return fail("instance.not_found", "");
          }};
}

TEST(VariableOwner, IsTheNamespaceIfNothingElseIsNamed) {
  const auto owner = find_owner({.space = "a"}, lookups());
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->scope, VariableScope::kNamespace);
  EXPECT_EQ(owner->space, NamespaceNumber(7));
}

TEST(VariableOwner, IsTheWorkflow) {
  const auto owner = find_owner({.space = "a", .workflow = "w"}, lookups());
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->scope, VariableScope::kWorkflow);
  EXPECT_EQ(owner->workflow, WorkflowNumber(9));
}

TEST(VariableOwner, IsTheInstanceAlsoWhereAWorkflowIsNamed) {
  const auto owner =
      find_owner({.space = "a", .workflow = "none", .instance = InstanceId{}}, lookups());
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->scope, VariableScope::kInstance);
  EXPECT_EQ(owner->instance, InstanceId{});
}

TEST(VariableOwner, MustExist) {
  InstanceId other;
  other.bytes[0] = 1;
  EXPECT_EQ(find_owner({.space = "b"}, lookups()).error().code, "namespace.not_found");
  EXPECT_EQ(find_owner({.space = "a", .workflow = "x"}, lookups()).error().code,
            "workflow.not_found");
  EXPECT_EQ(find_owner({.space = "a", .instance = other}, lookups()).error().code,
            "instance.not_found");
}

}  // namespace
}  // namespace millrace
