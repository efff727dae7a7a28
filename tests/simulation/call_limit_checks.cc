// The comparisons of CallLimitPlayer.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/check.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/simulation/call_limit_player.h"

namespace millrace::call_limit_model {
namespace {

std::string name_of(const std::pair<std::string, int>& attempt) {
  return fmt::format("attempt {} of {}", attempt.second, attempt.first);
}

}  // namespace

void CallLimitPlayer::differ(const std::string& what) {
  if (difference_.empty()) difference_ = what;
}

/// Reads what the engine has handed out, and its instances.
void CallLimitPlayer::see() {
  for (const Task& task : world_.functions.tasks()) {
    const std::string order = parse_own_json(task.input).value()["order"];
    const std::pair attempt{order, static_cast<int>(task.attempt)};
    const auto [known, is_new] = task_ids_.try_emplace(attempt, task.id);
    if (!is_new && known->second != task.id) differ(name_of(attempt) + " has two tasks");
    handed_out_.insert(attempt);
  }
}

/// Whether the engine has given the newest attempt of the call a slot.
bool CallLimitPlayer::has_slot(const Call& call) const {
  const Snapshot view = Snapshot::take(world_.environment()).value();
  bool holds = false;
  const Status read = each_task(view, [&](const StartTask& task) {
    if (!task.slot || static_cast<int>(task.attempt) != call.attempt) return;
    if (task.input.value().value("order", "") != call.input.order) return;
    const auto place = find_call_place(view, task).value();
    holds = holds || (place && place->kind == QueueRow::kCallHolder);
  });
  CHECK(read, "the tasks cannot be read: {}", read.error().message);
  return holds;
}

void CallLimitPlayer::compare() {
  if (failed()) return;
  compare_hand_outs();
  if (!failed()) compare_instances();
  if (!failed()) compare_queues();
}

void CallLimitPlayer::compare_hand_outs() {
  for (const auto& attempt : handed_out_) {
    if (!model_.handed_out().contains(attempt)) {
      return differ(name_of(attempt) + " is handed out, and the model lets it wait");
    }
  }
  for (const auto& attempt : model_.handed_out()) {
    if (!handed_out_.contains(attempt)) {
      return differ(name_of(attempt) + " is not handed out, and the model has handed it out");
    }
  }
}

void CallLimitPlayer::compare_instances() {
  const Snapshot view = Snapshot::take(world_.environment()).value();
  InstanceFilter filter;
  filter.oldest_first = true;
  filter.limit = std::numeric_limits<size_t>::max();
  const Json page = world_.queries().instances(view, "default", filter).value();
  // The ids of the engine are in the order of the starts.
  if (page["items"].size() != model_.instances().size()) {
    return differ(fmt::format("there are {} instances, and the model has {}", page["items"].size(),
                              model_.instances().size()));
  }
  for (size_t i = 0; i < model_.instances().size(); ++i) {
    const Instance& one = model_.instances()[i];
    const Json& shown = page["items"][i];
    const std::string id = shown["id"];
    if (ids_.try_emplace(one.order, id).first->second != id) {
      return differ("another id of " + one.order);
    }
    const std::string code = shown.contains("error") ? shown["error"].value("code", "") : "";
    // No document names the code of a cancel by an operator.
    const bool is_cancelled = one.state == State::kCancelled || one.cancelling;
    const bool has_code = is_cancelled || code == one.code;
    if (shown["status"] == model_.status(one) && has_code) continue;
    return differ(fmt::format("{} is {} \"{}\", and the model has {} \"{}\"", one.order,
                              shown["status"].get<std::string>(), code, model_.status(one),
                              one.code));
  }
}

/// Each key for which calls wait is listed, with how many hold a slot of it, and how many wait or
/// are left out.
void CallLimitPlayer::compare_queues() {
  const Snapshot view = Snapshot::take(world_.environment()).value();
  const Json page = world_.queries().queues(view, "default", 100, "", "").value();
  std::map<std::pair<Stage, Key>, Json> shown;
  for (const Json& item : page["items"]) {
    const Stage stage = item["reason"] == "throttle" ? Stage::kThrottle : Stage::kSlot;
    shown[{stage, {item["service"], item.value("key", "")}}] = item;
  }
  for (const Call& call : model_.calls()) {
    if (!call.waits() || model_.is_left_out(call)) continue;
    const Key key = call.stage == Stage::kSlot ? model_.slot_key(call) : model_.throttle_key(call);
    const auto found = shown.find({call.stage, key});
    if (found == shown.end()) {
      return differ(fmt::format("{} waits, and no queue of its key is listed", call.input.order));
    }
  }
  for (const auto& [at, item] : shown) {
    if (!failed()) compare_queue(at.first, at.second, item);
  }
}

void CallLimitPlayer::compare_queue(Stage stage, const Key& key, const Json& item) {
  int waiting = 0;
  int left_out = 0;
  for (const Call& call : model_.calls()) {
    if (call.stage != stage) continue;
    if ((stage == Stage::kSlot ? model_.slot_key(call) : model_.throttle_key(call)) != key)
      continue;
    ++(model_.is_left_out(call) ? left_out : waiting);
  }
  Json expected{{"waiting", waiting}, {"paused", left_out}};
  Json actual{{"waiting", item.value("queued", 0)}, {"paused", item.value("paused", 0)}};
  if (stage == Stage::kSlot) {
    expected["held"] = model_.held(key);
    actual["held"] = item.value("held", -1);
  }
  if (const auto next = model_.next_of(stage, key)) {
    const Call& call = model_.calls()[*next];
    expected["limit"] = stage == Stage::kSlot ? call.limits.slots : call.limits.rate;
    actual["limit"] = item.value("limit", 0);
    if (call.instance) {
      expected["next"] = ids_.at(model_.instances()[*call.instance].order);
      actual["next"] = item.value("next", Json::object()).value("instance", "");
    }
  }
  ++counts_[fmt::format("queue of {}", waiting)];
  if (actual == expected) return;
  differ(fmt::format("the queue of {} \"{}\" is {}, and the model has {}", key.first, key.second,
                     actual.dump(), expected.dump()));
}

/// Nothing is left: each instance has ended, and no row of a slot or a wait stays.
void CallLimitPlayer::check_end() {
  step("restart at the end");
  world_.restart();
  world_.run_until_idle();
  see();
  compare();
  if (failed()) return;
  for (const Instance& one : model_.instances()) {
    if (one.active()) return differ(one.order + " has not ended");
    ++counts_[fmt::format("instance: {} {}", model_.status(one), one.code)];
  }
  if (world_.rows_of("queues") != 0) differ("rows of queues are left");
}

}  // namespace millrace::call_limit_model
