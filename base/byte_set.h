// ByteSet: a set of bytes as a lookup table, for rules that are checked on every byte of every
// event.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

namespace millrace {

class ByteSet {
 public:
  /// The bytes from `first` to `last`, both included.
  struct Range {
    char first;
    char last;
  };
  /// The set of `bytes` and of all bytes in `ranges`.
  constexpr explicit ByteSet(std::string_view bytes, std::initializer_list<Range> ranges = {}) {
    for (const char c : bytes) add(c);
    for (const Range& range : ranges) {
      const auto last = static_cast<unsigned char>(range.last);
      for (unsigned c = static_cast<unsigned char>(range.first); c <= last; ++c) {
        add(static_cast<char>(c));
      }
    }
  }

  constexpr bool has(char c) const { return table_[static_cast<unsigned char>(c)]; }
  constexpr bool has_all(std::string_view text) const {
    return std::all_of(text.begin(), text.end(), [this](char c) { return has(c); });
  }

  constexpr ByteSet with(std::string_view more) const {
    ByteSet set = *this;
    for (const char c : more) set.add(c);
    return set;
  }

 private:
  constexpr void add(char c) { table_[static_cast<unsigned char>(c)] = true; }

  std::array<bool, 256> table_{};
};

inline constexpr ByteSet kAsciiLettersAndDigits("", {{'a', 'z'}, {'A', 'Z'}, {'0', '9'}});

}  // namespace millrace
