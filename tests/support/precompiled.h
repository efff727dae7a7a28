// The precompiled header of the test programs: that of all targets, and GoogleTest.
#pragma once

#include <iosfwd>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/precompiled.h"

namespace nlohmann {
/// Prints JSON for GoogleTest. Without it, every unit that compares JSON would compile a printer of
/// containers.
void PrintTo(const json& value, std::ostream* out);
}  // namespace nlohmann

// Nearly every test uses JSON values. Without this declaration every unit would compile the members
// that it uses; precompiled.cc has them.
extern template class nlohmann::basic_json<>;
