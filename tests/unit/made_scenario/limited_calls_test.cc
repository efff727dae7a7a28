// Scenarios made of histories with calls that have `concurrency` or `throttle`.
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/made_scenario/made_scenario.h"
#include "tests/unit/made_scenario/played_rows.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(MadeScenarioOfLimitedCalls, ExpectsNoTimesIfTheCallsMayHaveWaitedForEachOther) {
  const auto scenario_of = [](const std::string& limit, int calls) {
    PlayedRow row{.name = "calls with a limit"};
    row.definition = fmt::format(
        "id: order\nfunctions: [{{id: f, type: service, service: s{}}}]\n"
        "states: [{{id: each, type: foreach, array: 'jq(.items)', action: {{function: f}}}}]\n",
        limit);
    row.data = calls == 1 ? R"({"items":[1],"return":[1]})" : R"({"items":[1,2],"return":[1,2]})";
    row.history = std::string(kCalledRecord) + "0 entered each => {\"items\":[1,2]}\n";
    for (int i = 0; i < calls; ++i) {
      row.history += fmt::format(
          "0 called each "
          "{{\"function\":\"f\",\"task\":\"0190b5a4-7c1e-7f2a-8000-00000000000{}\",\"index\":{},"
          "\"attempt\":1}}\n",
          i + 1, i);
    }
    for (int i = 0; i < calls; ++i) {
      row.history += fmt::format(
          "{} returned each "
          "{{\"task\":\"0190b5a4-7c1e-7f2a-8000-00000000000{}\",\"index\":{},\"attempt\":1}}\n",
          1000 * (i + 1), i + 1, i);
    }
    row.history += fmt::format("{} ended each {{\"status\":\"complete\"}}\n", 1000 * calls);
    const auto text = made(row);
    return text ? *text : text.error().message;
  };
  const char* const slot = ", concurrency: {limit: 1}";
  EXPECT_THAT(scenario_of("", 2), HasSubstr("took: \"2s\""));
  EXPECT_THAT(scenario_of(slot, 1), HasSubstr("took: \"1s\"")) << "no other call of the instance";
  for (const char* const limit : {slot, ", throttle: {limit: 1, period: PT1S}"}) {
    EXPECT_THAT(scenario_of(limit, 2),
                AllOf(HasSubstr("# The length of a wait is not known exactly,"),
                      HasSubstr("takes: \"2s\""), Not(HasSubstr("took:"))));
  }
}

}  // namespace
}  // namespace millrace
