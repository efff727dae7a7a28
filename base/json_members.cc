#include "base/json_members.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_scan.h"

namespace millrace {
namespace {

/// The size of a text is at most this many times that of its characters: an escaped character takes
/// six bytes.
constexpr size_t kMostOfACharacter = 6;

/// Where a member goes.
struct MemberPlace {
  std::optional<size_t> before;  ///< the first member whose name sorts after its name
  std::optional<std::pair<size_t, size_t>> replaced;  ///< begin and end of the value
};

}  // namespace

std::string text_with(std::string_view object, std::span<const JsonTextMember> members) {
  std::vector<MemberPlace> places(members.size());
  JsonLevel level(object);
  bool is_empty = true;
  while (level.next()) {
    is_empty = false;
    for (size_t i = 0; i < members.size(); ++i) {
      const int order = level.order(members[i].name);
      if (order > 0 && !places[i].before) places[i].before = level.begin();
      if (order == 0) places[i].replaced = {level.value_at(), level.end()};
    }
  }
  struct Insertion {
    size_t from;
    size_t to;
    const JsonTextMember* member;
    bool is_new;
  };
  std::vector<Insertion> insertions;
  size_t size = object.size();
  for (size_t i = 0; i < members.size(); ++i) {
    const auto& [before, replaced] = places[i];
    const size_t at = before.value_or(level.end());
    insertions.push_back(replaced ? Insertion{replaced->first, replaced->second, &members[i], false}
                                  : Insertion{at, at, &members[i], true});
    size += kMostOfACharacter * members[i].name.size() + members[i].value.size() + 4;
  }
  std::stable_sort(insertions.begin(), insertions.end(),
                   [](const Insertion& a, const Insertion& b) { return a.from < b.from; });
  std::string text;
  text.reserve(size);
  size_t done = 0;
  for (const Insertion& one : insertions) {
    text.append(object, done, one.from - done);
    done = one.to;
    if (one.is_new) {
      const bool is_last = one.from == level.end();
      if (is_last && !is_empty) text.push_back(',');
      append_json_string(one.member->name, text);
      text.push_back(':');
      text += one.member->value;
      if (!is_last) text.push_back(',');
      is_empty = false;
    } else {
      text += one.member->value;
    }
  }
  text.append(object, done);
  return text;
}

}  // namespace millrace
