// How libjq 1.6 writes values as text: in strings that they are interpolated into, and in the
// messages of its errors. Not how results are written: those keep integers that a double does not
// hold, and have their keys in order.
#pragma once

#include <string>

#include "base/json.h"

namespace millrace {

/// Json that keeps its keys in the order in which they were set, as jq's objects do.
using OrderedJson = nlohmann::ordered_json;

/// Appends the value as `tojson` writes it; any of the two Jsons. May stop once `out` has more than
/// `enough` bytes.
template <class J>
void append_jq_text(const J& value, std::string& out, size_t enough = std::string::npos);

/// The value as it stands in a message: what is longer than 14 bytes is cut.
template <class J>
std::string jq_excerpt(const J& value);

}  // namespace millrace
