#include "scenarios/comparison.h"

#include <fmt/format.h>

#include "base/big_integer.h"

namespace millrace {
namespace {

constexpr size_t kMostShown = 300;

/// Whether the values are equal. An integer beyond 64 bits is compared as a double with a double,
/// because the result of a jq computation is a double.
bool is_same(const Json& wanted, const Json& got) {
  if (is_big_integer(wanted) && got.is_number_float()) return double_of(wanted) == double_of(got);
  return wanted == got;
}

class Comparer {
 public:
  explicit Comparer(Match match) : match_(match) {}

  void compare(const Node& wanted, const std::string& path, const Json& got) {
    if (wanted.kind == Node::Kind::kMapping && got.is_object()) {
      compare_members(wanted, path, got);
    } else if (wanted.kind == Node::Kind::kSequence && got.is_array() &&
               wanted.items.size() == got.size()) {
      for (size_t i = 0; i < got.size(); ++i) {
        compare(wanted.items[i], path_of(path, i), got[i]);
      }
    } else if (const Json value = to_json(wanted); !is_same(value, got)) {
      differs(wanted.at, path, fmt::format("expected {}, got {}", in_brief(value), in_brief(got)));
    }
  }

  std::vector<Mismatch> mismatches;

 private:
  void compare_members(const Node& wanted, const std::string& path, const Json& got) {
    for (const Member& member : wanted.members) {
      const std::string member_path = path_of(path, member.key);
      if (const auto found = got.find(member.key); found != got.end()) {
        compare(member.value, member_path, *found);
      } else {
        differs(member.at, member_path,
                fmt::format("expected {}, but it is missing", in_brief(to_json(member.value))));
      }
    }
    if (match_ == Match::kPart) return;
    for (const auto& [key, value] : got.items()) {
      if (wanted.find(key) != nullptr) continue;
      differs(wanted.at, path_of(path, key), fmt::format("not expected, got {}", in_brief(value)));
    }
  }

  void differs(Position at, const std::string& path, std::string message) {
    mismatches.push_back({at, path, std::move(message)});
  }

  Match match_;
};

}  // namespace

std::vector<Mismatch> compare(const Node& wanted, const std::string& path, const Json& got,
                              Match match) {
  Comparer comparer(match);
  comparer.compare(wanted, path, got);
  return std::move(comparer.mismatches);
}

std::string in_brief(const Json& value) {
  std::string text = dump_json(value);
  if (text.size() <= kMostShown) return text;
  size_t end = kMostShown;
  while ((static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // not within a character
  return text.substr(0, end) + "…";
}

}  // namespace millrace
