#include "orchestrator/batch/commands/commands.h"

#include <gtest/gtest.h>

#include "tests/unit/batch/commands/command_rig.h"
#include "tests/unit/batch/commands/definitions.h"

namespace millrace {
namespace {

/// A command of each type, for the namespace of that name. None finds what it names.
std::vector<Command> all_commands(const std::string& ns) {
  const InstanceId id;
  ApplyWorkflow apply = CommandRig::application(kEnds, ns);
  return {std::move(apply),
          DeleteWorkflow{.space = ns, .id = "none"},
          StartInstance{.space = ns, .workflow = "none", .input = Json::object()},
          TriggerSchedule{.space = ns, .workflow = "none"},
          CancelInstance{.space = ns, .instance = id},
          PauseInstance{.space = ns, .instance = id},
          ResumeInstance{.space = ns, .instance = id},
          RetryInstance{.space = ns, .instance = id},
          RestartInstance{.space = ns, .instance = id},
          RerunInstance{.space = ns, .instance = id, .state = "none"},
          DeleteInstance{.space = ns, .instance = id},
          PauseWorkflow{.space = ns, .id = "none"},
          PauseService{.space = ns, .name = "none"},
          DeleteNamespace{.name = ns},
          PutVariable{.place = {.space = ns}, .key = "k"},
          DeleteVariable{.place = {.space = ns}, .key = "k"},
          PutSecret{.space = ns, .name = "s", .value = "v"},
          DeleteSecret{.space = ns, .name = "s"}};
}

TEST(Commands, AreRefusedInANamespaceThatDoesNotExist) {
  CommandRig rig;
  for (const Command& command : all_commands("nowhere")) {
    const Error error = rig.refusal(command);
    EXPECT_EQ(error.code, "namespace.not_found") << command.index();
    EXPECT_EQ(error.message,
              "there is no namespace \"nowhere\"; make it with `millrace namespace create nowhere`")
        << command.index();
  }
  // CreateNamespace, the one that is missing above, makes it.
  EXPECT_EQ(all_commands("nowhere").size() + 1, std::variant_size_v<Command>);
}

TEST(Commands, ThatAreRefusedWriteNothing) {
  CommandRig rig;
  for (const Command& command : all_commands("nowhere")) {
    rig.refusal(command);
    EXPECT_TRUE(rig.draft().tx.write_set().empty()) << command.index();
  }
}

TEST(Commands, AboutAnInstanceThatIsNotThereSayWhichOne) {
  CommandRig rig;
  const InstanceId id;
  for (const Command& command : {Command(CancelInstance{.space = "default", .instance = id}),
                                 Command(RetryInstance{.space = "default", .instance = id}),
                                 Command(DeleteInstance{.space = "default", .instance = id})}) {
    const Error error = rig.refusal(command);
    EXPECT_EQ(error.code, "instance.not_found");
    EXPECT_EQ(error.message,
              "there is no instance 00000000-0000-0000-0000-000000000000 in namespace \"default\"");
  }
}

}  // namespace
}  // namespace millrace
