// The predicates of one listener as few bytes, 43 of them in place: a type and one value as long as
// a UUID need no heap, and a listener is one cache line. Ids are those of ListenerIndex.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace millrace {

/// One predicate: `attribute` is `value`, or has it at its beginning, at its end or anywhere; or
/// `pattern`, which knows its attribute, matches.
struct PackedPredicate {
  enum class Kind : uint8_t { kEquals, kPrefix, kSuffix, kContains, kPattern };

  Kind kind = Kind::kEquals;
  uint32_t pattern = 0;
  uint32_t attribute = 0;
  std::string_view value;  ///< of the bytes that it was read from

  bool operator==(const PackedPredicate&) const = default;
};

/// Appends the predicate to `bytes`.
void pack(const PackedPredicate& predicate, std::string& bytes);

/// Takes the first predicate off `bytes`, which is not empty.
PackedPredicate unpack(std::string_view& bytes);

/// Packed predicates, in place or on the heap.
class PackedPredicates {
 public:
  PackedPredicates() = default;
  explicit PackedPredicates(std::string_view bytes);
  PackedPredicates(PackedPredicates&& other) noexcept { swap(other); }
  PackedPredicates& operator=(PackedPredicates&& other) noexcept {
    swap(other);
    return *this;
  }
  ~PackedPredicates();

  std::string_view bytes() const {
    return size_ == kOnHeap ? bytes_on_heap() : std::string_view(storage_.data(), size_);
  }

 private:
  void swap(PackedPredicates& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(storage_, other.storage_);
  }
  std::string_view bytes_on_heap() const;
  char* heap() const;

  static constexpr uint8_t kOnHeap = 0xff;  // storage_ is then a pointer to a size and the bytes

  std::array<char, 43> storage_{};
  uint8_t size_ = 0;
};

}  // namespace millrace
