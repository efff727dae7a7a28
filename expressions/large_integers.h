// jq 1.6 computes with doubles, so an integer past 2^53 that merely passes through comes back
// rounded. This remembers how the numbers of an input were written, and gives the digits back where
// there is no doubt whose they are.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

class LargeIntegers {
 public:
  /// Reads the number literals of a valid JSON text that are 2^53 or more (either sign).
  explicit LargeIntegers(std::string_view json);

  /// The integer literal that jq rounded to this number: nullopt if there was none, or if literals
  /// of different spellings round to it.
  std::optional<std::string_view> literal(double rounded) const;

 private:
  std::map<double, std::string> literals_;  // empty text: several spellings, or no integer
};

}  // namespace millrace
