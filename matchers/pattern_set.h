// Regular expressions that are held against the same values, run together: RE2 reads a value once
// for all of them, which costs little more than one of them alone. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "matchers/pattern.h"

namespace millrace {

class PatternSet {
 public:
  PatternSet();
  ~PatternSet();
  PatternSet(PatternSet&&) noexcept;
  PatternSet& operator=(PatternSet&&) noexcept;

  /// Takes a pattern of the kind kLinear under an id that is not there yet.
  void add(uint32_t id, std::shared_ptr<const Pattern> pattern);

  /// Removes one that is there.
  void remove(uint32_t id);

  /// Appends the ids of those that match, in no order.
  void match(std::string_view value, std::vector<uint32_t>& ids);

 private:
  class Together;
  using Patterns = std::unordered_map<uint32_t, std::shared_ptr<const Pattern>>;

  void join();
  void part();

  // To put them together costs as much as to run each a hundred times, so that is done for those
  // only that have run alone as often.
  Patterns alone_;
  size_t runs_alone_ = 0;
  Patterns joined_;
  std::unique_ptr<Together> together_;  // of joined_, and of some that are gone
  bool too_many_ = false;               // to be run together within RE2's bounds
};

}  // namespace millrace
