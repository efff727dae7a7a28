#include "orchestrator/service/left_partners.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/attributes.h"
#include "cloudevents/nats_binding.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/effect_rows.h"

namespace millrace {
namespace {

/// How many sequences before and after the event are looked at, how many effects, and how many
/// events are read.
constexpr uint64_t kReach = 1'000;
constexpr size_t kMostEffectsLooked = 20'000;
constexpr size_t kMostPartnersRead = 8;

/// The sequences of the nearest other events whose lifespan in a group of the workflow has ended.
Result<std::vector<uint64_t>> nearest_expired(const View& view, const EventPosition& event,
                                              WorkflowNumber workflow) {
  std::vector<uint64_t> found;
  size_t looked = 0;
  const uint64_t first = event.sequence > kReach ? event.sequence - kReach : 1;
  const Status walked = each_effect_row(view, {event.stream, first}, [&](const EffectRow& row) {
    if (row.at.stream != event.stream || row.at.sequence > event.sequence + kReach) return false;
    looked += row.effects.size();
    for (const PlacedEffect& one : row.effects) {
      if (one.effect.kind != EventEffect::Kind::kExpired || one.effect.workflow != workflow)
        continue;
      if (one.event != event) found.push_back(one.event.sequence);
    }
    return looked < kMostEffectsLooked;
  });
  if (!walked && !is_damaged_row(walked.error())) return tl::unexpected(walked.error());
  const auto distance = [&](uint64_t sequence) {
    return std::max(sequence, event.sequence) - std::min(sequence, event.sequence);
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](uint64_t a, uint64_t b) { return distance(a) < distance(b); });
  if (found.size() > kMostPartnersRead) found.resize(kMostPartnersRead);
  return found;
}

bool is_partner(const Attributes& event, const AwaitedPartners& partners) {
  const auto type = std::find(partners.types.begin(), partners.types.end(), event.type());
  return type != partners.types.end() &&
         std::all_of(partners.values.begin(), partners.values.end(), [&](const auto& value) {
           return event.find(value.first) == std::string_view(value.second);
         });
}

}  // namespace

Status add_left_partner(const View& view, StoredEvents& events, const EventStanding& standing,
                        JudgedListener& one) {
  if (!one.partners || !standing.position) return {};
  const std::vector<uint64_t> near =
      TRY(nearest_expired(view, *standing.position, one.partners->workflow));
  for (const uint64_t sequence : near) {
    const Result<StoredEvent> stored = events.get(sequence);
    if (!stored || stored->ns != standing.ns) continue;
    const Result<Event> event = decode_nats(stored->message);
    if (!event || !is_partner(Attributes(*event), *one.partners)) continue;
    one.left_partner = {.sequence = sequence,
                        .type = event->type,
                        .left = one.partners->lifespan.after(stored->stamped)};
    return {};
  }
  return {};
}

}  // namespace millrace
