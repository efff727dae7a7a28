// The encoding of records and keys. A record is a version byte (u8) followed by its fields, with
// nothing between them: the code that writes a record and the code that reads it must use the same
// order. Every value has exactly one encoding, so equal records have equal bytes; the Reader
// accepts no other encoding.
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
  /// Starts with `bytes`; the written values are appended to these bytes.
  explicit Writer(std::string bytes) : bytes_(std::move(bytes)) {}

  void u8(uint8_t value) { bytes_.push_back(static_cast<char>(value)); }

  /// One byte, 0 or 1.
  void boolean(bool value) { u8(value ? 1 : 0); }

  /// Writes seven bits in each byte, the lowest bits first: one byte for a value below 128, at most
  /// ten bytes for any value.
  void varint(uint64_t value);

  /// Writes a signed number as a varint that is short for numbers near zero: 0, -1, 1, -2, … become
  /// 0, 1, 2, 3, …
  void zigzag(int64_t value);

  /// Fixed length and big-endian, so that keys, which are compared byte by byte, sort in the order
  /// of their numbers.
  void u32(uint32_t value);
  void u64(uint64_t value);

  void id(const std::array<uint8_t, 16>& value);

  /// Writes the length as a varint, followed by the bytes.
  void bytes(std::string_view value);

  /// Writes the bytes without a length: for the last part of a key, or a record within a record.
  void raw(std::string_view value) { bytes_.append(value); }

  std::string_view view() const { return bytes_; }

  /// Moves the written bytes out; the Writer is empty afterwards.
  std::string take();

 private:
  std::string bytes_;
};

/// Reads the bytes that a Writer wrote. A Reader never reads past the end of the bytes. A Reader
/// fails at the first value that is cut short or that no Writer produces; from then on every value
/// reads as zero or empty. Before using the values, check done() once; check ok() instead if
/// further bytes may follow.
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

  /// The bytes of a value with a length (Writer::bytes), as a view into the input.
  std::string_view bytes();
  /// A view of the next `size` bytes.
  std::string_view raw(size_t size);

  /// All remaining bytes.
  std::string_view rest();

  /// A varint that holds the number of values that follow, each of at least one byte. Fails if
  /// fewer bytes than values are left, so that it is safe to reserve space for the returned number
  /// of values.
  size_t count();

  /// Marks the value that was read last as wrong, for errors that only the code of a record type
  /// can detect, such as an unknown version.
  void fail() { fail("a value that this release knows", 1); }

  bool ok() const { return ok_; }

  /// The place of the first failure, for messages: `at byte 3 of 9: 0 or 1 expected`. Without a
  /// failure the text names the first unread byte and says that the end was expected there.
  std::string failure() const;

  /// Whether all bytes were read without a failure.
  bool done() const { return ok_ && rest_.empty(); }

 private:
  /// `back`: how many bytes before the first unread byte the failure is.
  void fail(const char* expected, size_t back);

  std::string_view rest_;
  size_t size_;
  size_t failed_at_ = 0;
  const char* expected_ = "the end";
  bool ok_ = true;
};

}  // namespace millrace
