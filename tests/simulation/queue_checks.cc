// The comparisons of QueuePlayer.
#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cloudevents/headers.h"
#include "tests/simulation/queue_player.h"

namespace millrace::queue_model {
namespace {

std::string clock_text(TimePoint time) { return format_rfc3339(time).substr(11, 12); }

/// The order in the input of an instance: of a call, of an event, of a group, or of a tick; of a
/// batch, those of its inputs.
std::string order_of(const Json& input) {
  if (input.contains("events")) {
    std::string orders;
    for (const Json& one : input["events"]) {
      if (!orders.empty()) orders += kAndOrder;
      orders += order_of(one);
    }
    return orders;
  }
  for (const char* const type : {"begin", "a"}) {
    if (input.contains(type)) return input[type].value("order", "");
  }
  return input.value("order", kTickOrder);
}

std::string code_of(const Json& item) {
  if (!item.contains("error")) return "";
  return item["error"].value("code", "");
}

}  // namespace

void QueuePlayer::differ(const std::string& what) {
  if (difference_.empty()) difference_ = what;
}

/// Reads the instances of the engine.
void QueuePlayer::see() {
  const Snapshot view = Snapshot::take(world_.environment()).value();
  InstanceFilter filter;
  filter.oldest_first = true;
  filter.limit = std::numeric_limits<size_t>::max();
  const Json page = world_.queries().instances(view, "default", filter).value();
  for (const Json& item : page["items"]) {
    const std::string id = item["id"];
    const auto [found, is_new] = seen_.try_emplace(id);
    Seen& one = found->second;
    one.status = item["status"];
    one.code = code_of(item);
    if (!is_new) continue;
    one.workflow = item["workflow"];
    one.order = order_of(world_.instance(id)["input"]);
    one.started = parse_rfc3339(item["startedAt"].get<std::string>()).value();
  }
  if (page["next"].is_string()) differ("the list of instances has more pages");
}

void QueuePlayer::compare() {
  if (failed()) return;
  compare_instances();
  if (!failed()) compare_callers();
  if (!failed()) compare_queues();
  if (!failed()) compare_dead_letters();
  if (!failed()) check_slots();
}

// Answers.

void QueuePlayer::compare_answer(const Asked& asked, const Start& start, const Answer& expected) {
  if (!asked.answer) return;
  const Result<Json>& answer = *asked.answer;
  if (!answer) return compare_refusal(answer.error(), expected);
  if (!expected.refused.empty()) {
    return differ(fmt::format("the start of {} is accepted, and the model refuses it with {}",
                              start.order, fmt::join(expected.refused, " or ")));
  }
  compare_accepted(*answer, expected);
  if (!expected.put_off && start.order != kTickOrder) asked_[start.order] = answer->at("id");
}

void QueuePlayer::compare_refusal(const Error& error, const Answer& expected) {
  ++counts_["refused: " + error.code];
  if (!expected.refused.contains(error.code)) {
    return differ(fmt::format("the start is refused with {}, and the model has \"{}\"", error.code,
                              fmt::join(expected.refused, " or ")));
  }
  if (error.code == "millrace.rateLimit" && error.retry_after != expected.retry_after) {
    differ(fmt::format("Retry-After is {} s, and the model has {} s", error.retry_after,
                       expected.retry_after));
  }
}

void QueuePlayer::compare_accepted(const Json& answer, const Answer& expected) {
  // A start whose time has come at once may be answered as one that has started.
  const bool may_have_started =
      expected.put_off && expected.starts_at <= model_.now() && !model_.definition().batched();
  if (answer.contains("startsAt") != expected.put_off && !may_have_started)
    return differ("the answer is " + answer.dump() + ", and the model " +
                  (expected.put_off ? "puts off the start" : "starts it"));
  if (!expected.put_off || may_have_started) return;
  const std::string at = format_rfc3339(expected.starts_at);
  if (answer["startsAt"] != at)
    return differ(fmt::format("the answer is {}, and the model starts at {}", answer.dump(), at));
  // "All requests of one key have the same `id` until it starts."
  if (expected.has_subflow) {
    chain_ids_.erase(expected.chain);
    return;
  }
  const std::string id = answer["id"];
  if (chain_ids_.try_emplace(expected.chain, id).first->second != id)
    differ("another id for the same pending start: " + id);
}

/// A call of a subflow that is in a batch has the answer of a request as its result.
void QueuePlayer::compare_batched_call(const Asked& asked, const Answer& expected) {
  if (!asked.answer || !asked.answer->has_value()) return;
  const Json caller = world_.instance(asked.answer->value().at("id"));
  const Json output = caller.value("output", Json::object());
  compare_accepted(output.value("return", Json::object()), expected);
}

// Instances.

void QueuePlayer::compare_instances() {
  // Each instance of the engine belongs to one of the model: by its order; ticks, one after the
  // other. The ids of the engine are in the order of the starts.
  std::map<std::string, std::vector<std::string>> by_order;
  for (const auto& [id, one] : seen_) {
    if (one.workflow == "w") by_order[one.order].push_back(id);
  }
  std::map<std::string, size_t> used;
  for (size_t i = 0; i < model_.instances().size() && !failed(); ++i) {
    const std::string& order = model_.instances()[i].start.order;
    const size_t place = used[order]++;
    const std::vector<std::string>& ids = by_order[order];
    if (place >= ids.size()) return differ(fmt::format("{} has not started", order));
    compare_instance(i, ids[place]);
  }
  for (const auto& [order, ids] : by_order) {
    if (failed() || ids.size() <= used[order]) continue;
    const Seen& one = seen_.at(ids[used[order]]);
    differ(fmt::format("{} has started at {} ({}), and the model does not start it{}", order,
                       clock_text(one.started), one.status,
                       ids.size() > 1 && order != kTickOrder ? " again" : ""));
  }
}

void QueuePlayer::compare_instance(size_t which, const std::string& id) {
  Seen& shown = seen_.at(id);
  const Instance& one = model_.instances()[which];
  const auto name = [&] { return fmt::format("{} ({})", one.start.order, id); };
  if (ids_.try_emplace(which, id).first->second != id) return differ("another id: " + name());
  const std::string status = model_.status(which);
  if (shown.status != status) {
    return differ(fmt::format("{} is {} {}, and the model has {} {}", name(), shown.status,
                              shown.code, status, one.code));
  }
  // No document names the code of a cancel by an operator in the instance itself.
  const bool by_operator = one.state == State::kCancelled && one.code.empty();
  if (shown.code != one.code && !by_operator) {
    return differ(fmt::format("{} has the error \"{}\", and the model has \"{}\"", name(),
                              shown.code, one.code));
  }
  if (!shown.is_new) return;
  shown.is_new = false;
  if (!one.waited && shown.started != one.began) {
    return differ(fmt::format("{} has started at {}, and the model has {}", name(),
                              clock_text(shown.started), clock_text(one.began)));
  }
  const auto answered = asked_.find(one.start.order);
  if (answered != asked_.end() && answered->second != id)
    return differ(fmt::format("{} was answered with the id {}", name(), answered->second));
  const auto chain = chain_ids_.find(one.chain);
  if (chain != chain_ids_.end() && chain->second != id)
    differ(fmt::format("{} was put off under the id {}", name(), chain->second));
}

void QueuePlayer::compare_callers() {
  std::map<std::string, int> found;
  for (const auto& [id, one] : seen_) {
    if (one.workflow != "caller") continue;
    ++found[one.order];
    const Caller& caller = model_.callers().at(one.order);
    std::string expected = one.status == "running" ? "running" : "waiting";
    if (caller.cancelled) expected = "cancelled";
    if (!caller.waits && !caller.cancelled)
      expected = one.status == "complete" ? "complete" : "failed";
    const bool has_code = caller.cancelled || caller.waits || caller.ends.contains("*") ||
                          caller.ends.contains(one.code);
    const bool fits = !caller.ends.contains("*") || one.status != "complete";
    if (one.status == expected && has_code && fits) continue;
    return differ(fmt::format("the caller of {} is {} \"{}\", and the model has {} \"{}\"",
                              one.order, one.status, one.code, caller.waits ? "waiting" : "ended",
                              fmt::join(caller.ends, " or ")));
  }
  for (const auto& [order, caller] : model_.callers()) {
    if (found[order] != 1) differ(fmt::format("{} callers of {}", found[order], order));
  }
}

// Queues.

void QueuePlayer::compare_queues() {
  const Definition& definition = model_.definition();
  const bool has_slots = definition.limit > 0 && definition.on_limit != OnLimit::kReplace;
  if (!has_slots && !definition.throttled()) return;
  const Snapshot view = Snapshot::take(world_.environment()).value();
  const Json page = world_.queries().queues(view, "default", 100, "", "w").value();
  std::map<std::string, std::vector<Json>> by_reason;
  for (const Json& item : page["items"]) by_reason[item["reason"]].push_back(item);
  if (has_slots) compare_slot_queues(by_reason["concurrency"]);
  if (!failed()) compare_throttle_queues(by_reason["throttle"]);
}

void QueuePlayer::compare_slot_queues(const std::vector<Json>& items) {
  std::set<std::string> keys;
  for (const Instance& one : model_.instances()) {
    if (one.state == State::kQueued) keys.insert(model_.slot_key(one.start));
  }
  if (items.size() != keys.size()) {
    return differ(fmt::format("the queues are {}, and the model has {} of them", Json(items).dump(),
                              keys.size()));
  }
  for (const std::string& key : keys) {
    if (!failed()) compare_queue(key, items);
  }
}

void QueuePlayer::compare_queue(const std::string& key, const std::vector<Json>& items) {
  const auto found = std::find_if(items.begin(), items.end(),
                                  [&](const Json& one) { return one.value("key", "") == key; });
  if (found == items.end()) return differ("no queue of the key " + key);
  const Json& shown = *found;
  const std::vector<size_t> queue = model_.queue(key);
  ++counts_[fmt::format("queue of {}", queue.size())];
  const Json expected{{"held", model_.held(key)},
                      {"queued", queue.size()},
                      {"limit", model_.definition().limit},
                      {"next", ids_.at(queue.front())}};
  const Json actual{{"held", shown.value("held", -1)},
                    {"queued", shown.value("queued", 0)},
                    {"limit", shown.value("limit", 0)},
                    {"next", shown.value("next", Json::object()).value("instance", "")}};
  if (actual != expected) {
    differ(fmt::format("the queue of \"{}\" is {}, and the model has {}", key, actual.dump(),
                       expected.dump()));
  }
}

/// An event whose key or priority is no value becomes a dead letter; a skipped one does not.
void QueuePlayer::compare_dead_letters() {
  std::set<std::string> sequences;
  for (const auto& stored : world_.broker.others()) {
    if (!stored.message.subject.starts_with("millrace.dlq.")) continue;
    const std::string* const sequence = find_header(stored.message.headers, "Millrace-Sequence");
    sequences.insert(sequence == nullptr ? "" : *sequence);
  }
  if (sequences.size() != model_.dead_letters()) {
    differ(fmt::format("{} dead letters, and the model has {}", sequences.size(),
                       model_.dead_letters()));
  }
}

// Checks that need only what the engine shows.

/// An instance begins its work only if no more than `limit` of its key work then. One that waited
/// for the throttle may have got its slot before the limit was lowered.
void QueuePlayer::check_slots() {
  const Definition& definition = model_.definition();
  std::map<std::string, int> working;
  for (const auto& [which, id] : ids_) {
    if (seen_.at(id).status == "waiting")
      ++working[model_.slot_key(model_.instances()[which].start)];
  }
  const int slots = definition.singular ? 1 : definition.limit;
  for (const auto& [which, id] : ids_) {
    Seen& shown = seen_.at(id);
    shown.most_slots = std::max(shown.most_slots, slots);
    const bool begins = shown.status == "waiting" && shown.was != "waiting" &&
                        shown.was != "paused";  // a paused one may hold its slot already
    shown.was = shown.status;
    if (!begins) continue;
    const int now = working[model_.slot_key(model_.instances()[which].start)];
    const int most = definition.throttled() ? shown.most_slots : slots;
    if (slots > 0 && now > most) {
      return differ(
          fmt::format("{} works, and {} instances of its key do, with {} slots", id, now, most));
    }
  }
}

/// In no time of the length `period` do more than `limit` instances start for one key. With `batch`
/// the requests count, which no instance shows.
void QueuePlayer::check_rates() {
  const Definition& definition = model_.definition();
  if (definition.rate_limit == 0 || definition.batched()) return;
  std::map<std::string, std::vector<TimePoint>> starts;
  for (const auto& [which, id] : ids_) {
    const std::string& customer = model_.instances()[which].start.customer;
    starts[definition.rate_keyed ? customer : ""].push_back(seen_.at(id).started);
  }
  const auto limit = static_cast<size_t>(definition.rate_limit);
  for (auto& [key, times] : starts) {
    std::sort(times.begin(), times.end());
    for (size_t i = limit; i < times.size(); ++i) {
      if (times[i] - times[i - limit] >= definition.rate_period) continue;
      return differ(fmt::format("more than {} starts of \"{}\" in a period that ends at {}", limit,
                                key, clock_text(times[i])));
    }
  }
}

/// Nothing is left: each start has had one outcome, and no row of a queue or a pending start stays.
void QueuePlayer::check_end() {
  step("restart at the end");
  world_.restart();
  world_.run_until_idle();
  see();
  compare();
  if (!failed()) check_rates();
  if (!failed()) check_throttle();
  if (failed()) return;
  for (size_t i = 0; i < model_.instances().size(); ++i) {
    const Instance& one = model_.instances()[i];
    if (one.active()) return differ(one.start.order + " has not ended");
    ++counts_["instance: " + seen_.at(ids_.at(i)).status + " " + one.code];
  }
  const bool is_scheduled = model_.definition().start == StartType::kScheduled;
  if (!model_.pending().empty() && !is_scheduled) return differ("a pending start is left");
  if (world_.rows_of("queues") != 0) return differ("rows of queues are left");
  const auto rows = world_.rows();
  const auto has_rows = [&](std::string_view prefix) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const auto& row) { return row.first.starts_with(prefix); });
  };
  const bool has_pending = !model_.pending().empty();
  if (has_rows("meta/pending-start/") != has_pending) differ("rows of pending starts are left");
  if (has_rows("meta/pending-input/") != (has_pending && model_.definition().batched()))
    differ("rows of inputs of batches are left");
}

}  // namespace millrace::queue_model
