#include "orchestrator/batch/commands/variable_commands.h"

#include <gtest/gtest.h>

#include "tests/unit/batch/commands/command_rig.h"
#include "tests/unit/batch/commands/definitions.h"

namespace millrace {
namespace {

TEST(VariableCommands, PutAndDeleteOneOfEachScope) {
  CommandRig rig;
  rig.must(CommandRig::application(kWaits));
  const VariablePlace places[] = {
      {.space = "default"},
      {.space = "default", .workflow = "waits"},
      {.space = "default", .instance = rig.start("waits")},
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

TEST(VariableCommands, PutIsRefusedForAnOwnerThatDoesNotExist) {
  CommandRig rig;
  EXPECT_EQ(
      rig.refusal(PutVariable{.place = {.space = "default", .workflow = "none"}, .key = "k"}).code,
      "workflow.not_found");
  EXPECT_EQ(
      rig.refusal(PutVariable{.place = {.space = "default", .instance = InstanceId{}}, .key = "k"})
          .code,
      "instance.not_found");
}

TEST(VariableCommands, PutFindsAnInstanceOfTheSameBatch) {
  CommandRig rig;
  rig.must(CommandRig::application(kWaits));
  const auto started =
      rig.run(StartInstance{.space = "default", .workflow = "waits", .input = Json::object()});
  ASSERT_TRUE(started);
  const auto id = parse_instance_id(std::get<Json>(*started)["id"].get<std::string>());
  EXPECT_TRUE(rig.run(PutVariable{.place = {.space = "default", .instance = *id}, .key = "k"}))
      << "its rows are not written yet";
}

TEST(VariableCommands, LoseTheBatchWithEachReadThatFails) {
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) -> Command {
    rig.must(CommandRig::application(kWaits));
    return PutVariable{.place = {.space = "default", .instance = rig.start("waits")}, .key = "k"};
  });
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) -> Command {
    rig.must(PutVariable{.place = {.space = "default"}, .key = "k"});
    return DeleteVariable{.place = {.space = "default"}, .key = "k"};
  });
}

}  // namespace
}  // namespace millrace
