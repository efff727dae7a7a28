#include "base/similar_names.h"

#include <algorithm>
#include <utility>

#include "base/characters.h"

namespace millrace {
namespace {

/// Names longer than this are not compared: the cost grows with the square of the length.
constexpr size_t kLongestName = 64;

/// The number of insertions, deletions, substitutions and swaps of neighbouring characters that
/// make `a` equal to `b`, ignoring case (optimal string alignment).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower_case(a[i - 1]) == lower_case(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower_case(a[i - 1]) == lower_case(b[j - 2]) &&
          lower_case(a[i - 2]) == lower_case(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

size_t allowed_distance(size_t length) {
  if (length <= 3) return 1;
  return std::max<size_t>(2, length / 3);
}

}  // namespace

std::optional<size_t> name_distance(std::string_view a, std::string_view b) {
  if (a.size() > kLongestName || b.size() > kLongestName) return std::nullopt;
  return distance(a, b);
}

std::optional<std::string> nearest_name(std::string_view given,
                                        const std::vector<std::string_view>& candidates) {
  std::optional<std::string> best;
  size_t best_distance = 0;
  for (const std::string_view candidate : candidates) {
    const size_t longer = std::max(given.size(), candidate.size());
    const size_t shorter = std::min(given.size(), candidate.size());
    const size_t allowed = allowed_distance(longer);
    if (longer > kLongestName || longer - shorter > allowed) continue;
    const size_t apart = distance(given, candidate);
    if (apart > allowed || (best && apart >= best_distance)) continue;
    best = std::string(candidate);
    best_distance = apart;
  }
  return best;
}

}  // namespace millrace
