// HashIndex: a map from hashes to ids, with open addressing: a look-up mostly reads one cache line.
// Many ids may have the same hash; the caller compares the values that the ids stand for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace {

class HashIndex {
 public:
  void add(uint32_t hash, uint32_t id) { shard_of(hash).add({hash, id}); }

  /// Removes an id. Precondition: it was added with this hash.
  void remove(uint32_t hash, uint32_t id) { shard_of(hash).remove({hash, id}); }

  /// Calls `visit` with each id of this hash until `visit` returns true. Returns whether `visit`
  /// returned true.
  template <class Visit>
  bool find(uint32_t hash, Visit visit) const {
    return shards_[hash / kHashesOfShard].find(hash, visit);
  }

  /// The hash of any bytes; `seed` separates equal bytes with different meanings.
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

  /// A part of the index, which grows alone, so that growing moves few entries at a time.
  class Shard {
   public:
    void add(Entry entry) {
      if (++size_ * 4 > entries_.size() * 3) grow();
      put(entry);
    }

    void remove(Entry entry) {
      size_t hole = home(entry.hash);
      while (entries_[hole].id != entry.id) hole = next(hole);
      // Entries after the hole move up into it, unless an entry would then come before its home
      // slot.
      for (size_t at = next(hole); entries_[at].id != kNone; at = next(at)) {
        if (distance(home(entries_[at].hash), at) < distance(hole, at)) continue;
        entries_[hole] = entries_[at];
        hole = at;
      }
      entries_[hole] = {};
      --size_;
    }

    template <class Visit>
    bool find(uint32_t hash, const Visit& visit) const {
      if (entries_.empty()) return false;
      for (size_t at = home(hash); entries_[at].id != kNone; at = next(at)) {
        if (entries_[at].hash == hash && visit(entries_[at].id)) return true;
      }
      return false;
    }

   private:
    size_t home(uint32_t hash) const { return hash & (entries_.size() - 1); }
    size_t next(size_t at) const { return (at + 1) & (entries_.size() - 1); }
    /// The number of slots from one slot forward to another, across the end of the table.
    size_t distance(size_t from, size_t to) const { return (to - from) & (entries_.size() - 1); }

    void put(Entry entry) {
      size_t at = home(entry.hash);
      while (entries_[at].id != kNone) at = next(at);
      entries_[at] = entry;
    }

    void grow() {
      const std::vector<Entry> old =
          std::exchange(entries_, std::vector<Entry>(entries_.empty() ? 16 : entries_.size() * 2));
      for (const Entry& one : old) {
        if (one.id != kNone) put(one);
      }
    }

    std::vector<Entry> entries_;  // the size is a power of two, or 0
    size_t size_ = 0;
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

  /// The shard depends on the highest bits of a hash, the place in the shard on the lowest.
  static constexpr size_t kShards = 256;
  static constexpr uint32_t kHashesOfShard = 1U << 24;
  Shard& shard_of(uint32_t hash) { return shards_[hash / kHashesOfShard]; }

  std::array<Shard, kShards> shards_;
};

}  // namespace millrace
