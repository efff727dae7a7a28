// The actions of CallLimitPlayer.
#include "tests/simulation/call_limit_player.h"

#include <algorithm>

#include <fmt/format.h>

#include "tests/simulation/call_limit_case.h"

namespace millrace::call_limit_model {
namespace {

/// A text that, as JSON, is longer than a key may be.
constexpr size_t kLongestKey = 512;
/// How many calls a foreach makes at most.
constexpr int kMostCalls = 4;

Json json_of(const Input& input) {
  Json json{{"order", input.order}, {"customer", input.customer}, {"rank", input.rank}};
  if (input.bad_customer) json["customer"] = std::string(kLongestKey, 'c');
  if (input.bad_rank) json["rank"] = "high";
  return json;
}

InstanceId id_of(const std::string& text) { return parse_instance_id(text).value(); }

}  // namespace

CallLimitPlayer::CallLimitPlayer(uint64_t seed, Fault fault)
    : seed_(seed),
      random_(seed),
      world_({.seed = seed}),
      model_(random_case(seed, random_), world_.clock.now(), fault) {
  for (size_t i = 0; i < kWorkflows; ++i) {
    yaml_ += yaml_of(i, model_.workflows()[i]);
    world_.apply(yaml_of(i, model_.workflows()[i]));
  }
  model_.is_handed_out = [this](const std::string& order, int attempt) {
    return handed_out_.contains({order, attempt});
  };
  model_.has_slot = [this](size_t call) { return has_slot(model_.calls()[call]); };
}

std::string CallLimitPlayer::play(int actions) {
  for (int i = 0; i < actions && !failed(); ++i) {
    pass_time();
    if (!failed()) act();
  }
  if (!failed()) drain();
  if (!failed()) check_end();
  if (!failed()) return "";
  std::string report =
      fmt::format("MILLRACE_CALL_LIMIT_FIRST={} MILLRACE_CALL_LIMIT_SEEDS=1\n{}", seed_, yaml_);
  for (const std::string& one : steps_) report += "  " + one + "\n";
  return report + "difference: " + difference_ + "\n";
}

void CallLimitPlayer::step(const std::string& what) {
  steps_.push_back(fmt::format("{} {}", format_rfc3339(world_.clock.now()).substr(11, 12), what));
  ++counts_[what.substr(0, what.find(' '))];
}

void CallLimitPlayer::act() {
  const int what = random_.below(100);
  if (what < 34) return start();
  if (what < 72) return report();
  if (what < 76) return cancel();
  if (what < 83) return pause_or_resume();
  if (what < 89) return pause_or_resume_service();
  if (what < 92) return change();
  if (what < 96) return kill();
  sleep();
}

// Kills.

void CallLimitPlayer::die() {
  step("kill");
  world_.restart_at(kills_++);
}

/// Runs until idle; the process may die meanwhile. Returns whether it did.
bool CallLimitPlayer::settle() {
  bool died = false;
  for (int i = 0; chance(35) && i < 10 && world_.step(); ++i) {
    if (!chance(40)) continue;
    die();
    died = true;
  }
  world_.run_until_idle();
  return died;
}

/// A client gives a command again that a process did not answer before it died.
void CallLimitPlayer::ask(const Command& command) {
  const Answered answered = world_.command(command);
  settle();
  if (!answered->has_value()) {
    world_.command(command);
    world_.run_until_idle();
  }
  see();
}

void CallLimitPlayer::kill() {
  die();
  world_.run_until_idle();
  see();
  compare();
}

// Time.

void CallLimitPlayer::pass_time() {
  const auto due = model_.next_due();
  if (due && chance(20)) return pass(std::max(*due - model_.now(), Duration(1)));
  if (chance(15)) return pass(Duration(1 + random_.below(400'000)));
  pass(Duration(1 + random_.below(chance(50) ? 2'000 : 40'000)));
}

void CallLimitPlayer::pass(Duration time) {
  const auto due = model_.next_due();
  if (due && *due > model_.now() && *due <= model_.now() + time && chance(20)) {
    time = *due - model_.now();
    world_.clock.advance(time);
    step(fmt::format("time: {} ms have passed, and something is due", time.count()));
    settle();
  } else {
    step(fmt::format("time: {} ms have passed", time.count()));
    run_for(time);
  }
  see();
  model_.advance(world_.clock.now());
  compare();
}

/// Compares after each time at which something is due: what the engine does later does not say
/// what it has done first.
void CallLimitPlayer::run_for(Duration time) {
  const TimePoint end = model_.now() + time;
  for (auto due = model_.next_due(); due && *due < end && !failed(); due = model_.next_due()) {
    const TimePoint next = std::max(*due, model_.now() + Duration(1));
    world_.run_for(next - model_.now());
    see();
    model_.advance(next);
    compare();
  }
  world_.run_for(end - model_.now());
}

/// Lets time pass while no process is there, until after one time at which something is due.
void CallLimitPlayer::sleep() {
  const auto due = model_.next_due();
  if (!due) return;
  Model next = model_;
  next.advance(*due);
  const Duration first = *due - model_.now();
  const auto second = next.next_due();
  const auto most = second ? *second - *due : Duration(60'000);
  if (most < Duration(2)) return;
  const Duration time =
      first +
      Duration(random_.below(static_cast<int>(std::min(most.count() - 1, int64_t{60'000}))));
  step(fmt::format("sleep of {} ms", time.count()));
  world_.crash();
  world_.clock.advance(time);
  world_.recover();
  world_.run_until_idle();
  see();
  model_.advance(world_.clock.now(), true);
  compare();
}

// Starts and answers.

Input CallLimitPlayer::random_input(bool may_be_bad) {
  Input input{.order = fmt::format("o{:04}", ++orders_)};
  input.customer = fmt::format("c{}", 1 + random_.below(2));
  input.rank = random_.below(3) - 1;
  if (may_be_bad && chance(5)) {
    input.bad_customer = chance(50);
    input.bad_rank = !input.bad_customer;
  }
  return input;
}

void CallLimitPlayer::start() {
  const auto workflow = static_cast<size_t>(random_.below(static_cast<int>(kWorkflows)));
  const Limits& limits = model_.workflows()[workflow];
  const bool is_foreach = limits.shape == Shape::kForeach;
  std::vector<Input> inputs;
  for (int left = is_foreach ? 1 + random_.below(kMostCalls) : 1; left > 0; --left) {
    inputs.push_back(random_input(!is_foreach));
  }
  Json data = json_of(inputs.front());
  if (is_foreach) {
    data = Json{{"order", inputs.front().order}, {"all", Json::array()}};
    for (const Input& input : inputs) data["all"].push_back(json_of(input));
  }
  step(fmt::format("start of w{} with {}", workflow, data.dump().substr(0, 300)));
  ask(StartInstance{.ns = "default",
                    .workflow = fmt::format("w{}", workflow),
                    .input = data,
                    .idempotency_key = "key of " + inputs.front().order});
  model_.start(workflow, inputs);
  compare();
}

std::vector<size_t> CallLimitPlayer::calls_at(Stage stage) const {
  std::vector<size_t> all;
  for (size_t i = 0; i < model_.calls().size(); ++i) {
    if (model_.calls()[i].stage == stage) all.push_back(i);
  }
  return all;
}

std::optional<size_t> CallLimitPlayer::one_of(const std::vector<size_t>& all) {
  if (all.empty()) return std::nullopt;
  return all[static_cast<size_t>(random_.below(static_cast<int>(all.size())))];
}

void CallLimitPlayer::report_of(size_t which, const decltype(TaskReport::what)& what) {
  const Call& call = model_.calls()[which];
  const auto task = task_ids_.find({call.input.order, call.attempt});
  if (task == task_ids_.end()) return differ("there is no task of " + call.input.order);
  world_.functions.report({task->second, what});
  // The service sends a report again that the process did not store before it died.
  if (settle()) {
    world_.functions.report({task->second, what});
    world_.run_until_idle();
  }
  see();
}

/// A service begins a task, or ends it.
void CallLimitPlayer::report() {
  const auto which = one_of(calls_at(Stage::kOut));
  if (!which) return start();
  const Call& call = model_.calls()[*which];
  const int what = random_.below(100);
  if (what < 15 && !call.started && !model_.is_left_out(call)) {
    step("begin " + call.input.order);
    report_of(*which, TaskStarted{});
    model_.begin(*which);
  } else if (what < 45 && !model_.is_left_out(call)) {
    step("fail " + call.input.order);
    report_of(*which, TaskEnded{.result = tl::unexpected(Error{"bank.busy", "busy"})});
    model_.fail(*which, "bank.busy");
  } else {
    step("succeed " + call.input.order);
    report_of(*which, TaskEnded{.result = "{}"});
    model_.succeed(*which);
  }
  compare();
}

// Commands.

std::vector<size_t> CallLimitPlayer::instances_that(bool (*fit)(const Instance& one)) const {
  std::vector<size_t> all;
  for (size_t i = 0; i < model_.instances().size(); ++i) {
    if (fit(model_.instances()[i])) all.push_back(i);
  }
  return all;
}

void CallLimitPlayer::cancel() {
  const auto which = one_of(instances_that(
      [](const Instance& one) { return one.state == State::kWaiting && !one.cancelling; }));
  if (!which) return;
  const Instance& one = model_.instances()[*which];
  const bool now = one.paused || chance(40);
  step((now ? "cancel-now " : "cancel ") + one.order);
  ask(CancelInstance{"default", id_of(ids_.at(one.order)), now});
  model_.cancel(*which, now);
  compare();
}

void CallLimitPlayer::pause_or_resume() {
  const auto which =
      one_of(instances_that([](const Instance& one) { return one.active() && !one.cancelling; }));
  if (!which) return;
  const Instance& one = model_.instances()[*which];
  if (one.paused) return resume(*which);
  step("pause " + one.order);
  ask(PauseInstance{.ns = "default", .instance = id_of(ids_.at(one.order))});
  model_.pause(*which);
  compare();
}

void CallLimitPlayer::resume(size_t which) {
  const std::string& order = model_.instances()[which].order;
  step("resume " + order);
  ask(ResumeInstance{.ns = "default", .instance = id_of(ids_.at(order))});
  model_.resume(which);
  compare();
}

void CallLimitPlayer::pause_or_resume_service() {
  const std::string service = model_.workflows()[static_cast<size_t>(random_.below(3))].service;
  if (model_.is_paused(service)) return resume_service(service);
  step("pause-service " + service);
  ask(PauseService{.ns = "default", .name = service, .paused = true});
  model_.pause_service(service, true);
  compare();
}

void CallLimitPlayer::resume_service(const std::string& service) {
  step("resume-service " + service);
  ask(PauseService{.ns = "default", .name = service, .paused = false});
  model_.pause_service(service, false);
  compare();
}

/// A new revision has other limits, which only the instances since then have.
void CallLimitPlayer::change() {
  const auto workflow = static_cast<size_t>(random_.below(static_cast<int>(kWorkflows)));
  Limits limits = model_.workflows()[workflow];
  if (limits.slots > 0) limits.slots = 1 + random_.below(4);
  if (limits.rate > 0) limits.rate = 1 + random_.below(4);
  step(fmt::format("change of w{}: {} slots, {} in a period", workflow, limits.slots, limits.rate));
  ask(World::application(yaml_of(workflow, limits)));
  model_.change(workflow, limits);
  compare();
}

/// Everything that waits is handed out, and everything that is handed out ends.
void CallLimitPlayer::drain() {
  constexpr int kMost = 400;
  for (const char* const service : {"bank", "mail"}) {
    if (model_.is_paused(service) && !failed()) resume_service(service);
  }
  for (const size_t which : instances_that([](const Instance& one) { return one.paused; })) {
    if (!failed()) resume(which);
  }
  for (int i = 0; i < kMost && !failed(); ++i) {
    const std::vector<size_t> out = calls_at(Stage::kOut);
    if (!out.empty()) {
      step("succeed " + model_.calls()[out.front()].input.order);
      report_of(out.front(), TaskEnded{.result = "{}"});
      model_.succeed(out.front());
      compare();
      continue;
    }
    const auto due = model_.next_due();
    if (!due) return;
    pass(std::max(*due - model_.now(), Duration(1)));
  }
}

}  // namespace millrace::call_limit_model
