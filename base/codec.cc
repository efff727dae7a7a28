#include "base/codec.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace millrace {
namespace {

template <class T>
void append_big_endian(std::string& bytes, T value) {
  for (int shift = 8 * (sizeof(T) - 1); shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(static_cast<uint8_t>(value >> shift)));
  }
}

template <class T>
T from_big_endian(std::string_view bytes) {
  T value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

}  // namespace

void Writer::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) u8(static_cast<uint8_t>(value) | 0x80);
  u8(static_cast<uint8_t>(value));
}

void Writer::zigzag(int64_t value) {
  varint(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
}

void Writer::u32(uint32_t value) { append_big_endian(bytes_, value); }

void Writer::u64(uint64_t value) { append_big_endian(bytes_, value); }

void Writer::id(const std::array<uint8_t, 16>& value) {
  bytes_.append(reinterpret_cast<const char*>(value.data()), value.size());
}

void Writer::bytes(std::string_view value) {
  // What follows a long value is usually short, and should not make the bytes twice as large.
  constexpr size_t kLong = 4'096;
  if (value.size() >= kLong) bytes_.reserve(bytes_.size() + value.size() + value.size() / 16);
  varint(value.size());
  raw(value);
}

std::string Writer::take() { return std::exchange(bytes_, {}); }

void Reader::fail(const char* expected, size_t back) {
  if (ok_) {
    const size_t read = size_ - rest_.size();
    failed_at_ = read - std::min(read, back);
    expected_ = expected;
  }
  ok_ = false;
  rest_ = {};
}

std::string Reader::failure() const {
  const size_t at = ok_ ? size_ - rest_.size() : failed_at_;
  return fmt::format("at byte {} of {}: {} expected", at, size_, expected_);
}

std::string_view Reader::raw(size_t size) {
  if (size > rest_.size()) {
    fail("more bytes of this value", 0);
    return {};
  }
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

uint8_t Reader::u8() { return from_big_endian<uint8_t>(raw(1)); }

bool Reader::boolean() {
  const uint8_t value = u8();
  if (value > 1) fail("0 or 1", 1);
  return value == 1;
}

uint64_t Reader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint64_t byte = u8();
    const uint64_t part = (byte & 0x7f) << shift;
    const bool is_last = byte < 0x80;
    const bool is_too_long = is_last && byte == 0 && shift > 0;
    if (part >> shift != (byte & 0x7f) || is_too_long) break;
    value |= part;
    if (is_last) return value;
  }
  fail("a varint of at most 64 bits in its shortest form", 1);
  return 0;
}

int64_t Reader::zigzag() {
  const uint64_t value = varint();
  return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

uint32_t Reader::u32() { return from_big_endian<uint32_t>(raw(4)); }

uint64_t Reader::u64() { return from_big_endian<uint64_t>(raw(8)); }

std::array<uint8_t, 16> Reader::id() {
  std::array<uint8_t, 16> value{};
  const std::string_view taken = raw(value.size());
  for (size_t i = 0; i < taken.size(); ++i) value[i] = static_cast<uint8_t>(taken[i]);
  return value;
}

std::string_view Reader::bytes() {
  const uint64_t size = varint();
  return raw(size);
}

std::string_view Reader::rest() { return std::exchange(rest_, {}); }

size_t Reader::count() {
  const uint64_t value = varint();
  if (value <= rest_.size()) return value;
  fail("a count that is not larger than the number of bytes left", 1);
  return 0;
}

}  // namespace millrace
