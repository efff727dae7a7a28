#include "orchestrator/definition/made_types.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/excerpt.h"

namespace millrace {
namespace {

/// Whether the text has the literals of the parts in their order, with any text in place of the
/// results of jq programs.
bool may_be(std::string_view text, const Template& made) {
  if (made.parts().empty()) return true;
  bool follows_result = false;
  for (const Template::Part& part : made.parts()) {
    if (part.program) {
      follows_result = true;
      continue;
    }
    const size_t at = text.find(part.literal);
    if (at == std::string_view::npos || (at > 0 && !follows_result)) return false;
    text.remove_prefix(at + part.literal.size());
    follows_result = false;
  }
  if (follows_result || text.empty()) return true;
  // The last literal may come again, at the end of the text.
  const auto& last = made.parts().back().literal;
  return made.parts().size() > 1 && text.ends_with(last);
}

}  // namespace

void MadeTypes::add(const Template& type) {
  if (!type.is_constant()) {
    templates_.push_back(type);
    return;
  }
  const LazyJson constant = type.assemble({});
  if (constant.is_string()) constants_.insert(constant.string());
}

bool MadeTypes::may_make(std::string_view type) const {
  return constants_.contains(type) ||
         std::any_of(templates_.begin(), templates_.end(),
                     [&](const Template& one) { return may_be(type, one); });
}

bool may_make_any(const Template& type, const std::set<std::string, std::less<>>& types) {
  MadeTypes made;
  made.add(type);
  return std::any_of(types.begin(), types.end(),
                     [&](const std::string& one) { return made.may_make(one); });
}

std::string described_types(const Template& type) {
  if (!type.is_constant()) return "the types that this jq query makes";
  return fmt::format("the type \"{}\"", excerpt(type.assemble({}).string()));
}

}  // namespace millrace
