#include "orchestrator/service/pending_start_item.h"

#include <optional>
#include <string>
#include <utility>

#include "base/excerpt.h"
#include "base/ids.h"
#include "model/start_rate.h"
#include "orchestrator/batch/start_decision.h"
#include "orchestrator/batch/start_rates.h"
#include "orchestrator/engine/runs.h"
#include "orchestrator/service/instance_walk.h"
#include "orchestrator/service/slot_item.h"
#include "orchestrator/service/undamaged.h"
#include "orchestrator/store/rows/pending_input_rows.h"
#include "orchestrator/store/rows/start_rate_rows.h"
#include "states/start_key.h"

namespace millrace {
namespace {

/// The input over which the key is evaluated; nullopt: it is gone or damaged.
Result<std::optional<LazyJson>> keyed_input(const View& view, const PendingStartPlace& place,
                                            const PendingStart& pending) {
  if (!pending.batch) return std::optional(as_input(pending.input));
  auto first = TRY(undamaged(read_pending_input(view, {place.ns, pending.id, 0})));
  return first ? std::optional(std::move(first->input)) : std::nullopt;
}

/// The query of the key in that revision; null: it has none.
const Template* key_query(const Workflow& workflow, const PendingStart& pending) {
  const auto query_of = [](const auto& setting) -> const Template* {
    return setting && setting->key ? &*setting->key : nullptr;
  };
  return pending.batch ? query_of(workflow.batch) : query_of(workflow.debounce);
}

Json refusal_json(const Error& why) { return Json{{"code", why.code}, {"msg", why.message}}; }

/// The error of the `rateLimit` that would refuse the start now; nullopt: it permits the start.
Result<std::optional<Error>> over_rate(const View& view, WorkflowNumber number,
                                       std::string_view workflow, const StartLimit& limit,
                                       const LazyJson& input, TimePoint now) {
  const auto key = start_key(limit.key, "rateLimit.key", input, now);
  if (!key) return std::optional<Error>();  // its error is that of the start
  const auto record = TRY(
      undamaged(read_start_rate(view, {number, keyed_fingerprint(view.seal().id_key(), {*key})})));
  const auto until = record ? refused_until(limit, record->use, now) : std::nullopt;
  if (!until) return std::optional<Error>();
  return std::optional(over_rate_error(workflow, limit, *key, *until - now));
}

}  // namespace

bool is_batch_over(const PendingStart& pending) { return pending.batch && pending.batch->is_over; }

std::string_view put_off_by(const PendingStart& pending) {
  return pending.batch ? "batch" : "debounce";
}

std::optional<TimePoint> latest_start(const PendingStart& pending, const Workflow* newest) {
  if (pending.batch || newest == nullptr || !newest->debounce) return std::nullopt;
  const auto& timeout = newest->debounce->timeout;
  if (!timeout) return std::nullopt;
  const TimePoint latest = timeout->after(pending.first);
  return latest < pending.at ? std::nullopt : std::optional(latest);
}

Result<PendingStartItem> pending_start_item(const View& view, const PendingStartPlace& place,
                                            const PendingStart& pending, std::string_view workflow,
                                            const Workflow* newest, TimePoint now) {
  PendingStartItem item{.json = {{"workflow", workflow},
                                 {"reason", put_off_by(pending)},
                                 {"instance", to_string(pending.id)},
                                 {"since", format_rfc3339(pending.first)},
                                 {"startsAt", format_rfc3339(pending.at)}},
                        .bytes = pending.input.text().size()};
  if (const auto latest = latest_start(pending, newest)) {
    item.json["latestAt"] = format_rfc3339(*latest);
  }
  if (pending.batch) {
    item.json["inputs"] = pending.batch->inputs;
    if (newest != nullptr && newest->batch) item.json["maxSize"] = newest->batch->max_size;
  }
  const Template* const query = newest == nullptr ? nullptr : key_query(*newest, pending);
  const bool is_rated = newest != nullptr && newest->rate_limit && !pending.batch;
  if (query == nullptr && !is_rated) return item;
  const bool is_sealed = pending.sealed || newest->sealed;
  if (is_sealed && query != nullptr) item.json["key"] = "(sealed)";
  if (is_sealed) return item;
  const auto input = TRY(keyed_input(view, place, pending));
  if (!input) return item;
  item.bytes = input->text().size();
  if (is_rated) {
    const auto over =
        TRY(over_rate(view, place.workflow, workflow, *newest->rate_limit, *input, now));
    if (over) item.json["refusal"] = refusal_json(*over);
  }
  if (query == nullptr) return item;
  const auto key = start_key(*query, pending.batch ? "batch.key" : "debounce.key", *input, now);
  if (!key) return item;
  item.json["key"] = key->size() <= kMostSlotKeyBytes ? slot_key_json(*key)
                                                      : Json(excerpt(*key, kMostSlotKeyBytes));
  return item;
}

Result<Json> refusal_of_pending(const View& view, NamespaceNumber ns, WorkflowNumber number,
                                std::string_view workflow, const Workflow& newest,
                                StartPredictor& quotas) {
  Json members = Json::object();
  const auto refuse = [&members](const Error& why) { members["refusal"] = refusal_json(why); };
  if (newest.singular) {
    const InstanceSelection live{.ns = ns,
                                 .workflow = number,
                                 .statuses = {InstanceStatus::kPending, InstanceStatus::kRunning,
                                              InstanceStatus::kWaiting, InstanceStatus::kPaused},
                                 .ids = {},
                                 .oldest_first = true};
    TRY(each_selected(
        view, live,
        [&](const Instance& head) {
          refuse(not_single(workflow));
          members["holder"] =
              Json{{"instance", to_string(head.id)}, {"since", format_rfc3339(head.started_at)}};
          return false;
        },
        [](const InstanceId&, const Error&) { return true; }, {.heads = 1}));
    if (members.contains("refusal")) return members;
  }
  if (const auto over = TRY(quotas.over_quota())) refuse(*over);
  return members;
}

}  // namespace millrace
