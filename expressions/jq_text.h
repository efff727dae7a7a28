// Writes JSON values as text in the way of libjq 1.6, as libjq does in interpolated strings and in
// error messages. The results of jq programs are written differently: they keep integers that a
// double cannot represent, and their keys are sorted.
#pragma once

#include <string>

#include "base/json.h"

namespace millrace {

/// A JSON value whose objects keep their keys in the order in which they were set, like jq's
/// objects.
using OrderedJson = nlohmann::ordered_json;

/// Appends the value as jq's `tojson` writes it; J is Json or OrderedJson. May stop when `out` has
/// more than `enough` bytes.
template <class J>
void append_jq_text(const J& value, std::string& out, size_t enough = std::string::npos);

/// The value as jq's error messages show it: its text, cut if it is longer than 14 bytes.
template <class J>
std::string jq_excerpt(const J& value);

}  // namespace millrace
