#include "scenarios/scenario_file.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "cloudevents/json_format.h"
#include "language/fields.h"
#include "scenarios/external_functions.h"
#include "scenarios/scenario_grammar.h"
#include "states/state.h"
#include "states/workflow.h"

namespace millrace {
namespace {

class Reader {
 public:
  Reader(const std::string& default_workflow, const OpenWorkflow& open, Findings& findings)
      : default_workflow_(default_workflow), open_(open), findings_(findings) {}

  ScenarioFile read(const Node& document) {
    Fields fields(document, "", findings_, scenario_file_grammar());
    if (!fields.ok()) return {};
    read_workflows(fields);
    fields.objects("scenarios", [&](Fields& one) { file_.scenarios.push_back(scenario(one)); });
    report_if_empty(fields, "scenarios");
    return std::move(file_);
  }

 private:
  enum class Never { kBegins, kEnds };

  void read_workflows(Fields& fields) {
    const auto take = [&](const Node& item, const std::string& path) {
      Result<ApplyWorkflow> opened = open_(item);
      if (!opened) {
        return findings_.error(opened.error().code, path, item.at, opened.error().message);
      }
      if (opened->workflow != nullptr && find_workflow(opened->workflow->id) != nullptr) {
        findings_.error("scenario.workflow_twice", path, item.at,
                        fmt::format("the workflow {} is already listed; remove one of them",
                                    in_quotes(opened->workflow->id)));
      }
      all_known_ = all_known_ && opened->workflow != nullptr;
      functions_.add(opened->text);
      file_.workflows.push_back(*std::move(opened));
    };
    if (!fields.has("workflows")) {
      Node name;
      name.kind = Node::Kind::kString;
      name.text = default_workflow_;
      name.at = fields.at();
      take(name, "workflows");
    } else {
      fields.sequence("workflows", [&](const Node& item, const std::string& path) {
        const bool is_one = item.kind == Node::Kind::kString || item.kind == Node::Kind::kMapping;
        if (is_one) return take(item, path);
        if (item.kind == Node::Kind::kBroken) return;
        findings_.error(
            "definition.type", path, item.at,
            fmt::format("this is {}; write the name of a file, or a definition", describe(item)));
      });
    }
    report_if_empty(fields, "workflows");
    all_known_ = all_known_ && !file_.workflows.empty();
  }

  Scenario scenario(Fields& fields) {
    Scenario one{.name = fields.required_string("name"), .at = fields.at()};
    if (fields.has("name") && !names_.insert(one.name).second) {
      fields.report("name", "scenario.name_twice",
                    fmt::format("another scenario already has the name {}", in_quotes(one.name)));
    }
    fields.each("secrets", [&](const Member& member, const std::string& path) {
      if (member.value.kind == Node::Kind::kString) {
        one.secrets.emplace(member.key, member.value.text);
      } else if (member.value.kind != Node::Kind::kBroken) {
        findings_.error("definition.type", path, member.value.at,
                        fmt::format("this is {}; write a string", describe(member.value)));
      }
    });
    fields.each("variables", [&](const Member& member, const std::string& path) {
      if (is_key(member, path)) one.variables.emplace(member.key, to_json(member.value));
    });
    fields.each("functions", [&](const Member& member, const std::string& path) {
      check_function(member, path);
      one.functions.emplace(member.key, performances(member.value, path));
    });
    fields.object("start", [&](Fields& start) {
      one.start = StartCall{.workflow = workflow(start), .input = Json::object()};
      if (const Node* input = start.node("input")) one.start->input = to_json(*input);
    });
    if (one.start) one.start->place = placed(fields, "start");
    one.until = fields.duration("until");
    fields.objects("given", [&](Fields& given) { read_given(given, one); });
    read_expect(fields, one);
    report_if_empty(fields, "given");
    const bool has_schedule =
        std::any_of(file_.workflows.begin(), file_.workflows.end(), [](const ApplyWorkflow& known) {
          return known.workflow != nullptr && known.workflow->start.cron.has_value();
        });
    if (has_schedule && !fields.has("until")) {
      findings_.error("scenario.endless", fields.path(), fields.at(),
                      "a workflow of this file starts by a schedule, which never ends; write "
                      "\"until\"");
    }
    if (!fields.has("start") && !fields.has("given")) {
      findings_.error("scenario.nothing_happens", fields.path(), fields.at(),
                      "nothing happens in this scenario; write \"start\" or \"given\"");
    }
    return one;
  }

  /// Reports a function that no workflow of the file has, or that is a subflow.
  void check_function(const Member& member, const std::string& path) {
    if (!all_known_ || functions_.has(member.key)) return;
    if (functions_.has_subflow(member.key)) {
      return findings_.error(
          "scenario.unknown_function", path, member.at,
          fmt::format("the function {} is a subflow, so its workflow runs; "
                      "write the workflow under \"workflows\", and here what the "
                      "functions of that workflow do",
                      in_quotes(member.key)));
    }
    findings_.error("scenario.unknown_function", path, member.at,
                    fmt::format("there is no function {}; {}{}", in_quotes(member.key),
                                functions_.list(), did_you_mean(member.key, functions_.ids())));
  }

  /// Whether a member is named by the key of a variable; reports another name.
  bool is_key(const Member& member, const std::string& path) {
    if (is_variable_key(member.key)) return true;
    findings_.error("scenario.variable", path, member.at, "this is not a valid variable key");
    return false;
  }

  /// Reads the behaviour of a function: one mapping, or a list with one mapping for each attempt.
  std::vector<Performance> performances(const Node& node, const std::string& path) {
    std::vector<Performance> parts;
    const auto read_one = [&](const Node& item, const std::string& place) {
      Fields fields(item, place, findings_, performance_grammar());
      parts.push_back(performance(fields));
    };
    if (node.kind == Node::Kind::kSequence) {
      for (size_t i = 0; i < node.items.size(); ++i) read_one(node.items[i], path_of(path, i));
    } else {
      read_one(node, path);
    }
    return parts;
  }

  /// Reads the files that a function writes in one scope, as the variables that they become.
  void read_files(Fields& files, VariableScope scope, std::vector<TaskVariable>& to) {
    files.each(to_string(scope), [&](const Member& member, const std::string& path) {
      if (!is_key(member, path)) return;
      const bool is_text = member.value.kind == Node::Kind::kString;
      std::string bytes = is_text ? member.value.text : dump_json(to_json(member.value));
      std::string type = content_type_of_file(bytes);
      to.push_back({.scope = scope,
                    .key = member.key,
                    .value = {.content_type = std::move(type), .bytes = std::move(bytes)}});
    });
  }

  Performance performance(Fields& fields) {
    const auto length = [](const Span& span) { return span.after(TimePoint()) - TimePoint(); };
    Performance part;
    if (const auto span = fields.duration("begins")) part.begins = length(*span);
    if (const auto span = fields.duration("heartbeat")) part.heartbeat = length(*span);
    if (const auto span = fields.duration("takes")) part.takes = length(*span);
    const auto never =
        fields.one_of<Never>("never", {{"begins", Never::kBegins}, {"ends", Never::kEnds}});
    if (never == Never::kBegins) part.begins.reset();
    part.accepts = fields.boolean("accepts").value_or(false);
    if (part.accepts && !part.begins) {
      fields.report("accepts", "scenario.performance",
                    "a task that never begins is not accepted; remove \"accepts\" or \"never\"");
    }
    part.answers = never != Never::kEnds;
    if (!part.answers && !fields.has("takes")) part.takes.reset();
    if (const Node* const value = fields.node("return")) part.result = to_json(*value);
    fields.object("error", [&](Fields& error) {
      part.result =
          tl::unexpected(Error{error.required_string("code"), error.string("msg").value_or("")});
    });
    fields.object("files", [&](Fields& files) {
      using enum VariableScope;
      for (const VariableScope scope : {kInstance, kWorkflow, kNamespace}) {
        read_files(files, scope, part.files);
      }
    });
    if (fields.has("return") && fields.has("error")) {
      fields.report("error", "scenario.performance",
                    "\"return\" and \"error\" exclude each other; write one of them");
    }
    return part;
  }

  void read_given(Fields& fields, Scenario& scenario) {
    const Span before = scenario.given.empty() ? Span() : scenario.given.back().at;
    Given given{.at = fields.duration("at").value_or(before)};
    given.place = {.path = fields.path(), .value = {.at = fields.at()}};
    const auto time = [](const Span& span) { return span.after(TimePoint()); };
    if (time(given.at) < time(before)) {
      fields.report("at", "scenario.order",
                    fmt::format("this is before the previous entry, which is at {}; write the "
                                "entries in the order of time",
                                before.text));
    }
    if (scenario.until && time(given.at) > time(*scenario.until)) {
      fields.report(
          "at", "scenario.order",
          fmt::format("this is after the end of the scenario, \"until\" {}", scenario.until->text));
    }
    const std::optional<Control> control = read_control(fields);
    const Node* const event = fields.node("event");
    if (control.has_value() == (event != nullptr)) {
      return fields.report("event", "scenario.given",
                           "write either an \"event\" or a command to the instance, such as "
                           "\"cancel: true\"");
    }
    if (control) {
      given.what = *control;
    } else if (event->kind != Node::Kind::kMapping) {
      return fields.report("event", "definition.type",
                           fmt::format("this is {}; write a CloudEvent", describe(*event)));
    } else {
      Json json = to_json(*event);
      json.emplace("specversion", "1.0");
      json.emplace("id", fmt::format("given-{}", scenario.given.size()));
      Result<Event> decoded = decode_json_event(dump_json(json));
      if (!decoded) return fields.report("event", decoded.error().code, decoded.error().message);
      given.what = *std::move(decoded);
    }
    scenario.given.push_back(std::move(given));
  }

  static std::optional<Control> read_control(Fields& fields) {
    using Verb = Control::Verb;
    std::optional<Control> control;
    for (const auto& [key, verb] :
         {std::pair("cancel", Verb::kCancel), std::pair("pause", Verb::kPause),
          std::pair("resume", Verb::kResume), std::pair("retry", Verb::kRetry),
          std::pair("restart", Verb::kRestart), std::pair("compensate", Verb::kCompensate)}) {
      if (fields.boolean(key).value_or(false)) control = Control{.verb = verb};
    }
    if (const auto state = fields.string("rerun")) {
      control = Control{.verb = Verb::kRerun, .state = *state};
    }
    const bool extend = fields.boolean("extend").value_or(false);
    if (control) control->extend = extend;
    const bool past = fields.boolean("past").value_or(false);
    if (control) control->past = past;
    return control;
  }

  /// Reads `expect`: one mapping, or a list with one mapping for each instance that is checked.
  void read_expect(Fields& fields, Scenario& scenario) {
    const Node* const expect = fields.required_node("expect");
    if (expect == nullptr) return;
    if (expect->kind == Node::Kind::kSequence) {
      fields.objects("expect", [&](Fields& one) { read_expectation(one, scenario); });
      report_if_empty(fields, "expect");
    } else {
      Fields one(*expect, fields.path("expect"), findings_, expectation_grammar());
      if (one.ok()) read_expectation(one, scenario);
    }
  }

  void read_expectation(Fields& fields, Scenario& scenario) {
    const std::string by_default = scenario.start ? scenario.start->workflow : "";
    Expectation expectation{.workflow = workflow(fields, by_default)};
    if (const auto number = fields.integer("instance")) {
      expectation.number = static_cast<size_t>(*number);
    }
    bool asks = false;
    const auto take = [&](std::string_view key, Aspect aspect, bool good) {
      asks = asks || fields.has(key);
      if (good) expectation.all.push_back({aspect, placed(fields, key)});
    };
    take("status", Aspect::kStatus, read_status(fields));
    take("run", Aspect::kRun, fields.integer("run").has_value());
    take("states", Aspect::kStates, read_states(fields, "states", expectation.workflow));
    take("compensated", Aspect::kCompensated,
         read_states(fields, "compensated", expectation.workflow));
    take("waits", Aspect::kAwaits, read_limit(fields));
    take("compensations", Aspect::kCompensations,
         read_compensations(fields, "compensations", expectation.workflow));
    take("compensationsLeft", Aspect::kLeft,
         read_compensations(fields, "compensationsLeft", expectation.workflow));
    take("output", Aspect::kOutput, fields.node("output") != nullptr);
    take("outputContains", Aspect::kOutputContains, fields.node("outputContains") != nullptr);
    take("error", Aspect::kError, read_error(fields));
    take("published", Aspect::kPublished,
         fields.objects("published", [](Fields& event) { event.pass_over(); }));
    take("attempts", Aspect::kAttempts, read_attempts(fields));
    take("took", Aspect::kTook, fields.duration("took").has_value());
    take("instances", Aspect::kInstances, fields.integer("instances").has_value());
    if (!asks) {
      findings_.error("scenario.expects_nothing", fields.path(), fields.at(),
                      "nothing is expected here; write for example \"status\"");
    }
    scenario.expect.push_back(std::move(expectation));
  }

  /// The statuses that an instance can have at the end of a scenario, when nothing is due any more:
  /// it has ended, waits for something that does not come, or for the end of a compensation
  /// (running), or an operator has paused it.
  static bool read_status(Fields& fields) {
    using Status = InstanceStatus;
    return fields
        .one_of<Status>("status", {{"complete", Status::kComplete},
                                   {"failed", Status::kFailed},
                                   {"cancelled", Status::kCancelled},
                                   {"timedout", Status::kTimedOut},
                                   {"waiting", Status::kWaiting},
                                   {"running", Status::kRunning},
                                   {"paused", Status::kPaused},
                                   {"pending", Status::kPending}})
        .has_value();
  }

  static bool read_limit(Fields& fields) {
    return fields.one_of<bool>("waits", {{"slot", false}, {"throttle", true}}).has_value();
  }

  /// Parts of compensations: of those that succeed, or of those that are left, with an error.
  bool read_compensations(Fields& fields, std::string_view key, const std::string& workflow) {
    return fields.objects(key, [&](Fields& one) {
      if (const auto state = one.string("state")) check_state(*state, workflow, one);
      one.node("input");
      if (key == "compensationsLeft") read_error(one);
    });
  }

  static bool read_error(Fields& fields) {
    return fields.object("error", [](Fields& error) {
      error.string("code");
      error.string("msg");
    });
  }

  /// Reports the state in the mapping if the workflow does not have it.
  void check_state(std::string_view id, const std::string& workflow, Fields& fields) {
    const Workflow* const known = find_workflow(workflow);
    if (known == nullptr) return;
    std::vector<std::string_view> ids;
    for (const auto& state : known->states) ids.push_back(state->common().id);
    check_known(id, ids, {"state", "scenario.unknown_state"}, fields.path("state"),
                fields.at("state"));
  }

  /// Reports ids of states that the workflow does not have: it can never enter them, so they are
  /// typing errors.
  bool read_states(Fields& fields, std::string_view key, const std::string& workflow) {
    const Workflow* const known = find_workflow(workflow);
    return fields.sequence(key, [&](const Node& item, const std::string& path) {
      if (item.kind != Node::Kind::kString) {
        findings_.error("definition.type", path, item.at,
                        fmt::format("this is {}; write the id of a state", describe(item)));
      } else if (known != nullptr) {
        std::vector<std::string_view> ids;
        for (const auto& state : known->states) ids.push_back(state->common().id);
        check_known(item.text, ids, {"state", "scenario.unknown_state"}, path, item.at);
      }
    });
  }

  bool read_attempts(Fields& fields) {
    return fields.sequence("attempts", [&](const Node& item, const std::string& path) {
      if (const auto span = Span::parse(item.text); !span) {
        findings_.error(span.error().code, path, item.at, span.error().message);
      }
    });
  }

  /// The workflow of the mapping: the one in its key `workflow`, else `by_default`, else the first
  /// one of the file.
  std::string workflow(Fields& fields, std::string by_default = "") {
    const auto named = fields.string("workflow");
    if (!all_known_) return by_default;
    if (!named) return by_default.empty() ? file_.workflows.front().workflow->id : by_default;
    std::vector<std::string_view> ids;
    for (const ApplyWorkflow& one : file_.workflows) ids.push_back(one.workflow->id);
    check_known(*named, ids, {"workflow", "scenario.unknown_workflow"}, fields.path("workflow"),
                fields.at("workflow"));
    return *named;
  }

  /// A noun for what has a name, and the code of the error if there is nothing of a name.
  struct Noun {
    std::string_view what;
    const char* unknown;
  };

  void check_known(std::string_view name, const std::vector<std::string_view>& known,
                   const Noun& noun, const std::string& path, Position at) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    findings_.error(
        noun.unknown, path, at,
        fmt::format("there is no {} {}{}", noun.what, in_quotes(name), did_you_mean(name, known)));
  }

  const Workflow* find_workflow(std::string_view id) const {
    for (const ApplyWorkflow& one : file_.workflows) {
      if (one.workflow != nullptr && one.workflow->id == id) return one.workflow.get();
    }
    return nullptr;
  }

  static void report_if_empty(Fields& fields, std::string_view key) {
    const Node* const list = fields.node(key);
    if (list == nullptr || list->kind != Node::Kind::kSequence || !list->items.empty()) return;
    fields.report(key, "definition.value", "this is empty; write at least one item");
  }

  static Placed placed(Fields& fields, std::string_view key) {
    return {fields.path(key), *fields.node(key)};
  }

  const std::string& default_workflow_;
  const OpenWorkflow& open_;
  Findings& findings_;
  ScenarioFile file_;
  bool all_known_ = true;        ///< every workflow was loaded without errors
  ExternalFunctions functions_;  ///< of all workflows
  std::set<std::string> names_;
};

}  // namespace

ScenarioFile read_scenario_file(std::string_view text, const std::string& default_workflow,
                                const OpenWorkflow& open, Findings& findings) {
  const std::optional<Node> document = parse_document(text, findings);
  if (!document) return {};
  if (document->find("states") != nullptr && document->find("scenarios") == nullptr) {
    findings.error("scenario.is_workflow", "", document->at,
                   "this file is a workflow; `millrace test` reads scenarios, from a file with a "
                   "name such as order.test.yaml beside the workflow order.yaml");
    return {};
  }
  return Reader(default_workflow, open, findings).read(*document);
}

}  // namespace millrace
