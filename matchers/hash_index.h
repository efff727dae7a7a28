// From hashes to the ids that have them, in place: open addressing, of which a look-up reads one
// cache line mostly. Equal hashes may be many; whoever asks compares what the ids stand for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace {

class HashIndex {
 public:
  void add(uint32_t hash, uint32_t id) {
    if (++size_ * 4 > entries_.size() * 3) grow();
    put({hash, id});
  }

  /// Removes an id that is there.
  void remove(uint32_t hash, uint32_t id) {
    size_t hole = home(hash);
    while (entries_[hole].id != id) hole = next(hole);
    // What stands behind moves up, unless it would come before its home.
    for (size_t at = next(hole); entries_[at].id != kNone; at = next(at)) {
      if (distance(home(entries_[at].hash), at) < distance(hole, at)) continue;
      entries_[hole] = entries_[at];
      hole = at;
    }
    entries_[hole] = {};
    --size_;
  }

  /// Calls `visit` with each id of that hash until it returns true; whether it did.
  template <class Visit>
  bool find(uint32_t hash, Visit visit) const {
    if (entries_.empty()) return false;
    for (size_t at = home(hash); entries_[at].id != kNone; at = next(at)) {
      if (entries_[at].hash == hash && visit(entries_[at].id)) return true;
    }
    return false;
  }

  /// Of any bytes; `seed` keeps apart what equal bytes mean.
  static uint32_t hash_of(std::string_view bytes, uint64_t seed) {
    uint64_t hash = mix(seed ^ kFactor) ^ bytes.size();
    size_t at = 0;
    for (; at + 8 < bytes.size(); at += 8) hash = mix(hash ^ word_at(bytes, at));
    if (bytes.size() >= 8) {
      hash ^= word_at(bytes, bytes.size() - 8);
    } else {
      for (const char c : bytes) hash = hash << 8 ^ hash >> 56 ^ static_cast<unsigned char>(c);
    }
    return static_cast<uint32_t>(mix(hash) >> 32);
  }

 private:
  static constexpr uint32_t kNone = 0xffffffff;
  static constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;

  struct Entry {
    uint32_t hash = 0;
    uint32_t id = kNone;
  };

  static uint64_t word_at(std::string_view bytes, size_t at) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    return word;
  }

  static uint64_t mix(uint64_t bits) {
    const auto product = static_cast<unsigned __int128>(bits) * kFactor;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }

  size_t home(uint32_t hash) const { return hash & (entries_.size() - 1); }
  size_t next(size_t at) const { return (at + 1) & (entries_.size() - 1); }
  /// From one place on to another.
  size_t distance(size_t from, size_t to) const { return (to - from) & (entries_.size() - 1); }

  void put(Entry entry) {
    size_t at = home(entry.hash);
    while (entries_[at].id != kNone) at = next(at);
    entries_[at] = entry;
  }

  void grow() {
    const std::vector<Entry> old =
        std::exchange(entries_, std::vector<Entry>(entries_.empty() ? 16 : entries_.size() * 2));
    for (const Entry& entry : old) {
      if (entry.id != kNone) put(entry);
    }
  }

  std::vector<Entry> entries_;  // a power of two of them, or none
  size_t size_ = 0;
};

}  // namespace millrace
