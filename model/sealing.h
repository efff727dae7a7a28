// Sealing: whether data may contain data of a secret. Such data is encrypted on disk. The API
// either masks the values of secrets in it, or hides the data as a whole.
#pragma once

#include <algorithm>
#include <cstdint>

namespace millrace {

class Sealing {
 public:
  enum Level : uint8_t {
    kNone = 0,    ///< the data has no data of a secret
    kMasked = 1,  ///< the API masks the values of secrets
    kHidden = 2,  ///< the API hides the data: the definition asks for it
  };

  constexpr Sealing() = default;
  constexpr Sealing(Level level) : level_(level) {}  // NOLINT(google-explicit-constructor)
  /// Data that is only known to be sealed is hidden.
  constexpr Sealing(bool sealed)  // NOLINT(google-explicit-constructor)
      : level_(sealed ? kHidden : kNone) {}

  /// Whether the data is sealed at all.
  constexpr operator bool() const {  // NOLINT(google-explicit-constructor)
    return level_ != kNone;
  }
  constexpr Level level() const { return level_; }
  constexpr bool is_masked() const { return level_ == kMasked; }

  /// The sealing of data that was made from data with both sealings: the stricter one.
  friend constexpr Sealing operator|(Sealing a, Sealing b) { return std::max(a.level_, b.level_); }
  constexpr Sealing& operator|=(Sealing other) { return *this = *this | other; }

 private:
  Level level_ = kNone;
};

}  // namespace millrace
