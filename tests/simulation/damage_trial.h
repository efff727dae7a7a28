// DamageTrial: runs an engine on a damaged store and checks the engine's behaviour.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/simulation/dying_store.h"
#include "tests/simulation/row_damages.h"
#include "tests/simulation/world.h"

namespace millrace {

/// Runs an engine on a damaged store and checks the engine's behaviour. complain() collects the
/// failures. A fault that ends the engine ends the test process.
class DamageTrial {
 public:
  /// `has_canary`: the rows of the canary workflow are undamaged, so its instances must be started
  /// and woken.
  DamageTrial(World& world, const std::vector<std::string>& ids, bool has_canary = true)
      : world_(world), ids_(ids), has_canary_(has_canary) {}

  std::string run() {
    if (!begin()) return complaints_;
    world_.evaluator.release();
    world_.broker.reconnect();
    check_canary("first");
    for (const char* const type :
         {"go", "left", "right", "heads", "tails", "grown", "one", "two", "flood"}) {
      world_.publish(type, fmt::format("{}-later", type), Json{{"d", 1}}, {{"n", "7"}});
      world_.run_until_idle();
    }
    ask();
    answer_tasks();
    world_.run_for(std::chrono::hours(4));
    check_canary("second");
    command_all();
    world_.run_for(std::chrono::hours(30));
    check_canary("third");
    world_.crash();
    if (!begin()) return complaints_;
    ask();
    world_.run_for(std::chrono::hours(1));
    check_canary("fourth");
    for (const char* const ns : {"other", "dying"}) {
      ask(DeleteNamespace{.name = ns, .cancel = true});
    }
    ask(DeleteWorkflow{.ns = "default", .id = "both", .cancel = true});
    world_.run_for(std::chrono::minutes(1));
    check_canary("last");
    world_.crash();
    return complaints_;
  }

 private:
  void complain(const std::string& text) { complaints_ += text + "\n"; }

  /// The error of a refused start must name the damaged row and the action.
  bool begin() {
    const Status started = world_.try_recover();
    if (started) return true;
    const std::string& message = started.error().message;
    const bool names = message.find("millrace verify") != std::string::npos ||
                       started.error().code == "store.version" ||
                       started.error().code == "store.key";
    if (!started.error().code.starts_with("store.") || !names) {
      complain(fmt::format("refuses to start with {}: {}", started.error().code, message));
    }
    return false;
  }

  /// Checks that an instance of the undamaged canary workflow is started and woken.
  void check_canary(std::string_view which) {
    if (!has_canary_) return world_.run_until_idle();
    const double before = ended();
    world_.publish("canary", fmt::format("canary-{}", which));
    world_.run_until_idle();
    world_.run_for(std::chrono::seconds(2));
    world_.publish("sing", fmt::format("sing-{}", which));
    world_.run_until_idle();
    world_.run_for(std::chrono::seconds(2));
    if (ended() > before) return;
    const Status ready = world_.processor().ready();
    complain(fmt::format("the {} canary is dead: {}", which,
                         ready ? "ready" : ready.error().code + ": " + ready.error().message));
  }

  double ended() const {
    return world_.metric("millrace_instances_ended_total{status=\"complete\"}");
  }

  template <class T>
  void check_answer(std::string_view what, const Result<T>& answer) {
    if (answer) return;
    const std::string& code = answer.error().code;
    if (code.find('.') == std::string::npos) complain(fmt::format("{}: {}", what, code));
  }

  /// Runs every query.
  void ask() {
    const Snapshot view = *Snapshot::take(world_.environment());
    Queries& queries = world_.queries();
    for (const char* const ns : {"default", "other"}) {
      check_answer("namespaces", queries.namespaces(view));
      check_answer("workflows", queries.workflows(view, ns));
      check_answer("instances", queries.instances(view, ns, {.limit = 100}));
      check_answer("listeners", queries.listeners(view, ns, {.limit = 100}));
      check_answer("schedules", queries.schedules(view, ns));
      check_answer("groups", queries.groups(view, ns, 100, ""));
      check_answer("variables", queries.variables(view, {.ns = ns}, 100, ""));
      check_answer("secrets", queries.secrets(view, ns, 100, ""));
      for (const char* const id : {"pair", "consume", "ticks"}) {
        check_answer("workflow", queries.workflow(view, ns, id));
        check_answer("schedule", queries.schedule(view, ns, id));
        check_answer("revisions", queries.revisions(view, ns, id, {.limit = 100}));
      }
    }
    for (const std::string& id : ids_) {
      check_answer("instance", queries.instance(view, "default", *parse_instance_id(id)));
      check_answer("history", queries.history(view, "default", *parse_instance_id(id), {}));
    }
  }

  void answer_tasks() {
    const std::vector<Task> tasks = world_.functions.tasks();
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (i % 3 == 2) continue;
      world_.functions.report({tasks[i].id, TaskStarted{}});
      if (i % 3 == 1) {
        world_.functions.answer(tasks[i].id, {{"done", i}});
      }
      world_.run_until_idle();
    }
  }

  void ask(Command command) {
    const Answered answered = world_.command(std::move(command));
    world_.run_until_idle();
    if (!*answered) world_.run_for(std::chrono::seconds(2));
    if (!*answered) return complain("a command is not answered");
    check_answer("command", **answered);
  }

  void command_all() {
    size_t i = 0;
    for (const std::string& text : ids_) {
      const InstanceId id = *parse_instance_id(text);
      ask(PauseInstance{"default", id});
      ask(ResumeInstance{"default", id});
      switch (i++ % 4) {
        case 0:
          ask(CancelInstance{"default", id, true});
          break;
        case 1:
          ask(CancelInstance{"default", id});
          break;
        default:
          break;
      }
      ask(RetryInstance{"default", id, true});
      if (i % 3 == 0) ask(RestartInstance{"default", id});
      if (i % 3 == 1) ask(RerunInstance{"default", id, "a"});
      if (i % 5 == 0) ask(DeleteInstance{"default", id});
    }
    for (const char* const workflow :
         {"consume", "quick", "order", "parent", "pays", "settles", "gathers"}) {
      ask(PauseWorkflow{.ns = "default", .id = workflow});
      ask(PauseWorkflow{.ns = "default", .id = workflow, .paused = false});
      ask(StartInstance{
          .ns = "default", .workflow = workflow, .input = {{"n", "7"}}, .idempotency_key = "key"});
    }
    ask(TriggerSchedule{"default", "ticks"});
    for (const char* const service : {"charge", "bank"}) {
      ask(PauseService{"default", service});
      ask(PauseService{"default", service, false});
    }
    ask(World::application(std::string(kWorkflows[11]) + "- {id: more, type: noop}\n"));
  }

  World& world_;
  const std::vector<std::string>& ids_;
  const bool has_canary_;
  std::string complaints_;
};

}  // namespace millrace
