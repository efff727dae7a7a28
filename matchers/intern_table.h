// InternTable: equal texts share one small id and one value for as long as they are in use.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace millrace {

/// Ids are small, and a released id is assigned again. A reference to a value is valid until the id
/// is released.
template <class Value>
class InternTable {
 public:
  std::optional<uint32_t> find(std::string_view text) const {
    const Ids& ids = ids_[shard_of(text)];
    const auto found = ids.find(text);
    if (found == ids.end()) return std::nullopt;
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
    slots_[id].text = &ids_[shard_of(text)].emplace(text, id).first->first;
    slots_[id].uses = 1;
    return id;
  }

  /// Counts one use less. If no use is left, removes the text and its value and returns true.
  bool release(uint32_t id) {
    if (--slots_[id].uses > 0) return false;
    Ids& ids = ids_[shard_of(*slots_[id].text)];
    ids.erase(ids.find(*slots_[id].text));
    slots_[id] = Slot{};
    free_.push_back(id);
    return true;
  }

  /// Calls `see` with each text and its id, in no particular order, until it returns false.
  void each(const std::function<bool(std::string_view text, uint32_t id)>& see) const {
    for (const Ids& shard : ids_) {
      for (const auto& [text, id] : shard) {
        if (!see(text, id)) return;
      }
    }
  }

  const std::string& text(uint32_t id) const { return *slots_[id].text; }
  uint32_t uses(uint32_t id) const { return slots_[id].uses; }
  Value& operator[](uint32_t id) { return slots_[id].value; }
  const Value& operator[](uint32_t id) const { return slots_[id].value; }
  size_t size() const { return slots_.size() - free_.size(); }

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

  using Ids = std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>>;

  /// The texts are in many tables, each of which grows alone, so that growing takes short.
  static constexpr size_t kShards = 64;
  static size_t shard_of(std::string_view text) { return (Hash{}(text) >> 32) % kShards; }

  std::array<Ids, kShards> ids_;
  std::deque<Slot> slots_;
  std::vector<uint32_t> free_;
};

}  // namespace millrace
