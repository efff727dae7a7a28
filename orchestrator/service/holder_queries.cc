// Queries about the instances that hold slots of their workflow, and the calls that hold slots of
// their service: all of them, in pages. The list of queues shows the oldest one of each key.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/ids.h"
#include "base/lazy_json.h"
#include "base/whole_number.h"
#include "orchestrator/service/cursor.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/slot_holders.h"
#include "orchestrator/service/slot_item.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "states/key_text.h"

namespace millrace {
namespace {

/// A position in the list: the key that was looked at last, and the number of its holder that was
/// shown last.
struct HolderCursor {
  Fingerprint key{};
  std::optional<uint64_t> number;  ///< nullopt: all holders of the key were shown
};

std::string holder_cursor(const Fingerprint& key, std::optional<uint64_t> number) {
  const std::string text = to_string(InstanceId{key});
  return number ? fmt::format("{}/{}", text, *number) : text;
}

Result<std::optional<HolderCursor>> parse_holder_cursor(std::string_view text) {
  if (text.empty()) return std::optional<HolderCursor>();
  const size_t slash = text.find('/');
  const auto key = parse_instance_id(text.substr(0, slash));
  if (!key) return malformed_cursor();
  HolderCursor cursor{.key = key->bytes, .number = {}};
  if (slash != std::string_view::npos) {
    cursor.number = whole_number(text.substr(slash + 1));
    if (!cursor.number) return malformed_cursor();
  }
  return std::optional(cursor);
}

void pass_over_damaged_holder(const Error&) {}

/// The items of one page, and where the next page begins.
class HolderPage {
 public:
  explicit HolderPage(size_t limit) : limit_(limit) {}

  /// Whether a further holder or key must wait for the next page.
  bool ends_before_holder() { return ends(items_.size() == limit_); }
  bool ends_before_key() { return ends(looked_ == kMostHeldKeysLooked); }
  bool has_ended() const { return !next_.is_null(); }

  void add(const Fingerprint& key, uint64_t number, Json item) {
    items_.push_back(std::move(item));
    last_ = holder_cursor(key, number);
  }
  /// All holders of the key were added.
  void pass(const Fingerprint& key) {
    ++looked_;
    last_ = holder_cursor(key, std::nullopt);
  }

  Json json() && { return {{"items", std::move(items_)}, {"next", std::move(next_)}}; }

 private:
  bool ends(bool is_full) {
    if (is_full) next_ = last_;
    return is_full;
  }

  const size_t limit_;
  Json items_ = Json::array();
  Json next_ = nullptr;
  size_t looked_ = 0;
  std::string last_;  ///< the position behind what was added or passed last
};

/// Adds the key to the item of a holder.
template <class Counts>
Json with_key(Json item, const Counts& counts) {
  if (counts.sealed) {
    item["key"] = "(sealed)";
  } else if (!counts.key.empty()) {
    item["key"] = slot_key_json(counts.key);
  }
  return item;
}

/// Adds the holders of a key that have a higher number than `after`.
Status add_holders(const View& view, NamespaceNumber ns, const SlotKey& key,
                   const SlotCounts& counts, uint64_t after, HolderPage& page) {
  Status status;
  TRY(each_slot_holder(
      view, key, after,
      [&](const SlotPlace& holder) {
        if (page.ends_before_holder()) return false;
        auto item = holder_item(view, ns, holder);
        if (!item) {
          status = tl::unexpected(item.error());
          return false;
        }
        page.add(key.key, holder.number, with_key(*std::move(item), counts));
        return true;
      },
      pass_over_damaged_holder));
  return status;
}

Status add_holders(const View& view, NamespaceNumber, const CallSlotKey& key,
                   const CallSlotCounts& counts, uint64_t after, HolderPage& page) {
  Status status;
  TRY(each_call_holder(
      view, key, after,
      [&](const PlacedCall& holder) {
        if (page.ends_before_holder()) return false;
        auto item = call_holder_item(view, holder.record);
        if (!item) {
          status = tl::unexpected(item.error());
          return false;
        }
        if (counts.service.kind == SlotService::Kind::kGlobalService) (*item)["global"] = true;
        page.add(key.key, holder.place.number, with_key(*std::move(item), counts));
        return true;
      },
      pass_over_damaged_holder));
  return status;
}

/// Adds the holders of a key; returns whether the page has room for a further key.
template <class Key, class Counts>
Result<bool> add_key_holders(const View& view, NamespaceNumber ns, const Key& key,
                             const Counts& counts, uint64_t after, HolderPage& page) {
  if (page.ends_before_key()) return false;
  TRY(add_holders(view, ns, key, counts, after, page));
  if (page.has_ended()) return false;
  page.pass(key.key);
  return true;
}

/// Adds the holders of the slots of a workflow, of all keys.
Status add_all_starts(const View& view, NamespaceNumber ns, WorkflowNumber workflow,
                      const std::optional<HolderCursor>& from, HolderPage& page) {
  std::optional<SlotKey> behind;
  if (from) behind = SlotKey{.workflow = workflow, .key = from->key};
  if (from && from->number) {
    const auto counts = read_slot_counts(view, *behind);
    if (!counts && !is_damaged_row(counts.error())) return tl::unexpected(counts.error());
    if (counts && !TRY(add_key_holders(view, ns, *behind, *counts, *from->number, page))) return {};
  }
  Status status;
  TRY(each_slot_counts(
      view, workflow, behind,
      [&](const SlotKey& key, const SlotCounts& counts) {
        if (key.is_throttle) return false;  // a throttle has no slots; its keys come last
        const Result<bool> goes_on = add_key_holders(view, ns, key, counts, 0, page);
        if (!goes_on) status = tl::unexpected(goes_on.error());
        return goes_on.value_or(false);
      },
      pass_over_damaged_holder));
  return status;
}

/// Adds the holders of the slots of one key of a workflow.
Status add_starts_of_key(const View& view, NamespaceNumber ns, const SlotKey& key,
                         const std::optional<HolderCursor>& from, HolderPage& page) {
  if (from && (from->key != key.key || !from->number)) return malformed_cursor();
  const SlotCounts counts = TRY(read_slot_counts(view, key));
  if (counts.sealed) return {};  // the value of a secret is found by no guess
  return add_holders(view, ns, key, counts, from ? *from->number : 0, page);
}

/// Whether the slots are those of the calls of the filter.
bool is_asked(const SlotService& service, const HolderFilter& filter) {
  const bool is_image = service.kind == SlotService::Kind::kContainer;
  return service.name == (is_image ? filter.image : filter.service);
}

/// Adds the holders of the slots of calls, of all keys.
Status add_all_calls(const View& view, NamespaceNumber ns, const HolderFilter& filter,
                     const std::optional<HolderCursor>& from, HolderPage& page) {
  std::optional<CallSlotKey> behind;
  if (from) behind = CallSlotKey{.ns = ns, .key = from->key};
  if (from && from->number) {
    const auto counts = read_call_counts(view, *behind);
    if (!counts && !is_damaged_row(counts.error())) return tl::unexpected(counts.error());
    if (counts && *counts && is_asked((*counts)->service, filter) &&
        !TRY(add_key_holders(view, ns, *behind, **counts, *from->number, page))) {
      return {};
    }
  }
  Status status;
  TRY(each_call_counts(
      view, ns, behind,
      [&](const CallSlotKey& key, const CallSlotCounts& counts) {
        if (key.is_throttle) return false;
        if (!is_asked(counts.service, filter)) {
          if (page.ends_before_key()) return false;
          page.pass(key.key);
          return true;
        }
        const Result<bool> goes_on = add_key_holders(view, ns, key, counts, 0, page);
        if (!goes_on) status = tl::unexpected(goes_on.error());
        return goes_on.value_or(false);
      },
      pass_over_damaged_holder));
  return status;
}

/// The keys of calls of the filter with that key, in the order of the list.
std::vector<CallSlotKey> asked_keys(NamespaceNumber ns, const HolderFilter& filter,
                                    std::string_view key) {
  using Kind = SlotService::Kind;
  if (!filter.image.empty()) {
    return {call_slot_key_of(ns, {.kind = Kind::kContainer, .name = filter.image}, key)};
  }
  std::vector<CallSlotKey> keys;
  for (const Kind kind : {Kind::kService, Kind::kGlobalService}) {
    keys.push_back(call_slot_key_of(ns, {.kind = kind, .name = filter.service}, key));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

/// Adds the holders of the slots of one key of calls.
Status add_calls_of_key(const View& view, const std::vector<CallSlotKey>& keys,
                        const std::optional<HolderCursor>& from, HolderPage& page) {
  const auto is_of_cursor = [&](const CallSlotKey& key) { return key.key == from->key; };
  if (from && std::none_of(keys.begin(), keys.end(), is_of_cursor)) return malformed_cursor();
  for (const CallSlotKey& key : keys) {
    if (from && (key.key < from->key || (is_of_cursor(key) && !from->number))) continue;
    const auto counts = TRY(read_call_counts(view, key));
    if (!counts || counts->sealed) continue;
    const uint64_t after = from && is_of_cursor(key) ? *from->number : 0;
    if (!TRY(add_key_holders(view, key.ns, key, *counts, after, page))) break;
  }
  return {};
}

}  // namespace

Result<Json> Queries::queue_holders(const View& view, std::string_view ns,
                                    const HolderFilter& filter) {
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  const auto from = TRY(parse_holder_cursor(filter.cursor));
  std::optional<std::string> key;
  if (filter.key) key = key_text(LazyJson(*filter.key).text());
  HolderPage page(filter.limit);
  if (!filter.workflow.empty()) {
    const WorkflowNumber workflow = TRY(find_workflow(view, ns, filter.workflow)).number;
    if (key) {
      TRY(add_starts_of_key(view, number, slot_key_of(workflow, *key), from, page));
    } else {
      TRY(add_all_starts(view, number, workflow, from, page));
    }
  } else if (key) {
    TRY(add_calls_of_key(view, asked_keys(number, filter, *key), from, page));
  } else {
    TRY(add_all_calls(view, number, filter, from, page));
  }
  return std::move(page).json();
}

}  // namespace millrace
