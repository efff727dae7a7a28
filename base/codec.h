// The bytes that records and keys are made of. A record is a version byte (u8), then its fields one
// after the other, with nothing between: who writes a record and who reads it keep the same order.
// Every value has exactly one form, so equal records are equal bytes; the Reader takes no other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace millrace {

class Writer {
 public:
  Writer() = default;
  /// Goes on behind what is there.
  explicit Writer(std::string bytes) : bytes_(std::move(bytes)) {}

  void u8(uint8_t value) { bytes_.push_back(static_cast<char>(value)); }

  /// One byte, 0 or 1.
  void boolean(bool value) { u8(value ? 1 : 0); }

  /// Seven bits a byte, the lowest first: one byte below 128, ten at most.
  void varint(uint64_t value);

  /// A signed number near zero as a short varint: 0, -1, 1, -2, … are 0, 1, 2, 3, …
  void zigzag(int64_t value);

  /// Fixed and big-endian: in keys, numbers sort as their bytes do.
  void u32(uint32_t value);
  void u64(uint64_t value);

  void id(const std::array<uint8_t, 16>& value);

  /// The length as a varint, then the bytes.
  void bytes(std::string_view value);

  /// The bytes alone: the last part of a key, or a record within a record.
  void raw(std::string_view value) { bytes_.append(value); }

  std::string_view view() const { return bytes_; }

  /// What was written; the Writer is empty afterwards.
  std::string take();

 private:
  std::string bytes_;
};

/// Reads what a Writer wrote. It never reads past the end: the first value that is cut short or
/// that no Writer writes makes it fail, and from then on everything reads as zero or empty. Look at
/// done() (or ok()) once, before believing what was read.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes), size_(bytes.size()) {}

  uint8_t u8();
  bool boolean();
  uint64_t varint();
  int64_t zigzag();
  uint32_t u32();
  uint64_t u64();
  std::array<uint8_t, 16> id();

  /// A view into the bytes that are read.
  std::string_view bytes();
  std::string_view raw(size_t size);

  /// All that is left.
  std::string_view rest();

  /// A varint that tells how many values follow, each of at least one byte: more than there are
  /// bytes left is a failure, so that it is safe to reserve that many.
  size_t count();

  /// For what only the record itself can know to be wrong with the value that was read last, such
  /// as an unknown version.
  void fail() { fail("a value that this release knows", 1); }

  bool ok() const { return ok_; }

  /// Where the first failure was, for messages: `at byte 3 of 9: 0 or 1 expected`. Where none was,
  /// that the end was expected, at the first byte behind what was read.
  std::string failure() const;

  /// Whether everything was read, to the last byte and without failure.
  bool done() const { return ok_ && rest_.empty(); }

 private:
  /// `back`: so many bytes before the end of what was read.
  void fail(const char* expected, size_t back);

  std::string_view rest_;
  size_t size_;
  size_t failed_at_ = 0;
  const char* expected_ = "the end";
  bool ok_ = true;
};

}  // namespace millrace
