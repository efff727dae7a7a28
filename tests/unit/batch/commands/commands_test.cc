#include "orchestrator/batch/commands/commands.h"

#include <gtest/gtest.h>

#include "tests/unit/batch/commands/command_rig.h"
#include "tests/unit/batch/commands/definitions.h"

namespace millrace {
namespace {

/// One command of each type for a namespace, except CreateNamespace, in the given namespace. The
/// workflows, instances and leftovers that the commands name do not exist.
std::vector<Command> all_commands(const std::string& ns) {
  const InstanceId id;
  ApplyWorkflow apply = CommandRig::apply_workflow(kEnds, ns);
  return {std::move(apply),
          DeleteWorkflow{.ns = ns, .id = "none"},
          StartInstance{.ns = ns, .workflow = "none", .input = Json::object()},
          TriggerSchedule{.ns = ns, .workflow = "none"},
          CancelInstance{.ns = ns, .instance = id},
          DropPendingStarts{.ns = ns, .workflow = "none", .since = {}},
          PauseInstance{.ns = ns, .instance = id},
          ResumeInstance{.ns = ns, .instance = id},
          RetryInstance{.ns = ns, .instance = id},
          RestartInstance{.ns = ns, .instance = id},
          RerunInstance{.ns = ns, .instance = id, .state = "none"},
          CompensateInstance{.ns = ns, .instance = id},
          DeleteInstance{.ns = ns, .instance = id},
          DeleteInstances{.ns = ns, .statuses = {InstanceStatus::kFailed}},
          PauseWorkflow{.ns = ns, .id = "none"},
          PauseService{.ns = ns, .name = "none"},
          PauseInboundWebhook{.ns = ns, .name = "none"},
          DeleteInboundWebhook{.ns = ns, .name = "none"},
          DeleteNamespace{.name = ns},
          PutVariable{.place = {.ns = ns}, .key = "k"},
          DeleteVariable{.place = {.ns = ns}, .key = "k"},
          PutSecret{.ns = ns, .name = "s", .value = "v"},
          DeleteSecret{.ns = ns, .name = "s"},
          ChangeReplay{.ns = ns},
          ApplySource{.ns = ns, .name = "s"},
          PauseSource{.ns = ns, .name = "s"},
          DeleteSource{.ns = ns, .name = "s"},
          MoveSource{.ns = ns, .name = "s"},
          RefuseMessages{.ns = ns, .name = "s"},
          DropGroup{.ns = ns, .id = "none"},
          AnswerTask{.ns = ns, .task = id}};
}

TEST(Commands, AreRefusedInAnUnknownNamespace) {
  CommandRig rig;
  for (const Command& command : all_commands("nowhere")) {
    const Error error = rig.refusal(command);
    EXPECT_EQ(error.code, "namespace.not_found") << command.index();
    EXPECT_EQ(
        error.message,
        "there is no namespace \"nowhere\"; create it with `millrace namespace create nowhere`")
        << command.index();
  }
  // CreateNamespace, ForgetConsumer, and the commands of a cluster, RegisterNode and RemoveNode,
  // are not in the list.
  EXPECT_EQ(all_commands("nowhere").size() + 4, std::variant_size_v<Command>);
}

TEST(Commands, WriteNothingIfTheyAreRefused) {
  CommandRig rig;
  for (const Command& command : all_commands("nowhere")) {
    rig.refusal(command);
    EXPECT_TRUE(rig.batch().tx.write_set().empty()) << command.index();
  }
}

TEST(Commands, NameAnUnknownInstanceInTheError) {
  CommandRig rig;
  const InstanceId id;
  for (const Command& command : {Command(CancelInstance{.ns = "default", .instance = id}),
                                 Command(RetryInstance{.ns = "default", .instance = id}),
                                 Command(DeleteInstance{.ns = "default", .instance = id})}) {
    const Error error = rig.refusal(command);
    EXPECT_EQ(error.code, "instance.not_found");
    EXPECT_EQ(error.message,
              "there is no instance 00000000-0000-0000-0000-000000000000 in namespace \"default\"");
  }
}

}  // namespace
}  // namespace millrace
