// StepGrowth: which steps are applied in a namespace that has far more bytes than its quota.
#include "orchestrator/batch/step_growth.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "orchestrator/store/rows/head_rows.h"

namespace millrace {
namespace {

/// A step of an instance that waits and has some data.
struct GrownStep {
  Instance before{.status = InstanceStatus::kWaiting,
                  .phase = Phase::kWaiting,
                  .data = LazyJson::of_text(R"({"a":1})")};
  Instance after;
  StepResult result{.changed = true};
  Stimulus stimulus = Proceed{};

  GrownStep() {
    before.part_bytes[static_cast<size_t>(Part::kData)] = before.data.text().size();
    after = before;
  }
  void record(size_t bytes) {
    result.history.push_back({.kind = HistoryKind::kWoken, .detail = text(bytes)});
  }
  void end() { after.status = InstanceStatus::kComplete; }
  static LazyJson text(size_t bytes) {
    return LazyJson::of_text('"' + std::string(bytes, 'x') + '"');
  }
};

struct GrowthRow {
  const char* name;
  std::function<void(GrownStep& step)> change;
  bool fits;
};

TEST(StepGrowth, IsPermittedFarBeyondTheQuotaOnlyToEndWithFewBytes) {
  const GrowthRow rows[] = {
      {"nothing", [](GrownStep&) {}, true},
      {"a record", [](GrownStep& step) { step.record(0); }, false},
      {"longer data", [](GrownStep& step) { step.after.data = GrownStep::text(10); }, false},
      {"shorter data", [](GrownStep& step) { step.after.data = GrownStep::text(1); }, true},
      {"a slot", [](GrownStep& step) { step.after.slots = {GrownStep::text(1)}; }, false},
      {"a call", [](GrownStep& step) { step.after.calls.emplace_back(); }, false},
      {"a task", [](GrownStep& step) { step.result.effects.emplace_back(StartTask{}); }, false},
      {"an evaluation", [](GrownStep& step) { step.result.effects.emplace_back(Evaluate{}); },
       true},
      {"the end with a record", [](GrownStep& step) { step.end(), step.record(100); }, true},
      {"the end with a long record", [](GrownStep& step) { step.end(), step.record(1'000); },
       false},
      {"the end with much data",
       [](GrownStep& step) { step.end(), step.after.data = GrownStep::text(1'100); }, false},
      {"the end with data that was the input before",
       [](GrownStep& step) {
         step.end();
         step.before.data = GrownStep::text(1'100);
         step.before.part_bytes = {};
         step.after.data = GrownStep::text(1'110);
       },
       false},
      {"the end with the data that it had when it failed",
       [](GrownStep& step) { step.end(), step.after.failed_data = GrownStep::text(1'100); }, false},
      {"the end with a long error",
       [](GrownStep& step) {
         step.end();
         step.after.error = Error{"a", std::string(1'100, 'x')};
       },
       false},
      {"a pause", [](GrownStep& step) { step.stimulus = Pause{}, step.record(0); }, true},
      {"a cancel that waits for tasks",
       [](GrownStep& step) { step.stimulus = Cancel{.at_once = false}, step.record(0); }, true},
      {"the end of a task of a cancelled instance",
       [](GrownStep& step) { step.before.cancelling = true, step.record(0); }, true},
  };
  for (const GrowthRow& row : rows) {
    GrownStep step;
    row.change(step);
    EXPECT_EQ(fits_far_beyond(step.before, step.stimulus, step.after, step.result), row.fits)
        << row.name;
  }
}

}  // namespace
}  // namespace millrace
