// The precompiled header of the tests with an engine: the header of all tests, and the headers of
// the world (tests/simulation/world.h).
#pragma once

#include "tests/simulation/world.h"
#include "tests/support/precompiled.h"
