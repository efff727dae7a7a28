#include "orchestrator/batch/commands/not_found.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(NotFound, NamesTheWorkflowAndTheNamespace) {
  const Error error = no_workflow("shop", "orders");
  EXPECT_EQ(error.code, "workflow.not_found");
  EXPECT_EQ(error.message, "there is no workflow \"orders\" in namespace \"shop\"");
}

TEST(NotFound, NamesTheInstanceAndTheNamespace) {
  InstanceId id;
  id.bytes.front() = 0xab;
  const Error error = no_instance("shop", id);
  EXPECT_EQ(error.code, "instance.not_found");
  EXPECT_EQ(error.message,
            "there is no instance ab000000-0000-0000-0000-000000000000 in namespace \"shop\"");
}

}  // namespace
}  // namespace millrace
