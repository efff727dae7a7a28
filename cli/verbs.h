// The verbs of the command line: what each is told, and the function that does it (one file per
// noun). Each shows its data with `session.output` and returns how it ended.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client.h"
#include "cli/console.h"
#include "cli/output.h"
#include "orchestrator/service/service.h"

namespace millrace {

struct Session {
  Console& console;
  Client client;
  std::string space;
  Output output;

  /// `/v1/ns/NAMESPACE` and the pieces behind it.
  std::string path(std::initializer_list<std::string_view> pieces) const {
    return Client::url_path({"v1", "ns", space}) + Client::url_path(pieces);
  }
};

/// A table shows one page. The other formats are for programs and hold all that there is, from
/// `cursor` on, unless `limit` bounds them.
struct PageOptions {
  std::string limit;
  std::string cursor;
};

/// Shows the list behind `call`, page by page. What was left out is reported on standard error with
/// the cursor that goes on.
Ended show_pages(Session& session, ApiCall call, const PageOptions& page,
                 const std::vector<Column>& columns, const std::string& name_key);

// workflow.cc
struct ApplyOptions {
  std::vector<std::string> files;  ///< or folders; `-`: standard input
  bool dry_run = false;
};
Ended apply_workflows(Session& session, const ApplyOptions& options);
Ended list_workflows(Session& session);
Ended get_workflow(Session& session, const std::string& id);
Ended delete_workflow(Session& session, const std::string& id, bool cancel, bool leftovers);

// instance.cc
struct InstanceListOptions {
  std::string workflow;
  std::string status;
  std::string since;  ///< RFC 3339, or how long ago: `2h`
  PageOptions page;
};
Ended list_instances(Session& session, const InstanceListOptions& options);
Ended get_instance(Session& session, const std::string& id);
Ended delete_instance(Session& session, const std::string& id, bool damaged);

// control.cc
/// What is done about an instance, or about all that the filter names.
struct ControlOptions {
  std::string id;              ///< else the filter
  InstanceListOptions filter;  ///< without pages
  bool all = false;            ///< no filter is meant
  bool now = false;            ///< cancel
  bool extend = false;         ///< retry
  std::string from;            ///< rerun
};
Ended control_instances(Session& session, const std::string& verb, const ControlOptions& options);
/// `pause` or `resume`.
Ended control_workflow(Session& session, const std::string& verb, const std::string& id);
Ended control_function(Session& session, const std::string& verb, const std::string& service);
/// A moment as the server takes it; a duration is how long ago.
Fallible<std::string> moment_of(const std::string& text, TimePoint now);
Ended show_history(Session& session, const std::string& id);

// event.cc
struct SendOptions {
  std::string file;  ///< a whole CloudEvent or a batch, or `-`; else the attributes below
  std::string type;
  std::string source;
  std::string id;
  std::string subject;
  std::optional<std::string> data;
  std::vector<std::string> attributes;  ///< `name=value`
};
Ended send_event(Session& session, const SendOptions& options);

// schedule.cc
Ended list_schedules(Session& session);
Ended show_next_ticks(Session& session, const std::string& workflow);
Ended trigger_schedule(Session& session, const std::string& workflow);

// listener.cc, dlq.cc, group.cc
Ended list_groups(Session& session, const PageOptions& page);
Ended list_listeners(Session& session, const PageOptions& page);
Ended list_dead_letters(Session& session, const PageOptions& page);

// variable.cc
struct VariableOptions {
  std::string workflow;  ///< of a workflow, or
  std::string instance;  ///< of an instance, else of the namespace
  std::string key;
  std::string value = "-";  ///< JSON, `@file` or `-`
  std::string content_type;
};
Ended get_variable(Session& session, const VariableOptions& options);
Ended set_variable(Session& session, const VariableOptions& options);
Ended list_variables(Session& session, const VariableOptions& options, const PageOptions& page);
Ended delete_variable(Session& session, const VariableOptions& options);

// secret.cc
Ended set_secret(Session& session, const std::string& name);
Ended list_secrets(Session& session, const PageOptions& page);
Ended delete_secret(Session& session, const std::string& name);

// namespace.cc
Ended list_namespaces(Session& session);
/// `settings`: JSON, `@FILE` or `-`; empty: they are left as they are.
Ended create_namespace(Session& session, const std::string& name, const std::string& settings);
Ended delete_namespace(Session& session, const std::string& name, bool cancel, bool leftovers);

// run.cc
struct RunOptions {
  std::string workflow;
  std::optional<std::string> input;
  std::string retry;  ///< JSON of a policy, or Zart's text
  std::string execution_timeout;
  std::string run_timeout;
  std::string task_timeout;
  bool wait = false;
  std::string wait_for;  ///< a duration; empty: as long as it takes
  std::string key;
};
Ended run_workflow(Session& session, const RunOptions& options);

// status.cc
Ended show_status(Session& session);

// explain.cc
Ended explain_key(Console& console, const std::string& name);
Ended print_schema(Console& console);

// lint.cc
using LoadDefinition = Loaded (*)(std::string_view text);
struct LintOptions {
  std::vector<std::string> files;  ///< or folders; `-`: standard input
  bool as_json = false;
  bool strict = false;  ///< warnings count as errors do
};
Ended lint_files(Console& console, LoadDefinition load, const LintOptions& options);

// graph.cc
Ended draw_graph(Console& console, LoadDefinition load, const std::string& file);

// test.cc; it is in the server's library, for it needs all of it but NATS.
struct TestOptions {
  std::vector<std::string> paths;  ///< scenario files, and folders that hold some
  std::string only;                ///< a part of the names of those that are wanted
  bool as_junit = false;
};
Ended test_workflows(Console& console, const TestOptions& options);

// verify.cc; it is in the server's library, for it opens the store.
struct VerifyOptions {
  std::string data;             ///< folder of the store; empty: the server's
  std::string secret_key_file;  ///< empty: the one in the folder
};
Ended verify_store(Session& session, const VerifyOptions& options);

// source.cc

/// The bytes of a file, or of standard input for `-`. Exit kUsage, `file.unreadable`: the path is a
/// directory, may not be read, or holds more than any verb sends.
Fallible<std::string> read_file(Console& console, const std::string& name);

/// A definition with the name that findings about it begin with.
struct DefinitionFile {
  std::string name;
  std::string text;
};

/// The definitions that the arguments of `apply` and `lint` name: a file itself, `-` standard
/// input, a folder all that definition_files_below finds. Scenario files, and files of a folder
/// that hold something else, are skipped with a line on standard error. Exit kUsage: a file
/// cannot be read, or no definition is left.
Fallible<std::vector<DefinitionFile>> read_definitions(Console& console,
                                                       const std::vector<std::string>& names);

/// What `JSON|@file|-` stands for. A literal must be JSON; the bytes of files are not looked at.
Fallible<std::string> read_value(Console& console, const std::string& value);

/// A new random id for an event or an idempotency key: a UUID.
std::string fresh_id(Console& console);

/// The findings in `errors` as lines for people: `file:2:7: error: path: message [code]`.
std::string render_findings(const Json& errors, std::string_view file);

}  // namespace millrace
