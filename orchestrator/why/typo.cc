#include "orchestrator/why/typo.h"

#include <algorithm>
#include <set>
#include <utility>

namespace millrace {
namespace {

/// The fewest characters of a value that has typos: shorter values are often one character apart.
constexpr size_t kFewestCharacters = 4;

using Characters = std::vector<std::string_view>;

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

Characters characters_of(std::string_view text) {
  Characters characters;
  size_t begin = 0;
  for (size_t i = 1; i <= text.size(); ++i) {
    if (i < text.size() && continues_character(text[i])) continue;
    characters.push_back(text.substr(begin, i - begin));
    begin = i;
  }
  return characters;
}

bool is_transposed(const Characters& a, const Characters& b, size_t at) {
  return at + 1 < a.size() && a[at] == b[at + 1] && a[at + 1] == b[at] &&
         std::equal(a.begin() + static_cast<ptrdiff_t>(at) + 2, a.end(),
                    b.begin() + static_cast<ptrdiff_t>(at) + 2);
}

}  // namespace

bool is_typo(std::string_view a, std::string_view b) {
  if (a.size() > kMostOfATypo || b.size() > kMostOfATypo) return false;
  Characters shorter = characters_of(a);
  Characters longer = characters_of(b);
  if (shorter.size() > longer.size()) std::swap(shorter, longer);
  if (shorter.size() < kFewestCharacters || longer.size() - shorter.size() > 1) return false;
  const auto [in_shorter, in_longer] =
      std::mismatch(shorter.begin(), shorter.end(), longer.begin());
  if (longer.size() > shorter.size()) {
    return std::equal(in_shorter, shorter.end(), in_longer + 1);
  }
  return is_transposed(shorter, longer, static_cast<size_t>(in_shorter - shorter.begin()));
}

std::vector<std::string> typos_of(std::string_view value, size_t most) {
  std::vector<std::string> typos;
  if (value.size() > kMostOfATypo) return typos;
  const Characters all = characters_of(value);
  if (all.size() < kFewestCharacters) return typos;
  const auto place_of = [&](size_t i) {
    return i < all.size() ? static_cast<size_t>(all[i].data() - value.data()) : value.size();
  };
  for (size_t i = 0; i + 1 < all.size(); ++i) {
    if (typos.size() >= most) return typos;
    if (all[i] == all[i + 1]) continue;
    std::string pair(all[i + 1]);
    pair += all[i];
    std::string typo(value);
    typos.push_back(typo.replace(place_of(i), pair.size(), pair));
  }
  for (size_t i = 0; i < all.size() && all.size() > kFewestCharacters; ++i) {
    if (typos.size() >= most) return typos;
    if (i > 0 && all[i] == all[i - 1]) continue;  // the same value as without the one before
    std::string typo(value);
    typos.push_back(typo.erase(place_of(i), all[i].size()));
  }
  std::set<std::string_view> letters = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  letters.insert(all.begin(), all.end());
  for (const std::string_view letter : letters) {
    for (size_t i = 0; i <= all.size(); ++i) {
      if (typos.size() >= most) return typos;
      if (i < all.size() && all[i] == letter) continue;  // the same value as one place later
      std::string typo(value);
      typos.push_back(typo.insert(place_of(i), letter));
    }
  }
  return typos;
}

}  // namespace millrace
