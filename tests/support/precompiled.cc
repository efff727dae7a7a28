#include "tests/support/precompiled.h"

#include <ostream>

namespace nlohmann {

void PrintTo(const json& value, std::ostream* out) { *out << value.dump(); }

}  // namespace nlohmann

template class nlohmann::basic_json<>;
