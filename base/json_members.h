// Members of JSON objects, added to the text of the object without a tree.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace millrace {

struct JsonTextMember {
  std::string_view name;
  std::string_view value;  ///< JSON text
};

/// The text of an object with members added or replaced. Of several members with one name the last
/// one is replaced, because it is the one that counts. Preconditions: `object` is the text of an
/// object; the members are sorted by their names, which differ.
std::string text_with(std::string_view object, std::span<const JsonTextMember> members);

}  // namespace millrace
