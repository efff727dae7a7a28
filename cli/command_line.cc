#include "cli/command_line.h"

namespace millrace {

void add_all_verbs(CommandLine& commands, const ProgramVerbs& program) {
  add_serve_verbs(commands, program);
  add_language_verbs(commands, program);
  if (program.test != nullptr) add_test_verb(commands, program);
  add_workflow_verbs(commands);
  add_instance_verbs(commands);
  add_function_verbs(commands);
  add_call_verbs(commands);
  add_schedule_verbs(commands);
  add_next_verb(commands);
  add_overview_verb(commands);
  add_event_verbs(commands);
  add_range_replay_verbs(commands);
  add_listener_verbs(commands);
  add_group_verbs(commands);
  add_queue_verbs(commands);
  add_dlq_verbs(commands);
  add_source_verbs(commands);
  add_webhook_verbs(commands);
  add_variable_verbs(commands);
  add_secret_verbs(commands);
  add_namespace_verbs(commands);
  add_run_verb(commands);
  if (program.verify != nullptr) add_verify_verb(commands, program);
  add_backup_verbs(commands, program);
  add_store_verbs(commands, program);
  add_status_verbs(commands);
  add_find_verb(commands);
  add_cluster_verbs(commands, program);
}

}  // namespace millrace
