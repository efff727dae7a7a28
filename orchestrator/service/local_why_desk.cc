#include "orchestrator/service/local_why_desk.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/similar_names.h"
#include "cloudevents/nats_binding.h"
#include "model/event_target.h"
#include "orchestrator/batch/commands/not_found.h"
#include "orchestrator/memory/dedupe.h"
#include "orchestrator/service/event_effects.h"
#include "orchestrator/service/left_partners.h"
#include "orchestrator/service/letter_of_event.h"
#include "orchestrator/service/namespace_record.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/service/walk_back.h"
#include "orchestrator/service/why_probes.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/stream_rows.h"

namespace millrace {
namespace {

/// The steps of one question to the engine thread. Each takes at most two tenths of a microsecond,
/// which is about two reads from memory.
constexpr size_t kIndexSteps = 1'000;

/// For how many groups of an event the answer has an event that has left.
constexpr size_t kMostGroupsWithPartners = 3;

/// For how long events are judged for an instance.
constexpr Duration kInstanceTime{200};

Result<Instance> whole_instance(const View& view, std::string_view ns, NamespaceNumber number,
                                const InstanceId& id) {
  auto found = TRY(read_instance(view, number, id));
  if (!found) return tl::unexpected(no_instance(ns, id));
  return *std::move(found);
}

Json json_of_event(const Event& event) {
  return {{"id", event.id}, {"type", event.type}, {"source", event.source}};
}

Json place_json(const StoredEvent& stored) {
  return {{"sequence", stored.sequence}, {"time", format_rfc3339(stored.stamped)}};
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& letter : small) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return small;
}

/// The types for which the instance will listen, if it is entering a state that waits.
std::vector<std::string> entering_for(const Instance& instance, const Workflow& workflow) {
  const bool is_entering = instance.phase == Phase::kEntering && !has_ended(instance.status);
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

/// {"id","workflow","status","state","since","waits":[…],"entering"?,"arrived"?}
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

bool has_type(const std::vector<std::string>& small_types, const StoredEvent& stored) {
  const Result<Event> event = decode_nats(stored.message);
  if (!event) return false;
  const std::string type = in_small_letters(event->type);
  return std::find(small_types.begin(), small_types.end(), type) != small_types.end();
}

/// Whether one of the effects in an answer is that the event became a dead letter.
bool was_refused(const Json& effects) {
  return std::any_of(effects.begin(), effects.end(),
                     [](const Json& effect) { return effect["what"] == "refused"; });
}

/// Notes the effects that concern no listener in particular.
void note_effects_of_all(const std::vector<EventEffect>& effects, EventStanding& standing) {
  for (const EventEffect& effect : effects) {
    standing.is_duplicate = standing.is_duplicate || effect.kind == EventEffect::Kind::kDuplicate;
    standing.is_dead = standing.is_dead || effect.kind == EventEffect::Kind::kRefused;
  }
}

std::vector<std::string> all_in_small_letters(const std::vector<std::string>& types) {
  std::vector<std::string> result;
  for (const std::string& type : types) result.push_back(in_small_letters(type));
  return result;
}

}  // namespace

/// What is judged, and as of which view.
struct LocalWhyDesk::Judged {
  const Snapshot& view;
  std::string_view ns;
  NamespaceNumber number{};
  const JudgedEvent& event;
  EventStanding standing;
  std::vector<EventEffect> effects;
};

Result<NamespaceRecord> LocalWhyDesk::find_namespace(std::string_view ns) const {
  const Snapshot view = TRY(snapshot());
  return namespace_record(view, ns);
}

Result<LocalWhyDesk::Found> LocalWhyDesk::find_event(std::string_view ns, uint64_t sequence,
                                                     const WhyFilter& filter) {
  const NamespaceRecord record = TRY(find_namespace(ns));
  const StreamSpan span = TRY(parts_.events.span());
  Found found{.stored = TRY(parts_.events.get(sequence)), .stream_created = span.created};
  if (found.stored.ns == ns && found.stored.stamped >= record.created_at) return found;
  std::string place;
  if (filter.shows_others && found.stored.ns != ns) {
    place = fmt::format("; it is one of namespace \"{}\"", found.stored.ns);
  }
  return fail("event.not_found",
              fmt::format("message {} of the event stream is not an event of namespace \"{}\"{}",
                          sequence, ns, place));
}

Result<EventStanding> LocalWhyDesk::standing_of(const View& view, std::string_view ns,
                                                const Cursor& applied, const Found* found) const {
  const Cursor cursor = TRY(applied_in(view, applied));
  EventStanding standing{.ns = std::string(ns)};
  standing.applied = {TRY(find_stream(view, cursor.stream_created)), cursor.sequence};
  if (const Status reads = parts_.reads_events(); !reads) standing.held_up = reads.error().message;
  if (found == nullptr) return standing;
  const uint32_t stream = TRY(find_stream(view, found->stream_created));
  // The store has applied nothing of a stream that it does not know.
  const uint32_t number = stream == 0 ? standing.applied.stream + 1 : stream;
  standing.position = EventPosition{number, found->stored.sequence};
  standing.stamped = found->stored.stamped;
  return standing;
}

Result<LocalWhyDesk::Asked> LocalWhyDesk::ask_about(std::string_view ns, const JudgedEvent& event,
                                                    const WhyFilter& filter) const {
  const std::vector<ListenerIndex::Probe> probes = probes_of(event, filter);
  const Fingerprint known_as = fingerprint_of(ns, event.event);
  Asked asked;
  TRY(parts_.ask_index([&](const EngineMemory& memory) {
    asked.near = memory.waiting.near(ns, event.attributes.type(), probes, kIndexSteps);
    asked.is_known = remembers(memory, known_as);
  }));
  return asked;
}

Result<Json> LocalWhyDesk::of_event(std::string_view ns, uint64_t sequence,
                                    const WhyFilter& filter) {
  const Found found = TRY(find_event(ns, sequence, filter));
  Json answer = TRY(judge_event(ns, found, filter));
  if (!was_refused(answer["effects"])) return answer;
  const Result<Json> letter = letter_of_event(parts_.letters, parts_.clock, found.stored);
  if (letter && !letter->is_null()) answer["deadLetter"] = *letter;
  return answer;
}

Result<Json> LocalWhyDesk::judge_event(std::string_view ns, const Found& found,
                                       const WhyFilter& filter) const {
  const uint64_t sequence = found.stored.sequence;
  Result<Event> decoded = decode_nats(found.stored.message);
  Json answer{{"event", place_json(found.stored)}};
  if (!decoded) {
    answer["error"] = to_json(decoded.error());
    answer["near"] = answer["others"] = Json::array();
    answer["looked"] = 0;
    answer["complete"] = true;
  }
  std::optional<JudgedEvent> event;
  Result<Asked> asked = Asked();
  if (decoded) {
    answer["event"].update(json_of_event(*decoded));
    event.emplace(*std::move(decoded));
    asked = ask_about(ns, *event, filter);
  }
  const Cursor applied = parts_.applied();  // before the snapshot, which has its effects
  const Snapshot view = TRY(snapshot());
  const NamespaceRecord record = TRY(namespace_record(view, ns));
  EventEffects known = TRY(EventEffects::make(view, record.number, found.stream_created, applied));
  std::vector<EventEffect> effects = TRY(known.of(sequence));
  TRY(known.add_to(answer, sequence, effects));
  EventStanding standing = TRY(standing_of(view, ns, applied, &found));
  answer["asOf"] = {{"commit", view.commit()}, {"cursor", standing.applied.sequence}};
  if (!event) return answer;
  standing.known_as = fingerprint_of(ns, event->event);
  note_effects_of_all(effects, standing);
  // That an event was a duplicate is stored with the next commit only. An event without effects
  // whose id is known is one: the other event had an effect.
  const bool has_known_id = asked && asked->is_known;
  if (has_known_id && effects.empty() && known.is_applied(sequence)) standing.is_duplicate = true;
  TRY(judge_all({view, ns, record.number, *event, std::move(standing), std::move(effects)}, asked,
                filter, answer));
  return answer;
}

Result<Json> LocalWhyDesk::of_test_event(std::string_view ns, Event given,
                                         const WhyFilter& filter) {
  const JudgedEvent event(std::move(given));
  const Result<Asked> asked = ask_about(ns, event, filter);
  const Cursor applied = parts_.applied();  // before the snapshot, which has its effects
  const Snapshot view = TRY(snapshot());
  const NamespaceRecord record = TRY(namespace_record(view, ns));
  EventStanding standing = TRY(standing_of(view, ns, applied, nullptr));
  standing.is_duplicate = asked && asked->is_known;
  Json answer{{"event", json_of_event(event.event)},
              {"asOf", {{"commit", view.commit()}, {"cursor", standing.applied.sequence}}}};
  if (standing.is_duplicate) answer["duplicate"] = true;
  TRY(judge_all({view, ns, record.number, event, std::move(standing), {}}, asked, filter, answer));
  return answer;
}

Status LocalWhyDesk::judge_all(const Judged& judged, const Result<Asked>& asked,
                               const WhyFilter& filter, Json& answer) const {
  const View& view = judged.view;
  const std::string type(judged.event.attributes.type());
  ListenerJudging judging({view, judged.number, parts_.definitions, parts_.clock}, judged.event,
                          judged.standing, judged.effects, parts_.bounds);
  TRY(judging.judge_starts());
  TRY(judging.judge_woken());
  if (filter.instance) {
    const Instance expected = TRY(whole_instance(view, judged.ns, judged.number, *filter.instance));
    TRY(judging.judge_asked(expected));
  }
  // The only instance that may take the event, whether it listens or not.
  const auto target = judged.event.attributes.find(kTargetAttribute);
  const auto addressed = target ? target_instance(*target) : std::nullopt;
  if (addressed) {
    const auto found = read_instance(view, judged.number, *addressed);
    if (!found && !is_damaged_row(found.error())) return tl::unexpected(found.error());
    if (found && *found) TRY(judging.judge_asked(**found));
  }
  std::optional<size_t> of;
  if (asked) of = asked->near.of;
  if (asked) TRY(judging.judge_found(asked->near.instances));
  TRY(judging.judge_entering());
  TRY(judging.judge_others(of));
  answer["looked"] = judging.looked();
  if (of) answer["of"] = std::max(*of, judging.looked());
  answer["complete"] = judging.is_complete();
  const bool is_listened_for = judging.looked() > 0 || of.value_or(0) > 0;
  ListenerJudging::Nearest nearest = judging.nearest(filter.limit);
  Disclosures disclosures = TRY(Disclosures::read(view, judged.ns, judged.number));
  answer["near"] = answer["others"] = Json::array();
  size_t groups = 0;
  for (JudgedListener& one : nearest.listeners) {
    const bool has_group = one.partners && ++groups <= kMostGroupsWithPartners;
    if (has_group) TRY(add_left_partner(view, parts_.events, judged.standing, one));
    answer["near"].push_back(to_json(one, judged.standing, disclosures.of(one.sealed)));
  }
  for (const auto& [what, count] : nearest.others) {
    answer["others"].push_back({{"what", what}, {"count", count}});
  }
  if (is_listened_for) return {};
  const std::vector<std::string_view> types(judging.types().begin(), judging.types().end());
  auto similar = judging.types().contains(type) ? std::nullopt : nearest_name(type, types);
  if (similar) {
    answer["similarTypes"] = Json::array({*std::move(similar)});
  }
  if (!filter.shows_others) return {};
  Json elsewhere = listening_elsewhere(view, judged.ns, type);
  if (!elsewhere.empty()) answer["elsewhere"] = std::move(elsewhere);
  return {};
}

Result<LocalWhyDesk::Newest> LocalWhyDesk::find_newest(std::string_view ns, TimePoint since,
                                                       const std::vector<std::string>& types,
                                                       size_t most) {
  const StreamSpan span = TRY(parts_.events.span());
  const std::vector<std::string> wanted = all_in_small_letters(types);
  const Duration end = parts_.clock.elapsed() + kInstanceTime;
  const BackwardRange range{.first = span.first,
                            .last = span.last,
                            .most = kMostStoredEvents,
                            .window = kMostEventsOfAnInstance,
                            .is_late = [&] { return parts_.clock.elapsed() >= end; }};
  Newest newest;
  bool is_too_old = false;
  const BackwardEnd walked = TRY(walk_back(
      range,
      [&](uint64_t first, uint64_t last) {
        return parts_.events.read({.ns = std::string(ns), .first = first, .last = last});
      },
      [&](StoredEvent& stored) {
        is_too_old = stored.stamped < since;
        if (is_too_old) return false;
        if (has_type(wanted, stored)) newest.events.push_back({std::move(stored), span.created});
        return newest.events.size() < most;
      }));
  newest.looked = walked.looked;
  newest.is_complete = is_too_old || walked.before == 0;
  return newest;
}

Result<LocalWhyDesk::Awaited> LocalWhyDesk::find_awaited(std::string_view ns,
                                                         const InstanceId& id) const {
  const Snapshot view = TRY(snapshot());
  const NamespaceRecord record = TRY(namespace_record(view, ns));
  const Instance instance = TRY(whole_instance(view, ns, record.number, id));
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
  Newest newest;
  if (sequence) {
    newest.events.push_back(TRY(find_event(ns, *sequence, filter)));
    newest.looked = 1;
  } else if (!awaited.types.empty()) {
    const NamespaceRecord record = TRY(find_namespace(ns));
    newest = TRY(find_newest(ns, record.created_at, awaited.types, kMostEventsOfAnInstance));
  }
  Json answer = TRY(judge_newest(ns, id, newest, filter));
  if (!sequence) answer["of"] = newest.events.size();
  if (sequence || awaited.types.empty() || !filter.shows_others) return answer;
  const Json& shown = answer["events"];
  // The nearest come first: if that one does not fit, none does.
  if (!shown.empty() && shown.front()["verdict"] != to_string(Verdict::kPredicate)) return answer;
  TRY(add_sent_elsewhere(ns, awaited, !shown.empty(), answer));
  return answer;
}

/// Judges the events for the instance.
Result<Json> LocalWhyDesk::judge_newest(std::string_view ns, const InstanceId& id,
                                        const Newest& newest, const WhyFilter& filter) const {
  const Cursor applied = parts_.applied();  // before the snapshot, which has its effects
  const Snapshot view = TRY(snapshot());
  const NamespaceRecord record = TRY(namespace_record(view, ns));
  const Instance instance = TRY(whole_instance(view, ns, record.number, id));
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
  bool is_complete = newest.is_complete;
  const Duration end = parts_.clock.elapsed() + kInstanceTime;
  for (const Found& found : newest.events) {
    if (parts_.clock.elapsed() >= end) {
      is_complete = false;
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
              {"looked", newest.looked},
              {"complete", is_complete},
              {"events", Json::array()}};
  for (Shown& one : shown) {
    if (answer["events"].size() < filter.limit) answer["events"].push_back(std::move(one.json));
  }
  return answer;
}

}  // namespace millrace
