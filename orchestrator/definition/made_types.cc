#include "orchestrator/definition/made_types.h"

#include <algorithm>

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

}  // namespace millrace
