// Times in the texts of an instance. A time is explained if what the instance met has it, too.
// Another time comes from a clock of the server, and differs in each run. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace millrace {

class ExplainedTimes {
 public:
  /// `met`: what the instance met, as text.
  explicit ExplainedTimes(std::string_view met) : met_(met) {}

  /// The value without the members of its objects that have other times; null if it is not an
  /// object and has one.
  Json part_of(const Json& value) const;

 private:
  bool explains(std::string_view text) const;
  std::optional<Json> part(const Json& value) const;

  std::string met_;
};

}  // namespace millrace
