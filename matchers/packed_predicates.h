// PackedPredicates: the predicates of one listener in few bytes. Up to 43 bytes are stored in
// place: an equality with a value as long as a UUID needs no heap, and a listener is one cache
// line. The ids of attributes and patterns are those of ListenerIndex.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace millrace {

/// One predicate: the value of `attribute` equals `value`, begins with it, ends with it or contains
/// it; or `pattern`, whose attribute ListenerIndex knows, matches.
struct PackedPredicate {
  enum class Kind : uint8_t { kEquals, kPrefix, kSuffix, kContains, kPattern };

  Kind kind = Kind::kEquals;
  uint32_t pattern = 0;
  uint32_t attribute = 0;
  std::string_view value;  ///< a view of the bytes that it was unpacked from

  bool operator==(const PackedPredicate&) const = default;
};

/// Appends the predicate to `bytes`.
void pack(const PackedPredicate& predicate, std::string& bytes);

/// Reads the first predicate and removes it from `bytes`. Precondition: `bytes` is not empty.
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

  static constexpr uint8_t kOnHeap = 0xff;  // then storage_ holds a pointer to a size and the bytes

  std::array<char, 43> storage_{};
  uint8_t size_ = 0;
};

}  // namespace millrace
