#include "orchestrator/definition/loader.h"

#include <fmt/format.h>

#include "cloudevents/event_check.h"
#include "cloudevents/headers.h"
#include "model/document.h"
#include "model/fields.h"
#include "states/state.h"
#include "states/state_fields.h"

namespace millrace {
namespace {

/// Keys of the language that this version does not carry out. To pass over them in silence would
/// run another workflow than the one that was written.
void refuse_unsupported(Fields& fields, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (fields.has(key)) {
      fields.report(key, "definition.unsupported",
                    fmt::format("this version does not carry out `{}` here", key));
    }
  }
}

class Loader {
 public:
  explicit Loader(Findings& findings) : context_{.findings = findings} {}

  Workflow read(const Node& document) {
    Workflow workflow;
    Fields fields(document, "", context_.findings);
    workflow.id = fields.required_identifier("id");
    workflow.name = fields.string("name").value_or("");
    workflow.description = fields.string("description").value_or("");
    workflow.version = fields.string("version").value_or("");
    refuse_unsupported(fields, {"singular", "functions", "schemas", "timeouts"});
    number_states(document);
    read_states(fields, workflow);
    fields.object("start", [&](Fields& start) { workflow.start = read_start(start); });
    return workflow;
  }

  /// Has the programs checked, each text once.
  void check_programs(const ProgramCheck& check) {
    std::vector<std::string> texts;
    for (const PlacedProgram& program : context_.programs) texts.push_back(program.text);
    if (texts.empty()) return;
    const auto errors = check(texts);
    for (size_t i = 0; i < errors.size(); ++i) {
      const PlacedProgram& program = context_.programs[i];
      if (errors[i]) {
        context_.findings.error(errors[i]->code, program.path, program.at, errors[i]->message);
      }
    }
  }

 private:
  /// Gives each state its index before any of them is read: a transition may go forward.
  void number_states(const Node& document) {
    const Member* const states = document.find("states");
    if (states == nullptr || states->value.kind != Node::Kind::kSequence) return;
    for (size_t i = 0; i < states->value.items.size(); ++i) {
      const Member* const id = states->value.items[i].find("id");
      if (id == nullptr || id->value.kind != Node::Kind::kString) continue;
      const auto [first, added] = context_.states.emplace(id->value.text, i);
      if (added) continue;
      context_.findings.error(
          "definition.duplicate_id", path_of(path_of("states", i), "id"), id->value.at,
          fmt::format("state {} has the id {} already", first->second, in_quotes(id->value.text)));
    }
  }

  void read_states(Fields& fields, Workflow& workflow) {
    if (!fields.require("states")) return;
    const bool is_list = fields.objects(
        "states", [&](Fields& state) { workflow.states.push_back(read_state(state)); });
    if (is_list && workflow.states.empty()) {
      fields.report("states", "definition.empty", "a workflow needs at least one state");
    }
  }

  std::shared_ptr<const State> read_state(Fields& fields) {
    StateFields state(fields, context_);
    StateCommon common;
    common.id = fields.required_identifier("id");
    const StateType* const type = read_type(fields);
    common.log = state.command("log");
    fields.objects("catch", [&](Fields& entry) {
      StateFields target(entry, context_);
      common.catches.push_back(
          {.error = entry.required_string("error"), .transition = target.transition("transition")});
    });
    refuse_unsupported(fields, {"retries", "retry"});
    if (type == nullptr) {
      // Nobody knows its fields, so none of them can be wrong.
      fields.pass_over();
      return nullptr;
    }
    common.type = type->name;
    if (type->has_timeout) {
      common.timeout = fields.duration("timeout");
    } else if (fields.has("timeout")) {
      fields.report("timeout", "definition.not_here",
                    fmt::format("a {} state has no timeout", type->name));
    }
    if (!type->has_own_exits) {
      common.exits.push_back(state.exit("transform", "transition"));
    } else {
      refuse_own_exits(fields, *type);
    }
    return type->load(state, std::move(common));
  }

  const StateType* read_type(Fields& fields) {
    const std::string name = fields.required_string("type");
    const StateType* const type = find_state_type(name);
    if (type != nullptr || name.empty()) return type;
    std::vector<std::string_view> names;
    for (const StateType* known : state_types()) names.push_back(known->name);
    fields.report("type", "definition.state_type",
                  fmt::format("{} is no state type of this version; there are {}{}", in_quotes(name),
                              fmt::join(names, ", "), did_you_mean(name, names)));
    return nullptr;
  }

  /// switch and eventXor have a way out for each of their entries.
  static void refuse_own_exits(Fields& fields, const StateType& type) {
    const bool is_switch = type.name == "switch";
    for (const auto& [key, proper] : {std::pair("transform", "defaultTransform"),
                                      std::pair("transition", "defaultTransition")}) {
      if (!fields.has(key)) continue;
      fields.report(key, "definition.not_here",
                    is_switch
                        ? fmt::format("a switch has none of its own; write it on a condition, "
                                      "or as `{}`",
                                      proper)
                        : fmt::format("an {} has none of its own; write it on an entry of "
                                      "`events`",
                                      type.name));
    }
  }

  Start read_start(Fields& fields) {
    using Kind = Start::Kind;
    StateFields state(fields, context_);
    Start start;
    if (!fields.require("type")) return start;
    if (const Node* type = fields.node("type"); type != nullptr && type->text == "scheduled") {
      fields.report("type", "definition.unsupported",
                    "this version does not carry out scheduled starts");
      fields.pass_over();
      return start;
    }
    start.kind = fields
                     .one_of<Kind>("type", {{"default", Kind::kDefault},
                                            {"event", Kind::kEvent},
                                            {"eventsXor", Kind::kEventsXor},
                                            {"eventXor", Kind::kEventsXor},
                                            {"eventsAnd", Kind::kEventsAnd},
                                            {"eventAnd", Kind::kEventsAnd}})
                     .value_or(Kind::kDefault);
    start.state = state.transition("state").value_or(0);
    if (start.kind == Kind::kEvent) {
      start.events.push_back(state.required_start_event("event"));
    } else if (start.kind != Kind::kDefault) {
      state.required_list("events", [&](StateFields& entry) {
        start.events.push_back(entry.start_event_of_entry());
      });
    }
    if (start.kind == Kind::kEventsAnd) {
      start.lifespan = fields.duration("lifespan");
      read_correlate(fields, start);
    }
    return start;
  }

  void read_correlate(Fields& fields, Start& start) {
    fields.sequence("correlate", [&](const Node& node, const std::string& path) {
      std::string name = node.kind == Node::Kind::kString ? to_lower(node.text) : "";
      if (!is_attribute_name(name)) {
        context_.findings.error("definition.attribute_name", path, node.at,
                                "write the name of a context attribute: letters and digits only");
      }
      start.correlate.push_back(std::move(name));
    });
  }

  LoadContext context_;
};

}  // namespace

Loaded load_workflow(std::string_view text, const ProgramCheck& check) {
  Loaded loaded;
  const std::optional<Node> document = parse_document(text, loaded.findings);
  if (!document) return loaded;
  Loader loader(loaded.findings);
  auto workflow = std::make_shared<Workflow>(loader.read(*document));
  if (check) loader.check_programs(check);
  if (!loaded.findings.has_errors()) loaded.workflow = std::move(workflow);
  return loaded;
}

}  // namespace millrace
