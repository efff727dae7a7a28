// check_instance: an instance that does not fit its definition is a damaged row.
#include "orchestrator/batch/check_instance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/definition/loader.h"
#include "orchestrator/engine/engine.h"
#include "orchestrator/engine/runs.h"
#include "orchestrator/store/rows/damage.h"

namespace millrace {
namespace {

constexpr const char* kText = "id: a\nstates:\n- {id: one, type: noop}\n";

TEST(CheckInstance, AcceptsOnlyAnInstanceThatFitsItsDefinition) {
  const auto workflow = load_stored(kText);
  ASSERT_TRUE(workflow) << workflow.error().message;
  const TimePoint now = from_millis(1'700'000'000'000);
  InstanceId id;
  id.bytes.back() = 7;
  Instance instance = make_instance(id, NamespaceNumber(1), {WorkflowNumber(1), 1}, **workflow,
                                    Json::object(), now, {});
  EXPECT_TRUE(check_instance(**workflow, instance, now));
  instance.state = 1;
  const Status checked = check_instance(**workflow, instance, now);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, kDamagedRow);
  EXPECT_THAT(checked.error().message, testing::HasSubstr(to_string(id)));
}

}  // namespace
}  // namespace millrace
