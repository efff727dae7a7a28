#include "orchestrator/definition/loader.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/characters.h"
#include "cloudevents/event_check.h"
#include "cloudevents/headers.h"
#include "language/document.h"
#include "language/fields.h"
#include "language/grammar.h"
#include "language/policy_fields.h"
#include "orchestrator/definition/flow_control.h"
#include "orchestrator/definition/functions.h"
#include "orchestrator/definition/start_limits.h"
#include "states/compensation.h"
#include "states/state.h"
#include "states/state_fields.h"

namespace millrace {
namespace {

std::string with_article(std::string_view word) {
  const bool is_vowel = std::string_view("aeiou").find(word.front()) != std::string_view::npos;
  return fmt::format("{} {}", is_vowel ? "an" : "a", word);
}

/// A program with an error costs the jq workers several compilations of 15 ms or more: thousands of
/// such programs would block all other work for minutes.
constexpr size_t kProgramsAtOnce = 200;
constexpr size_t kEnoughWrongPrograms = 20;

class Loader {
 public:
  explicit Loader(Findings& findings) : context_{.findings = findings} {}

  Workflow read(const Node& document) {
    Workflow workflow;
    Fields fields(document, "", context_.findings, workflow_grammar());
    workflow.id = fields.required_identifier("id");
    workflow.name = fields.string("name").value_or("");
    workflow.description = fields.string("description").value_or("");
    workflow.version = fields.string("version").value_or("");
    workflow.singular = fields.boolean("singular").value_or(false);
    workflow.rate_limit = read_rate_limit(fields, context_);
    workflow.debounce = read_debounce(fields, context_);
    workflow.batch = read_start_batch(fields, context_);
    read_flow_control(fields, context_, workflow);
    workflow.sealed = fields.boolean("sealed").value_or(false);
    workflow.compensates = fields.boolean("compensate").value_or(false);
    number_states(document);
    read_policies(fields, workflow);
    read_functions(fields);
    read_schemas(fields);
    read_states(fields, workflow);
    workflow.looks_back =
        std::any_of(workflow.states.begin(), workflow.states.end(),
                    [](const auto& state) { return state != nullptr && state->looks_back(); });
    workflow.names_instance = context_.names_instance;
    fields.object("start", [&](Fields& start) { workflow.start = read_start(start); });
    return workflow;
  }

  /// Checks the schemas, if there is no error so far.
  void check_schemas(const SchemaCheck& check) {
    if (context_.findings.has_errors()) return;
    std::vector<std::string> texts;
    for (const PlacedSchema& schema : context_.schemas) texts.push_back(schema.text);
    const std::vector<std::optional<Error>> errors = check(texts);
    for (size_t i = 0; i < errors.size(); ++i) {
      const PlacedSchema& schema = context_.schemas[i];
      if (!errors[i]) continue;
      context_.findings.error(errors[i]->code, schema.path, schema.at, errors[i]->message);
    }
  }

  /// Checks the programs, each text once.
  void check_programs(const ProgramCheck& check) {
    std::map<std::string_view, size_t> numbers;
    std::vector<std::string> texts;
    for (const PlacedProgram& program : context_.programs) {
      if (numbers.emplace(program.text, texts.size()).second) texts.push_back(program.text);
    }
    const std::vector<std::optional<Error>> errors = errors_in(texts, check);
    for (const PlacedProgram& program : context_.programs) {
      const size_t number = numbers.at(program.text);
      if (number >= errors.size()) {
        context_.findings.warning(
            "jq.unchecked", program.path, program.at,
            fmt::format("{} jq programs from here on were not checked, because too many jq "
                        "programs before them have errors",
                        texts.size() - number),
            "correct the jq programs with errors first");
        return;
      }
      if (const std::optional<Error>& error = errors[number]) {
        if (is_word_as_priority(program)) continue;
        context_.findings.error(error->code, program.path, program.at, error->message);
      }
    }
  }

 private:
  /// Whether the program is a word, such as `high`, as a `priority`, which another finding reports:
  /// that the word could be a key or a text does not help there.
  bool is_word_as_priority(const PlacedProgram& program) const {
    const bool is_word = std::all_of(program.text.begin(), program.text.end(), is_in_name);
    if (!is_word || !program.path.ends_with("priority")) return false;
    const std::vector<Finding> findings = context_.findings.sorted();
    return std::any_of(findings.begin(), findings.end(), [&](const Finding& one) {
      return one.code == "definition.query" && one.path == program.path;
    });
  }

  /// Returns the error of each program, or nullopt if it is valid. Checking stops after
  /// kEnoughWrongPrograms errors; then the result may be shorter than `programs`.
  static std::vector<std::optional<Error>> errors_in(std::span<const std::string> programs,
                                                     const ProgramCheck& check) {
    std::vector<std::optional<Error>> errors;
    size_t wrong = 0;
    while (errors.size() < programs.size() && wrong < kEnoughWrongPrograms) {
      const size_t count = std::min(kProgramsAtOnce, programs.size() - errors.size());
      for (std::optional<Error>& error : check(programs.subspan(errors.size(), count))) {
        wrong += error ? 1 : 0;
        errors.push_back(std::move(error));
      }
    }
    return errors;
  }

  /// Reads the policies and timeouts of the workflow itself.
  void read_policies(Fields& fields, Workflow& workflow) {
    workflow.retries = read_retries(fields);
    refuse_skipping(fields, workflow.retries);
    if (const auto vocabulary = read_defaults(fields)) {
      context_.default_retries = default_policy(*vocabulary);
      context_.has_defaults = true;
    }
    WorkflowTimeouts& timeouts = workflow.timeouts;
    fields.object("timeouts", [&](Fields& nested) {
      timeouts.interrupt = nested.duration("interrupt");
      timeouts.kill = nested.duration("kill");
    });
    timeouts.execution = fields.duration("workflowExecutionTimeout");
    timeouts.run = fields.duration("workflowRunTimeout");
    timeouts.task = fields.duration("workflowTaskTimeout");
    read_on_failure(fields, timeouts);
    if (fields.has("timeout")) {
      if (fields.has("workflowExecutionTimeout")) {
        fields.report("timeout", "definition.both_keys",
                      same_timeout("workflowExecutionTimeout", Vocabulary::kTemporal, "timeout",
                                   Vocabulary::kZart));
      }
      timeouts.execution = fields.duration("timeout");
      timeouts.fails = true;
    } else if (fields.has("on_failure") && !timeouts.on_any_failure) {
      fields.report("on_failure", "definition.not_here",
                    "on_failure runs when `timeout` expires, but there is no `timeout`; write one, "
                    "or {state: …, when: any} to run it after any failure");
    }
  }

  /// Reads `on_failure`: the id of a state, or a mapping with the keys `state` and `when`.
  void read_on_failure(Fields& fields, WorkflowTimeouts& timeouts) {
    const Node* const node = fields.node("on_failure");
    if (node == nullptr || node->kind != Node::Kind::kMapping) {
      timeouts.on_failure = StateFields(fields, context_).transition("on_failure");
      return;
    }
    fields.object("on_failure", [&](Fields& nested) {
      if (nested.require("state")) {
        timeouts.on_failure = StateFields(nested, context_).transition("state");
      }
      timeouts.on_any_failure =
          nested.one_of<bool>("when", {{"timeout", false}, {"any", true}}).value_or(false);
      timeouts.on_failure_compensates = nested.boolean("compensate").value_or(false);
    });
  }

  static std::optional<Vocabulary> read_defaults(Fields& fields) {
    return fields.one_of<Vocabulary>("defaults", {{"stevora", Vocabulary::kStevora},
                                                  {"temporal", Vocabulary::kTemporal},
                                                  {"steep", Vocabulary::kSteep},
                                                  {"zart", Vocabulary::kZart},
                                                  {"direktiv", Vocabulary::kDirektiv}});
  }

  /// Refuses a policy with zero attempts at a place that has no action: zero attempts mean that an
  /// action is skipped.
  static void refuse_skipping(Fields& fields, const std::optional<RetryPolicy>& retries) {
    if (!retries || retries->attempts != 0U) return;
    fields.report(
        "retries", "definition.value",
        "zero attempts skip an action, but there is no action here; write at least one attempt");
  }

  void read_functions(Fields& fields) {
    fields.objects("functions", [&](Fields& entry) { read_function(entry, context_); });
  }

  void read_schemas(Fields& fields) {
    fields.objects("schemas", [&](Fields& entry) {
      const std::string id = entry.required_identifier("id");
      std::string schema = StateFields(entry, context_).required_inline_schema("schema");
      if (id.empty() || context_.schemas_by_id.emplace(id, std::move(schema)).second) return;
      entry.report("id", "definition.duplicate_id",
                   fmt::format("another schema has the id {} already", in_quotes(id)));
    });
  }

  /// Gives each state its index before any state is read: a transition may name a later state.
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
    StateFields(fields, context_).required_list("states", [&](StateFields& state) {
      auto& compensation = workflow.compensations.emplace_back();
      workflow.states.push_back(read_state(state, compensation));
    });
  }

  std::shared_ptr<const State> read_state(StateFields& state,
                                          std::shared_ptr<const CompensationState>& compensation) {
    Fields& fields = state.plain();
    StateCommon common;
    common.id = fields.required_identifier("id");
    const StateType* const type = read_type(state);
    common.log = state.command("log");
    fields.objects("catch", [&](Fields& entry) {
      StateFields target(entry, context_);
      common.catches.push_back(
          {.error = target.required_nonempty("error"),
           .transition = target.transition("transition"),
           .continue_as_new = target.continue_as_new("continueAsNew", "transition")});
    });
    common.retries = read_retries(fields);
    if (type == nullptr) {
      // The loader does not know the other keys of a state of an unknown type, so it reports none
      // of them as unknown.
      state.exit();
      fields.pass_over();
      return nullptr;
    }
    common.type = type->name;
    if (!fields.takes("action") && !fields.takes("actions")) {
      refuse_skipping(fields, common.retries);
    }
    if (fields.takes("timeout")) {
      read_timeout(state, common);
    } else if (fields.has("timeout")) {
      fields.report("timeout", "definition.not_here",
                    fmt::format("{} state has no timeout", with_article(type->name)));
    }
    // In an error state this key has another meaning, and the state reads it.
    if (type->name != "error") {
      fields.object("compensate", [&](Fields& nested) {
        StateFields call(nested, context_);
        compensation = CompensationState::load(call, common);
      });
    }
    if (fields.takes("transition")) {
      common.exits.push_back(state.exit());
    } else {
      refuse_own_exits(fields, *type);
    }
    return type->load(state, std::move(common));
  }

  /// Reads the timeout of a state: a constant, or a time that the data decides.
  static void read_timeout(StateFields& state, StateCommon& common) {
    std::optional<WrittenTime> timeout = state.duration("timeout");
    if (timeout && std::holds_alternative<Span>(*timeout)) {
      common.timeout = std::get<Span>(*std::move(timeout));
    } else if (timeout) {
      common.evaluated_timeout = std::get<EvaluatedTime>(*std::move(timeout));
    }
    if (!state.plain().takes("until")) return;
    if (auto until = state.until("until")) common.evaluated_timeout = *std::move(until);
  }

  static const StateType* read_type(StateFields& state) {
    const std::string name = state.required_nonempty("type");
    const StateType* const type = find_state_type(name);
    if (type != nullptr || name.empty()) return type;
    std::vector<std::string_view> names;
    for (const StateType* known : state_types()) names.push_back(known->name);
    state.plain().report("type", "definition.state_type",
                         fmt::format("{} is not a state type; valid: {}{}", in_quotes(name),
                                     fmt::join(names, ", "), did_you_mean(name, names)));
    return nullptr;
  }

  /// Refuses the keys of an exit in the mapping of a switch or eventXor state, where each entry has
  /// its own exit.
  static void refuse_own_exits(Fields& fields, const StateType& type) {
    const bool is_switch = type.name == "switch";
    for (const auto& [key, proper] :
         {std::pair("transform", "defaultTransform"), std::pair("transition", "defaultTransition"),
          std::pair("continueAsNew", "defaultContinueAsNew")}) {
      if (!fields.has(key)) continue;
      fields.report(
          key, "definition.not_here",
          is_switch
              ? fmt::format("a switch does not have this key; write it in a condition, or as `{}`",
                            proper)
              : fmt::format("{} does not have this key; write it in an entry of `events`",
                            with_article(type.name)));
    }
  }

  Start read_start(Fields& fields) {
    StateFields state(fields, context_);
    Start start;
    start.state = state.transition("state").value_or(0);
    const std::optional<Start::Kind> kind = read_start_kind(fields);
    if (!kind) {
      // The other keys depend on the type, which is unknown.
      fields.pass_over();
      return start;
    }
    start.kind = *kind;
    if (start.kind == Start::Kind::kScheduled) {
      start.cron = read_cron(fields);
    } else if (start.kind == Start::Kind::kEvent) {
      start.events.push_back(state.required_start_event("event"));
    } else if (start.kind != Start::Kind::kDefault) {
      state.required_list("events", [&](StateFields& entry) {
        start.events.push_back(entry.start_event_of_entry());
      });
    }
    if (start.kind == Start::Kind::kEventsAnd) {
      start.lifespan = fields.duration("lifespan");
      read_correlate(fields, start);
    }
    return start;
  }

  static std::optional<Start::Kind> read_start_kind(Fields& fields) {
    if (!fields.require("type")) return std::nullopt;
    return fields.one_of<Start::Kind>("type", {{"default", Start::Kind::kDefault},
                                               {"scheduled", Start::Kind::kScheduled},
                                               {"event", Start::Kind::kEvent},
                                               {"eventsXor", Start::Kind::kEventsXor},
                                               {"eventXor", Start::Kind::kEventsXor},
                                               {"eventsAnd", Start::Kind::kEventsAnd},
                                               {"eventAnd", Start::Kind::kEventsAnd}});
  }

  static std::optional<Cron> read_cron(Fields& fields) {
    const std::optional<std::string> text = fields.string("cron");
    if (!text) return std::nullopt;
    Result<Cron> cron = Cron::parse(*text);
    if (cron) return std::move(*cron);
    Error& error = cron.error();
    if (error.code == "zone.unknown") {
      error.message += did_you_mean(Cron::zone_in(*text), TimeZone::names());
    }
    fields.report("cron", std::move(error.code), std::move(error.message));
    return std::nullopt;
  }

  void read_correlate(Fields& fields, Start& start) {
    fields.sequence("correlate", [&](const Node& node, const std::string& path) {
      if (node.kind == Node::Kind::kBroken) return;
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

Loaded load_workflow(std::string_view text, const ProgramCheck& check,
                     const SchemaCheck& check_schemas) {
  Findings findings;
  const std::optional<Node> document = parse_document(text, findings);
  if (!document) return {.workflow = nullptr, .findings = std::move(findings)};
  return load_workflow(*document, std::move(findings), check, check_schemas);
}

Loaded load_workflow(const Node& document, Findings findings, const ProgramCheck& check,
                     const SchemaCheck& check_schemas) {
  Loaded loaded{.workflow = nullptr, .findings = std::move(findings)};
  Loader loader(loaded.findings);
  auto workflow = std::make_shared<Workflow>(loader.read(document));
  if (check) loader.check_programs(check);
  if (check_schemas) loader.check_schemas(check_schemas);
  if (!loaded.findings.has_errors()) loaded.workflow = std::move(workflow);
  return loaded;
}

Result<std::shared_ptr<const Workflow>> load_stored(std::string_view text) {
  Loaded loaded = load_workflow(text, nullptr);
  if (loaded.workflow) return std::move(loaded.workflow);
  return fail("definition.findings", render_text(loaded.findings, "stored"));
}

}  // namespace millrace
