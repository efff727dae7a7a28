// AppliedSequences: which sequences of an origin stream were applied. A message covers its own
// sequence and the sequences since the message that the source has read before it, so the messages
// that a source does not want leave no gaps. Pure value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace {

/// The sequences from `first` to `last`.
struct SequenceRange {
  uint64_t first = 0;
  uint64_t last = 0;

  bool operator==(const SequenceRange&) const = default;
};

/// How many gaps one source may have. It is more than the messages of a source that may be
/// published and not applied, and a gap is at least one of these.
inline constexpr size_t kMostGaps = 1'024;

class AppliedSequences {
 public:
  /// No sequence is applied.
  AppliedSequences() = default;
  /// All sequences up to `floor` are applied, or not wanted.
  explicit AppliedSequences(uint64_t floor) : floor_(floor) {}

  enum class Added : uint8_t {
    kNew,
    kRepeated,     ///< the sequence was applied before; nothing has changed
    kTooManyGaps,  ///< the sequence would make more than kMostGaps gaps; nothing has changed
    kUnordered,    ///< `previous` is not lower than `sequence`; nothing has changed
  };
  /// Adds the message with that sequence. `previous`: the sequence of the message that the source
  /// read before it; the source wants no message in between.
  Added add(uint64_t previous, uint64_t sequence);

  /// Whether the sequence is applied, or not wanted.
  bool has(uint64_t sequence) const;

  /// The highest sequence up to which all are applied, or not wanted.
  uint64_t floor() const { return floor_; }
  /// The highest sequence that is applied, or not wanted.
  uint64_t highest() const { return above_.empty() ? floor_ : above_.back().last; }
  /// The sequences above the floor, ascending. Before each of these ranges is a gap.
  const std::vector<SequenceRange>& above() const { return above_; }

  bool operator==(const AppliedSequences&) const = default;

 private:
  uint64_t floor_ = 0;
  std::vector<SequenceRange> above_;
};

}  // namespace millrace
