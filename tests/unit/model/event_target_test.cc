// The target of a replayed event: which workflow or instance may take the event.
#include "model/event_target.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

InstanceId target_id(uint8_t number) { return InstanceId{{number}}; }

TEST(EventTarget, IsTheWorkflowOrTheInstanceInItsText) {
  const std::string workflow = workflow_target(WorkflowNumber(7));
  const std::string instance = instance_target(target_id(1));
  EXPECT_EQ(workflow, "workflow/7");
  EXPECT_EQ(instance, "instance/01000000-0000-0000-0000-000000000000");
  EXPECT_TRUE(is_target(workflow, WorkflowNumber(7)));
  EXPECT_FALSE(is_target(workflow, WorkflowNumber(77)));
  EXPECT_FALSE(is_target(instance, WorkflowNumber(1)));
  EXPECT_TRUE(may_be_target(instance, target_id(1)));
  EXPECT_FALSE(may_be_target(instance, target_id(2)));
  EXPECT_TRUE(may_be_target(workflow, target_id(2))) << "the id does not show the workflow";
  EXPECT_FALSE(may_be_target("other", target_id(1)));
  EXPECT_EQ(target_instance(instance), target_id(1));
  for (const std::string& other : {workflow, std::string("instance/1"), std::string("other")}) {
    EXPECT_EQ(target_instance(other), std::nullopt) << other;
  }
  EXPECT_EQ(target_workflow(workflow), WorkflowNumber(7));
  for (const char* const other : {"workflow/07", "workflow/", "workflow/4294967296", "other"}) {
    EXPECT_EQ(target_workflow(other), std::nullopt) << other;
  }
  EXPECT_EQ(target_workflow(instance), std::nullopt);
}

TEST(EventTarget, MayBeTakenByItsTargetOnly) {
  Instance instance;
  instance.id = target_id(1);
  instance.revision = {WorkflowNumber(7), 2};
  struct TargetCase {
    std::map<std::string, AttributeValue> extensions;
    bool is_taken;
  };
  const std::string name(kTargetAttribute);
  const TargetCase cases[] = {
      {{}, true},
      {{{"orderid", "1"}}, true},
      {{{name, workflow_target(WorkflowNumber(7))}}, true},
      {{{name, workflow_target(WorkflowNumber(8))}}, false},
      {{{name, instance_target(target_id(1))}}, true},
      {{{name, instance_target(target_id(2))}}, false},
      {{{name, "order"}}, false},
      {{{name, 7}}, false},
  };
  for (const TargetCase& one : cases) {
    Event event{.id = "1", .source = "/s", .type = "t"};
    event.extensions = one.extensions;
    EXPECT_EQ(may_take(event, instance), one.is_taken) << &one - cases;
  }
}

}  // namespace
}  // namespace millrace
