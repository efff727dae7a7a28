// DamageTrial: what is done with a damaged store, and what must come of it.
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

/// What is done with a damaged store, and what must come of it. A complaint is told to `complain`;
/// what would end the process ends this one.
class DamageTrial {
 public:
  /// `has_canary`: the damage is not one of what the canary needs.
  DamageTrial(World& world, const std::vector<std::string>& ids, bool has_canary = true)
      : world_(world), ids_(ids), has_canary_(has_canary) {}

  std::string run() {
    if (!begin()) return complaints_;
    world_.evaluator.release();
    world_.broker.reconnect();
    hear_canary("first");
    for (const char* const type :
         {"go", "left", "right", "heads", "tails", "grown", "one", "two", "flood"}) {
      world_.publish(type, fmt::format("{}-later", type), Json{{"d", 1}}, {{"n", "7"}});
      world_.settle();
    }
    ask();
    answer_tasks();
    world_.run_for(std::chrono::hours(4));
    hear_canary("second");
    command_all();
    world_.run_for(std::chrono::hours(30));
    hear_canary("third");
    world_.crash();
    if (!begin()) return complaints_;
    ask();
    world_.run_for(std::chrono::hours(1));
    hear_canary("fourth");
    for (const char* const space : {"other", "dying"}) {
      ask(DeleteNamespace{.name = space, .cancel = true});
    }
    ask(DeleteWorkflow{.space = "default", .id = "both", .cancel = true});
    world_.run_for(std::chrono::minutes(1));
    hear_canary("last");
    world_.crash();
    return complaints_;
  }

 private:
  void complain(const std::string& text) { complaints_ += text + "\n"; }

  /// A start that is refused says which row is damaged, and what to do.
  bool begin() {
    const Status begun = world_.try_recover();
    if (begun) return true;
    const std::string& message = begun.error().message;
    const bool names = message.find("millrace verify") != std::string::npos ||
                       begun.error().code == "store.version" || begun.error().code == "store.key";
    if (!begun.error().code.starts_with("store.") || !names) {
      complain(fmt::format("refuses to start with {}: {}", begun.error().code, message));
    }
    return false;
  }

  /// Whether one that has nothing to do with the damage is started and woken.
  void hear_canary(std::string_view which) {
    if (!has_canary_) return world_.settle();
    const double before = ended();
    world_.publish("canary", fmt::format("canary-{}", which));
    world_.settle();
    world_.run_for(std::chrono::seconds(2));
    world_.publish("sing", fmt::format("sing-{}", which));
    world_.settle();
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
  void look(std::string_view what, const Result<T>& answer) {
    if (answer) return;
    const std::string& code = answer.error().code;
    if (code.find('.') == std::string::npos) complain(fmt::format("{}: {}", what, code));
  }

  /// Everything that can be asked for.
  void ask() {
    const Snapshot view = *Snapshot::take(world_.environment());
    Queries& queries = world_.queries();
    for (const char* const space : {"default", "other"}) {
      look("namespaces", queries.namespaces(view));
      look("workflows", queries.workflows(view, space));
      look("instances", queries.instances(view, space, {.limit = 100}));
      look("listeners", queries.listeners(view, space, 100, ""));
      look("schedules", queries.schedules(view, space));
      look("groups", queries.groups(view, space, 100, ""));
      look("variables", queries.variables(view, {.space = space}, 100, ""));
      look("secrets", queries.secrets(view, space, 100, ""));
      for (const char* const id : {"pair", "consume", "ticks"}) {
        look("workflow", queries.workflow(view, space, id));
        look("schedule", queries.schedule(view, space, id));
        look("revisions", queries.revisions(view, space, id));
      }
    }
    for (const std::string& id : ids_) {
      look("instance", queries.instance(view, "default", *parse_instance_id(id)));
      look("history", queries.history(view, "default", *parse_instance_id(id)));
    }
  }

  void answer_tasks() {
    const std::vector<Task> tasks = world_.functions.tasks();
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (i % 3 == 2) continue;
      world_.functions.tell({tasks[i].id, TaskStarted{}});
      if (i % 3 == 1) {
        world_.functions.answer(tasks[i].id, {{"done", i}});
      }
      world_.settle();
    }
  }

  void ask(Command command) {
    const Answered answered = world_.command(std::move(command));
    world_.settle();
    if (!*answered) world_.run_for(std::chrono::seconds(2));
    if (!*answered) return complain("a command is not answered");
    look("command", **answered);
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
    for (const char* const workflow : {"consume", "quick", "order", "parent"}) {
      ask(PauseWorkflow{.space = "default", .id = workflow});
      ask(PauseWorkflow{.space = "default", .id = workflow, .paused = false});
      ask(StartInstance{.space = "default",
                        .workflow = workflow,
                        .input = {{"n", "7"}},
                        .idempotency_key = "key"});
    }
    ask(TriggerSchedule{"default", "ticks"});
    ask(PauseService{"default", "charge"});
    ask(PauseService{"default", "charge", false});
    ask(World::application(std::string(kWorkflows[11]) + "- {id: more, type: noop}\n"));
  }

  World& world_;
  const std::vector<std::string>& ids_;
  const bool has_canary_;
  std::string complaints_;
};

}  // namespace millrace
