// The text of a key: of a limit of starts or calls.
#pragma once

#include <string>

namespace millrace {

/// `json`, a JSON text without spaces, with each number that has a fraction or an exponent written
/// as an integer if it is one, else with the fewest digits that mean the same double. So 1, 1.0 and
/// 10e-1 are one key, and -0.0 is 0. All else stays as it is. Pure.
std::string key_text(std::string json);

}  // namespace millrace
