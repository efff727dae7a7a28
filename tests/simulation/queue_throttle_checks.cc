// The comparisons of QueuePlayer for `throttle`.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "tests/simulation/queue_player.h"

namespace millrace::queue_model {

/// Each key for which starts wait is listed, also one of which all starts are paused.
void QueuePlayer::compare_throttle_queues(const std::vector<Json>& items) {
  std::map<std::string, size_t> waiting;
  for (const Instance& one : model_.instances()) {
    if (one.throttled) ++waiting[model_.throttle_key(one.start)];
  }
  if (items.size() != waiting.size()) {
    return differ(fmt::format("the queues of the throttle are {}, and the model has {} of them",
                              Json(items).dump(), waiting.size()));
  }
  for (const auto& [key, number] : waiting) {
    if (!failed()) compare_throttle_queue(key, number, items);
  }
}

/// Compares the queue of a key for which as many starts wait, with those that are paused.
void QueuePlayer::compare_throttle_queue(const std::string& key, size_t waiting,
                                         const std::vector<Json>& items) {
  const auto found = std::find_if(items.begin(), items.end(),
                                  [&](const Json& one) { return one.value("key", "") == key; });
  if (found == items.end()) return differ("no queue of the throttle for the key " + key);
  const Json& shown = *found;
  const std::vector<size_t> queue = model_.throttled(key);
  ++counts_[fmt::format("throttle: queue of {}", queue.size())];
  const auto next_at = model_.throttle_permits_at(key);
  const bool shows_time = next_at && !queue.empty();
  const Json expected{{"queued", queue.size()},
                      {"paused", waiting - queue.size()},
                      {"limit", model_.definition().throttle_limit},
                      {"nextAt", shows_time ? format_rfc3339(*next_at) : ""},
                      {"next", queue.empty() ? "" : ids_.at(queue.front())}};
  const Json actual{{"queued", shown.value("queued", 0)},
                    {"paused", shown.value("paused", 0)},
                    {"limit", shown.value("limit", 0)},
                    {"nextAt", shown.value("nextAt", "")},
                    {"next", shown.value("next", Json::object()).value("instance", "")}};
  if (actual != expected) {
    differ(fmt::format("the queue of the throttle for \"{}\" is {}, and the model has {}", key,
                       actual.dump(), expected.dump()));
  }
}

/// When the first run of an instance has started, by its history; nullopt: none has.
std::optional<TimePoint> QueuePlayer::begin_of(const std::string& id) {
  std::optional<TimePoint> begin;
  const Json items = world_.history_items(id);
  for (const Json& item : items) {
    const std::string kind = item["kind"];
    if (kind == "started" || kind == "admitted" || kind == "released") {
      begin = parse_rfc3339(item["time"].get<std::string>()).value();
    } else if (kind == "queued" || kind == "throttled") {
      begin.reset();
    }
  }
  return begin;
}

/// In no time of the length `period` do more than `limit` instances begin for one key. This needs
/// only what the engine shows.
void QueuePlayer::check_throttle() {
  const Definition& definition = model_.definition();
  if (!definition.throttled()) return;
  std::map<std::string, std::vector<TimePoint>> begins;
  for (const auto& [which, id] : ids_) {
    const auto begin = begin_of(id);
    if (begin) begins[model_.throttle_key(model_.instances()[which].start)].push_back(*begin);
  }
  const auto limit = static_cast<size_t>(most_throttle_limit_);
  for (auto& [key, times] : begins) {
    std::sort(times.begin(), times.end());
    for (size_t i = limit; i < times.size(); ++i) {
      if (times[i] - times[i - limit] >= definition.throttle_period) continue;
      return differ(
          fmt::format("more than {} starts of \"{}\" have started in a period of the "
                      "throttle that ends at {}",
                      limit, key, format_rfc3339(times[i])));
    }
  }
}

}  // namespace millrace::queue_model
