// The precompiled header of the test programs: that of all targets, and GoogleTest.
#pragma once

#include <iosfwd>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/precompiled.h"

namespace nlohmann {
/// How GoogleTest prints JSON. Without this every unit that compares JSON compiles a printer of
/// containers.
void PrintTo(const json& value, std::ostream* out);
}  // namespace nlohmann
