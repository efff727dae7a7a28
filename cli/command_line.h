// CommandLine: the commands of millrace. Each file of verbs adds its noun: the grammar and the
// function of each verb. add_all_verbs adds them in the order in which `--help` lists them. For one
// thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "cli/command_parser.h"
#include "cli/program_verbs.h"
#include "cli/session.h"
#include "cli/shell.h"

namespace millrace {

/// A verb, and the options into which the parser writes the arguments.
template <class Options>
struct AddedVerb {
  Verb verb;
  Options& options;  ///< lives as long as the verb
};

/// The program or one noun, and the shell that its verbs use.
class CommandLine {
 public:
  CommandLine(CommandGroup commands, Shell& shell) : commands_(commands), shell_(shell) {}

  CommandLine noun(const std::string& name, const std::string& what) {
    return {commands_.noun(name, what), shell_};
  }

  /// Adds a verb that runs in this process. `act` gets the shell and the options.
  template <class Options, class Act>
  AddedVerb<Options> local(const std::string& name, const std::string& what,
                           const std::string& example, Act act) {
    const auto options = std::make_shared<Options>();
    const Verb verb = commands_.verb(
        name, what, example, [&shell = shell_, options, act] { return act(shell, *options); });
    return {verb, *options};
  }

  /// Adds a verb that runs in this process and has no options of its own.
  Verb local(const std::string& name, const std::string& what, const std::string& example,
             std::function<Ended(Shell&)> act) {
    return commands_.verb(name, what, example,
                          [&shell = shell_, act = std::move(act)] { return act(shell); });
  }

  /// Adds a verb that calls a server. `act` gets a session and the options.
  template <class Options, class Act>
  AddedVerb<Options> asking(const std::string& name, const std::string& what,
                            const std::string& example, Act act) {
    return local<Options>(name, what, example, [act](Shell& shell, const Options& options) {
      return in_session(shell, [&](Session& session) { return act(session, options); });
    });
  }

  /// Adds a verb that calls a server and has no options of its own.
  Verb asking(const std::string& name, const std::string& what, const std::string& example,
              std::function<Ended(Session&)> act) {
    return commands_.verb(name, what, example, [&shell = shell_, act = std::move(act)] {
      return in_session(shell, act);
    });
  }

  Shell& shell() { return shell_; }

 private:
  static Ended in_session(Shell& shell, const std::function<Ended(Session&)>& act) {
    Session session = TRY(shell.session());
    Ended ended = act(session);
    shell.show_age(session);
    return ended;
  }

  CommandGroup commands_;
  Shell& shell_;
};

// One function for each file of nouns and verbs. `program` must outlive the command line.
void add_serve_verbs(CommandLine& commands, const ProgramVerbs& program);
void add_language_verbs(CommandLine& commands, const ProgramVerbs& program);
void add_test_verb(CommandLine& commands, const ProgramVerbs& program);
void add_workflow_verbs(CommandLine& commands);
void add_instance_verbs(CommandLine& commands);
void add_function_verbs(CommandLine& commands);
void add_call_verbs(CommandLine& commands);
void add_schedule_verbs(CommandLine& commands);
void add_event_verbs(CommandLine& commands);
/// Adds the verbs for stored events to the noun `event`.
void add_event_desk_verbs(CommandLine& event);
/// Adds the verb `replay` to the noun `event`.
void add_event_replay_verb(CommandLine& event);
/// Adds the noun `replay`.
void add_range_replay_verbs(CommandLine& commands);
void add_next_verb(CommandLine& commands);
void add_overview_verb(CommandLine& commands);
void add_listener_verbs(CommandLine& commands);
void add_group_verbs(CommandLine& commands);
void add_queue_verbs(CommandLine& commands);
void add_dlq_verbs(CommandLine& commands);
void add_source_verbs(CommandLine& commands);
void add_webhook_verbs(CommandLine& commands);
void add_variable_verbs(CommandLine& commands);
void add_secret_verbs(CommandLine& commands);
void add_namespace_verbs(CommandLine& commands);
void add_run_verb(CommandLine& commands);
void add_verify_verb(CommandLine& commands, const ProgramVerbs& program);
void add_backup_verbs(CommandLine& commands, const ProgramVerbs& program);
void add_store_verbs(CommandLine& commands, const ProgramVerbs& program);
void add_status_verbs(CommandLine& commands);
void add_find_verb(CommandLine& commands);
void add_cluster_verbs(CommandLine& commands, const ProgramVerbs& program);

/// Adds all nouns and verbs. Leaves out the verbs whose function in `program` is null.
void add_all_verbs(CommandLine& commands, const ProgramVerbs& program);

}  // namespace millrace
