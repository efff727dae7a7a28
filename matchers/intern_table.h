// InternTable: equal texts share one small id and one value for as long as they are in use.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/sharded_table.h"

namespace millrace {

/// Ids are small, and a released id is assigned again. A reference to a value is valid until the id
/// is released.
template <class Value>
class InternTable {
 public:
  std::optional<uint32_t> find(std::string_view text) const {
    const auto* const found = ids_.find(text);
    if (found == nullptr) return std::nullopt;
    return found->second;
  }

  /// Returns the text's id and counts one more use of it. A new text gets an empty value.
  uint32_t acquire(std::string_view text) {
    if (const std::optional<uint32_t> known = find(text)) {
      ++slots_[*known].uses;
      return *known;
    }
    uint32_t id = static_cast<uint32_t>(slots_.size());
    if (free_.empty()) {
      slots_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
    }
    slots_[id].text = &ids_.set(std::string(text), id).first->first;
    slots_[id].uses = 1;
    return id;
  }

  /// Counts one use less. If no use is left, removes the text and its value and returns true.
  bool release(uint32_t id) {
    if (--slots_[id].uses > 0) return false;
    ids_.erase(*slots_[id].text);
    slots_[id] = Slot{};
    free_.push_back(id);
    return true;
  }

  /// Calls `see` with each text and its id, in no particular order, until it returns false.
  void each(const std::function<bool(std::string_view text, uint32_t id)>& see) const {
    for (uint32_t id = 0; id < slots_.size(); ++id) {
      const std::string* const text = slots_[id].text;
      if (text != nullptr && !see(*text, id)) return;
    }
  }

  const std::string& text(uint32_t id) const { return *slots_[id].text; }
  uint32_t uses(uint32_t id) const { return slots_[id].uses; }
  Value& operator[](uint32_t id) { return slots_[id].value; }
  const Value& operator[](uint32_t id) const { return slots_[id].value; }
  size_t size() const { return ids_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct Slot {
    const std::string* text = nullptr;  // the key in ids_; its address is stable
    uint32_t uses = 0;
    Value value{};
  };

  ShardedTable<std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>>> ids_;
  std::deque<Slot> slots_;
  std::vector<uint32_t> free_;
};

}  // namespace millrace
