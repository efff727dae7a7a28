#include "orchestrator/store/rows/effect_rows.h"

#include <utility>

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

std::string position_key(const EventPosition& position) {
  Writer key;
  key.u32(position.stream);
  key.u64(position.sequence);
  return key.take();
}

bool is_of_instance(EventEffect::Kind kind) {
  return kind == EventEffect::Kind::kStarted || kind == EventEffect::Kind::kWoken;
}

bool is_of_workflow(EventEffect::Kind kind) {
  using Kind = EventEffect::Kind;
  return kind == Kind::kGrouped || kind == Kind::kSkipped || kind == Kind::kUncorrelated ||
         kind == Kind::kExpired || kind == Kind::kClosed || kind == Kind::kRateLimited ||
         kind == Kind::kDebounced || kind == Kind::kBatched;
}

}  // namespace

std::string encode_effects(const EffectRow& row) {
  Writer writer = begin_record();
  writer.boolean(row.is_late);
  writer.varint(row.effects.size());
  for (const auto& [event, effect] : row.effects) {
    writer.varint(row.at.sequence - event.sequence);
    put_enum(writer, effect.kind);
    if (is_of_instance(effect.kind)) writer.id(effect.instance.bytes);
    if (is_of_workflow(effect.kind)) writer.varint(static_cast<uint32_t>(effect.workflow));
  }
  return writer.take();
}

Status decode_effects(std::string_view bytes, EffectRow& row) {
  Reader reader = open_record(bytes);
  row.is_late = reader.boolean();
  for (size_t left = reader.count(); left > 0; --left) {
    PlacedEffect one{.event = row.at};
    const uint64_t behind = reader.varint();
    if (behind > row.at.sequence || (row.is_late && behind > 0)) reader.fail();
    one.event.sequence -= behind;
    one.effect.kind = get_enum(reader, EventEffect::Kind::kBatched);
    if (is_of_instance(one.effect.kind)) one.effect.instance.bytes = reader.id();
    if (is_of_workflow(one.effect.kind)) one.effect.workflow = WorkflowNumber(get_u32(reader));
    row.effects.push_back(one);
  }
  if (reader.done()) return {};
  return tl::unexpected(damaged_record(reader, "effects"));
}

Result<EffectRow> decode_effect_key(std::string_view key) {
  Reader reader(key);
  EffectRow row;
  row.at.stream = reader.u32();
  row.at.sequence = reader.u64();
  row.number = reader.u64();
  if (reader.done() && row.number >= 1 && row.number <= kMostNumber) return row;
  return tl::unexpected(
      damaged_row(Table::kEffects, key, "its key is not a position and a number"));
}

void write_effects(Transaction& tx, const EffectRow& row) {
  tx.put(Table::kEffects, position_key(row.at) + rows::key_of(row.number), encode_effects(row));
}

Status each_effect_row(const View& view, const EventPosition& from,
                       const std::function<bool(const EffectRow& row)>& see,
                       const OnDamage& damaged) {
  return walk(
      view, Table::kEffects, {}, position_key(from),
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        EffectRow row = TRY(decode_effect_key(key));
        if (const Status decoded = decode_effects(value, row); !decoded) {
          return tl::unexpected(damaged_row(Table::kEffects, key, decoded.error().message));
        }
        return see(row);
      },
      damaged);
}

Result<std::vector<EventEffect>> read_effects(const View& view, const EventPosition& event) {
  std::vector<EventEffect> found;
  TRY(each_effect_row(view, event, [&](const EffectRow& row) {
    if (row.at.stream != event.stream) return false;
    for (const PlacedEffect& one : row.effects) {
      if (one.event == event) found.push_back(one.effect);
    }
    // The event belongs to the first batch that ends with it or after it.
    return row.is_late || row.at == event;
  }));
  return found;
}

Result<EventPosition> trim_effects(Transaction& tx, const EventPosition& oldest,
                                   const EventPosition& newest, size_t most) {
  EventPosition left = newest;
  std::vector<std::string> erased;
  TRY(walk(tx, Table::kEffects, {}, position_key(oldest),
           [&](std::string_view key, auto) -> Result<bool> {
             const auto row = decode_effect_key(key);
             const bool is_near = row && row->at.stream == newest.stream &&
                                  row->at.sequence + kEffectsKept > newest.sequence;
             if (is_near || erased.size() == most) {
               left = row ? row->at : oldest;
               return false;
             }
             erased.emplace_back(key);
             return true;
           }));
  for (const std::string& key : erased) tx.erase(Table::kEffects, key);
  return left;
}

}  // namespace millrace
