// DecodedText: a text after decoding, with the place in the original that each of its bytes comes
// from. What is not a valid escape stays as it is. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

class DecodedText {
 public:
  /// The original itself.
  explicit DecodedText(std::string_view original);

  /// `%41` becomes `A`, and `+` becomes a blank.
  DecodedText without_percents() const;
  /// Decodes the escapes of JSON strings: `\n`, `\"`, `\u00e4` and so on; and those of values in
  /// patterns: `\.`, `\-` and so on.
  DecodedText without_escapes() const;

  std::string_view text() const { return text_; }

  /// The place in the original of the byte number `at` of the text; for the size of the text, the
  /// size of the original.
  size_t origin(size_t at) const { return origins_[at]; }

 private:
  DecodedText() = default;

  void add(std::string_view bytes, size_t origin);
  DecodedText ended(size_t size) &&;

  std::string text_;
  std::vector<uint32_t> origins_;
};

}  // namespace millrace
