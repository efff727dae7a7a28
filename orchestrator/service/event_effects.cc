#include "orchestrator/service/event_effects.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "base/ids.h"
#include "model/event_target.h"
#include "orchestrator/service/event_desk.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/stream_rows.h"

namespace millrace {
namespace {

std::string_view what_of(EventEffect::Kind kind) {
  switch (kind) {
    case EventEffect::Kind::kStarted:
      return "started";
    case EventEffect::Kind::kWoken:
      return "woke";
    case EventEffect::Kind::kGrouped:
      return "grouped";
    case EventEffect::Kind::kDuplicate:
      return "duplicate";
    case EventEffect::Kind::kSkipped:
      return "skipped";
    case EventEffect::Kind::kUncorrelated:
      return "uncorrelated";
    case EventEffect::Kind::kKept:
      return "kept";
    case EventEffect::Kind::kRefused:
      return "refused";
    case EventEffect::Kind::kExpired:
      return "expired";
    case EventEffect::Kind::kClosed:
      return "closed";
    case EventEffect::Kind::kRateLimited:
      return "rateLimited";
    case EventEffect::Kind::kDebounced:
      return "debounced";
    case EventEffect::Kind::kBatched:
      return "batched";
  }
  return "unknown";
}

bool is_on_instance(EventEffect::Kind kind) {
  return kind == EventEffect::Kind::kStarted || kind == EventEffect::Kind::kWoken;
}

}  // namespace

Result<Cursor> applied_in(const View& view, const Cursor& applied) {
  Cursor cursor = TRY(read_cursor(view));
  const auto place = [](const Cursor& one) { return std::pair(one.stream_created, one.sequence); };
  return place(applied) > place(cursor) ? applied : cursor;
}

Result<EventEffects> EventEffects::make(const View& view, NamespaceNumber ns, int64_t created,
                                        const Cursor& applied) {
  EventEffects effects(view, ns);
  effects.stream_ = TRY(find_stream(view, created));
  const Cursor cursor = TRY(applied_in(view, applied));
  if (cursor.stream_created == created) effects.applied_ = cursor.sequence;
  return effects;
}

Result<std::vector<EventEffect>> EventEffects::of(uint64_t sequence) const {
  if (stream_ == 0 || !is_applied(sequence)) return std::vector<EventEffect>();
  return read_effects(*view_, {.stream = stream_, .sequence = sequence});
}

Status EventEffects::add_to(Json& item, uint64_t sequence,
                            const std::vector<EventEffect>& effects) {
  Json shown = Json::array();
  for (const EventEffect& effect : effects) {
    if (shown.size() == kMostEffectsShown) break;
    Json one = {{"what", what_of(effect.kind)}};
    if (is_on_instance(effect.kind)) {
      one["instance"] = to_string(effect.instance);
    } else if (effect.workflow != WorkflowNumber(0)) {
      one["workflow"] = TRY(name_of(effect.workflow));
    }
    shown.push_back(std::move(one));
  }
  item["applied"] = is_applied(sequence);
  item["effects"] = std::move(shown);
  item["effectCount"] = effects.size();
  return {};
}

Status EventEffects::add_target(Json& item, const Event& event) {
  const auto found = event.extensions.find(std::string(kTargetAttribute));
  if (found == event.extensions.end()) return {};
  const auto* const target = std::get_if<std::string>(&found->second);
  if (target == nullptr) return {};
  if (const auto instance = target_instance(*target)) {
    item["to"] = {{"instance", to_string(*instance)}};
  } else if (const auto workflow = target_workflow(*target)) {
    const bool exists = TRY(existing(*workflow)).has_value();
    item["to"] = {{"workflow", TRY(name_of(*workflow))}};
    if (!exists) item["to"]["deleted"] = true;
  }
  return {};
}

/// The id of a workflow; nullopt if it was deleted.
Result<std::optional<std::string>> EventEffects::existing(WorkflowNumber workflow) {
  if (!names_) {
    names_.emplace();
    TRY(each_workflow(*view_, ns_, [&](std::string_view id, const WorkflowRecord& record) {
      names_->emplace(record.number, id);
    }));
  }
  const auto found = names_->find(workflow);
  return found != names_->end() ? std::optional(found->second) : std::nullopt;
}

/// The id of a workflow; its number, if it was deleted.
Result<std::string> EventEffects::name_of(WorkflowNumber workflow) {
  const std::optional<std::string> id = TRY(existing(workflow));
  return id.value_or(std::to_string(static_cast<uint32_t>(workflow)));
}

bool has_effect(const std::vector<EventEffect>& effects) {
  return std::any_of(effects.begin(), effects.end(), [](const EventEffect& effect) {
    return is_on_instance(effect.kind) || effect.kind == EventEffect::Kind::kGrouped;
  });
}

}  // namespace millrace
