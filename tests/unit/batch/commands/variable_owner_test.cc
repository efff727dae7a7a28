#include "orchestrator/batch/commands/variable_owner.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

/// Lookups that find the namespace "a" with the number 7, its workflow "w" with the number 9, and
/// the instance whose id is all zeros.
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

TEST(VariableOwner, IsTheNamespaceByDefault) {
  const auto owner = find_owner({.ns = "a"}, lookups());
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->scope, VariableScope::kNamespace);
  EXPECT_EQ(owner->ns, NamespaceNumber(7));
}

TEST(VariableOwner, IsTheWorkflowIfTheRequestNamesAWorkflow) {
  const auto owner = find_owner({.ns = "a", .workflow = "w"}, lookups());
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->scope, VariableScope::kWorkflow);
  EXPECT_EQ(owner->workflow, WorkflowNumber(9));
}

TEST(VariableOwner, IsTheInstanceIfTheRequestNamesAnInstanceAndAWorkflow) {
  const auto owner =
      find_owner({.ns = "a", .workflow = "none", .instance = InstanceId{}}, lookups());
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->scope, VariableScope::kInstance);
  EXPECT_EQ(owner->instance, InstanceId{});
}

TEST(VariableOwner, MustExist) {
  InstanceId other;
  other.bytes[0] = 1;
  EXPECT_EQ(find_owner({.ns = "b"}, lookups()).error().code, "namespace.not_found");
  EXPECT_EQ(find_owner({.ns = "a", .workflow = "x"}, lookups()).error().code, "workflow.not_found");
  EXPECT_EQ(find_owner({.ns = "a", .instance = other}, lookups()).error().code,
            "instance.not_found");
}

}  // namespace
}  // namespace millrace
