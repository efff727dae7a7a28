#include "matchers/packed_predicates.h"

#include <cstring>
#include <limits>

#include "base/check.h"

namespace millrace {
namespace {

constexpr int kKindBits = 3;

/// Appends a number, seven bits in each byte, the low bits first; a set high bit means that more
/// bytes follow.
void pack_number(uint64_t number, std::string& bytes) {
  for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<char>(number | 0x80));
  bytes.push_back(static_cast<char>(number));
}

uint64_t unpack_number(std::string_view& bytes) {
  uint64_t number = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    number |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
}

}  // namespace

void pack(const PackedPredicate& predicate, std::string& bytes) {
  const bool is_pattern = predicate.kind == PackedPredicate::Kind::kPattern;
  const uint64_t id = is_pattern ? predicate.pattern : predicate.attribute;
  pack_number(id << kKindBits | static_cast<uint64_t>(predicate.kind), bytes);
  if (is_pattern) return;
  pack_number(predicate.value.size(), bytes);
  bytes.append(predicate.value);
}

PackedPredicate unpack(std::string_view& bytes) {
  const uint64_t head = unpack_number(bytes);
  const auto kind = static_cast<PackedPredicate::Kind>(head & ((1 << kKindBits) - 1));
  const auto id = static_cast<uint32_t>(head >> kKindBits);
  if (kind == PackedPredicate::Kind::kPattern) return {.kind = kind, .pattern = id};
  const size_t size = unpack_number(bytes);
  const PackedPredicate predicate{.kind = kind, .attribute = id, .value = bytes.substr(0, size)};
  bytes.remove_prefix(size);
  return predicate;
}

PackedPredicates::PackedPredicates(std::string_view bytes) {
  if (bytes.size() <= storage_.size()) {
    size_ = static_cast<uint8_t>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), storage_.begin());
    return;
  }
  CHECK(bytes.size() <= std::numeric_limits<uint32_t>::max());
  const auto size = static_cast<uint32_t>(bytes.size());
  char* const heap = new char[sizeof(size) + bytes.size()];
  std::memcpy(heap, &size, sizeof(size));
  std::memcpy(heap + sizeof(size), bytes.data(), bytes.size());
  std::memcpy(storage_.data(), &heap, sizeof(heap));
  size_ = kOnHeap;
}

PackedPredicates::~PackedPredicates() {
  if (size_ == kOnHeap) delete[] heap();
}

char* PackedPredicates::heap() const {
  char* heap = nullptr;
  std::memcpy(&heap, storage_.data(), sizeof(heap));
  return heap;
}

std::string_view PackedPredicates::bytes_on_heap() const {
  uint32_t size = 0;
  std::memcpy(&size, heap(), sizeof(size));
  return {heap() + sizeof(size), size};
}

}  // namespace millrace
