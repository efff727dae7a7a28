#include "orchestrator/store/rows/pending_input_rows.h"

#include <utility>
#include <vector>

#include "base/codec.h"
#include "base/json.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

std::string pending_inputs_prefix(NamespaceNumber ns, const InstanceId& instance) {
  return std::string(kPendingInputKey) + instance_prefix(ns, instance);
}

std::string pending_input_key(const PendingInputPlace& place) {
  Writer key;
  key.raw(pending_inputs_prefix(place.ns, place.instance));
  key.u32(place.number);
  return key.take();
}

}  // namespace

std::string encode(const PendingInput& input) {
  Writer writer = begin_record();
  writer.bytes(input.input.text());
  put_taken(writer, input.consumed);
  return writer.take();
}

Result<PendingInput> decode_pending_input(std::string_view bytes) {
  Reader reader = open_record(bytes);
  PendingInput input;
  // Only checked: to parse a thousand short texts would take long, and nothing needs their trees.
  std::string text = get_string(reader);
  if (!is_own_json(text)) reader.fail();
  input.input = LazyJson::of_text(std::move(text));
  input.consumed = get_taken(reader);
  return end_record(reader, std::move(input), "pending input");
}

void write_pending_input(Transaction& tx, const PendingInputPlace& place,
                         const PendingInput& input) {
  rows::put(tx, Table::kMeta, pending_input_key(place), encode(input), input.sealed);
}

Result<std::optional<PendingInput>> read_pending_input(const View& view,
                                                       const PendingInputPlace& place) {
  return read(view, Table::kMeta, pending_input_key(place), decode_pending_input);
}

Status each_pending_input(const View& view, NamespaceNumber ns, const InstanceId& instance,
                          const std::function<void(PendingInput input)>& visit,
                          const OnDamage& damaged) {
  return walk(
      view, Table::kMeta, pending_inputs_prefix(ns, instance), {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        visit(TRY(rows::decode(view, Table::kMeta, key, value, decode_pending_input)));
        return true;
      },
      damaged);
}

Result<bool> erase_pending_inputs(Transaction& tx, NamespaceNumber ns, const InstanceId& instance,
                                  size_t most) {
  std::vector<std::string> keys;
  bool is_over = true;
  tx.scan(Table::kMeta, pending_inputs_prefix(ns, instance), [&](std::string_view key, auto) {
    is_over = keys.size() < most;
    if (is_over) keys.emplace_back(key);
    return is_over;
  });
  TRY(tx.status());
  for (const std::string& key : keys) tx.erase(Table::kMeta, key);
  return is_over;
}

std::optional<PendingInputPlace> pending_input_place(std::string_view key) {
  if (!key.starts_with(kPendingInputKey)) return std::nullopt;
  Reader reader(key.substr(kPendingInputKey.size()));
  PendingInputPlace place;
  place.ns = NamespaceNumber(reader.u32());
  place.instance.bytes = reader.id();
  place.number = reader.u32();
  if (!reader.done() || place.ns == NamespaceNumber(0)) return std::nullopt;
  return place;
}

std::optional<NamespaceNumber> namespace_of_pending_input(std::string_view key) {
  const auto place = pending_input_place(key);
  return place ? std::optional(place->ns) : std::nullopt;
}

}  // namespace millrace
