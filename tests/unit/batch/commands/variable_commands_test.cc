#include "orchestrator/batch/commands/variable_commands.h"

#include <gtest/gtest.h>

#include "tests/unit/batch/commands/command_rig.h"
#include "tests/unit/batch/commands/definitions.h"

namespace millrace {
namespace {

TEST(VariableCommands, PutAndDeleteAVariableOfEachScope) {
  CommandRig rig;
  rig.must(CommandRig::apply_workflow(kWaits));
  const VariablePlace places[] = {
      {.ns = "default"},
      {.ns = "default", .workflow = "waits"},
      {.ns = "default", .instance = rig.start("waits")},
  };
  for (const VariablePlace& place : places) {
    EXPECT_EQ(
        rig.must(PutVariable{
            .place = place, .key = "k", .value = {.content_type = "text/plain", .bytes = "abc"}}),
        (Json{{"key", "k"}, {"size", 3}, {"contentType", "text/plain"}}));
  }
  for (const VariablePlace& place : places) {
    EXPECT_EQ(rig.must(DeleteVariable{.place = place, .key = "k"}),
              (Json{{"key", "k"}, {"deleted", true}}));
    EXPECT_EQ(rig.refusal(DeleteVariable{.place = place, .key = "k"}).code, "variable.not_found");
  }
}

TEST(VariableCommands, PutIsRefusedForAnUnknownOwner) {
  CommandRig rig;
  EXPECT_EQ(
      rig.refusal(PutVariable{.place = {.ns = "default", .workflow = "none"}, .key = "k"}).code,
      "workflow.not_found");
  EXPECT_EQ(
      rig.refusal(PutVariable{.place = {.ns = "default", .instance = InstanceId{}}, .key = "k"})
          .code,
      "instance.not_found");
}

TEST(VariableCommands, PutFindsAnInstanceThatWasStartedInTheSameBatch) {
  CommandRig rig;
  rig.must(CommandRig::apply_workflow(kWaits));
  const auto started =
      rig.run(StartInstance{.ns = "default", .workflow = "waits", .input = Json::object()});
  ASSERT_TRUE(started);
  const auto id = parse_instance_id(std::get<Json>(*started)["id"].get<std::string>());
  EXPECT_TRUE(rig.run(PutVariable{.place = {.ns = "default", .instance = *id}, .key = "k"}))
      << "the rows of the instance are not written yet";
}

TEST(VariableCommands, LoseTheBatchWhenAReadOfTheStoreFails) {
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) -> Command {
    rig.must(CommandRig::apply_workflow(kWaits));
    return PutVariable{.place = {.ns = "default", .instance = rig.start("waits")}, .key = "k"};
  });
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) -> Command {
    rig.must(PutVariable{.place = {.ns = "default"}, .key = "k"});
    return DeleteVariable{.place = {.ns = "default"}, .key = "k"};
  });
}

}  // namespace
}  // namespace millrace
