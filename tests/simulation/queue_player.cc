// The actions of QueuePlayer.
#include "tests/simulation/queue_player.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tests/simulation/queue_definition.h"

namespace millrace::queue_model {
namespace {

/// Calls the workflow `w` with its own data, and ends as the call ends.
constexpr const char* kCallerOfW = R"(
id: caller
functions: [{id: f, type: subflow, workflow: w}]
states:
- {id: call, type: action, action: {function: f, input: jq(.)}}
)";

/// A text that, as JSON, is longer than a key may be.
constexpr size_t kLongestKey = 512;

Json input_of(const Start& start) {
  Json input{{"order", start.order}, {"customer", start.customer}, {"rank", start.rank}};
  if (start.bad_customer) input["customer"] = std::string(kLongestKey, 'c');
  if (start.bad_rank) input["rank"] = "high";
  return input;
}

StartInstance start_command(const std::string& workflow, const Start& start) {
  return {.ns = "default",
          .workflow = workflow,
          .input = input_of(start),
          .idempotency_key = "key of " + start.order};
}

}  // namespace

QueuePlayer::QueuePlayer(uint64_t seed, Fault fault)
    : seed_(seed),
      random_(seed),
      is_clustered_(random_.chance(50)),
      lead_(is_clustered_ ? next_epoch() : nullptr),
      world_({.log = lead_.get(), .seed = seed}),
      model_(random_definition(seed, random_), world_.clock.now(), fault),
      yaml_(yaml_of(model_.definition())),
      most_throttle_limit_(model_.definition().throttle_limit) {
  // All nodes of a cluster have the same secret key.
  std::filesystem::copy_file(world_.folder() / "secret-key", standby_folder_ / "secret-key");
  world_.apply(yaml_);
  world_.apply(kCallerOfW);
  model_.is_replaced = [this](const std::string& order) {
    return std::any_of(seen_.begin(), seen_.end(), [&](const auto& one) {
      return one.second.workflow == "w" && one.second.order == order &&
             one.second.code == "millrace.concurrency.replaced";
    });
  };
  model_.has_started = [this](const std::string& order, TimePoint at) {
    return std::any_of(seen_.begin(), seen_.end(), [&](const auto& one) {
      return one.second.workflow == "w" && one.second.order == order && one.second.started == at;
    });
  };
}

std::string QueuePlayer::play(int actions) {
  for (int i = 0; i < actions && !failed(); ++i) {
    pass_time();
    if (!failed()) act();
  }
  if (!failed()) drain();
  if (!failed()) check_end();
  if (!failed()) return "";
  std::string report =
      fmt::format("MILLRACE_QUEUE_FIRST={} MILLRACE_QUEUE_SEEDS=1\n{}", seed_, yaml_);
  for (const std::string& one : steps_) report += "  " + one + "\n";
  return report + "difference: " + difference_ + "\n";
}

void QueuePlayer::step(const std::string& what) {
  steps_.push_back(fmt::format("{} {}", format_rfc3339(world_.clock.now()).substr(11, 12), what));
  ++counts_[what.substr(0, what.find(' '))];
}

void QueuePlayer::act() {
  if (is_clustered_ && chance(10) && !follow(static_cast<size_t>(1 + random_.below(30)))) return;
  const int what = random_.below(100);
  if (what < 20) return call();
  if (what < 40) return publish_starts();
  if (what < 50) return call_subflow();
  if (what < 72) return go();
  if (what < 76) return kill();
  if (what < 79) return sleep();
  act_on_instances();
}

void QueuePlayer::act_on_instances() {
  switch (random_.below(9)) {
    case 0:
    case 1:
      return cancel();
    case 2:
      return cancel_caller();
    case 3:
    case 4:
      return pause_or_resume();
    case 5:
      return model_.workflow_paused() ? resume_workflow() : pause_workflow();
    case 6:
      return restart_instance();
    case 7:
      return change_limit();
    default:
      if (model_.workflow_paused()) return resume_workflow();
      return trigger();
  }
}

// Commands and kills.

void QueuePlayer::settle(bool with_kills) {
  for (int i = 0; with_kills && i < 10 && world_.step(); ++i) {
    if (!chance(40)) continue;
    die();
  }
  world_.run_until_idle();
  see();
}

QueuePlayer::Asked QueuePlayer::ask(const Command& command, bool may_kill) {
  Asked asked;
  Answered answered = world_.command(command);
  settle(may_kill && chance(35));
  if (!answered->has_value()) {
    // The process died before it answered, so the client gives the command again.
    asked.repeated = true;
    answered = world_.command(command);
    settle(false);
  }
  if (answered->has_value()) {
    asked.answer = **answered;
  } else {
    differ("the command was not answered");
  }
  return asked;
}

void QueuePlayer::kill() {
  die();
  world_.run_until_idle();
  see();
  compare();
}

/// Whether the documents give an order to all that is due after a time without a process: only to
/// the deadlines of instances, and to the starts of one key of the throttle.
bool QueuePlayer::may_sleep() const {
  const Definition& definition = model_.definition();
  const bool puts_off = definition.debounced() || definition.batched();
  if (puts_off || definition.start == StartType::kScheduled) return false;
  if (!definition.throttled()) return true;
  return definition.limit == 0 && definition.throttle_timeout == Duration(0);
}

/// Lets time pass while no process is there. What is due then happens late.
void QueuePlayer::sleep() {
  if (!may_sleep()) return;
  const Duration time(1 + random_.below(600'000));
  step(fmt::format("sleep of {} ms", time.count()));
  world_.crash();
  world_.clock.advance(time);
  world_.recover();
  world_.run_until_idle();
  see();
  model_.advance(world_.clock.now(), true);
  compare();
}

// Time.

void QueuePlayer::pass_time() {
  const auto due = model_.next_due();
  if (due && chance(20)) return pass(std::max(*due - model_.now(), Duration(1)));
  if (chance(15)) return pass(Duration(1 + random_.below(600'000)));
  pass(Duration(1 + random_.below(chance(50) ? 2'000 : 40'000)));
}

void QueuePlayer::pass(Duration time) {
  const auto due = model_.next_due();
  const bool dies = due && *due > model_.now() && *due <= model_.now() + time && chance(30);
  if (dies) {
    time = *due - model_.now();
    world_.clock.advance(time);
    step(fmt::format("time: {} ms have passed, and something is due", time.count()));
    settle(true);
  } else {
    world_.run_for(time);
    step(fmt::format("time: {} ms have passed", time.count()));
    see();
  }
  model_.advance(world_.clock.now());
  compare();
}

// Starts.

bool QueuePlayer::may_be_bad() const {
  const Definition& definition = model_.definition();
  const bool always_starts =
      definition.on_limit == OnLimit::kQueue || definition.on_limit == OnLimit::kReplace;
  const bool has_key = definition.limit > 0 || definition.throttled();
  return has_key && always_starts && !definition.singular && definition.rate_limit == 0 &&
         !definition.debounced() && !definition.batched() && definition.start != StartType::kGroup;
}

Start QueuePlayer::make_start(By by) {
  Start start{.by = by, .order = fmt::format("o{:04}", ++orders_)};
  start.customer = fmt::format("c{}", 1 + random_.below(3));
  start.rank = random_.below(4) - 1;
  if (may_be_bad() && chance(6)) {
    start.bad_customer = model_.definition().keyed || model_.definition().throttle_keyed;
    start.bad_rank = model_.definition().priority && !start.bad_customer;
  }
  return start;
}

void QueuePlayer::call() {
  const Start start = make_start(By::kCall);
  step("call " + input_of(start).dump());
  StartInstance command = start_command("w", start);
  // With `batch` it has no idempotency key, so a client cannot repeat it.
  const bool is_repeatable = !model_.definition().batched();
  if (!is_repeatable) command.idempotency_key.clear();
  const Asked asked = ask(command, is_repeatable);
  compare_answer(asked, start, model_.request(start));
  compare();
}

void QueuePlayer::trigger() {
  if (model_.definition().start != StartType::kScheduled) return;
  const Start start{.by = By::kCall, .order = kTickOrder};
  step("trigger");
  // It has no idempotency key, so a client cannot repeat it.
  const Asked asked = ask(TriggerSchedule{.ns = "default", .workflow = "w"}, false);
  compare_answer(asked, start, model_.request(start));
  compare();
}

void QueuePlayer::publish_order(const char* type, const std::string& order, const Json& data) {
  world_.publish(type, fmt::format("e{}", ++events_), data, {{"order", order}});
}

void QueuePlayer::publish_starts() {
  const StartType type = model_.definition().start;
  if (type != StartType::kEvent && type != StartType::kGroup) return call();
  // Pending starts that are due at one time begin in an order that the documents leave open.
  const bool puts_off = model_.definition().debounced() || model_.definition().batched();
  const int count = puts_off || chance(70) ? 1 : 2 + random_.below(3);
  std::vector<Start> starts;
  for (int i = 0; i < count; ++i) {
    const Start start = make_start(By::kEvent);
    step("event " + input_of(start).dump());
    publish_order(type == StartType::kEvent ? "begin" : "a", start.order, input_of(start));
    if (type == StartType::kGroup) publish_order("b", start.order, 1);
    starts.push_back(start);
  }
  settle(chance(35));
  for (const Start& start : starts) model_.request(start);
  compare();
}

void QueuePlayer::call_subflow() {
  const Start start = make_start(By::kSubflow);
  step("subflow " + input_of(start).dump());
  const Asked asked = ask(start_command("caller", start));
  if (asked.answer && !asked.answer->has_value())
    differ("the caller was refused: " + asked.answer->error().code);
  const Answer answer = model_.request(start);
  if (answer.put_off && model_.definition().batched()) {
    compare_batched_call(asked, answer);
  } else if (answer.put_off) {
    chain_ids_.erase(answer.chain);  // the instance gets the id of the call
  }
  compare();
}

// Instances.

std::vector<size_t> QueuePlayer::instances_that(bool (*fit)(const Instance& one)) const {
  std::vector<size_t> all;
  for (size_t i = 0; i < model_.instances().size(); ++i) {
    if (fit(model_.instances()[i])) all.push_back(i);
  }
  return all;
}

std::optional<size_t> QueuePlayer::one_of(const std::vector<size_t>& all) {
  if (all.empty()) return std::nullopt;
  return all[static_cast<size_t>(random_.below(static_cast<int>(all.size())))];
}

/// Sends `go` to one instance, which must not take it while it waits in the queue or for the
/// throttle, or to two whose runs have started.
void QueuePlayer::go() {
  const int count = chance(25) ? 2 : 1;
  const std::vector<size_t> all = instances_that([](const Instance& one) { return one.active(); });
  std::vector<size_t> holders = all;
  std::erase_if(holders, [&](size_t which) { return !model_.instances()[which].runs(); });
  std::vector<std::string> orders;
  for (int i = 0; i < count; ++i) {
    const auto which = one_of(count == 1 ? all : holders);
    if (!which) return;
    orders.push_back(awaited_order(model_.instances()[*which].start.order));
    step("go " + orders.back());
    publish_order("go", orders.back(), nullptr);
  }
  settle(chance(35));
  for (const std::string& order : orders) model_.go(order);
  compare();
}

void QueuePlayer::cancel() {
  const auto which = one_of(instances_that([](const Instance& one) { return one.active(); }));
  if (!which) return;
  step("cancel " + model_.instances()[*which].start.order);
  const Asked asked = ask(CancelInstance{.ns = "default", .instance = id_of(ids_.at(*which))});
  if (asked.answer && !asked.answer->has_value() && !asked.repeated)
    differ("the cancel was refused: " + asked.answer->error().code);
  model_.cancel(*which);
  compare();
}

void QueuePlayer::cancel_caller() {
  std::vector<std::string> waiting;
  for (const auto& [order, caller] : model_.callers()) {
    const bool is_put_off =
        std::any_of(model_.pending().begin(), model_.pending().end(),
                    [&](const auto& one) { return one.second.start.order == order; });
    if (caller.waits && !is_put_off) waiting.push_back(order);
  }
  if (waiting.empty()) return;
  const std::string order =
      waiting[static_cast<size_t>(random_.below(static_cast<int>(waiting.size())))];
  const auto found = std::find_if(seen_.begin(), seen_.end(), [&](const auto& one) {
    return one.second.workflow == "caller" && one.second.order == order;
  });
  if (found == seen_.end()) return differ("there is no caller of " + order);
  step("cancel-caller of " + order);
  ask(CancelInstance{.ns = "default", .instance = id_of(found->first)});
  model_.cancel_caller(order);
  compare();
}

void QueuePlayer::pause_or_resume() {
  if (model_.workflow_paused()) return;
  const auto which = one_of(instances_that([](const Instance& one) { return one.active(); }));
  if (!which) return;
  const bool pauses = !model_.instances()[*which].paused;
  const InstanceId id = id_of(ids_.at(*which));
  step((pauses ? "pause " : "resume ") + model_.instances()[*which].start.order);
  pauses ? ask(PauseInstance{.ns = "default", .instance = id})
         : ask(ResumeInstance{.ns = "default", .instance = id});
  pauses ? model_.pause(*which) : model_.resume(*which);
  compare();
}

void QueuePlayer::pause_workflow() {
  // Which starts replace which while the workflow is paused is open, unless one start remains.
  const Definition& definition = model_.definition();
  if (definition.on_limit == OnLimit::kReplace && definition.limit > 1) return;
  // So is whether a start that gets its slot by the resume passes those that wait for the throttle.
  if (definition.throttled() && definition.priority && definition.queues()) return;
  step("pause-workflow");
  ask(PauseWorkflow{.ns = "default", .id = "w"});
  model_.pause_workflow(true);
  compare();
}

void QueuePlayer::resume_workflow() {
  step("resume-workflow");
  ask(PauseWorkflow{.ns = "default", .id = "w", .paused = false});
  model_.pause_workflow(false);
  compare();
}

/// An operator restarts an ended instance: it needs a free slot, and is no start for `rateLimit`.
void QueuePlayer::restart_instance() {
  if (model_.workflow_paused()) return;
  const auto which = one_of(instances_that(
      [](const Instance& one) { return !one.active() && one.start.by != By::kSubflow; }));
  if (!which) return;
  step("restart " + model_.instances()[*which].start.order);
  const Asked asked =
      ask(RestartInstance{.ns = "default", .instance = id_of(ids_.at(*which))}, false);
  const std::set<std::string> refused = model_.restart(*which);
  if (!asked.answer) return;
  const std::string code = asked.answer->has_value() ? "" : asked.answer->error().code;
  if (refused.empty() ? !code.empty() : !refused.contains(code)) {
    differ(fmt::format("the restart has the code \"{}\", and the model has \"{}\"", code,
                       refused.empty() ? "" : *refused.begin()));
  }
  compare();
}

void QueuePlayer::change_limit() {
  Definition definition = model_.definition();
  const bool has_slots = definition.limit > 0 && definition.on_limit != OnLimit::kReplace;
  if (definition.batched() && chance(50)) return change_batch();
  if (definition.throttled() && (!has_slots || chance(50))) return change_throttle();
  if (!has_slots) return;
  definition.limit = 1 + random_.below(4);
  step(fmt::format("limit is now {}", definition.limit));
  ask(World::application(yaml_of(definition)));
  model_.set_limit(definition.limit);
  compare();
}

void QueuePlayer::change_batch() {
  Definition definition = model_.definition();
  definition.batch_size = 1 + random_.below(4);
  definition.batch_timeout = std::chrono::seconds(random_.of(kBatchTimeouts));
  step(fmt::format("batch-size is now {}, with {} ms", definition.batch_size,
                   definition.batch_timeout.count()));
  ask(World::application(yaml_of(definition)));
  model_.set_batch(definition.batch_size, definition.batch_timeout);
  compare();
}

void QueuePlayer::change_throttle() {
  Definition definition = model_.definition();
  definition.throttle_limit = 1 + random_.below(4);
  most_throttle_limit_ = std::max(most_throttle_limit_, definition.throttle_limit);
  step(fmt::format("throttle-limit is now {}", definition.throttle_limit));
  ask(World::application(yaml_of(definition)));
  model_.set_throttle_limit(definition.throttle_limit);
  compare();
}

}  // namespace millrace::queue_model
