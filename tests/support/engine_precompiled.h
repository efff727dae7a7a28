// The precompiled header of the tests with an engine: that of all tests, and the world.
#pragma once

#include "tests/simulation/world.h"
#include "tests/support/precompiled.h"
