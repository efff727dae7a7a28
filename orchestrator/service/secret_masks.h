// SecretMasks: replaces the values of secrets in texts by `***`. A value is also found in JSON
// strings, quoted in patterns, percent-encoded, in hexadecimal digits and in Base64, also where it
// is a part of what was encoded. The parts of a value that has structure count as values: the lines
// of a text, and the strings and numbers of a JSON document. Pure; immutable, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace millrace {

/// What replaces the value of a secret.
inline constexpr std::string_view kMask = "***";

/// How much work the masks of one query may take.
struct MaskBudget {
  /// The bytes that may still be compared; eight bytes of a text that are looked at count as one.
  /// The default is worth about a tenth of a second.
  uint64_t left = uint64_t{64} << 20;
};

class SecretMasks {
 public:
  /// The shortest value, in bytes, that is masked. A shorter value would be found by chance in many
  /// texts, and the masks would show what it is.
  static constexpr size_t kLeastBytes = 4;

  /// nullopt: one of the values is shorter than kLeastBytes, so that it cannot be masked; or the
  /// values have more than 4 000 parts. A part that is shorter is not masked. Empty values are
  /// ignored.
  static std::optional<SecretMasks> make(const std::vector<std::string>& values);

  /// The text with masks. At least half of a value is masked, too, if the text was cut behind it:
  /// at its end, or where `...` follows. nullopt: the budget is used up.
  std::optional<std::string> mask_text(std::string_view text, MaskBudget& budget) const;

  /// The JSON value with masks in its strings, in the names of its members and instead of its
  /// numbers. nullopt: the budget is used up.
  std::optional<Json> mask_json(const Json& json, MaskBudget& budget) const;

 private:
  struct Index;

  explicit SecretMasks(std::shared_ptr<const Index> index) : index_(std::move(index)) {}

  std::shared_ptr<const Index> index_;
};

}  // namespace millrace
