// LocalWhyDesk about an instance: what it waits for, and why the newest events of those types, or
// one event, did not wake it.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cloudevents/nats_binding.h"
#include "orchestrator/memory/dedupe.h"
#include "orchestrator/service/cancelling.h"
#include "orchestrator/service/event_effects.h"
#include "orchestrator/service/local_why_desk.h"
#include "orchestrator/service/named_evaluations.h"
#include "orchestrator/service/namespace_record.h"
#include "orchestrator/service/passed_compensations.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/service/slot_item.h"
#include "orchestrator/service/start_wait.h"
#include "orchestrator/service/walk_back.h"
#include "orchestrator/service/why_calls.h"
#include "orchestrator/service/why_parts.h"
#include "orchestrator/service/workflow_of_instance.h"

namespace millrace {
namespace {

/// For how long events are judged for an instance.
constexpr Duration kInstanceTime{200};

/// How many calls that wait for a slot or a throttle are shown, and how many are looked at for
/// them.
constexpr size_t kMostWaitingCalls = 3;
constexpr size_t kMostCallsLooked = 100;

/// The types for which the instance will listen, if it is entering a state that waits.
std::vector<std::string> entering_for(const Instance& instance, const Workflow& workflow) {
  const bool is_entering =
      instance.phase == Phase::kEntering && !instance.compensating && !has_ended(instance.status);
  if (!is_entering || instance.state >= workflow.states.size()) return {};
  return workflow.states[instance.state]->awaited_types();
}

/// The types that the instance listens for, or will listen for when it has entered its state; if
/// there is none, those for which a state of its workflow may listen. Each occurs once.
std::vector<std::string> awaited_by(const Instance& instance, const Workflow& workflow) {
  std::set<std::string> types;
  for (const Listener& listener : instance.listeners) types.insert(listener.filter.type);
  for (std::string& type : entering_for(instance, workflow)) types.insert(std::move(type));
  if (types.empty()) {
    for (const auto& state : workflow.states) {
      for (std::string& type : state->awaited_types()) types.insert(std::move(type));
    }
  }
  return {types.begin(), types.end()};
}

/// {"id","workflow","status","state","since","waits":[…],"compensation"?,"entering"?,"arrived"?}
Json instance_json(const Instance& instance, const Workflow& workflow,
                   const Disclosure& disclosure) {
  Json json{{"id", to_string(instance.id)},
            {"workflow", workflow.id},
            {"status", to_string(instance.status)},
            {"since", format_rfc3339(instance.ended_at.value_or(instance.state_from))},
            {"waits", Json::array()}};
  std::set<size_t> entries;
  for (const Listener& listener : instance.listeners) {
    entries.insert(listener.entry);
    json["waits"].push_back(to_json(listener.filter, disclosure));
  }
  if (instance.compensations > 0) json["compensation"] = compensation_json(instance, disclosure);
  if (instance.state >= workflow.states.size()) return json;
  const State& state = *workflow.states[instance.state];
  json["state"] = state.common().id;
  const auto lookbacks = state.lookbacks();
  const auto add_window = [&](size_t entry, Json& wait) {
    if (entry >= lookbacks.size() || !lookbacks[entry]) return;
    wait["lookbackFrom"] = format_rfc3339(instance.state_from - *lookbacks[entry]);
  };
  for (size_t i = 0; i < instance.listeners.size(); ++i) {
    add_window(instance.listeners[i].entry, json["waits"][i]);
  }
  const std::vector<std::string> entering = entering_for(instance, workflow);
  for (size_t i = 0; i < entering.size(); ++i) {
    Json wait{{"type", entering[i]}};
    add_window(i, wait);
    json["entering"].push_back(std::move(wait));
  }
  if (!state.waits().keeps_events || entries.empty()) return json;
  json["arrived"] = Json::array();
  const std::vector<std::string> types = state.awaited_types();
  for (size_t i = 0; i < types.size(); ++i) {
    if (!entries.contains(i)) json["arrived"].push_back(types[i]);
  }
  return json;
}

/// Whether the instance waits for nothing that its rows have: it has a step to make, for which it
/// waits for its turn, for an evaluation, or for the search for early events.
bool has_a_step_to_make(const Instance& instance, const Json& json) {
  return instance.status == InstanceStatus::kRunning && !instance.paused &&
         json.at("waits").empty();
}

bool has_type(const std::vector<std::string>& small_types, const StoredEvent& stored) {
  const Result<Event> event = decode_nats(stored.message);
  if (!event) return false;
  const std::string type = in_small_letters(event->type);
  return std::find(small_types.begin(), small_types.end(), type) != small_types.end();
}

std::vector<std::string> all_in_small_letters(const std::vector<std::string>& types) {
  std::vector<std::string> result;
  for (const std::string& type : types) result.push_back(in_small_letters(type));
  return result;
}

/// The first calls of the instance that wait: {"index","slot"} for a slot, with call_slot_item(),
/// or {"index","throttled"} for a throttle, with call_throttle_item().
Result<Json> waiting_calls(const CallLimitParts& parts, const Instance& instance) {
  Json items = Json::array();
  size_t looked = 0;
  for (size_t i = 0; i < instance.calls.size() && items.size() < kMostWaitingCalls; ++i) {
    const Call& call = instance.calls[i];
    if (call.status != Call::Status::kRunning || call.started) continue;
    if (++looked > kMostCallsLooked) break;
    Json item = TRY(call_slot_item(parts, call));
    if (item.is_object() && item["queued"].get<bool>()) {
      items.push_back({{"index", i}, {"slot", std::move(item)}});
      continue;
    }
    item = TRY(call_throttle_item(parts, call));
    if (item.is_object()) items.push_back({{"index", i}, {"throttled", std::move(item)}});
  }
  return items;
}

}  // namespace

Result<LocalWhyDesk::Newest> LocalWhyDesk::find_newest(std::string_view ns, const WhyWindow& window,
                                                       const std::vector<std::string>& types,
                                                       size_t most) {
  const StreamSpan span = TRY(parts_.events.span());
  const std::vector<std::string> wanted = all_in_small_letters(types);
  const Duration end = parts_.clock.elapsed() + kInstanceTime;
  BackwardRange range{.first = span.first,
                      .last = span.last,
                      .most = kMostStoredEvents,
                      .window = kMostEventsOfAnInstance,
                      .is_late = [&] { return parts_.clock.elapsed() >= end; }};
  if (window.before > 0) range.last = std::min(range.last, window.before - 1);
  if (window.until) range.last = TRY(last_before(parts_.events, ns, range, *window.until));
  Newest newest;
  bool is_too_old = false;
  const BackwardEnd walked = TRY(walk_back(
      range,
      [&](uint64_t first, uint64_t last) {
        return parts_.events.read({.ns = std::string(ns), .first = first, .last = last});
      },
      [&](StoredEvent& stored) {
        is_too_old = window.since && stored.stamped < *window.since;
        if (is_too_old) return false;
        newest.from = stored.stamped;
        if (has_type(wanted, stored)) newest.events.push_back({std::move(stored), span.created});
        return newest.events.size() < most;
      }));
  newest.looked = walked.looked;
  newest.is_complete = is_too_old || walked.before == 0;
  if (!newest.is_complete) newest.before = walked.before;
  return newest;
}

Result<LocalWhyDesk::Awaited> LocalWhyDesk::find_awaited(std::string_view ns,
                                                         const InstanceId& id) const {
  const Snapshot view = TRY(snapshot());
  const NamespaceRecord record = TRY(namespace_record(view, ns));
  const Instance instance = TRY(whole_instance(view, parts_.definitions, ns, record.number, id));
  const auto workflow = TRY(parts_.definitions.find_or_load(view, instance.revision));
  Awaited awaited{.types = awaited_by(instance, *workflow), .filters = {}};
  for (const Listener& listener : instance.listeners) awaited.filters.push_back(listener.filter);
  return awaited;
}

// No snapshot exists while the broker is asked.
Result<Json> LocalWhyDesk::of_instance(std::string_view ns, const InstanceId& id,
                                       const std::optional<uint64_t>& sequence,
                                       const WhyFilter& filter) {
  const Awaited awaited = TRY(find_awaited(ns, id));
  Newest newest{.is_search = !sequence};
  if (sequence) {
    newest.events.push_back(TRY(find_event(ns, *sequence, filter)));
    newest.looked = 1;
  } else if (!awaited.types.empty()) {
    const NamespaceRecord record = TRY(find_namespace(ns));
    WhyWindow window = filter.window;
    window.since = std::max(window.since.value_or(record.created_at), record.created_at);
    newest = TRY(find_newest(ns, window, awaited.types, kMostEventsOfAnInstance));
  }
  Json answer = TRY(judge_newest(ns, id, newest, filter));
  if (sequence || awaited.types.empty() || !filter.shows_others) return answer;
  const Json& shown = answer["events"];
  // The nearest come first: if that one does not fit, none does.
  if (!shown.empty() && shown.front()["verdict"] != to_string(Verdict::kPredicate)) return answer;
  ElsewhereLook look{.awaited = awaited, .window = filter.window, .must_fit = !shown.empty()};
  TRY(add_sent_elsewhere(ns, look, answer));
  TRY(add_sent_nowhere(ns, look, answer));
  if (look.cut_from) answer["elsewhereLook"]["from"] = format_rfc3339(*look.cut_from);
  return answer;
}

/// Judges the events for the instance.
Result<Json> LocalWhyDesk::judge_newest(std::string_view ns, const InstanceId& id,
                                        const Newest& newest, const WhyFilter& filter) const {
  const Cursor applied = parts_.applied();  // before the snapshot, which has its effects
  const Snapshot view = TRY(snapshot());
  const NamespaceRecord record = TRY(namespace_record(view, ns));
  const Instance instance = TRY(whole_instance(view, parts_.definitions, ns, record.number, id));
  const auto workflow = TRY(parts_.definitions.find_or_load(view, instance.revision));
  Disclosures disclosures = TRY(Disclosures::read(view, ns, record.number));
  const Disclosure disclosure = disclosures.of(instance.sealed);

  struct Shown {
    JudgedListener judged;
    Json json;
  };
  std::vector<Shown> shown;
  std::optional<EventEffects> known;
  int64_t stream_created = 0;  // the stream whose effects `known` reads
  Newest looked{.looked = newest.looked,
                .is_complete = newest.is_complete,
                .before = newest.before,
                .from = newest.from};
  const Duration end = parts_.clock.elapsed() + kInstanceTime;
  for (const Found& found : newest.events) {
    if (parts_.clock.elapsed() >= end) {
      looked.is_complete = false;
      looked.before = found.stored.sequence + 1;
      looked.from = found.stored.stamped;
      break;
    }
    Json json = place_json(found.stored);
    if (!known || stream_created != found.stream_created) {
      stream_created = found.stream_created;
      known.emplace(TRY(EventEffects::make(view, record.number, stream_created, applied)));
    }
    const std::vector<EventEffect> effects = TRY(known->of(found.stored.sequence));
    TRY(known->add_to(json, found.stored.sequence, effects));
    Result<Event> decoded = decode_nats(found.stored.message);
    if (!decoded) {
      json.update({{"verdict", to_string(Verdict::kDead)},
                   {"says", "the message is not an event: " + decoded.error().message},
                   {"predicates", Json::array()}});
      shown.push_back({{.verdict = Verdict::kDead}, std::move(json)});
      continue;
    }
    const JudgedEvent event(*std::move(decoded));
    EventStanding standing = TRY(standing_of(view, ns, applied, &found));
    standing.known_as = fingerprint_of(ns, event.event);
    note_effects_of_all(effects, standing);
    ListenerJudging judging({view, record.number, parts_.definitions, parts_.clock}, event,
                            standing, effects, parts_.bounds);
    TRY(judging.judge_asked(instance));
    auto nearest = judging.nearest(1);
    if (nearest.listeners.empty()) continue;
    JudgedListener& one = nearest.listeners.front();
    const bool had_its_turn = effects.empty() && known->is_applied(found.stored.sequence);
    if (one.verdict == Verdict::kUnread && one.note.empty() && had_its_turn &&
        is_remembered(parts_.ask_index, standing.known_as)) {
      one.verdict = Verdict::kDuplicate;  // see judge_event()
    }
    json.update(json_of_event(event.event));
    json.update(verdict_json(one, standing, disclosure));
    shown.push_back({std::move(one), std::move(json)});
  }
  std::stable_sort(shown.begin(), shown.end(), [](const Shown& a, const Shown& b) {
    return is_nearer(a.judged.verdict, a.judged.result, b.judged.verdict, b.judged.result);
  });
  const EventStanding standing = TRY(standing_of(view, ns, applied, nullptr));
  Json answer{{"instance", instance_json(instance, *workflow, disclosure)},
              {"asOf", {{"commit", view.commit()}, {"cursor", standing.applied.sequence}}},
              {"looked", looked.looked},
              {"complete", looked.is_complete},
              {"events", Json::array()}};
  if (has_ended(instance.status) && instance.error) {
    answer["instance"]["error"] = shown_detail(to_json(*instance.error), disclosure);
    Json waited = TRY(wait_at_end(view, instance, disclosure));
    if (!waited.is_null()) answer["instance"]["waited"] = std::move(waited);
  }
  TRY(add_passed_compensations(view, instance, *workflow, answer["instance"]));
  TRY(add_cancelling(view, instance, answer["instance"]));
  if (instance.paused) {
    const auto known_workflow = TRY(workflow_of_instance(view, instance, workflow->id));
    answer["instance"]["paused"] =
        known_workflow && known_workflow->paused ? "workflow" : "instance";
  }
  if (is_queued(instance)) {
    answer["instance"]["slot"] =
        TRY(slot_item(view, parts_.definitions, instance, workflow->id, disclosure));
  }
  if (is_throttled(instance)) {
    answer["instance"]["throttled"] =
        TRY(throttled_item(view, parts_.definitions, instance, workflow->id, disclosure));
  }
  TRY(add_waits_of_calls({.view = view,
                          .ns = ns,
                          .instance = instance,
                          .workflow = *workflow,
                          .started = parts_.started,
                          .disclosures = disclosures},
                         answer["instance"]));
  if (has_a_step_to_make(instance, answer["instance"])) {
    answer["instance"]["step"] = {
        {"evaluations", evaluations_json(record.number, parts_.evaluations())}};
  }
  const NamespaceSettings settings = TRY(readable_settings(view, ns));
  Json waiting = TRY(waiting_calls(
      {.view = view, .settings = settings, .instance = instance.sealed, .disclosures = disclosures},
      instance));
  if (!waiting.empty()) answer["instance"]["waitingCalls"] = std::move(waiting);
  if (newest.is_search) {
    answer["of"] = newest.events.size();
    answer["next"] = looked.before > 0 ? Json(std::to_string(looked.before)) : Json();
  }
  if (newest.is_search && looked.from) answer["lookedFrom"] = format_rfc3339(*looked.from);
  for (Shown& one : shown) {
    if (answer["events"].size() < filter.limit) answer["events"].push_back(std::move(one.json));
  }
  return answer;
}

}  // namespace millrace
