// The precompiled header of the tests of the engine's rooms: that of all tests, and a running
// engine.
#pragma once

#include "tests/simulation/world.h"
#include "tests/support/precompiled.h"
