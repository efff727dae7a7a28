// Queries about the starts that wait for slots or the throttles of their workflows, those that
// `debounce` or `batch` has put off, and the calls that wait for slots or throttles of their
// services.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/ids.h"
#include "orchestrator/service/cursor.h"
#include "orchestrator/service/namespace_record.h"
#include "orchestrator/service/paused_starts.h"
#include "orchestrator/service/pending_start_item.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/slot_holders.h"
#include "orchestrator/service/slot_item.h"
#include "orchestrator/service/start_predictor.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "states/workflow.h"

namespace millrace {
namespace {

/// How many keys and pending starts one page looks at.
constexpr size_t kMostQueuesLooked = 10'000;
/// After how many bytes of the inputs of pending starts a page ends.
constexpr size_t kMostPendingBytes = size_t{4} << 20;
/// At how many paused instances, and at how many that hold slots, one page looks.
constexpr size_t kMostPausedLooked = 2'000;
constexpr size_t kMostHoldersOfAPage = 2'000;

/// A position in the list: the id of a workflow, and its key or its pending start that was looked
/// at last. With a key and without a workflow: the key of calls, which come after the starts.
struct QueueCursor {
  std::string workflow;
  std::optional<SlotKey> behind;       ///< without the number of the workflow
  std::optional<Fingerprint> pending;  ///< of a pending start, which come after the keys
};

/// What stands before the fingerprint of a key of a throttle, and before that of a pending start.
/// No fingerprint begins with it.
constexpr char kThrottleMark = 't';
constexpr char kPendingMark = 'p';

std::string queue_cursor(std::string_view workflow, const SlotKey& key) {
  return fmt::format("{}/{}{}", workflow, key.is_throttle ? std::string(1, kThrottleMark) : "",
                     to_string(InstanceId{key.key}));
}

std::string pending_cursor(std::string_view workflow, const PendingStartPlace& place) {
  return fmt::format("{}/{}{}", workflow, kPendingMark, to_string(InstanceId{place.key}));
}

Result<QueueCursor> parse_queue_cursor(std::string_view text) {
  if (text.empty()) return QueueCursor{};
  const size_t slash = text.rfind('/');  // without a slash, npos + 1 is 0
  std::string_view place = text.substr(slash + 1);
  const bool is_throttle = place.starts_with(kThrottleMark);
  const bool is_pending = place.starts_with(kPendingMark);
  if (is_throttle || is_pending) place.remove_prefix(1);
  const auto key = parse_instance_id(place);
  if (slash == std::string_view::npos || !key) return malformed_cursor();
  QueueCursor cursor{.workflow = std::string(text.substr(0, slash)), .behind = {}, .pending = {}};
  if (is_pending) {
    if (cursor.workflow.empty()) return malformed_cursor();
    cursor.pending = key->bytes;
  } else {
    cursor.behind = SlotKey{.is_throttle = is_throttle, .key = key->bytes};
  }
  return cursor;
}

void pass_over_damage(const Error&) {}

/// Adds to the item of a key what the newest revision of the workflow permits; of a throttle also
/// when it permits the next start, unless all that wait are paused.
Status describe_limit(const View& view, const SlotKey& key, const Workflow& newest, Json& item) {
  if (!key.is_throttle) {
    if (newest.concurrency) item["limit"] = newest.concurrency->limit;
    return {};
  }
  if (!newest.throttle) return {};
  item["limit"] = newest.throttle->rate.limit;
  item["period"] = newest.throttle->rate.period.text;
  if (item.contains("workflowPaused") || item["queued"] == 0) return {};
  return add_next_at(view, rate_place(view, key), newest.throttle->rate, item);
}

Result<Json> described_queue(const View& view, std::string_view workflow, bool is_paused,
                             const SlotKey& key, const SlotCounts& counts, const Workflow* newest) {
  Json item{{"kind", "starts"},
            {"workflow", workflow},
            {"reason", key.is_throttle ? "throttle" : "concurrency"},
            {"queued", counts.queued}};
  if (!key.is_throttle) item["held"] = counts.held;
  if (is_paused) item["workflowPaused"] = true;
  if (counts.sealed) {
    item["key"] = "(sealed)";
  } else if (!counts.key.empty()) {
    item["key"] = slot_key_json(counts.key);
  }
  if (newest != nullptr) TRY(describe_limit(view, key, *newest, item));
  const auto place = [&](const SlotPlace& one) {
    return Json{{"instance", to_string(one.instance)}, {"since", format_rfc3339(one.since)}};
  };
  if (const auto next = TRY(read_first_place(view, waiting_kind(key), key, pass_over_damage))) {
    item["next"] = place(*next);
    item["next"]["priority"] = next->priority;
  }
  if (key.is_throttle) return item;
  if (const auto holder = TRY(read_first_place(view, QueueRow::kHolder, key, pass_over_damage))) {
    item["holder"] = place(*holder);
  }
  return item;
}

/// Adds to the item of a key what the throttle of the call that is next permits.
Status describe_call_throttle(const View& view, const CallSlotKey& key, const CallPlaceRecord& next,
                              Json& item) {
  const StartLimit rate = rate_of(next);
  item["period"] = rate.period.text;
  if (item.contains("servicePaused")) return {};
  return add_next_at(view, rate_place(view, key), rate, item);
}

/// Adds to the item of a key for which only calls of paused instances wait what its throttle
/// permits.
Status describe_paused_call(const View& view, const CallSlotKey& key, Json& item) {
  const auto paused =
      TRY(read_first_call(view, QueueRow::kCallThrottlePaused, key, pass_over_damage));
  if (!paused) return {};
  item["limit"] = paused->record.limit;
  item["period"] = rate_of(paused->record).period.text;
  return {};
}

Result<Json> described_calls(const View& view, const NamespaceSettings& settings,
                             const CallSlotKey& key, const CallSlotCounts& counts) {
  Json item = slot_service_json(counts.service);
  item.update({{"kind", "calls"},
               {"reason", key.is_throttle ? "throttle" : "concurrency"},
               {"limit", counts.limit},
               {"queued", counts.queued}});
  if (!key.is_throttle) item["held"] = counts.held;
  if (counts.paused > 0) item["paused"] = counts.paused;
  if (is_paused(settings, counts.service)) item["servicePaused"] = true;
  if (counts.sealed) {
    item["key"] = "(sealed)";
  } else if (!counts.key.empty()) {
    item["key"] = slot_key_json(counts.key);
  }
  const auto next = TRY(read_first_call(view, waiting_kind(key), key, pass_over_damage));
  if (next) {
    item["next"] = TRY(call_place_json(view, next->record));
    item["next"]["priority"] = next->place.priority;
    item["limit"] = next->record.limit;  // a call goes by its own limit
    if (key.is_throttle) TRY(describe_call_throttle(view, key, next->record, item));
  }
  if (key.is_throttle) {
    if (!next) TRY(describe_paused_call(view, key, item));
    return item;
  }
  const auto holder = TRY(read_first_call(view, QueueRow::kCallHolder, key, pass_over_damage));
  if (holder) item["holder"] = TRY(call_place_json(view, holder->record));
  return item;
}

/// The items of one page, and where the next page begins.
struct QueuePage {
  size_t limit = 0;
  Json items = Json::array();
  Json next = nullptr;
  std::string last = {};  ///< the position of the key that was looked at last
  size_t looked = 0;
  size_t bytes = 0;  ///< of the inputs of pending starts
  size_t paused_looks = kMostPausedLooked;
  size_t holder_looks = kMostHoldersOfAPage;

  /// Whether a further key must wait for the next page; else counts that it is looked at.
  bool is_full_at(std::string at) {
    if (items.size() == limit || looked == kMostQueuesLooked || bytes >= kMostPendingBytes) {
      next = last;
      return true;
    }
    ++looked;
    last = std::move(at);
    return false;
  }
};

/// A workflow whose keys and pending starts are listed. Its newest revision is read once it is
/// needed.
class ListedWorkflow {
 public:
  ListedWorkflow(const View& view, DefinitionCache& definitions, std::string_view id,
                 const WorkflowRecord& record, StartPredictor& quotas)
      : view_(view), definitions_(definitions), id_(id), record_(record), quotas_(quotas) {}

  /// Adds the keys for which starts wait, also those of the throttle that only paused starts have.
  Status add_keys(NamespaceNumber ns, const std::optional<SlotKey>& behind, QueuePage& page) {
    PausedStarts paused =
        TRY(paused_throttled_starts(view_, ns, record_.number, page.paused_looks));
    if (behind && behind->is_throttle) {
      paused.erase(paused.begin(), paused.upper_bound(behind->key));
    }
    const auto add = [&](const SlotKey& key, const SlotCounts& counts) -> Result<bool> {
      if (key.is_throttle && !TRY(add_paused_before(key.key, paused, page))) return false;
      if (page.is_full_at(queue_cursor(id_, key))) return false;
      const auto left_out = key.is_throttle ? paused.find(key.key) : paused.end();
      const uint64_t number = left_out == paused.end() ? 0 : left_out->second.count;
      if (left_out != paused.end()) paused.erase(left_out);
      return add_key(ns, key, counts, number, page);
    };
    Status status;
    TRY(each_slot_counts(
        view_, record_.number, behind,
        [&](const SlotKey& key, const SlotCounts& counts) {
          const Result<bool> goes_on = add(key, counts);
          if (!goes_on) status = tl::unexpected(goes_on.error());
          return goes_on.value_or(false);
        },
        pass_over_damage));
    TRY(std::move(status));
    if (page.next.is_null()) TRY(add_paused_before(std::nullopt, paused, page));
    return {};
  }

  /// Adds the starts that `debounce` or `batch` has put off.
  Status add_pending(NamespaceNumber ns, const std::optional<Fingerprint>& last, TimePoint now,
                     QueuePage& page) {
    std::optional<PendingStartPlace> behind;
    if (last) behind = PendingStartPlace{ns, record_.number, *last};
    const auto add = [&](const PendingStartPlace& place,
                         const PendingStart& pending) -> Result<bool> {
      if (page.is_full_at(pending_cursor(id_, place))) return false;
      if (is_batch_over(pending)) return true;
      auto item = TRY(pending_start_item(view_, place, pending, id_, newest(), now));
      item.json.update({{"kind", "starts"}, {"queued", 1}});
      if (record_.paused) item.json["workflowPaused"] = true;
      item.json.update(TRY(refusal(ns)));
      page.items.push_back(std::move(item.json));
      page.bytes += item.bytes;
      return true;
    };
    Status status;
    TRY(each_pending_start(
        view_, ns, record_.number, behind,
        [&](const PendingStartPlace& place, const PendingStart& pending) {
          const Result<bool> goes_on = add(place, pending);
          if (!goes_on) status = tl::unexpected(goes_on.error());
          return goes_on.value_or(false);
        },
        pass_over_damage));
    return status;
  }

 private:
  /// Adds a key if starts wait for it; `paused`: how many are left out.
  Result<bool> add_key(NamespaceNumber ns, const SlotKey& key, const SlotCounts& counts,
                       uint64_t paused, QueuePage& page) {
    if (counts.queued == 0 && paused == 0) return true;
    Json item = TRY(described_queue(view_, id_, record_.paused, key, counts, newest()));
    if (paused > 0) item["paused"] = paused;
    if (!key.is_throttle && TRY(are_holders_paused(view_, ns, key, page.holder_looks))) {
      item["holdersPaused"] = true;
    }
    page.items.push_back(std::move(item));
    return true;
  }

  /// Adds the keys that only paused starts have and that come before `key`, and removes them;
  /// nullopt: all. Returns whether the page has room for a further key.
  Result<bool> add_paused_before(const std::optional<Fingerprint>& key, PausedStarts& paused,
                                 QueuePage& page) {
    while (!paused.empty() && (!key || paused.begin()->first < *key)) {
      const auto& [fingerprint, starts] = *paused.begin();
      const SlotKey at{.is_throttle = true, .workflow = record_.number, .key = fingerprint};
      if (page.is_full_at(queue_cursor(id_, at))) return false;
      TRY(add_key({}, at, {.key = starts.key, .sealed = starts.sealed}, starts.count, page));
      paused.erase(paused.begin());
    }
    return true;
  }

  /// null: it cannot be read.
  const Workflow* newest() {
    if (!definition_) {
      const auto found = definitions_.find_or_load(view_, {record_.number, record_.latest});
      definition_ = found ? *found : nullptr;
    }
    return definition_->get();
  }

  /// Why its pending starts would be refused now, the same for all of them.
  Result<Json> refusal(NamespaceNumber ns) {
    if (newest() == nullptr) return Json::object();
    if (!refusal_) {
      refusal_ = TRY(refusal_of_pending(view_, ns, record_.number, id_, *newest(), quotas_));
    }
    return *refusal_;
  }

  const View& view_;
  DefinitionCache& definitions_;
  const std::string_view id_;
  const WorkflowRecord& record_;
  StartPredictor& quotas_;
  std::optional<Json> refusal_;                                ///< set once it was asked for
  std::optional<std::shared_ptr<const Workflow>> definition_;  ///< set once it was read
};

/// Adds the keys of calls for which calls wait, also such as are left out while their instances are
/// paused.
Status add_calls(const View& view, NamespaceNumber ns, const NamespaceSettings& settings,
                 const std::optional<CallSlotKey>& behind, QueuePage& page) {
  Status status;
  TRY(each_call_counts(
      view, ns, behind,
      [&](const CallSlotKey& key, const CallSlotCounts& counts) {
        const SlotKey at{.is_throttle = key.is_throttle, .key = key.key};
        if (page.is_full_at(queue_cursor("", at))) return false;
        if (counts.queued == 0 && counts.paused == 0) return true;
        auto item = described_calls(view, settings, key, counts);
        if (!item) {
          status = tl::unexpected(item.error());
          return false;
        }
        page.items.push_back(*std::move(item));
        return true;
      },
      pass_over_damage));
  return status;
}

}  // namespace

Result<Json> Queries::queues(const View& view, std::string_view ns, size_t limit,
                             std::string_view cursor, std::string_view workflow) {
  // TRY is not used: with it, g++ 12 warns about freeing the map of a failed result.
  const Result<Workflows> known = workflows_of(view, ns);
  if (!known) return tl::unexpected(known.error());
  if (!workflow.empty()) TRY(find_workflow(view, ns, workflow));
  const QueueCursor from = TRY(parse_queue_cursor(cursor));
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  QueuePage page{.limit = limit};
  StartPredictor quotas({.view = view, .ns = number, .name = std::string(ns)});
  const bool is_behind_starts = from.behind && from.workflow.empty();
  for (auto one = known->lower_bound(from.workflow);
       !is_behind_starts && one != known->end() && page.next.is_null(); ++one) {
    const std::string& id = one->first;
    if (!workflow.empty() && id != workflow) continue;
    ListedWorkflow listed(view, definitions_, id, one->second, quotas);
    const bool begins = id == from.workflow;
    const auto pending = begins ? from.pending : std::nullopt;
    if (!pending) TRY(listed.add_keys(number, begins ? from.behind : std::nullopt, page));
    if (page.next.is_null()) TRY(listed.add_pending(number, pending, clock_.now(), page));
  }
  if (workflow.empty() && page.next.is_null()) {
    std::optional<CallSlotKey> behind;
    if (is_behind_starts) {
      behind = CallSlotKey{number, from.behind->key, from.behind->is_throttle};
    }
    TRY(add_calls(view, number, TRY(readable_settings(view, ns)), behind, page));
  }
  return Json{{"items", std::move(page.items)}, {"next", std::move(page.next)}};
}

}  // namespace millrace
