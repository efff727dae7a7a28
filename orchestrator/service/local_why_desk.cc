#include "orchestrator/service/local_why_desk.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "base/similar_names.h"
#include "cloudevents/nats_binding.h"
#include "model/event_target.h"
#include "orchestrator/memory/dedupe.h"
#include "orchestrator/service/event_effects.h"
#include "orchestrator/service/group_corrections.h"
#include "orchestrator/service/left_partners.h"
#include "orchestrator/service/letter_of_event.h"
#include "orchestrator/service/namespace_record.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/service/why_parts.h"
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

constexpr std::string_view kNoNamespace = "namespace.not_found";

/// What became of an event of a namespace that does not exist, and what to do.
std::string became_letter(std::string_view ns) {
  return fmt::format(
      ", so the event became a dead letter: `millrace -n {} dlq list` lists it; create the "
      "namespace and replay the dead letter, or send the event to another namespace",
      excerpt(ns));
}

/// Whether one of the effects in an answer is that the event became a dead letter.
bool was_refused(const Json& effects) {
  return std::any_of(effects.begin(), effects.end(),
                     [](const Json& effect) { return effect["what"] == "refused"; });
}

void sort_all_corrections(Json& answer) {
  for (Json& one : answer["near"]) {
    if (one.contains("corrections")) sort_corrections(one["corrections"]);
  }
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
  const Result<NamespaceRecord> known = find_namespace(ns);
  if (!known) return tl::unexpected(error_of_missing(ns, sequence, known.error()));
  const StreamSpan span = TRY(parts_.events.span());
  Found found{.stored = TRY(parts_.events.get(sequence)), .stream_created = span.created};
  if (found.stored.ns == ns && found.stored.stamped >= known->created_at) return found;
  std::string place;
  if (filter.shows_others && found.stored.ns != ns) {
    place = fmt::format("; it is one of namespace \"{}\"", found.stored.ns);
    const Result<NamespaceRecord> other = find_namespace(found.stored.ns);
    if (!other && other.error().code == kNoNamespace) {
      place += ", which does not exist" + became_letter(found.stored.ns);
    }
  }
  return fail("event.not_found",
              fmt::format("message {} of the event stream is not an event of namespace \"{}\"{}",
                          sequence, ns, place));
}

Error LocalWhyDesk::error_of_missing(std::string_view ns, uint64_t sequence, Error error) const {
  if (error.code != kNoNamespace) return error;
  const Result<StoredEvent> stored = parts_.events.get(sequence);
  if (stored && stored->ns == ns) error.message += became_letter(ns);
  return error;
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
  // Without an answer of the broker these hints are missing, and nothing else.
  static_cast<void>(add_partners(ns, filter, answer));
  static_cast<void>(add_replays(ns, sequence, filter, answer));
  sort_all_corrections(answer);
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
  Json answer = TRY(judge_test_event(ns, JudgedEvent(std::move(given)), filter));
  static_cast<void>(add_partners(ns, filter, answer));  // see of_event()
  sort_all_corrections(answer);
  return answer;
}

Result<Json> LocalWhyDesk::judge_test_event(std::string_view ns, const JudgedEvent& event,
                                            const WhyFilter& filter) const {
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
    const Instance expected =
        TRY(whole_instance(view, parts_.definitions, judged.ns, judged.number, *filter.instance));
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
  TRY(judging.judge_over());
  answer["looked"] = judging.looked();
  if (of) answer["of"] = std::max(*of, judging.looked());
  answer["complete"] = judging.is_complete();
  const bool is_listened_for = judging.looked() > 0 || of.value_or(0) > 0;
  ListenerJudging::Nearest nearest = judging.nearest(filter.limit, filter.instance);
  Disclosures disclosures = TRY(Disclosures::read(view, judged.ns, judged.number));
  answer["near"] = answer["others"] = Json::array();
  if (filter.instance) answer["instance"] = to_string(*filter.instance);
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

}  // namespace millrace
