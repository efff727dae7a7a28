#include "matchers/pattern_set.h"

#include <utility>

#include <re2/re2.h>
#include <re2/set.h>

#include "base/check.h"

namespace millrace {
namespace {

constexpr size_t kRunsToJoin = 100;

/// The memory that RE2 may use for all patterns of a set, in bytes.
constexpr int64_t kMemory = int64_t{8} << 20;

RE2::Options options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(kMemory);
  return options;
}

}  // namespace

class PatternSet::Together {
 public:
  /// Compiles the patterns into one set; false if RE2 refused them.
  bool compile(const Patterns& patterns) {
    for (const auto& [id, pattern] : patterns) {
      if (set_.Add(pattern->re2(), nullptr) < 0) return false;
      ids_.push_back(id);
    }
    return set_.Compile();
  }

  /// Appends the ids of the patterns in `there` that match. False if RE2 gave up; then nothing was
  /// appended.
  bool match(std::string_view value, const Patterns& there, std::vector<uint32_t>& ids) {
    RE2::Set::ErrorInfo error{RE2::Set::kNoError};
    if (!set_.Match({value.data(), value.size()}, &hits_, &error)) {
      return error.kind == RE2::Set::kNoError;
    }
    for (const int hit : hits_) {
      const uint32_t id = ids_[static_cast<size_t>(hit)];
      if (there.contains(id)) ids.push_back(id);
    }
    return true;
  }

  size_t size() const { return ids_.size(); }

 private:
  RE2::Set set_{options(), RE2::UNANCHORED};
  std::vector<uint32_t> ids_;  // the index is RE2's number of the pattern
  std::vector<int> hits_;      // a member only to reuse its memory
};

PatternSet::PatternSet() = default;
PatternSet::~PatternSet() = default;
PatternSet::PatternSet(PatternSet&&) noexcept = default;
PatternSet& PatternSet::operator=(PatternSet&&) noexcept = default;

void PatternSet::add(uint32_t id, std::shared_ptr<const Pattern> pattern) {
  CHECK(pattern->kind() == Pattern::Kind::kLinear);
  alone_.emplace(id, std::move(pattern));
}

void PatternSet::remove(uint32_t id) {
  if (alone_.erase(id) == 1) return;
  CHECK(joined_.erase(id) == 1, "there is no pattern with the id {}; expected one that was added",
        id);
  if (joined_.size() < together_->size() / 2) part();
}

bool PatternSet::match(std::string_view value, MatchBudget& budget, std::vector<uint32_t>& ids) {
  // Patterns that run together are counted, too: whether patterns have been joined depends on
  // earlier events, and must not decide which matches are undecided.
  const size_t runs = alone_.size() + joined_.size();
  if (runs > 0 && !budget.take_bytes(runs * (value.size() + kBytesOfARun))) {
    for (const Patterns* some : {&alone_, &joined_}) {
      for (const auto& [id, pattern] : *some) ids.push_back(id);
    }
    return false;
  }
  if (together_ != nullptr && !together_->match(value, joined_, ids)) {
    too_many_ = true;
    part();
  }
  for (const auto& [id, pattern] : alone_) {
    if (pattern->matches(value)) ids.push_back(id);
  }
  runs_alone_ += alone_.size();
  if (!too_many_ && runs_alone_ > kRunsToJoin * (alone_.size() + joined_.size())) join();
  return true;
}

void PatternSet::join() {
  runs_alone_ = 0;
  joined_.merge(alone_);
  together_ = std::make_unique<Together>();
  too_many_ = !together_->compile(joined_);
  if (too_many_) part();
}

void PatternSet::part() {
  alone_.merge(joined_);
  together_.reset();
}

}  // namespace millrace
