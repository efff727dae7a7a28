// PatternSet: regular expressions that are matched with the same values and run together: RE2 reads
// a value once for all of them, which costs little more than running one of them. Only one thread
// at a time may use a set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "matchers/match_budget.h"
#include "matchers/pattern.h"

namespace millrace {

class PatternSet {
 public:
  PatternSet();
  ~PatternSet();
  PatternSet(PatternSet&&) noexcept;
  PatternSet& operator=(PatternSet&&) noexcept;

  /// Adds a pattern. Preconditions: its kind is kLinear, and the id is not in use.
  void add(uint32_t id, std::shared_ptr<const Pattern> pattern);

  /// Removes the pattern with this id. Precondition: it was added.
  void remove(uint32_t id);

  /// Appends the ids of the patterns that match the value, in no particular order. Returns false if
  /// the budget does not allow that all patterns run; then the match of each pattern is undecided,
  /// and the ids of all patterns were appended.
  bool match(std::string_view value, MatchBudget& budget, std::vector<uint32_t>& ids);

 private:
  class Together;
  using Patterns = std::unordered_map<uint32_t, std::shared_ptr<const Pattern>>;

  void join();
  void part();

  // Compiling patterns into one set costs as much as running each of them a hundred times. So
  // patterns are joined only after each has run alone a hundred times on average.
  Patterns alone_;
  size_t runs_alone_ = 0;
  Patterns joined_;
  std::unique_ptr<Together> together_;  // has joined_, and patterns that were removed since
  bool too_many_ = false;               // too many patterns to run together within RE2's limits
};

}  // namespace millrace
